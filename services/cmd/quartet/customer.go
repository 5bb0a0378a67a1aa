package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"

	"github.com/quartet-commerce/quartet/services/suite"
)

const customerAbout = `Gives out or removes what all services of a running Quartet keep of one customer.

  quartet customer export ava --store demo > ava.jsonl   one record a line
  quartet customer erase ava --store demo                this cannot be undone`

func runCustomer(ctx context.Context, args []string, env environment) error {
	fs := newFlags("customer", "export|erase CUSTOMER", customerAbout, env)
	store := fs.String("store", "", "`id` of the store")
	tls := addTLSFlags(fs, tlsUsageClient)
	var token string
	tokenFlag(fs, &token)
	addr := fs.String("addr", "127.0.0.1:7300", "`target` of the gateway")
	timeout := fs.Duration("timeout", 10*time.Minute, "deadline of the whole command")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 2 || rest[0] != "export" && rest[0] != "erase":
		return usagef("give export or erase, and the id of a customer")
	case *store == "":
		return usagef("give --store, the id of the store")
	}
	cfg := suite.Config{Peers: map[string]string{suite.Gateway: *addr}, Token: token}
	if err := tls.applyClient(&cfg, env); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	conn, err := dial(ctx, suite.Gateway, cfg, env)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := customerv1.NewCustomerServiceClient(conn)
	if rest[0] == "export" {
		return told(exportCustomer(ctx, client, *store, rest[1], env.out))
	}
	return told(eraseCustomer(ctx, client, *store, rest[1], env.out))
}

// exportCustomer prints what is kept of a customer, one record a line.
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

// eraseCustomer removes what is kept of a customer, and prints what it was.
func eraseCustomer(ctx context.Context, client customerv1.CustomerServiceClient, storeID, customerID string, out io.Writer) error {
	resp, err := client.EraseCustomer(ctx, &customerv1.EraseCustomerRequest{StoreId: storeID, CustomerId: customerID})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d conversations, %d carts, %d uses of promotions, %d orders\n",
		resp.GetThreadCount(), resp.GetCartCount(), resp.GetPromotionUseCount(), resp.GetOrderCount())
	return err
}
