package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// addresses is what a serving process prints.
type addresses struct {
	ModelURL string `json:"model_url"`
	RedisURL string `json:"redis_url"`
}

// ServePeers serves a [Fake] model and an embedded Redis on loopback addresses, which it prints to out as JSON, until in or
// ctx ends. It runs in a process of its own, so that its processor time and memory do not count as the suite's.
func ServePeers(ctx context.Context, in io.Reader, out io.Writer) (err error) {
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
	go func() { served <- offline.Serve(ctx, lis, NewFake()) }()
	err = json.NewEncoder(out).Encode(addresses{ModelURL: "http://" + lis.Addr().String(), RedisURL: redis.URL()})
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	cancel()
	return errors.Join(err, <-served)
}

// Peers are the fake model and the Redis of a process that runs [ServePeers].
type Peers struct {
	// Model is the remote control of the fake model.
	Model *Remote
	// RedisURL is the URL of the embedded Redis.
	RedisURL string

	cmd   *exec.Cmd
	input io.Closer
}

// StartPeers runs this program with arguments that make it call [ServePeers], and waits for its addresses. The caller closes
// the peers.
func StartPeers(ctx context.Context, stderr io.Writer, args ...string) (*Peers, error) {
	p, err := startPeers(ctx, stderr, args)
	if err != nil {
		return nil, fmt.Errorf("start the fake model: %w", err)
	}
	return p, nil
}

func startPeers(ctx context.Context, stderr io.Writer, args []string) (*Peers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = stderr
	input, inErr := cmd.StdinPipe()
	output, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Peers{cmd: cmd, input: input}
	var at addresses
	if err := json.NewDecoder(output).Decode(&at); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Model, p.RedisURL = NewRemote(at.ModelURL), at.RedisURL
	return p, nil
}

// Close ends the process and waits for it.
func (p *Peers) Close() error {
	err := p.input.Close()
	if waitErr := p.cmd.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("fake model: %w", waitErr))
	}
	return err
}
