package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/quartet-commerce/quartet/services/internal/bench"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// benchChild is the argument, for nobody but the program itself, that starts what the suite talks to in a process of its
	// own, so that its processor time and memory are not taken for the suite's.
	benchChild = "_child"
	// benchModel is the name of the fake model.
	benchModel = "quartet-bench"
)

// benchAddresses is what the child prints.
type benchAddresses struct {
	ModelURL string `json:"model_url"`
	RedisURL string `json:"redis_url"`
}

// runBenchChild serves the fake model and an embedded Redis until its input ends, which it does with the parent.
func runBenchChild(ctx context.Context, args []string, env environment) (err error) {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	redis, err := state.Embedded()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("fake model: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- offline.Serve(ctx, bench.Arrivals(lis), bench.NewFake(bench.SleepExactly))
	}()
	err = json.NewEncoder(env.out).Encode(benchAddresses{ModelURL: "http://" + lis.Addr().String(), RedisURL: redis.URL()})
	if err == nil {
		_, err = io.Copy(io.Discard, env.in)
	}
	cancel()
	return errors.Join(err, <-served)
}

// benchProcess is the child as its parent sees it.
type benchProcess struct {
	benchAddresses
	cmd   *exec.Cmd
	input io.Closer
}

// startBenchChild starts the child and waits for its addresses. The caller closes it.
func startBenchChild(ctx context.Context, env environment) (*benchProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the fake model: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "bench", benchChild)
	cmd.Stderr = env.err
	input, inErr := cmd.StdinPipe()
	output, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, fmt.Errorf("start the fake model: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the fake model: %w", err)
	}
	p := &benchProcess{cmd: cmd, input: input}
	if err := json.NewDecoder(output).Decode(&p.benchAddresses); err != nil {
		return nil, errors.Join(fmt.Errorf("start the fake model: %w", err), p.close())
	}
	return p, nil
}

// close ends the child and waits for it.
func (p *benchProcess) close() error {
	err := p.input.Close()
	if waitErr := p.cmd.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("fake model: %w", waitErr))
	}
	return err
}
