package rpc

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	describeMethod = specialistv1.SpecialistService_Describe_FullMethodName
	answerMethod   = specialistv1.SpecialistService_Answer_FullMethodName
)

// fake is a service of two functions; a nil one answers OK.
type fake struct {
	specialistv1.UnimplementedSpecialistServiceServer
	describe func(context.Context) error
	answer   func(grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error
}

func (f *fake) Describe(ctx context.Context, _ *specialistv1.DescribeRequest) (*specialistv1.DescribeResponse, error) {
	if f.describe != nil {
		if err := f.describe(ctx); err != nil {
			return nil, err
		}
	}
	return &specialistv1.DescribeResponse{Specialist: &specialistv1.Specialist{Name: "fake"}}, nil
}

func (f *fake) Answer(_ *specialistv1.AnswerRequest, stream grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error {
	if f.answer != nil {
		return f.answer(stream)
	}
	return nil
}

// fixture is a server on a network of its own. Its fields are set before start.
type fixture struct {
	network *Network
	server  ServerConfig
	dial    DialConfig
}

func newFixture() *fixture {
	return &fixture{network: NewNetwork(), server: ServerConfig{Name: "fake", Scopes: scopetest.Verifier()}}
}

// start serves svc under the name "fake". The returned function stops the server and returns what Serve returned;
// it may be called more than once.
func (h *fixture) start(t testing.TB, svc *fake) (stop func() error) {
	t.Helper()
	lis, err := h.network.Listen("fake")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(h.server)
	specialistv1.RegisterSpecialistServiceServer(s, svc)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, lis) }()
	stop = func() error {
		cancel()
		err := <-served
		served <- err
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return stop
}

func (h *fixture) conn(t testing.TB) *grpc.ClientConn {
	t.Helper()
	h.dial.Network = h.network
	conn, err := Dial("inproc:///fake", h.dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// signed returns ctx with a scope for the fixture's server, unless ctx has one.
func signed(ctx context.Context) context.Context {
	if scope.Token(ctx) != "" || metadataHas(ctx, HeaderScope) {
		return ctx
	}
	token, err := scopetest.Signer().Sign(scope.Scope{StoreID: "demo", Audience: "fake", Expiry: time.Now().Add(time.Hour)})
	if err != nil {
		panic(err)
	}
	return metadata.AppendToOutgoingContext(ctx, HeaderScope, token) // also for connections that Dial has not made
}

func metadataHas(ctx context.Context, header string) bool {
	md, _ := metadata.FromOutgoingContext(ctx)
	return len(md.Get(header)) > 0
}

// describe makes one unary call.
func describe(ctx context.Context, conn *grpc.ClientConn) error {
	ctx = signed(ctx)
	_, err := specialistv1.NewSpecialistServiceClient(conn).Describe(ctx, &specialistv1.DescribeRequest{})
	return err
}

// answer makes one streaming call and waits for its end.
func answer(ctx context.Context, conn *grpc.ClientConn) error {
	ctx = signed(ctx)
	stream, err := specialistv1.NewSpecialistServiceClient(conn).Answer(ctx, &specialistv1.AnswerRequest{})
	for err == nil {
		_, err = stream.Recv()
	}
	return err
}

// recorder keeps log records.
type recorder struct{ records chan slog.Record }

func newRecorder() recorder { return recorder{make(chan slog.Record, 64)} }

func (recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r recorder) Handle(_ context.Context, rec slog.Record) error {
	r.records <- rec
	return nil
}
func (r recorder) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r recorder) WithGroup(string) slog.Handler      { return r }

// drain returns the records so far by message.
func (r recorder) drain() map[string][]slog.Record {
	out := map[string][]slog.Record{}
	for {
		select {
		case rec := <-r.records:
			out[rec.Message] = append(out[rec.Message], rec)
		default:
			return out
		}
	}
}

func attrs(rec slog.Record) map[string]string {
	out := map[string]string{}
	rec.Attrs(func(a slog.Attr) bool {
		out[a.Key] = a.Value.String()
		return true
	})
	return out
}
