//go:build !race

package e2e

// underRace says that the race detector is on.
const underRace = false
