//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has used, its children not counted.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it fails for bad arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// maxOpenFiles returns how many files this process may have open; zero: not known.
func maxOpenFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}
