package suite

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

func TestMain(m *testing.M) {
	// The search library starts four workers with the process, for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// finisher is a service that goes on after its calls.
type finisher struct{ left time.Duration }

func (f *finisher) Register(grpc.ServiceRegistrar) {}

func (f *finisher) Close(ctx context.Context) {
	if ctx.Err() == nil {
		due, _ := ctx.Deadline()
		f.left = time.Until(due)
	}
}

func TestServeLetsAServiceFinishItsBackgroundWork(t *testing.T) {
	f := &finisher{}
	inst := &Instance{role: "test", service: f, server: rpc.NewServer(rpc.ServerConfig{Name: "test"}), dialer: &dialer{}}
	lis, err := rpc.NewNetwork().Listen("test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := inst.Serve(ctx, lis); err != nil {
		t.Fatal(err)
	}
	if f.left <= closeTimeout/2 || f.left > closeTimeout {
		t.Errorf("it was given %v, want %v", f.left, closeTimeout)
	}
}
