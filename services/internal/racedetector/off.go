//go:build !race

// Package racedetector tells tests whether the race detector is on. Those that take long with it, and have one goroutine or all of
// theirs in processes, are left to the run without it.
package racedetector

// On says that the race detector is on.
const On = false
