// Command cartservice is a store's own CartService, as Quartet reads carts from it over gRPC. It is meant to be read and
// copied by anyone who connects a real one: carts are in memory, and goods with their prices in a file, one JSON object a line.
//
//	go run ./cartservice -store kites -goods cartservice/goods.jsonl
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/encoding/protojson"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cartservice:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It writes its address to out once it listens.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cartservice", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:7321", "`address` to listen on")
	store := flags.String("store", "kites", "`id` of the store; others have no cart here")
	path := flags.String("goods", "goods.jsonl", "`file` of what can be bought, one JSON object a line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	goods, err := readGoods(*path)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, listener.Addr())
	return serve(ctx, listener, newCarts(*store, goods))
}

// serve serves until ctx ends, and then waits for what is being answered.
func serve(ctx context.Context, listener net.Listener, carts *carts) error {
	server := grpc.NewServer()
	cartv1.RegisterCartServiceServer(server, carts)
	healthv1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(stopped); server.GracefulStop() })
	err := server.Serve(listener)
	if !stop() {
		<-stopped
	}
	return err
}

// readGoods reads items as a cart has them, with titles and prices.
func readGoods(path string) ([]*cartv1.CartItem, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var goods []*cartv1.CartItem
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		item := &cartv1.CartItem{}
		if err := protojson.Unmarshal(lines.Bytes(), item); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(goods)+1, err)
		}
		goods = append(goods, item)
	}
	return goods, lines.Err()
}
