//go:build !unix

package bench

import "time"

// cpuTime returns zero: the system does not tell.
func cpuTime() time.Duration { return 0 }

// maxOpenFiles returns zero: not known.
func maxOpenFiles() uint64 { return 0 }
