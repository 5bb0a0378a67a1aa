package search

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// commands counts what Redis is asked.
type commands struct{ n atomic.Int64 }

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAnAssignmentSeesWhatWasWrittenBeforeItBegan(t *testing.T) {
	rdb := servicetest.Redis(t)
	asked := new(commands)
	rdb.AddHook(asked)
	service := backing{}.service(t, Config{Deps: specialist.Deps{Redis: rdb, Model: scripted.New()}})
	elsewhere := newCatalog(store{rdb: rdb}, newBleveIndex)
	t.Cleanup(func() { _ = elsewhere.close() })

	begin := func() func(want ...string) {
		tool := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}})[0]
		return func(want ...string) {
			t.Helper()
			value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"lamp"}`})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range value.(searchResult).Products {
				got = append(got, p.ProductID)
			}
			slices.Sort(got)
			expect(t, "lamps", got, want...)
		}
	}
	begin()()
	put(t, elsewhere, "s1", thing("P-1", "green lamp"))
	first := begin()
	first("P-1")
	put(t, elsewhere, "s1", thing("P-2", "red lamp"))
	before := asked.n.Load()
	first("P-1") // it has asked, and does not ask again
	if n := asked.n.Load() - before; n != 0 {
		t.Errorf("%d commands for the second look of an assignment", n)
	}
	second := begin()
	second("P-1", "P-2")
	first("P-1", "P-2") // what another has read is there for all
}
