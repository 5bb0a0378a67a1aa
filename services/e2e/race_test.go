//go:build race

package e2e

// underRace says that the race detector is on. It sees nothing of the processes that a test starts.
const underRace = true
