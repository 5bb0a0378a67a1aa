package suite

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
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

func TestASpecialistGetsItsOwnModel(t *testing.T) {
	price := &agentloop.Price{Currency: "USD"}
	common, own := scripted.New(), scripted.New()
	cfg := Config{Model: &model.Traced{Model: common}, Models: map[string]*model.Traced{Search: {Model: own, Price: price}}}
	for _, role := range Specialists() {
		deps := cfg.deps(role)
		if (deps.Model == own) != (role == Search) || (deps.Price == price) != (role == Search) || role != Search && deps.Model != common {
			t.Errorf("%s has model %p at %v", role, deps.Model, deps.Price)
		}
	}
	cfg.Models[Router], cfg.Scopes = cfg.Model, &scope.Verifier{}
	if _, err := New(Router, cfg); err == nil || !strings.Contains(err.Error(), `Models has "router"`) {
		t.Errorf("error %v", err)
	}
}
