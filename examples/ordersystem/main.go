// Command ordersystem is a store's own order system as Quartet asks it: two paths over HTTP, each request signed. It is
// meant to be read and copied by anyone who connects a real one, needs nothing but the standard library, and answers from a file of
// orders, one JSON object a line.
//
//	ORDER_KEYS=2026-03=$(openssl rand -hex 32) go run ./ordersystem -store kites -orders ordersystem/orders.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv("ORDER_KEYS"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ordersystem:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It writes its URL to out once it listens.
func run(ctx context.Context, args []string, keys string, out io.Writer) error {
	flags := flag.NewFlagSet("ordersystem", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:7320", "`address` to listen on")
	store := flags.String("store", "kites", "`id` of the store")
	path := flags.String("orders", "orders.jsonl", "`file` of orders, one JSON object a line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	live, err := parseKeys(keys)
	if err != nil {
		return err
	}
	file, err := os.Open(*path)
	if err != nil {
		return err
	}
	orders, err := readOrders(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", *path, err)
	}
	s := newSystem(*store, orders, newVerifier(live, time.Now), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/quartet\n", listener.Addr())
	return serve(ctx, listener, s.handler("/quartet"))
}

// serve serves until ctx ends, and then waits for what is being answered.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(ctx)
	if stopped := <-served; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}

// parseKeys reads "id=secret,id=secret": the live keys, one, or two while they are changed.
func parseKeys(text string) (map[string][]byte, error) {
	keys := make(map[string][]byte)
	for pair := range strings.SplitSeq(text, ",") {
		id, secret, ok := strings.Cut(pair, "=")
		if !ok || id == "" || len(secret) < 16 {
			return nil, errors.New(`ORDER_KEYS must be "id=secret" or "id=secret,id=secret", with secrets of 16 bytes or more`)
		}
		keys[id] = []byte(secret)
	}
	return keys, nil
}

func readOrders(in io.Reader) ([]order, error) {
	var orders []order
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o := order{raw: json.RawMessage(strings.Clone(lines.Text()))}
		if err := json.Unmarshal(o.raw, &o); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(orders)+1, err)
		}
		orders = append(orders, o)
	}
	return orders, lines.Err()
}
