// Command go is a client of Quartet over gRPC: it uploads a product, asks about it, streams a second reply and reads the conversation.
//
//	go run ./examples/clients/go
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

const (
	store    = "demo"
	customer = "ava"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7300", "`address` of the gateway")
	flag.Parse()
	if err := run(*addr, os.Getenv("QUARTET_TOKEN")); err != nil {
		log.Fatal(err)
	}
}

func run(addr, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	plaintext := grpc.WithTransportCredentials(insecure.NewCredentials()) // over a network, use credentials.NewTLS
	conn, err := grpc.NewClient(addr, plaintext)
	if err != nil {
		return err
	}
	defer conn.Close()

	if err := upload(ctx, catalogv1.NewCatalogServiceClient(conn)); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	gateway := gatewayv1.NewGatewayServiceClient(conn)
	reply, err := gateway.Ask(ctx, &gatewayv1.AskRequest{StoreId: store, CustomerId: customer, Message: "Do you have a folding kayak?"})
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	fmt.Println(reply.GetText())
	if err := stream(ctx, gateway, reply.GetThreadId()); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	thread, err := gateway.GetThread(ctx, &gatewayv1.GetThreadRequest{StoreId: store, CustomerId: customer, ThreadId: reply.GetThreadId()})
	if err != nil {
		return fmt.Errorf("thread: %w", err)
	}
	fmt.Printf("%d messages\n", len(thread.GetMessages()))
	return nil
}

// upload writes products, here one. Send large catalogs in several messages of up to 1,000 products.
func upload(ctx context.Context, catalog catalogv1.CatalogServiceClient) error {
	writes, err := catalog.UpsertProducts(ctx)
	if err != nil {
		return err
	}
	err = writes.Send(&catalogv1.UpsertProductsRequest{StoreId: store, Products: []*catalogv1.Product{{
		ProductId: "KAYAK-1", Title: "Folding kayak", Description: "A kayak that folds into a backpack.", CategoryPath: []string{"Boats"},
		Variants: []*catalogv1.Variant{{VariantId: "KAYAK-1-RED", Price: &commonv1.Money{AmountMinor: 89900, CurrencyCode: "EUR"}, Stock: 3}},
	}}})
	if err != nil && !errors.Is(err, io.EOF) { // io.EOF: CloseAndRecv says why
		return err
	}
	result, err := writes.CloseAndRecv()
	if err != nil {
		return err
	}
	for _, e := range result.GetErrors() {
		fmt.Println("refused:", e)
	}
	fmt.Printf("%d product written\n", result.GetUpsertedCount())
	return nil
}

// stream asks a second question and prints the reply while it is written.
func stream(ctx context.Context, gateway gatewayv1.GatewayServiceClient, thread string) error {
	events, err := gateway.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{
		StoreId: store, CustomerId: customer, ThreadId: thread, Message: "And what is your return policy?",
	}})
	if err != nil {
		return err
	}
	for {
		event, err := events.Recv()
		switch {
		case errors.Is(err, io.EOF):
			fmt.Println()
			return nil
		case err != nil:
			return err
		}
		switch e := event.GetEvent().(type) {
		case *gatewayv1.AskStreamResponse_AgentStarted:
			fmt.Printf("[%s works]\n", e.AgentStarted.GetAssignment().GetSpecialist())
		case *gatewayv1.AskStreamResponse_TextDelta:
			fmt.Print(e.TextDelta.GetText())
		}
	}
}
