package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
)

var began = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func at(ms int) *timestamppb.Timestamp {
	return timestamppb.New(began.Add(time.Duration(ms) * time.Millisecond))
}

func lasting(ms int) *durationpb.Duration {
	return durationpb.New(time.Duration(ms) * time.Millisecond)
}

// turn is a turn of 400 ms, of which one part failed.
func turn() *gatewayv1.Turn {
	usage := &commonv1.Usage{InputTokens: 100, OutputTokens: 10, ModelCalls: 2}
	return &gatewayv1.Turn{
		Message: "A lamp? <script>alert(1)</script>",
		Reply: &gatewayv1.AskResponse{
			TurnId: "turn_1", ThreadId: "thr_1", Text: "The Dune Lamp costs 49 EUR.", Confidence: 0.5, CreateTime: at(0), Duration: lasting(400),
			Usage: usage, Cost: &commonv1.Cost{AmountMicros: 1500, CurrencyCode: "USD"}, MergeMethod: gatewayv1.MergeMethod_MERGE_METHOD_JOINED,
			Routing: &routerv1.RoutingDecision{
				Source: routerv1.DecisionSource_DECISION_SOURCE_RULES, Certainty: 0.97, Duration: lasting(100),
				Assignments: []*routerv1.Assignment{{Specialist: "search", SubQuery: "A lamp?", Confidence: 0.97}},
			},
			Results: []*gatewayv1.AssignmentResult{
				{
					Assignment: &routerv1.Assignment{Specialist: "search", SubQuery: "A lamp?"}, StartTime: at(100), Duration: lasting(200),
					Outcome: &gatewayv1.AssignmentResult_Answer{Answer: &specialistv1.Answer{
						Text: "The Dune Lamp costs 49 EUR.", Model: "m", Usage: usage, Confidence: 0.5,
						DroppedClaims: []*specialistv1.Claim{{
							Text: "It is waterproof.", Verdict: specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED,
							Sources: []*specialistv1.ClaimSource{{Rule: "judge", Value: "no result says so"}},
						}},
						ToolCalls: []*specialistv1.ToolCall{
							{ToolName: "search_catalog", ArgumentsJson: `{"query":"lamp"}`, ResultPreview: `{"total":1}`, StartTime: at(-5), Duration: lasting(50), Summary: "1 product"},
						},
					}},
				},
				{
					Assignment: &routerv1.Assignment{Specialist: "support"}, // of an earlier attempt, without times
					Outcome:    &gatewayv1.AssignmentResult_Failure{Failure: &gatewayv1.Failure{Code: "UNAVAILABLE", Message: "is away"}},
				},
			},
			Merge: &gatewayv1.Merge{
				StartTime: at(300), Duration: lasting(100),
				DroppedClaims: []*specialistv1.Claim{{Text: "59 EUR", Verdict: specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED}},
			},
			Claims: []*specialistv1.Claim{{
				Text: "49 EUR", Subject: "LAMP-8", Verdict: specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED,
				Sources: []*specialistv1.ClaimSource{{ToolCallId: "call_1", Pointer: "/products/0/price", Value: "48 EUR"}},
			}},
		},
		Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_NOT_HELPFUL, Reason: "wrong price"},
	}
}

func TestText(t *testing.T) {
	const want = `turn_1 · 2026-11-23 09:00:00 UTC · 400 ms · 2 calls, 100 tokens in, 10 out · cost 0.0015 USD · confidence 0.50 · thread thr_1 · trace none · feedback: not helpful, wrong price

> A lamp? <script>alert(1)</script>

route                   │━━━━━━━━                        │   100 ms  rules · certainty 0.97
search                  │        ━━━━━━━━━━━━━━━━        │   200 ms  m · 2 calls, 100 tokens in, 10 out · confidence 0.50
  search_catalog        │━━━━                            │    50 ms  1 product
support                 │                                │           FAILED UNAVAILABLE is away
merge                   │                        ━━━━━━━━│   100 ms  joined

The Dune Lamp costs 49 EUR.

Claims
unsupported   49 EUR (LAMP-8)  from call_1 /products/0/price = 48 EUR
dropped, unsupported It is waterproof.  from judge = no result says so
dropped, unsupported 59 EUR
`
	var b bytes.Buffer
	if err := Text(&b, turn()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, turn(), nil); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"A lamp? &lt;script&gt;", `<details class="depth1">`, "margin-left:25.00%;width:50.00%", `<tr class="bad"><td>unsupported`,
		`class="depth0 failed"`, "call_1 /products/0/price = 48 EUR",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	for _, not := range []string{"<script", "http://", "https://", "src=", "ZgotmplZ"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %s", not)
		}
	}
}

// What a recording has beside the reply opens under the step that it is of.
func TestHTMLOfARecordedTurn(t *testing.T) {
	inside := &bundle.Inside{
		Calls: []bundle.AgentCall{
			{Agent: "router", Prompt: "── user\nA lamp? <b>", Answer: "to search"}, {Agent: "search", Prompt: "Find things. A lamp?", Answer: "→ search_catalog"},
			{Agent: "search", Prompt: "Of another part.", Answer: "other"}, {Agent: "merge", Prompt: "Join them.", Answer: "Joined."},
		},
		Tools: []bundle.ToolResult{
			{Specialist: "search", Name: "search_catalog", Arguments: `{"query":"sofa"}`, Result: `{"total":7}`},
			{Specialist: "search", Name: "search_catalog", Arguments: `{"query":"lamp"}`, Result: `{"total":1,"products":["the last one"]}`},
		},
	}
	var b bytes.Buffer
	if err := HTML(&b, turn(), inside); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A lamp? &lt;b&gt;", "to search", "Find things.", "→ search_catalog", "the last one", "Join them.", "Joined.", "<dt>result</dt>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %s:\n%s", want, b.String())
		}
	}
	for _, not := range []string{"Of another part.", "its start", "&#34;total&#34;: 7"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("the page has %s", not)
		}
	}
}

// A turn that lacks everything is shown, too.
func TestAnEmptyTurn(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, &gatewayv1.Turn{}); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&b, &gatewayv1.Turn{}, nil); err != nil {
		t.Fatal(err)
	}
}
