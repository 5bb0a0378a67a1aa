package weaviatetest

import (
	"os/exec"
	"syscall"
)

// dieTogether has a server killed also when the tests end without their clean-up. On Linux, it ends with the thread that has
// started it; that thread ends no sooner than the tests, for no goroutine that ends is locked to it.
func dieTogether(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
