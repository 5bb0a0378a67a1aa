package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"

	"github.com/quartet-commerce/quartet/services/suite"
)

const customerAbout = `Gives out or removes what all services of a running Quartet keep of one customer.

  quartet customer export ava --store demo > ava.jsonl   one record a line
  quartet customer erase ava --store demo                this cannot be undone`

// customerKeepers are the services that keep data of customers.
var customerKeepers = []string{suite.Gateway, suite.Recommend, suite.Promotions, suite.Support}

// besideGateway returns the targets of the services whose gateway is at HOST:PORT, with the ports that 'quartet up' gives them.
func besideGateway(addr string) (map[string]string, error) {
	host, text, err := net.SplitHostPort(addr)
	port, err2 := strconv.Atoi(text)
	if err != nil || err2 != nil {
		return nil, usagef("--addr: %q must be HOST:PORT, such as 127.0.0.1:7300", addr)
	}
	peers := make(map[string]string)
	for _, role := range customerKeepers {
		peers[role] = net.JoinHostPort(host, strconv.Itoa(port+suite.Port(role)-suite.Port(suite.Gateway)))
	}
	return peers, nil
}

func runCustomer(ctx context.Context, args []string, env environment) error {
	fs := newFlags("customer", "export|erase CUSTOMER", customerAbout, env)
	store := fs.String("store", "", "`id` of the store")
	tls := addTLSFlags(fs, tlsUsageClient)
	var token string
	tokenFlag(fs, &token)
	addr := fs.String("addr", "", "`target` of the gateway of 'quartet up'; the other services have the ports after it (default: a flag for each service)")
	timeout := fs.Duration("timeout", 10*time.Minute, "deadline of the whole command")
	addrs := make(map[string]*string)
	for _, role := range customerKeepers {
		addrs[role] = fs.String(role+"-addr", net.JoinHostPort("127.0.0.1", strconv.Itoa(suite.Port(role))), "`target` of the "+role+" service")
	}
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 2 || rest[0] != "export" && rest[0] != "erase":
		return usagef("give export or erase, and the id of a customer")
	case *store == "":
		return usagef("give --store, the id of the store")
	}
	cfg := suite.Config{Peers: make(map[string]string), Token: token}
	for role, addr := range addrs {
		cfg.Peers[role] = *addr
	}
	if *addr != "" {
		if cfg.Peers, err = besideGateway(*addr); err != nil {
			return err
		}
	}
	if err := tls.applyClient(&cfg, env); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	for _, role := range customerKeepers {
		conn, err := dial(ctx, role, cfg, env)
		if err != nil {
			return err
		}
		client := customerv1.NewCustomerServiceClient(conn)
		if rest[0] == "export" {
			err = exportCustomer(ctx, client, *store, rest[1], env.out)
		} else {
			err = eraseCustomer(ctx, client, *store, rest[1], role, env.out)
		}
		_ = conn.Close() // a client connection has nothing to lose
		if err != nil {
			return fmt.Errorf("%s: %w", role, told(err))
		}
	}
	return nil
}

// exportCustomer prints what one service keeps of a customer, one record a line.
func exportCustomer(ctx context.Context, client customerv1.CustomerServiceClient, storeID, customerID string, out io.Writer) error {
	stream, err := client.ExportCustomer(ctx, &customerv1.ExportCustomerRequest{StoreId: storeID, CustomerId: customerID})
	if err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(resp)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", raw); err != nil {
			return err
		}
	}
}

// eraseCustomer removes what one service keeps of a customer, and prints what it was.
func eraseCustomer(ctx context.Context, client customerv1.CustomerServiceClient, storeID, customerID, role string, out io.Writer) error {
	resp, err := client.EraseCustomer(ctx, &customerv1.EraseCustomerRequest{StoreId: storeID, CustomerId: customerID})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d conversations, %d carts, %d uses of promotions, %d orders\n",
		role, resp.GetThreadCount(), resp.GetCartCount(), resp.GetPromotionUseCount(), resp.GetOrderCount())
	return err
}
