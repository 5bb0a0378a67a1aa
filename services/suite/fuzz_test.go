package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
)

// Bounds of one call of a fuzzed method. They catch work that grows with the square of a request, not a slow machine.
const (
	fuzzCallTime  = 20 * time.Second
	fuzzCallBytes = 512 << 20 // allocated in all
)

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// panicLog notes panics that a service has recovered from.
type panicLog struct {
	slog.Handler
	mu     sync.Mutex
	panics []string
}

func (l *panicLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "panic") {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool { text += "\n" + a.String(); return true })
		l.mu.Lock()
		l.panics = append(l.panics, text)
		l.mu.Unlock()
	}
	return nil
}
func (l *panicLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *panicLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *panicLog) WithGroup(string) slog.Handler            { return l }

func (l *panicLog) drain() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.panics
	l.panics = nil
	return found
}

// turnAudiences are the roles that the services which only a turn calls are called of.
var turnAudiences = map[string]string{"RouterService": Router, "SpecialistService": Search}

// fuzzed is all six services over connections, with one store.
type fuzzed struct {
	log     *panicLog
	conns   map[string]*grpc.ClientConn // by service
	methods []protoreflect.MethodDescriptor
	seen    map[codes.Code]int
	allowed map[string]int // calls by method that the authorisation did not refuse
}

func newFuzzed(t testing.TB) *fuzzed {
	f := &fuzzed{log: &panicLog{}, conns: make(map[string]*grpc.ClientConn), seen: make(map[codes.Code]int), allowed: make(map[string]int)}
	before := slog.Default()
	slog.SetDefault(slog.New(f.log))
	t.Cleanup(func() { slog.SetDefault(before) })
	cfg := minimal(t)
	cfg.Logger = slog.New(f.log)
	serve(t, cfg)
	for _, role := range Roles() {
		inst, err := New(role, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var served methods
		inst.service.Register(&served)
		conn := dial(t, role, cfg)
		for _, name := range served {
			service := strings.Split(name, "/")[1]
			if f.conns[service] == nil || role == Search {
				f.conns[service] = conn // of SpecialistService, which four roles serve, one is enough
			}
		}
		if err := inst.close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := contractMethods()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.methods = append(f.methods, all[name])
	}
	for _, id := range []string{"demo", "other"} {
		store := &gatewayv1.Store{StoreId: id, Name: id, CurrencyCode: "EUR", DefaultLocale: "en"}
		if _, err := gatewayv1.NewStoreServiceClient(f.conns["quartet.gateway.v1.StoreService"]).PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: store}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// call sends requests to a method, reads all of the reply, and reports what must not happen, whatever the requests are.
func (f *fuzzed) call(t *testing.T, m protoreflect.MethodDescriptor, requests ...[]byte) {
	t.Helper()
	service := string(m.Parent().FullName())
	name := "/" + service + "/" + string(m.Name())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	st := f.send(t, f.conns[service], m, name, requests)
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	f.seen[st.Code()]++
	if st.Code() != codes.Unauthenticated && st.Code() != codes.PermissionDenied {
		f.allowed[name]++
	}
	size := 0
	for _, r := range requests {
		size = max(size, len(r))
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > fuzzCallBytes || took > fuzzCallTime {
		t.Errorf("%s of %d bytes took %v and allocated %d bytes", name, size, took, allocated)
	}
	for _, p := range f.log.drain() {
		t.Errorf("%s: %s", name, p)
	}
	switch st.Code() {
	case codes.OK:
		return
	case codes.Internal, codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.DataLoss:
		t.Errorf("%s: %v", name, st)
	}
	if rpc.Reason(st) == "" && size <= requestBytes[name] { // gRPC itself refuses what is larger than a role takes
		t.Errorf("%s: %v has no ErrorInfo", name, st)
	}
	if n := proto.Size(st.Proto()); n > 4<<10 {
		t.Errorf("%s: the status has %d bytes", name, n)
	}
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && len(bad.GetFieldViolations()) > 20 {
			t.Errorf("%s: %d violations", name, len(bad.GetFieldViolations()))
		}
	}
}

func (f *fuzzed) send(t *testing.T, conn *grpc.ClientConn, m protoreflect.MethodDescriptor, name string, requests [][]byte) *status.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fuzzCallTime)
	defer cancel()
	if audience, ok := turnAudiences[string(m.Parent().Name())]; ok {
		ctx = scopetest.Context(ctx, t, scope.Scope{StoreID: "demo", CustomerID: "ava", CartID: "ava", ThreadID: "t1", TurnID: "u1", Audience: audience})
	}
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := conn.NewStream(ctx, desc, name, grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if err != nil {
		return status.Convert(err)
	}
	if !m.IsStreamingClient() {
		requests = requests[:1]
	}
	for _, r := range requests {
		if err := stream.SendMsg(&r); err != nil {
			break // the status follows
		}
	}
	_ = stream.CloseSend()
	for {
		var reply []byte
		if err := stream.RecvMsg(&reply); errors.Is(err, io.EOF) {
			return status.New(codes.OK, "")
		} else if err != nil {
			return status.Convert(err)
		}
	}
}

// requests returns one request, or up to three for a stream of them.
func (g generator) requests(m protoreflect.MethodDescriptor) [][]byte {
	out := [][]byte{g.request(m.Input())}
	for m.IsStreamingClient() && g.chance(2) && len(out) < 3 {
		out = append(out, g.request(m.Input()))
	}
	return out
}

// randomCalls is how many random calls of each method every test run makes at least.
const randomCalls = 25

// randomTime is for longer runs without the fuzzer, whose instrumented build takes minutes and gigabytes.
var randomTime = flag.Duration("random", 0, "time for TestRandomRequests with ever new seeds")

// TestRandomRequests calls every method of every service with random requests.
func TestRandomRequests(t *testing.T) {
	f := newFuzzed(t)
	share := *randomTime / time.Duration(len(f.methods))
	for i, m := range f.methods {
		t.Run(string(m.FullName()), func(t *testing.T) {
			first := uint64(0)
			if share > 0 {
				first = rand.Uint64() >> 8
			}
			begun := time.Now()
			for n := uint64(0); n < randomCalls || time.Since(begun) < share; n++ {
				seed := (first+n)<<8 | uint64(i)
				f.call(t, m, newGenerator(seed).requests(m)...)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			if name := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()); f.allowed[name] < randomCalls/2 {
				t.Errorf("only %d calls were not refused for who makes them", f.allowed[name])
			}
		})
	}
	for _, code := range []codes.Code{codes.OK, codes.InvalidArgument, codes.NotFound, codes.ResourceExhausted} {
		if f.seen[code] < 10 {
			t.Errorf("calls by code: %v; the generator is one-sided", f.seen)
		}
	}
}

// FuzzRequests calls a method with raw bytes, which the fuzzer changes, or with requests that a seed makes.
func FuzzRequests(fz *testing.F) {
	f := newFuzzed(fz)
	for i, m := range f.methods {
		fz.Add(uint(i), uint64(1), newGenerator(uint64(i)).request(m.Input()))
		fz.Add(uint(i), uint64(2), []byte(nil))
	}
	fz.Fuzz(func(t *testing.T, method uint, seed uint64, raw []byte) {
		m := f.methods[method%uint(len(f.methods))]
		if len(raw) > 0 {
			f.call(t, m, raw)
			return
		}
		f.call(t, m, newGenerator(seed).requests(m)...)
	})
}
