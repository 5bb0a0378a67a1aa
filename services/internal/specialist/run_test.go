package specialist_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// using gives a step a usage.
func using(s scripted.Step, input, output int64) scripted.Step {
	s.Usage = &agentloop.Usage{InputTokens: input, OutputTokens: output}
	return s
}

func TestWhatIsSpentIsToldUnlessTheAnswerDoes(t *testing.T) {
	refused := using(scripted.Step{ToolCalls: []agentloop.ToolCall{{ID: "c2", Name: "nothing"}}}, 50, 5) // no tool of that name runs
	for name, tt := range map[string]struct {
		steps []scripted.Step
		want  []*commonv1.Usage
	}{
		"a tool and an answer": {
			[]scripted.Step{using(look("lamp"), 100, 10), using(scripted.Step{Text: "The Dune Lamp."}, 150, 20)},
			[]*commonv1.Usage{{InputTokens: 100, OutputTokens: 10, ModelCalls: 1}},
		},
		"a refused call": {
			[]scripted.Step{using(look("lamp"), 100, 10), refused, using(scripted.Step{Text: "The Dune Lamp."}, 150, 20)},
			[]*commonv1.Usage{{InputTokens: 100, OutputTokens: 10, ModelCalls: 1}, {InputTokens: 150, OutputTokens: 15, ModelCalls: 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ask(t, serve(t, lamps, scripted.New(tt.steps...)), question)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.spent, protocmp.Transform()); diff != "" {
				t.Errorf("spent (-want +got):\n%s", diff)
			}
			if got := r.answer.GetUsage().GetModelCalls(); int(got) != len(tt.steps) {
				t.Errorf("the answer has %d model calls, want %d", got, len(tt.steps))
			}
		})
	}
}

// A tool that a deployment adds is offered beside the specialist's own, and what it returns is evidence.
func TestAFurtherToolIsEvidence(t *testing.T) {
	waiting := agentloop.NewTool("waiting_time", "How long a repair takes.", func(context.Context, struct{}) (map[string]int, error) {
		return map[string]int{"days": 17}, nil
	})
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{ID: "c1", Name: "waiting_time"}}},
		scripted.Step{Text: "A repair takes 17 days. It costs 35.00 EUR."},
	)
	r, err := ask(t, serveWith(t, lamps, specialist.Deps{Model: model, Tools: []agentloop.Tool{waiting}}), question)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.answer.GetText(); got != "A repair takes 17 days." {
		t.Errorf("the answer is %q; only the days have evidence", got)
	}
	if _, err := specialist.New(lamps, specialist.Deps{Model: model, Tools: []agentloop.Tool{{ToolSpec: agentloop.ToolSpec{Name: "look"}, Run: waiting.Run}}}); err == nil {
		t.Error("two tools have the same name, and nobody says so")
	}
}

// A caller that cuts an assignment off while its tools run knows what the model call before them took.
func TestWhatIsSpentIsToldBeforeTheToolsRun(t *testing.T) {
	def := lamps
	def.Tools = func(*specialist.Turn) []agentloop.Tool {
		return []agentloop.Tool{agentloop.NewTool("look", "Looks for ever.", func(ctx context.Context, _ lookArgs) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})}
	}
	client := serve(t, def, scripted.New(using(look("lamp"), 100, 10)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client.Answer(signed(t, ctx, shopper), question)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := stream.Recv()
	if err != nil || ev.GetUsageUpdate().GetUsage().GetInputTokens() != 100 {
		t.Errorf("the first event is %v, %v", ev, err)
	}
}

func TestABudgetEndsInAnAnswerFromWhatIsKnown(t *testing.T) {
	price := &agentloop.Price{InputMicros: 1_000_000, OutputMicros: 1_000_000, Currency: "USD"} // a micro for each token
	usd := func(micros int64) *commonv1.Cost { return &commonv1.Cost{AmountMicros: micros, CurrencyCode: "USD"} }
	first := using(look("lamp"), 3000, 100)
	answered := using(scripted.Step{Text: "The Dune Lamp."}, 3000, 100)
	const stop, budget = specialistv1.FinishReason_FINISH_REASON_STOP, specialistv1.FinishReason_FINISH_REASON_BUDGET
	tests := []struct {
		name   string
		budget *commonv1.Budget
		text   string
		finish specialistv1.FinishReason
	}{
		{"none", nil, "The Dune Lamp.", stop},
		{"enough of both", &commonv1.Budget{MaxTokens: 20_000, MaxCost: usd(20_000)}, "The Dune Lamp.", stop},
		{"tokens for one more call", &commonv1.Budget{MaxTokens: 6000}, "The Dune Lamp.", budget},
		{"money for one more call", &commonv1.Budget{MaxCost: usd(6000)}, "The Dune Lamp.", budget},
		{"tokens for no other call", &commonv1.Budget{MaxTokens: 3200}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp", budget},
		{"money for no other call", &commonv1.Budget{MaxCost: usd(3200)}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp", budget},
		{"money of another currency", &commonv1.Budget{MaxCost: &commonv1.Cost{AmountMicros: 1, CurrencyCode: "EUR"}}, "The Dune Lamp.", stop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := scripted.New(first, answered)
			req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", Budget: tt.budget}
			r, err := ask(t, serveWith(t, lamps, specialist.Deps{Model: model, Price: price}), req)
			if err != nil {
				t.Fatal(err)
			}
			if r.answer.GetText() != tt.text || r.text != tt.text || r.answer.GetFinishReason() != tt.finish {
				t.Errorf("%v: %q, deltas add up to %q", r.answer.GetFinishReason(), r.answer.GetText(), r.text)
			}
			if last := model.Requests()[len(model.Requests())-1]; last.NoToolCalls != (tt.finish == budget && model.Remaining() == 0) {
				t.Errorf("the last call may ask for tools: %v", !last.NoToolCalls)
			}
		})
	}
}

func TestABudgetThatPaysForNothingCallsNoModel(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "The Dune Lamp."})
	for name, b := range map[string]*commonv1.Budget{
		"of tokens": {MaxTokens: 100}, "of money": {MaxCost: &commonv1.Cost{CurrencyCode: "USD"}},
	} {
		client := serveWith(t, lamps, specialist.Deps{Model: model, Price: &agentloop.Price{InputMicros: 1, Currency: "USD"}})
		_, err := ask(t, client, &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", Budget: b})
		st := status.Convert(err)
		if st.Code() != codes.ResourceExhausted || rpc.Reason(st) != "BUDGET_EXHAUSTED" || len(st.Details()) != 1 || len(model.Requests()) > 0 {
			t.Errorf("%s: %v, details %v after %d calls; want the reason alone, for waiting does not help", name, err, st.Details(), len(model.Requests()))
		}
	}
}

func TestAtTheDeadlineWhatThereIsIsHandedOver(t *testing.T) {
	const limit = 20 * time.Second
	hangs := scripted.Step{Hang: true}
	half := scripted.Step{Text: "The Dune Lamp is ", Hang: true}
	midway := scripted.Step{Text: "The Dune Lamp is warm. It costs ", Hang: true}
	tests := []struct {
		name  string
		steps []scripted.Step
		text  string
		took  time.Duration // rounded up to a second
	}{
		{"a tool hangs: the reserve is for an answer", []scripted.Step{look("slowly"), {Text: "I cannot tell.", Delay: time.Second}}, "I cannot tell.", 16 * time.Second},
		{"the model hangs after the tools", []scripted.Step{look("lamp"), hangs}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp", limit},
		{"the model hangs in its first sentence", []scripted.Step{look("lamp"), half}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp", limit},
		{"the model hangs in its second sentence", []scripted.Step{look("lamp"), midway}, "The Dune Lamp is warm.", limit},
		{"the model hangs in the reserve", []scripted.Step{look("lamp"), look("slowly"), hangs}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp", limit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serve(t, slowLamps(), scripted.New(tt.steps...))
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				begun := time.Now()
				r, err := askIn(t, ctx, client, question)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took >= limit-20*time.Millisecond || took < tt.took-time.Second {
					t.Errorf("took %v", took)
				}
				if r.answer.GetText() != tt.text || r.text != tt.text || r.answer.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_DEADLINE {
					t.Errorf("%v: %q, deltas add up to %q", r.answer.GetFinishReason(), r.answer.GetText(), r.text)
				}
				if found := strings.Contains(tt.text, "Dune Lamp"); found != (len(r.answer.GetProducts()) > 0) {
					t.Errorf("products %v", r.answer.GetProducts())
				}
			})
		})
	}
}

func TestACutAnswerIsContinuedOrEndsWithAWholeSentence(t *testing.T) {
	const stop, length = specialistv1.FinishReason_FINISH_REASON_STOP, specialistv1.FinishReason_FINISH_REASON_LENGTH
	cut := func(text string) scripted.Step {
		return scripted.Step{Text: text, FinishReason: agentloop.FinishLength, ChunkSize: 5}
	}
	tests := []struct {
		name   string
		steps  []scripted.Step
		text   string
		finish specialistv1.FinishReason
	}{
		{"the model goes on", []scripted.Step{look("lamp"), cut("The Dune Lamp is warm.\n\nIt hangs fr"), {Text: "It hangs from the wall."}},
			"The Dune Lamp is warm.\n\nIt hangs from the wall.", stop},
		{"cut between sentences", []scripted.Step{cut("We have lamps. They are warm."), {Text: "Shall we?"}},
			"We have lamps. They are warm. Shall we?", stop},
		{"the model starts over", []scripted.Step{cut("We have lamps. They are"), {Text: "We have lamps. They are warm.", ChunkSize: 4}},
			"We have lamps. They are warm.", stop},
		{"the model repeats its last sentence", []scripted.Step{cut("We have lamps. They are warm."), {Text: "They are warm."}}, "We have lamps. They are warm.", stop},
		{"the model starts over each time", []scripted.Step{cut("We have lamps. They are warm."), cut("We have lamps. They are warm."), cut("We have lamps. They are warm.")},
			"We have lamps. They are warm.", length},
		{"cut twice", []scripted.Step{cut("We have lamps. They"), cut("They are warm. Th"), {Text: "They hang."}},
			"We have lamps. They are warm. They hang.", stop},
		{"cut every time", []scripted.Step{cut("We have lamps. They"), cut("They are warm. Th"), cut("They hang. Also")},
			"We have lamps. They are warm. They hang.", length},
		{"the model fails to go on", []scripted.Step{cut("We have lamps. They"), {Err: errors.New("away")}}, "We have lamps.", length},
		{"the model fails while it goes on", []scripted.Step{cut("We have lamps. They"), {Text: "They are warm. They ha", Err: errors.New("away")}},
			"We have lamps. They are warm.", length},
		{"the model writes nothing more", []scripted.Step{cut("We have lamps. They"), {}}, "We have lamps.", length},
		{"cut in the first sentence", []scripted.Step{look("lamp"), cut("We have the warm")}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp", length},
		{"cut in an amount", []scripted.Step{cut("The Dune Lamp costs 1,2")}, "The Dune Lamp costs…", length},
		{"cut in the first sentence, nothing found", []scripted.Step{cut("We have the warm ")}, "We have the warm…", length},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := scripted.New(tt.steps...)
			r, err := ask(t, serve(t, lamps, model), question)
			if err != nil {
				t.Fatal(err)
			}
			if r.answer.GetText() != tt.text || r.text != tt.text || r.answer.GetFinishReason() != tt.finish || model.Remaining() > 0 {
				t.Errorf("%v: %q, deltas add up to %q, %d steps left", r.answer.GetFinishReason(), r.answer.GetText(), r.text, model.Remaining())
			}
			if n := int(r.answer.GetUsage().GetModelCalls()); n != len(tt.steps) {
				t.Errorf("%d model calls counted, want %d", n, len(tt.steps))
			}
		})
	}
}

func TestAModelThatFailsHandsOverWhatThereIs(t *testing.T) {
	broken := errors.New("the endpoint is away")
	for name, c := range map[string]struct {
		steps []scripted.Step
		text  string // empty: the call fails
	}{
		"after the tools":        {[]scripted.Step{look("lamp"), {Err: broken}}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp"},
		"without an answer":      {[]scripted.Step{look("lamp"), {}, {}}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp"},
		"in its second sentence": {[]scripted.Step{look("lamp"), {Text: "The Dune Lamp is warm. It co", Err: broken}}, "The Dune Lamp is warm."},
		"in its first sentence":  {[]scripted.Step{look("lamp"), {Text: "The Dune La", Err: broken}}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp"},
		"after an announcement": {
			[]scripted.Step{{Text: strings.Repeat("I look for lamps. ", 20), ToolCalls: look("lamp").ToolCalls}, {Err: broken}},
			strings.TrimSpace(strings.Repeat("I look for lamps. ", 20)) + "\n\n- Dune Lamp, 49.00 EUR\n- Reed Lamp",
		},
		"before the tools":          {[]scripted.Step{{Err: broken}}, ""},
		"after tools found nothing": {[]scripted.Step{look("nothing"), {Err: broken}}, ""},
		"with nothing at all":       {[]scripted.Step{{}, {}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ask(t, serve(t, lamps, scripted.New(c.steps...)), question)
			if c.text == "" {
				want := codes.Internal
				if name == "with nothing at all" {
					want = codes.Unavailable
				}
				if st := status.Convert(err); st.Code() != want || want == codes.Unavailable && rpc.Reason(st) != "MODEL_UNAVAILABLE" {
					t.Errorf("error %v, want %v", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.answer.GetText() != c.text || r.text != c.text || r.answer.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_ERROR {
				t.Errorf("%v: %q, deltas add up to %q", r.answer.GetFinishReason(), r.answer.GetText(), r.text)
			}
			if r.answer.GetConfidence() > 0.6 {
				t.Errorf("confidence %v", r.answer.GetConfidence())
			}
		})
	}
}

// What a model writes where it should have called a tool, in a way that nobody reads, is not shown.
func TestMarkupIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		steps []scripted.Step
		text  string // empty: the call fails
	}{
		"arguments alone":          {[]scripted.Step{{Text: `{"what": "lamp. Or two"}`, ChunkSize: 3}}, ""},
		"a list in a code fence":   {[]scripted.Step{{Text: "```json\n[{\n \"what\": \"lamp\"\n}]\n```", ChunkSize: 3}}, ""},
		"after the tools":          {[]scripted.Step{look("lamp"), {Text: `{"answer": "The Dune Lamp."}`}}, "- Dune Lamp, 49.00 EUR\n- Reed Lamp"},
		"reasoning of a template":  {[]scripted.Step{{Text: "<|channel|>analysis<|message|>They want a lamp. I look.<|end|>"}}, ""},
		"a call of a template":     {[]scripted.Step{{Text: "We have lamps.\n<｜tool▁calls▁begin｜>look\n{\"what\":1}\n", ChunkSize: 4}}, "We have lamps."},
		"the mark at the end":      {[]scripted.Step{{Text: "We have lamps. They are warm.<|im_end|>", ChunkSize: 4}}, "We have lamps. They are warm."},
		"beside a question":        {[]scripted.Step{asking(`{"what":"lamp"}`, `{"question":"Which size?"}`)}, "Which size?"},
		"braces, bars and a code":  {[]scripted.Step{{Text: "{Dune} <| or |> [Reed] `Glow`."}}, "{Dune} <| or |> [Reed] `Glow`."},
		"long, and then an answer": {[]scripted.Step{{Text: `{"what": "` + strings.Repeat("lamp. ", 50) + `"}`, ToolCalls: look("lamp").ToolCalls}, {Text: "The Dune Lamp."}}, "The Dune Lamp."},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ask(t, serve(t, lamps, scripted.New(c.steps...)), question)
			if (err != nil) != (c.text == "") || r.answer.GetText() != c.text || r.text != c.text {
				t.Errorf("%q, deltas add up to %q, error %v; want %q", r.answer.GetText(), r.text, err, c.text)
			}
		})
	}
}

// slowLamps are lamps whose tool waits for its end when it is told to look slowly.
func slowLamps() specialist.Definition {
	def := lamps
	def.Tools = func(turn *specialist.Turn) []agentloop.Tool {
		tools := lamps.Tools(turn)
		run := tools[0].Run
		tools[0].Run = func(ctx context.Context, call agentloop.ToolCall) (any, error) {
			if strings.Contains(call.Arguments, "slowly") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return run(ctx, call)
		}
		return tools
	}
	return def
}

func TestAtTheDeadlineWithNothingThereIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, steps := range [][]scripted.Step{{{Hang: true}}, {look("nothing"), {Hang: true}}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := askIn(t, ctx, serve(t, lamps, scripted.New(steps...)), question)
			cancel()
			if status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("error %v", err)
			}
		}
	})
}

func TestWhatCodeSaysOfFindings(t *testing.T) {
	def := lamps
	def.Tools = func(turn *specialist.Turn) []agentloop.Tool {
		turn.AddPromotions(&specialistv1.PromotionChoice{Code: "DIM1", Title: "1 % off", Saving: eur(10)},
			&specialistv1.PromotionChoice{Code: "GLOW5", Title: "5 % off lamps", Saving: eur(50)})
		turn.AddOrder(&orderv1.Order{OrderId: "QT-7", Status: orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED}, nil)
		turn.AddPassages(&policyv1.Passage{PolicyTitle: "Returns", Text: "Thirty days. "},
			&policyv1.Passage{PolicyTitle: "Bulbs", Text: "No returns."}, &policyv1.Passage{PolicyTitle: "Third", Text: "Too many."})
		return nil
	}
	req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", Budget: &commonv1.Budget{MaxTokens: 1}}
	r, err := ask(t, serve(t, def, scripted.New()), req)
	if err != nil {
		t.Fatal(err)
	}
	want := "- GLOW5: 5 % off lamps\n- QT-7: partly shipped\n- Returns: \"Thirty days.\"\n- Bulbs: \"No returns.\""
	if r.answer.GetText() != want {
		t.Errorf("text is\n%s\nwant\n%s", r.answer.GetText(), want)
	}
}
