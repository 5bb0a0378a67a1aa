// Package racedetector tells tests whether the race detector is on. Those that take long with it, and have one goroutine or all of
// theirs in processes, are left to the run without it.
package racedetector

import "testing"

// SkipOneGoroutine skips a test of one goroutine if the race detector is on, which has nothing to find in it.
func SkipOneGoroutine(t testing.TB) {
	t.Helper()
	if On {
		t.Skip("one goroutine, which takes long under the race detector")
	}
}
