package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// calledServer answers one method of each kind.
type calledServer struct {
	gatewayv1.UnimplementedGatewayServiceServer
	catalogv1.UnimplementedCatalogServiceServer
}

func (calledServer) Ask(ctx context.Context, req *gatewayv1.AskRequest) (*gatewayv1.AskResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return &gatewayv1.AskResponse{Text: req.GetMessage() + strings.Join(md.Get("x-test"), ",")}, nil
}

func (calledServer) AskStream(req *gatewayv1.AskStreamRequest, stream grpc.ServerStreamingServer[gatewayv1.AskStreamResponse]) error {
	for _, word := range strings.Fields(req.GetAsk().GetMessage()) {
		if err := stream.Send(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_TextDelta{TextDelta: &specialistv1.TextDelta{Text: word}}}); err != nil {
			return err
		}
	}
	return status.Error(codes.ResourceExhausted, "enough")
}

func (calledServer) UpsertProducts(stream grpc.ClientStreamingServer[catalogv1.UpsertProductsRequest, catalogv1.UpsertProductsResponse]) error {
	n := int32(0)
	for {
		switch _, err := stream.Recv(); {
		case errors.Is(err, io.EOF):
			return stream.SendAndClose(&catalogv1.UpsertProductsResponse{UpsertedCount: n})
		case err != nil:
			return err
		}
		n++
	}
}

func TestCall(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	gatewayv1.RegisterGatewayServiceServer(server, calledServer{})
	catalogv1.RegisterCatalogServiceServer(server, calledServer{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	defer func() { server.Stop(); <-served }()
	addr := "--addr=" + lis.Addr().String()
	for _, tt := range []struct {
		args     []string
		in       string
		code     int
		out, err string // parts of
	}{
		{[]string{"list"}, "", 0, "quartet.gateway.v1.GatewayService\n  GatewayService/Ask\n", ""},
		{[]string{"describe", "AskRequest"}, "", 0, "// Text of the message, 1 to 8,000 characters. Required.\n  string message = 2;", ""},
		{[]string{"describe", "quartet.gateway.v1.GatewayService/Ask"}, "", 0, "rpc Ask ( AskRequest ) returns ( AskResponse );", ""},
		{[]string{"describe", "Nothing"}, "", 2, "", `there is no "Nothing"`},
		{[]string{addr, "GatewayService/Ask", `{"message":"hi"}`, "--header", "X-Test: there"}, "", 0, "{\n  \"text\": \"hithere\"\n}\n", ""},
		{[]string{addr, "quartet.gateway.v1.GatewayService/Ask", "-"}, `{"message":"hi"}`, 0, `"text": "hi"`, ""},
		{[]string{addr, "GatewayService/AskStream", `{"ask":{"message":"a b"}}`}, "", 1, `"text": "b"`, "ResourceExhausted: enough"},
		{[]string{addr, "CatalogService/UpsertProducts", "-"}, `{"store_id":"s"} {} {}`, 0, `"upserted_count": 3`, ""},
		{[]string{addr, "GatewayService/Ask", "{} {}"}, "", 2, "", "Ask takes one request"},
		{[]string{addr, "GatewayService/Ask", `{"massage":"hi"}`}, "", 2, "", `unknown field "massage"`},
		{[]string{addr, "GatewayService/Ask", "{"}, "", 2, "", "request 1 is no JSON"},
		{[]string{addr, "GatewayService/Task"}, "", 2, "", `GatewayService has no method "Task"`},
		{[]string{addr, "PostService/Ask"}, "", 2, "", `there is no service "PostService"`},
		{[]string{addr, "Ask"}, "", 2, "", `"Ask" is no method`},
		{[]string{addr, "SpecialistService/Describe"}, "", 2, "", "give --role"},
		{[]string{addr, "--header=x", "GatewayService/Ask"}, "", 2, "", "must be NAME:VALUE"},
		{[]string{"--addr=127.0.0.1:1", "GatewayService/Ask"}, "", 1, "", "Unavailable"},
		{nil, "", 2, "", "give list, describe or a method"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"call"}, tt.args...), environment{get: func(string) string { return "" }, in: strings.NewReader(tt.in), out: &out, err: &errs})
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
			t.Errorf("call %q: code %d, output %q, errors %q; want %d, %q, %q", tt.args, code, out.String(), errs.String(), tt.code, tt.out, tt.err)
		}
	}
}
