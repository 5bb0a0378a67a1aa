// Package servicetest runs one service in memory for its tests, with the interceptors and the wire format that it has
// in a deployment, so that a test sees what a caller sees.
//
// Only tests import it. It must not import a service.
package servicetest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// Redis returns an empty state store, which is closed when the test ends.
func Redis(t testing.TB) redis.UniversalClient {
	t.Helper()
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	client, err := state.Open(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Contents returns all that a Redis holds: keys, fields, members and values, one a line.
func Contents(t testing.TB, client redis.UniversalClient) string {
	t.Helper()
	var b strings.Builder
	keys := client.Scan(t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(t.Context()) {
		key := keys.Val()
		fmt.Fprintln(&b, key)
		kind, err := client.Type(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		var value any
		switch kind {
		case "string":
			value, err = client.Get(t.Context(), key).Result()
		case "hash":
			value, err = client.HGetAll(t.Context(), key).Result()
		case "list":
			value, err = client.LRange(t.Context(), key, 0, -1).Result()
		case "set":
			value, err = client.SMembers(t.Context(), key).Result()
		case "zset":
			value, err = client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
		case "stream":
			value, err = client.XRange(t.Context(), key, "-", "+").Result()
		case "none": // expired meanwhile
		default:
			t.Fatalf("%s is a %s, which Contents cannot read", key, kind)
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, value)
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Sealer returns a sealer with a key for all stores.
func Sealer(t testing.TB) *seal.Sealer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state-keys.json")
	_, err := seal.AddKey(file, seal.AnyStore, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := seal.New(seal.Config{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Serve serves what register adds to a server, and returns a connection to it. Both end with the test, before whatever
// the test has asked to be cleaned up until now.
func Serve(t testing.TB, name string, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
	t.Helper()
	server := rpc.NewServer(rpc.ServerConfig{Name: name, Scopes: scopetest.Verifier()})
	register(server)
	network := rpc.NewNetwork()
	listener, err := network.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := rpc.Dial("inproc:///"+name, rpc.DialConfig{Network: network})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		err := conn.Close()
		stop()
		if err := errors.Join(err, <-served, network.Close()); err != nil {
			t.Errorf("serve %s: %v", name, err)
		}
	})
	return conn
}

// Upsert sends requests to a bulk write, such as client.UpsertProducts, and returns its response.
func Upsert[Request, Response any](
	t testing.TB,
	open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[Request, Response], error),
	requests ...*Request,
) (*Response, error) {
	t.Helper()
	stream, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range requests {
		if err := stream.Send(req); err != nil {
			break // the reason comes in place of the response
		}
	}
	return stream.CloseAndRecv()
}

// Context returns a context in which calls of the service behind conn, which Serve returned, have a scope. The scope may read all
// kinds of data unless it names some.
func Context(t testing.TB, conn *grpc.ClientConn, s scope.Scope) context.Context {
	t.Helper()
	s.Audience = path.Base(conn.Target())
	return scopetest.Context(t.Context(), t, s)
}

// Answer puts one sub-query to the specialist behind conn and returns the answer in which its events end.
func Answer(t testing.TB, conn *grpc.ClientConn, s scope.Scope, subQuery string) *specialistv1.Answer {
	t.Helper()
	stream, err := specialistv1.NewSpecialistServiceClient(conn).Answer(
		Context(t, conn, s), &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: subQuery})
	if err != nil {
		t.Fatal(err)
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			t.Fatalf("no answer came: %v", err)
		}
		if answer := event.GetAnswer(); answer != nil {
			return answer
		}
	}
}

// Run calls the tool of a name as the loop does.
func Run[Out any](ctx context.Context, t testing.TB, tools []agentloop.Tool, name, arguments string) (Out, error) {
	t.Helper()
	var zero Out
	for _, tool := range tools {
		if tool.Name != name {
			continue
		}
		value, err := tool.Run(ctx, agentloop.ToolCall{ID: "1", Name: name, Arguments: arguments})
		if err != nil {
			return zero, err
		}
		out, ok := value.(Out)
		if !ok {
			t.Fatalf("%s returned a %T", name, value)
		}
		return out, nil
	}
	t.Fatalf("there is no tool %q", name)
	return zero, nil
}

// Violated returns the fields that an INVALID_ARGUMENT names, and none for any other error.
func Violated(err error) []string {
	var fields []string
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	return fields
}
