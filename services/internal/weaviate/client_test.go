package weaviate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/weaviate/weaviatepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nodes are servers that answer calls by REST as told, one after the other in the address.
func nodes(t *testing.T, key string, handlers ...http.HandlerFunc) *Client {
	t.Helper()
	var hosts []string
	for _, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		hosts = append(hosts, strings.TrimPrefix(s.URL, "http://"))
	}
	c, err := New("weaviate://"+strings.Join(hosts, ","), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.at.Store(0)
	return c
}

// says is a node that answers all calls alike, and counts them.
func says(calls *atomic.Int64, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const two = `{"nodes":[{"name":"a"},{"name":"b"}]}`

// queried is a node that answers all calls by gRPC alike.
func queried(t *testing.T, key string, answer func(ctx context.Context, method string, request []byte) (proto.Message, error)) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		in := new(emptypb.Empty)
		if err := stream.RecvMsg(in); err != nil {
			return err
		}
		out, err := answer(stream.Context(), method, in.ProtoReflect().GetUnknown())
		if err != nil {
			return err
		}
		return stream.SendMsg(out)
	}))
	go func() { _ = s.Serve(listener) }() // until it is stopped
	t.Cleanup(s.Stop)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	c, err := New("weaviate://127.0.0.1:1/"+port, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestFind(t *testing.T) {
	id := uuid.UUID{0, 0, 7, 15: 9} // the server leaves out the zeros
	c := queried(t, "", func(_ context.Context, method string, request []byte) (proto.Message, error) {
		got := new(weaviatepb.SearchRequest)
		if err := proto.Unmarshal(request, got); err != nil {
			t.Error(err)
		}
		want := &weaviatepb.SearchRequest{
			Collection: "C", Tenant: "t", Limit: 5, Offset: 10, Uses_127Api: true,
			Properties: &weaviatepb.Properties{}, Metadata: &weaviatepb.Metadata{Uuid: true, Vector: true, Distance: true},
			SortBy: []*weaviatepb.Sort{{Path: []string{"low"}}}, Filters: Is("f", true).filter,
			Bm25Search: &weaviatepb.BM25{Query: "a b", Properties: []string{"p^2"}},
			NearVector: &weaviatepb.NearVector{Vector: []byte{0, 0, 128, 63, 0, 0, 0, 192}},
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || method != "/weaviate.v1.Weaviate/Search" {
			t.Errorf("%s (-want +got):\n%s", method, diff)
		}
		return &weaviatepb.SearchReply{Results: []*weaviatepb.Result{{
			Metadata: &weaviatepb.ResultMetadata{Id: id[2:], Distance: 0.25, Vector: []byte{0, 0, 128, 63}},
		}}}, nil
	})
	got, err := c.Find(t.Context(), "C", "t", Select{
		Where: Is("f", true), Near: []float32{1, -2}, Words: []string{"a", "b"}, RankedBy: []string{"p^2"}, Sort: "low", Descending: true,
		Limit: 5, Offset: 10, Vectors: true,
	})
	if diff := cmp.Diff([]Hit{{ID: id, Cosine: 0.75, Vector: []float32{1}}}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// A query that the server refuses is not sent again; one that a node could not answer is.
func TestWhichQueriesAreSentAgain(t *testing.T) {
	for message, want := range map[error]int64{
		errors.New("no such property"): 1, errors.New("shard: context deadline exceeded"): 2, status.Error(codes.Unavailable, "down"): 2,
	} {
		var calls atomic.Int64
		_, err := queried(t, "", func(context.Context, string, []byte) (proto.Message, error) {
			if calls.Add(1) == 1 {
				return nil, message
			}
			return &weaviatepb.AggregateReply{SingleResult: &weaviatepb.Single{ObjectsCount: 1}}, nil
		}).Count(t.Context(), "C", "t", Where{})
		if calls.Load() != want || (err == nil) != (want > 1) {
			t.Errorf("%v: %d calls, error %v", message, calls.Load(), err)
		}
	}
}

func TestQueriesAreSentAnewAfterNext(t *testing.T) {
	c := queried(t, "", func(context.Context, string, []byte) (proto.Message, error) { return &weaviatepb.SearchReply{}, nil })
	for range 2 {
		if any, err := c.Any(t.Context(), "C", "t", Where{}, Where{}); err != nil || any[0] {
			t.Errorf("any %v, error %v", any, err)
		}
		c.Next()
	}
}

func TestAddress(t *testing.T) {
	for address, good := range map[string]bool{
		"weaviate://a:1": true, "weaviates://a:1,b:2": true, "weaviate://[::1]:8080": true,
		"weaviate://a:1/2,b:1": true, "weaviate://a:1/70000": false, "weaviate://a:1/": false,
		"http://a:1": false, "a:1": false, "weaviate://": false, "weaviate://a": false, "weaviate://a:1,": false, "weaviate://a:1/x": false,
		"weaviate://user@a:1": false,
	} {
		if _, err := New(address, ""); (err == nil) != good {
			t.Errorf("%s: error %v", address, err)
		}
	}
}

func TestAnotherNodeIsAskedWhenOneFails(t *testing.T) {
	for name, down := range map[string]struct {
		status int
		body   string
	}{
		"it cannot work":                {500, "out of memory"},
		"it has no leader":              {422, `{"error":[{"message":"leader not found"}]}`},
		"it does not say what it means": {200, `<html>`},
	} {
		t.Run(name, func(t *testing.T) {
			var failed, answered atomic.Int64
			c := nodes(t, "", says(&failed, down.status, down.body), says(&answered, 200, two))
			for range 3 {
				if n, err := c.Members(t.Context()); err != nil || n != 2 {
					t.Errorf("%d members, error %v", n, err)
				}
			}
			if failed.Load() != 1 || answered.Load() != 3 {
				t.Errorf("%d calls of the node that fails, %d of the other; want 1 and 3", failed.Load(), answered.Load())
			}
		})
	}
}

func TestWritesAreTriedUntilTheyAreTaken(t *testing.T) {
	var calls atomic.Int64
	c := nodes(t, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("consistency_level") != "QUORUM" {
			t.Errorf("a write without quorum: %s", r.URL)
		}
		if calls.Add(1) < 4 {
			_, _ = io.WriteString(w, `[{"result":{"errors":{"error":[{"message":"cannot reach enough replicas"}]}}}]`)
			return
		}
		_, _ = io.WriteString(w, `[{"result":{"status":"SUCCESS"}}]`)
	})
	if err := c.Put(t.Context(), "C", "t", []Object{{ID: "1"}}); err != nil || calls.Load() != 4 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
}

func TestWhatIsRefusedIsNotTriedAgain(t *testing.T) {
	var calls atomic.Int64
	c := nodes(t, "", says(&calls, 422, `{"error":[{"message":"no such property"}]}`))
	err := c.Put(t.Context(), "C", "t", []Object{{ID: "1"}})
	var refused *Refused
	if !errors.As(err, &refused) || refused.Message != "no such property" || calls.Load() != 1 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
}

func TestTriesEndWithTheCallersTime(t *testing.T) {
	var calls atomic.Int64
	c := nodes(t, "", says(&calls, 503, "down"), says(&calls, 503, "down"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.Members(ctx)
	var unavailable *fault.Unavailable
	if !errors.As(err, &unavailable) || unavailable.Public() != "search index: look at nodes: temporarily unavailable" || calls.Load() < 4 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := c.Members(gone); !errors.Is(err, context.Canceled) || errors.As(err, &unavailable) {
		t.Errorf("error %v, want that the caller has left", err)
	}
}

func TestKeyIsSentAndNeverTold(t *testing.T) {
	got := make(map[string]string)
	c := nodes(t, "secret-key", func(w http.ResponseWriter, r *http.Request) {
		got["REST"] = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	})
	_, byREST := c.Members(t.Context())
	_, byGRPC := queried(t, "secret-key", func(ctx context.Context, _ string, _ []byte) (proto.Message, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		got["gRPC"] = strings.Join(md.Get("authorization"), " ")
		return nil, status.Error(codes.Unauthenticated, "who are you?")
	}).Count(t.Context(), "C", "t", Where{})
	for by, err := range map[string]error{"REST": byREST, "gRPC": byGRPC} {
		var refused *Refused
		if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || strings.Contains(err.Error(), "secret-key") || got[by] != "Bearer secret-key" {
			t.Errorf("%s: sent %q, error %v", by, got[by], err)
		}
	}
}

func TestMissing(t *testing.T) {
	for message, want := range map[string]bool{
		`tenant not found: "x"`: true, "could not find class C in schema": true, "syntax error": false,
	} {
		_, err := queried(t, "", func(context.Context, string, []byte) (proto.Message, error) { return nil, errors.New(message) }).
			Count(t.Context(), "C", "t", Where{})
		if Missing(err) != want {
			t.Errorf("%s: missing %v, want %v", message, Missing(err), want)
		}
	}
}

func TestWhere(t *testing.T) {
	a, b := HasAny("p", "x", "y"), AtLeast("n", 1e6)
	for name, c := range map[string]struct{ got, want Where }{
		"all of nothing":          {All(), Where{}},
		"all of one":              {All(Where{}, b), b},
		"any of one":              {Any(a), a},
		"any of that and all":     {Any(a, Where{}), Where{}},
		"any of no words is none": {HasAny("p"), HasAny("p", "\u0001")},
	} {
		if diff := cmp.Diff(c.want.filter, c.got.filter, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	want := new(weaviatepb.Filter)
	if err := prototext.Unmarshal([]byte(`operator: OPERATOR_AND
		filters: {operator: OPERATOR_OR
			filters: {operator: OPERATOR_CONTAINS_ANY texts: {values: "x" values: "y"} target: {property: "p"}}
			filters: {operator: OPERATOR_EQUAL flag: true target: {property: "f"}}}
		filters: {operator: OPERATOR_LESS_THAN_EQUAL number: 0.5 target: {property: "n"}}`), want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, All(Any(a, Is("f", true)), AtMost("n", 0.5)).filter, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
