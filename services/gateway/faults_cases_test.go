package gateway

import (
	"context"
	"errors"
	"iter"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// faultRows is the matrix: its trouble here, what becomes of the messages in faultOutcomes.
func faultRows() []faultRow {
	rows := routerRows()
	for _, name := range specialistNames {
		rows = append(rows, specialistRows(name)...)
	}
	return append(append(rows, mergeRows()...), redisRows()...)
}

func routerRows() []faultRow {
	type fault = func(*routerv1.RouteRequest, routeStream) error
	row := func(name string, f fault) faultRow {
		return faultRow{part: "router", fault: name, begin: func(h *fixture) func() {
			h.router.route = f
			return func() { h.router.route = nil }
		}}
	}
	final := func(req *routerv1.RouteRequest, s routeStream) error {
		return s.Send(&routerv1.RouteResponse{Decision: split(req.GetMessage())})
	}
	return []faultRow{
		{part: "router", fault: "down", begin: stopped("router")},
		row("hangs", func(_ *routerv1.RouteRequest, s routeStream) error { return wait(s.Context(), time.Hour) }),
		row("slow", func(req *routerv1.RouteRequest, s routeStream) error {
			return errors.Join(wait(s.Context(), slowness), final(req, s))
		}),
		row("429", func(*routerv1.RouteRequest, routeStream) error { return tooMany() }),
		row("500", func(*routerv1.RouteRequest, routeStream) error { return errBroken }),
		row("garbage", func(req *routerv1.RouteRequest, s routeStream) error {
			d := split(req.GetMessage())
			for _, a := range d.GetAssignments() {
				a.AssignmentId, a.Specialist = "same", "nobody"
			}
			return s.Send(&routerv1.RouteResponse{Decision: d})
		}),
		row("dies midway", func(req *routerv1.RouteRequest, s routeStream) error {
			d := split(req.GetMessage())
			d.Stage = routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL
			return errors.Join(s.Send(&routerv1.RouteResponse{Decision: d}), status.Error(codes.Unavailable, "gone"))
		}),
	}
}

func specialistRows(name string) []faultRow {
	type fault = func(*fakeSpecialist, *specialistv1.AnswerRequest, answerStream) error
	row := func(kind string, f fault) faultRow {
		return faultRow{part: name, fault: kind, begin: func(h *fixture) func() {
			s := h.specialists[name]
			s.answer = func(req *specialistv1.AnswerRequest, stream answerStream) error { return f(s, req, stream) }
			return func() { s.answer = s.priced }
		}}
	}
	return []faultRow{
		{part: name, fault: "down", begin: stopped(name)},
		row("hangs", func(_ *fakeSpecialist, _ *specialistv1.AnswerRequest, s answerStream) error {
			return wait(s.Context(), time.Hour)
		}),
		row("slow", func(f *fakeSpecialist, req *specialistv1.AnswerRequest, s answerStream) error {
			return errors.Join(wait(s.Context(), slowness), f.priced(req, s))
		}),
		row("429", func(*fakeSpecialist, *specialistv1.AnswerRequest, answerStream) error { return tooMany() }),
		row("500", func(*fakeSpecialist, *specialistv1.AnswerRequest, answerStream) error { return errBroken }),
		row("garbage", func(_ *fakeSpecialist, _ *specialistv1.AnswerRequest, s answerStream) error {
			return sayAnswer(s, &specialistv1.Answer{Text: " \n", Confidence: 7})
		}),
		row("dies midway", func(_ *fakeSpecialist, req *specialistv1.AnswerRequest, s answerStream) error {
			return errors.Join(s.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_UsageUpdate{
				UsageUpdate: &specialistv1.UsageUpdate{Usage: &commonv1.Usage{InputTokens: 8, OutputTokens: 1, ModelCalls: 1}}}}),
				s.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
					TextDelta: &specialistv1.TextDelta{Text: "About " + req.GetSubQuery() + ": it is "}}}),
				status.Error(codes.Unavailable, "gone"))
		}),
	}
}

func mergeRows() []faultRow {
	row := func(kind string, f mergeFault) faultRow {
		return faultRow{part: "merge model", fault: kind, begin: func(h *fixture) func() {
			m := h.config.Model.(*sectionsModel)
			m.fault = f
			return func() { m.fault = nil }
		}}
	}
	fail := func(err error) mergeFault {
		return func(_ context.Context, _ string, yield func(agentloop.Chunk, error) bool) {
			yield(agentloop.Chunk{}, err)
		}
	}
	return []faultRow{
		row("down", fail(errBroken)),
		row("hangs", func(ctx context.Context, _ string, yield func(agentloop.Chunk, error) bool) {
			yield(agentloop.Chunk{}, wait(ctx, time.Hour))
		}),
		row("slow", func(ctx context.Context, text string, yield func(agentloop.Chunk, error) bool) {
			if wait(ctx, slowness) == nil {
				yieldText(text, yield)
			}
		}),
		row("429", fail(tooMany())),
		row("500", fail(status.Error(codes.Internal, "500"))),
		row("garbage", func(_ context.Context, _ string, yield func(agentloop.Chunk, error) bool) {
			yieldText("That is 4711 in all. Nothing else was said.", yield)
		}),
		row("dies midway", func(_ context.Context, text string, yield func(agentloop.Chunk, error) bool) {
			if yield(agentloop.Chunk{Text: text[:strings.Index(text, ".")+2]}, nil) {
				yield(agentloop.Chunk{}, errBroken)
			}
		}),
	}
}

func redisRows() []faultRow {
	row := func(kind string, f func(ctx context.Context, n int) error) faultRow {
		return faultRow{part: "Redis", fault: kind, begin: func(h *fixture) func() {
			h.redisFault.set(f)
			return func() {
				h.redisFault.set(nil)
				h.redis.SetTime(time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)) // leases that could not be given up run out
			}
		}}
	}
	always := func(err error) func(context.Context, int) error {
		return func(context.Context, int) error { return err }
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	return []faultRow{
		row("down", always(refused)),
		row("hangs", func(ctx context.Context, _ int) error { return wait(ctx, time.Hour) }),
		row("slow", func(ctx context.Context, _ int) error { return wait(ctx, slowRoundTrip) }),
		row("429", always(errors.New("ERR max number of clients reached"))),
		row("500", always(errors.New("OOM command not allowed when used memory > 'maxmemory'."))),
		row("garbage", always(errors.New("redis: can't parse reply"))),
		row("dies midway", func(_ context.Context, n int) error {
			if n < redisDiesAfter {
				return nil
			}
			return refused
		}),
	}
}

// slowRoundTrip is what "slow" adds to a round trip to Redis. Writes of answers that come at the same time share round trips, or not:
// 6 to 9 of them are 2 s to the second.
const slowRoundTrip = 250 * time.Millisecond

// redisDiesAfter is how many round trips Redis takes part in before it dies midway: enough for a message to be admitted.
const redisDiesAfter = 6

var errBroken = errors.New("broken")

// tooMany is what a peer says that is asked too often.
func tooMany() error {
	st, err := status.New(codes.ResourceExhausted, "too much").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	if err != nil {
		return err
	}
	return st.Err()
}

// wait lasts d, or as long as the caller's patience; it then returns the caller's reason.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// stopped stops a server, and serves again at the end.
func stopped(name string) func(h *fixture) func() {
	return func(h *fixture) func() {
		h.stops[name]()
		return func() {
			if name == "router" {
				h.serveRouter()
			} else {
				h.serveSpecialist(name)
			}
			time.Sleep(5 * time.Minute) // in the bubble: until connections are tried again
		}
	}
}

// mergeFault is how a merge model misbehaves that should say text.
type mergeFault = func(ctx context.Context, text string, yield func(agentloop.Chunk, error) bool)

// sectionsModel merges by saying all sections one after the other, for 20 tokens.
type sectionsModel struct{ fault mergeFault }

func (m *sectionsModel) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		var texts []string
		for _, section := range strings.Split(req.Messages[len(req.Messages)-1].Text, "\n## Section ")[1:] {
			_, body, _ := strings.Cut(section, "\n")
			body, _, _ = strings.Cut(body, "\n\n")
			texts = append(texts, strings.TrimSpace(body))
		}
		if text := strings.Join(texts, " "); m.fault != nil {
			m.fault(ctx, text, yield)
		} else {
			yieldText(text, yield)
		}
	}
}

// yieldText yields a whole answer in two pieces.
func yieldText(text string, yield func(agentloop.Chunk, error) bool) {
	_ = yield(agentloop.Chunk{Text: text[:len(text)/2]}, nil) &&
		yield(agentloop.Chunk{Text: text[len(text)/2:], FinishReason: agentloop.FinishStop,
			Usage: &agentloop.Usage{InputTokens: 15, OutputTokens: 5, ModelCalls: 1}}, nil)
}

// redisFault is a go-redis hook that decides on each round trip: an error is what the gateway gets instead of an answer.
type redisFault struct {
	mu      sync.Mutex
	process func(ctx context.Context, n int) error
	n       int // round trips since process was set
}

func (f *redisFault) set(process func(ctx context.Context, n int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process, f.n = process, 0
}

func (f *redisFault) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *redisFault) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.trip(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (f *redisFault) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := f.trip(ctx); err != nil {
			for _, c := range cmds {
				c.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

func (f *redisFault) trip(ctx context.Context) error {
	f.mu.Lock()
	f.n++
	process, n := f.process, f.n
	f.mu.Unlock()
	if process == nil {
		return nil
	}
	return process(ctx, n)
}
