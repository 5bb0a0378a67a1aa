package gateway

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/gateway/threads"
)

// crashing is a gateway that dies as by kill -9: from then on no command of its reaches Redis, and its calls end.
type crashing struct {
	client gatewayv1.GatewayServiceClient
	ctx    context.Context // of the calls to it
	kill   func()

	dead     atomic.Bool
	commands atomic.Int64 // that it has given
	last     int64        // it dies at this command; 0: at none
	late     bool         // it dies when the command has been carried out
	dies     func(redis.Cmder) bool
}

// crashingGateway serves one more gateway in the fixture. It dies at kill, or at the command that dies names, if not nil.
func (h *fixture) crashingGateway(name string, dies func(redis.Cmder) bool) *crashing {
	m := &crashing{dies: dies}
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithCancel(h.t.Context())
	m.kill = func() { m.dead.Store(true); cancel() }
	h.t.Cleanup(cancel)
	client := h.redisClient()
	client.AddHook(m)
	h.serveGateway(name, client).cfg.RecordTimeout = time.Second / 2 // a dead gateway tries in vain
	m.client = gatewayv1.NewGatewayServiceClient(h.dial(name))
	return m
}

func (m *crashing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *crashing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.process(func() error { return next(ctx, cmd) }, cmd)
	}
}

func (m *crashing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return m.process(func() error { return next(ctx, cmds) }, cmds...)
	}
}

func (m *crashing) process(next func() error, cmds ...redis.Cmder) error {
	if m.dead.Load() {
		return net.ErrClosed
	}
	if cmds[0].Name() == "hello" || m.commands.Add(1) != m.last && (m.dies == nil || !m.dies(cmds[0])) {
		return next()
	}
	if m.late {
		_ = next()
	}
	m.kill()
	for _, cmd := range cmds {
		cmd.SetErr(net.ErrClosed)
	}
	return net.ErrClosed
}

// isRecord reports whether a command records a turn: only that script has the key of a turn.
func isRecord(cmd redis.Cmder) bool {
	return cmd.Name() == "evalsha" && slices.ContainsFunc(cmd.Args(), func(arg any) bool {
		key, _ := arg.(string)
		return strings.Contains(key, "}:turn:")
	})
}

// leasesRunOut lets the time of the Redis server pass until every lock is lost.
func (h *fixture) leasesRunOut() {
	h.ahead += DefaultLease + time.Second
	h.redis.SetTime(time.Now().Add(h.ahead))
}

// priced says something that cost a model call.
func priced(stream answerStream, text string) error {
	return sayAnswer(stream, &specialistv1.Answer{Text: text, Confidence: 0.9, Usage: &commonv1.Usage{InputTokens: 10, OutputTokens: 1, ModelCalls: 1}})
}

// A gateway dies at some stage of a turn of two specialists and a merge, and the request is made again of another one.
func TestATurnIsResumedWhereItsGatewayDied(t *testing.T) {
	tests := []struct {
		name            string
		search, support int  // how often each shall have been asked in all
		router          int  // likewise
		late            bool // dies after recording
	}{
		{"in the router", 1, 1, 2, false},
		{"in both specialists", 2, 2, 1, false},
		{"in one specialist", 1, 2, 1, false},
		{"in the merge", 1, 1, 1, false},
		{"at recording", 1, 1, 1, false},
		{"after recording", 1, 1, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			var first *crashing
			journaled := func(fields ...string) {
				eventually(t, func() bool {
					keys, _ := h.redis.HKeys(h.key("request:r1"))
					return !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(keys, f) })
				})
			}
			var died atomic.Bool
			die := func(at string, fields ...string) bool {
				now := tt.name == at && died.CompareAndSwap(false, true)
				if now {
					journaled(fields...)
					first.kill()
				}
				return now
			}
			h.router.route = func(req *routerv1.RouteRequest, stream routeStream) error {
				if die("in the router", "hash") {
					<-stream.Context().Done()
				}
				return stream.Send(&routerv1.RouteResponse{Decision: split(req.GetMessage())})
			}
			var begun sync.WaitGroup
			begun.Add(2)
			h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
				if tt.name == "in both specialists" && !died.Load() {
					begun.Done()
					<-stream.Context().Done()
					return stream.Context().Err()
				}
				return priced(stream, "Search says shoes.")
			}
			h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
				if tt.name == "in both specialists" && !died.Load() {
					begun.Done()
					begun.Wait()
				}
				if die("in both specialists", "decision") || die("in one specialist", "decision", "answer:a1") {
					<-stream.Context().Done()
				}
				return priced(stream, "Support says returns.")
			}
			h.config.Model = scripted.Func(func(*agentloop.Request) scripted.Step {
				die("in the merge", "decision", "answer:a1", "answer:a2")
				return scripted.Step{Text: "Search says shoes. Support says returns.", Usage: &agentloop.Usage{InputTokens: 5, OutputTokens: 5}}
			})
			h.start()
			first = h.crashingGateway("first", func(cmd redis.Cmder) bool {
				if !isRecord(cmd) || tt.name != "at recording" && !tt.late {
					return false
				}
				journaled("decision", "answer:a1", "answer:a2")
				return true
			})
			first.late = tt.late
			req := named("r1", "search: shoes | support: returns")
			_, _ = first.client.Ask(first.ctx, req) // nobody is there to get the reply
			turn := h.redis.HGet(h.key("request:r1"), "turn")
			h.leasesRunOut()
			reply, err := h.client.Ask(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if reply.GetTurnId() != turn || reply.GetText() != "Search says shoes. Support says returns." {
				t.Errorf("turn %s: reply %v", turn, reply)
			}
			if u := reply.GetUsage(); u.GetModelCalls() != 3 || u.GetInputTokens() != 25 {
				t.Errorf("usage %v", u)
			}
			search, _ := h.specialists["search"].calls()
			support, _ := h.specialists["support"].calls()
			if len(h.router.requests) != tt.router || len(search) != tt.search || len(support) != tt.support {
				t.Errorf("the router was asked %d times, search %d, support %d; want %d, %d, %d",
					len(h.router.requests), len(search), len(support), tt.router, tt.search, tt.support)
			}
			h.wantOneTurn("t1", reply)
		})
	}
}

// wantOneTurn checks that a thread holds one turn, with its messages once.
func (h *fixture) wantOneTurn(thread string, reply *gatewayv1.AskResponse) {
	h.t.Helper()
	got, err := h.thread(thread)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(got.GetMessages()) != 2 || got.GetMessages()[1].GetText() != reply.GetText() || !slices.Equal(got.GetTurnIds(), []string{reply.GetTurnId()}) {
		h.t.Errorf("thread %v of reply %q", got, reply.GetText())
	}
	kept, err := h.client.GetTurn(h.t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()})
	if diff := cmp.Diff(reply, kept.GetTurn(), protocmp.Transform()); err != nil || diff != "" {
		h.t.Errorf("the turn that is kept: %v (-reply +kept):\n%s", err, diff)
	}
}

// A gateway dies at its n-th command to Redis, before or after it was carried out, for every n. Whatever was journaled by
// then is not done again, and the turn is there once.
func TestDeathAtAnyCommandLosesAndDoublesNothing(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	for _, name := range []string{"search", "support"} {
		h.specialists[name].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
			return priced(stream, name+" says "+req.GetSubQuery()+".")
		}
	}
	h.start()
	for i := range 4 {
		late, newThread := i%2 == 1, i >= 2
		for n, died := int64(1), true; died; n++ {
			id := fmt.Sprintf("r%d-%v-%v", n, late, newThread)
			req := named(id, "search: "+id+" | support: returns of "+id)
			if req.ThreadId = "thread-" + id; newThread {
				req.ThreadId = ""
			}
			first := h.crashingGateway("first-"+id, nil)
			first.last, first.late = n, late
			_, err := first.client.Ask(first.ctx, req)
			died = first.dead.Load()
			if !died && err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			before, _ := h.redis.HKeys(h.key("request:" + id))
			turn := h.redis.HGet(h.key("request:"+id), "turn")
			asked := h.askedFor(id)
			h.leasesRunOut()
			reply, err := h.client.Ask(t.Context(), req)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			if turn != "" && reply.GetTurnId() != turn {
				t.Errorf("%s: turn %s was resumed as %s", id, turn, reply.GetTurnId())
			}
			for name, field := range map[string]string{"search": "answer:a1", "support": "answer:a2"} {
				finished := slices.Contains(before, field) || slices.Contains(before, "done")
				if again := h.askedFor(id)[name] - asked[name]; finished && again != 0 {
					t.Errorf("%s: %s had answered and was asked again", id, name)
				}
			}
			if u := reply.GetUsage(); u.GetModelCalls() != 2 {
				t.Errorf("%s: usage %v", id, u)
			}
			h.wantOneTurn(reply.GetThreadId(), reply)
			listed, err := h.client.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ann", Limit: 100})
			isThread := func(th *gatewayv1.Thread) bool { return th.GetThreadId() == reply.GetThreadId() }
			if err != nil || !slices.ContainsFunc(listed.GetThreads(), isThread) {
				t.Errorf("%s: thread %s is not listed: %v", id, reply.GetThreadId(), err)
			}
		}
	}
}

// askedFor returns how often each specialist was asked for a request.
func (h *fixture) askedFor(id string) map[string]int {
	n := map[string]int{}
	for name, s := range h.specialists {
		calls, _ := s.calls()
		for _, call := range calls {
			if strings.HasSuffix(call.GetSubQuery(), id) {
				n[name]++
			}
		}
	}
	return n
}

func TestAGatewayThatWasPausedIsFenced(t *testing.T) {
	for _, id := range []string{"r1", ""} { // without an id the thread's line fences
		t.Run("id "+id, func(t *testing.T) {
			h := open(t, nil)
			g := h.gate("search")
			second := h.crashingGateway("second", nil) // does not die
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := h.client.Ask(t.Context(), named(id, "search: shoes"))
				wantStatus(t, err, codes.Aborted, "TURN_TAKEN_OVER")
			})
			<-g.entered
			h.specialists["search"].answer = nil
			h.leasesRunOut()
			reply, err := second.client.Ask(t.Context(), named(id, "search: shoes"))
			if err != nil {
				t.Fatal(err)
			}
			close(g.open)
			wg.Wait()
			h.wantOneTurn("t1", reply)
		})
	}
}

func TestATurnThatIsTakenOverIsStoppedAtOnce(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Lease = time.Second
	h.start()
	g := h.gate("search") // never opens
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
		wantStatus(t, err, codes.Aborted, "TURN_TAKEN_OVER")
	})
	<-g.entered
	h.redis.Del(h.key("request:r1:queue")) // as one does who finds the lease run out
	wg.Wait()
}

func TestALeaseRunsOutByItselfAndIsRenewedByTheLiving(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Lease = time.Second
	h.start()
	g := h.gate("search")
	first := h.crashingGateway("first", nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := first.client.Ask(first.ctx, named("r1", "search: shoes"))
		wantStatus(t, err, codes.Canceled, "")
	})
	<-g.entered
	ctx, cancel := context.WithTimeout(t.Context(), 2200*time.Millisecond) // more than two leases
	defer cancel()
	if _, err := h.client.Ask(ctx, named("r1", "search: shoes")); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("one who waits for a living gateway: %v", err)
	}
	first.kill()
	wg.Wait()
	close(g.open)
	reply, err := h.client.Ask(t.Context(), named("r1", "search: shoes"))
	if err != nil {
		t.Fatal(err)
	}
	h.wantOneTurn("t1", reply)
}

func TestATurnThatWasTakenOverGivesNoAnswerThoughRedisIsGone(t *testing.T) {
	h := open(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	turn := h.admit(ctx, named("r1", "search: shoes"))
	lost, lose := context.WithCancelCause(ctx)
	lose(threads.ErrTakenOver)
	h.redis.SetError("LOADING not now")
	for _, tt := range []struct {
		ctx  context.Context
		want error
	}{{ctx, nil}, {lost, threads.ErrTakenOver}} {
		if err := h.service.record(tt.ctx, turn, &gatewayv1.AskResponse{Text: "here"}); err != tt.want {
			t.Errorf("record: %v, want %v", err, tt.want)
		}
	}
}
