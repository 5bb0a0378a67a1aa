package gateway

import (
	"errors"
	"slices"
	"strings"
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

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
)

// passesOn makes a fake specialist pass assignments on, for 15 tokens and one tool call. The text should not be there.
func (f *fakeSpecialist) passesOn(to, text string) {
	f.answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		call := &specialistv1.ToolCall{ToolCallId: "n1", ToolName: "not_mine"}
		for _, ev := range []*specialistv1.AnswerResponse{
			{Event: &specialistv1.AnswerResponse_UsageUpdate{UsageUpdate: &specialistv1.UsageUpdate{Usage: usageOf(15)}}},
			{Event: &specialistv1.AnswerResponse_ToolCallFinished{ToolCallFinished: &specialistv1.ToolCallFinished{ToolCall: call}}},
		} {
			if err := stream.Send(ev); err != nil {
				return err
			}
		}
		return sayAnswer(stream, &specialistv1.Answer{
			Text: text, Confidence: 0.7, Usage: usageOf(15), NotMine: &specialistv1.NotMine{Specialist: to}, ToolCalls: []*specialistv1.ToolCall{call},
		})
	}
}

// replies makes a fake specialist answer for 100 tokens and one tool call.
func (f *fakeSpecialist) replies() {
	f.answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{
			Specialist: f.name, Text: f.name + " says " + req.GetSubQuery() + ".", Confidence: 0.9, Usage: usageOf(100),
			ToolCalls: []*specialistv1.ToolCall{{ToolCallId: "l1", ToolName: "look"}},
		})
	}
}

func TestAnAssignmentIsPassedOnOnce(t *testing.T) {
	for _, c := range []struct {
		name, message, to, text string
		asked                   string // the specialist that is asked next; empty: the text stands
		want                    string
	}{
		{"to the one that is named", "search: my order", "promotions", "", "promotions", "promotions says my order."},
		{"to nobody: the catch-all", "search: my order", "", "", "support", "support says my order."},
		{"to nobody that is known", "search: my order", "toys", "", "support", "support says my order."},
		{"to itself", "search: my order", "search", "", "support", "support says my order."},
		{"by the catch-all to nobody: the first", "support: a tent", "", "", "search", "search says a tent."},
		{"beside another part", "search: my order | recommend: a gift", "support", "", "support",
			"support says my order.\n\nrecommend says a gift."},
		{"with a text, which stands", "search: my order", "support", "I look for products. Hm.", "", "I look for products. Hm."},
	} {
		for _, mode := range []fanout.RunAhead{fanout.RunAheadAlways, fanout.RunAheadOff} {
			t.Run(c.name+", run-ahead "+string(mode), func(t *testing.T) {
				h := newFixture(t, miniredis.RunT(t))
				h.config.RunAhead = mode
				h.start()
				h.router.route = func(_ *routerv1.RouteRequest, stream routeStream) error {
					if err := stream.Send(&routerv1.RouteResponse{Decision: guess(c.message)}); err != nil {
						return err
					}
					return stream.Send(&routerv1.RouteResponse{Decision: split(c.message)})
				}
				for _, s := range h.specialists {
					s.replies()
				}
				first, _, _ := strings.Cut(c.message, ":")
				h.specialists[first].passesOn(c.to, c.text)
				events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: c.message})
				if err != nil {
					t.Fatal(err)
				}
				text, reply := textOf(events)
				if reply.GetText() != c.want || text != c.want {
					t.Errorf("text %q, deltas %q, want %q", reply.GetText(), text, c.want)
				}
				result, asked, by, tools, tokens := reply.GetResults()[0], c.asked, first, []string{"not_mine", "look"}, int64(115)
				if asked == "" {
					asked, by, tools, tokens = first, "", []string{"not_mine"}, 15
				}
				var called []string
				for _, call := range result.GetAnswer().GetToolCalls() {
					called = append(called, call.GetToolName())
				}
				if result.GetPassedOnBy() != by || result.GetAssignment().GetSpecialist() != asked || !slices.Equal(called, tools) ||
					result.GetAnswer().GetUsage().GetInputTokens() != tokens || result.GetAnswer().GetNotMine() != nil {
					t.Errorf("result %v", result)
				}
				if routed := reply.GetRouting().GetAssignments()[0].GetSpecialist(); routed != first {
					t.Errorf("routed to %s", routed)
				}
				if by != "" {
					requests, _ := h.specialists[asked].calls()
					if r := requests[0]; r.GetColleagues() != nil || r.GetAssignmentId() != "a1" || !strings.HasSuffix(strings.Split(c.message, " | ")[0], r.GetSubQuery()) {
						t.Errorf("asked next: %v", r)
					}
				}
				for _, ev := range events {
					if call := ev.GetToolCallFinished(); call.GetToolCall().GetToolName() == "not_mine" && call.GetSpecialist() != first {
						t.Errorf("the call of %s is said to be of %s", first, call.GetSpecialist())
					}
					if done := ev.GetAgentFinished().GetResult(); done.GetAssignment().GetAssignmentId() == "a1" {
						if diff := cmp.Diff(result, done, protocmp.Transform()); diff != "" {
							t.Errorf("finished (-reply +event):\n%s", diff)
						}
					}
				}
			})
		}
	}
}

func TestASpecialistThatIsAskedNextMayFail(t *testing.T) {
	h := open(t, nil)
	h.specialists["search"].passesOn("support", "")
	for name, answer := range map[string]func(*specialistv1.AnswerRequest, answerStream) error{
		"it fails": func(*specialistv1.AnswerRequest, answerStream) error { return errors.New("no") },
		"it passes on again": func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return sayAnswer(stream, &specialistv1.Answer{NotMine: &specialistv1.NotMine{Specialist: "search"}})
		},
	} {
		h.specialists["support"].answer = answer
		reply := h.ask("search: my order | recommend: a gift")
		result := reply.GetResults()[0]
		if result.GetFailure() == nil || result.GetPassedOnBy() != "search" || result.GetAssignment().GetSpecialist() != "support" {
			t.Errorf("%s: result %v", name, result)
		}
		if reply.GetUsage().GetInputTokens() != 15 || !strings.HasPrefix(reply.GetHandoff().GetReason(), "support could not answer") {
			t.Errorf("%s: usage %v, handoff %v", name, reply.GetUsage(), reply.GetHandoff())
		}
	}
	_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: my order"})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("nothing was answered: %v", err)
	}
}

func TestAStandInPassesNothingOn(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	h.specialists["search"].passesOn("support", "search answers after all.")
	h.router.route = func(_ *routerv1.RouteRequest, stream routeStream) error {
		d := split("search: my order")
		d.Assignments[0].RemappedFrom = "toys"
		return stream.Send(&routerv1.RouteResponse{Decision: d})
	}
	reply := h.ask("my order")
	if r := reply.GetResults()[0]; reply.GetText() != "search answers after all." || r.GetPassedOnBy() != "" || r.GetAnswer().GetNotMine() != nil {
		t.Errorf("reply %v", reply)
	}
	if requests, _ := h.specialists["search"].calls(); requests[0].GetColleagues() != nil {
		t.Errorf("colleagues %v", requests[0].GetColleagues())
	}
}

func TestWhoIsAskedNextHasTheRestOfTheShare(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Budget = &commonv1.Budget{MaxTokens: 1000}
	h.start()
	h.specialists["search"].passesOn("support", "")
	h.ask("search: my order")
	first, _ := h.specialists["search"].calls()
	next, _ := h.specialists["support"].calls()
	if share, rest := first[0].GetBudget().GetMaxTokens(), next[0].GetBudget().GetMaxTokens(); rest != share-15 {
		t.Errorf("a share of %d, and %d after 15 tokens", share, rest)
	}
}

// A turn that is resumed knows from the journal who answered, and who passed the assignment on.
func TestAnAnswerThatWasPassedOnIsResumed(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	h.specialists["search"].passesOn("promotions", "")
	h.specialists["promotions"].replies()
	first := h.crashingGateway("first", func(cmd redis.Cmder) bool {
		for isRecord(cmd) {
			if fields, _ := h.redis.HKeys(h.key("request:r1")); slices.Contains(fields, "answer:a1") {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	})
	req := named("r1", "search: a code")
	_, _ = first.client.Ask(first.ctx, req) // nobody is there to get the reply
	h.leasesRunOut()
	reply, err := h.client.Ask(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	calls, _ := h.specialists["promotions"].calls()
	if r := reply.GetResults()[0]; r.GetPassedOnBy() != "search" || r.GetAssignment().GetSpecialist() != "promotions" || len(calls) != 1 ||
		r.GetAnswer().GetUsage().GetInputTokens() != 115 {
		t.Errorf("asked %d times; result %v", len(calls), r)
	}
}
