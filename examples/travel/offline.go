package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// offlinePackage is the program that serves the offline model. It is run, not imported, so that this example depends only on
// agentloop.
const offlinePackage = "github.com/quartet-commerce/quartet/services/cmd/quartet"

// stopTime is how long the offline model may take to stop before it is killed.
const stopTime = 5 * time.Second

// startOffline builds and starts the offline model. It returns the model's URL and a function that stops the model and waits
// for its end. The model also stops when ctx is done.
func startOffline(ctx context.Context) (url string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "travel-")
	if err != nil {
		return "", nil, fmt.Errorf("build the offline model: %w", err)
	}
	url, wait, err := launch(ctx, filepath.Join(dir, "quartet.exe")) // Windows needs the suffix
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return url, func() { wait(); os.RemoveAll(dir) }, nil
}

// launch builds and starts the program. "go run" would not pass the signal to stop on.
func launch(ctx context.Context, program string) (url string, stop func(), err error) {
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, offlinePackage).CombinedOutput()
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	if err != nil {
		return "", nil, fmt.Errorf("build the offline model (only in a clone of the repository; elsewhere give --url): %w: %s", err, lastLine(output))
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "model", "--listen", "127.0.0.1:0", "--log-level", "ERROR")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("start the offline model: %w", err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // it was stopped: its exit status says nothing
	}
	if url, err = readyURL(stdout); err != nil {
		stop()
		return "", nil, fmt.Errorf("start the offline model: %w: %s", err, lastLine(stderr.Bytes()))
	}
	return url, stop, nil
}

var urlRE = regexp.MustCompile(`http://\S+`)

// readyURL returns the address in the line that the program prints once it listens.
func readyURL(stdout io.Reader) (string, error) {
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read its first line: %w", err)
	}
	url := urlRE.FindString(line)
	if url == "" {
		return "", fmt.Errorf("no address in %q", strings.TrimSpace(line))
	}
	return url, nil
}

func lastLine(output []byte) string {
	all := strings.TrimSpace(string(output))
	return all[strings.LastIndexByte(all, '\n')+1:]
}
