package specialist_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// asking calls ask_shopper beside a text.
func asking(text, arguments string) scripted.Step {
	return scripted.Step{Text: text, ToolCalls: []agentloop.ToolCall{{Name: "ask_shopper", Arguments: arguments}}}
}

// cutAt is asking where the limit of the output cut the text.
func cutAt(text, arguments string) scripted.Step {
	step := asking(text, arguments)
	step.FinishReason = agentloop.FinishLength
	return step
}

func TestAskShopperEndsTheAnswerWithAQuestion(t *testing.T) {
	const ask = `{"question":"Which activity, and which size?","quick_replies":["Running","Hiking"]}`
	typed := &specialistv1.ClarifyingQuestion{Text: "Which activity, and which size?", QuickReplies: []string{"Running", "Hiking"}}
	long := strings.Repeat("We have shoes for every path. ", 10)
	replies, _ := json.Marshal(map[string]any{"question": " Which\nactivity, and which size? ", "quick_replies": []string{
		" Running ", "running", "", strings.Repeat("x", 61), "Hiking", "Road", "Gym", "Beach"}})
	for _, c := range []struct {
		name  string
		steps []scripted.Step
		want  string
		typed *specialistv1.ClarifyingQuestion
	}{
		{"nothing beside it", []scripted.Step{asking("", ask)}, "Which activity, and which size?", typed},
		{"a text beside it", []scripted.Step{asking("Happy to help.", ask)}, "Happy to help. Which activity, and which size?", typed},
		{"a text that has the question", []scripted.Step{asking("Sure! Which activity, and which size?", ask)}, "Sure! Which activity, and which size?", typed},
		{"a text that asks something else", []scripted.Step{asking("What are they for?", ask)}, "Which activity, and which size?", typed},
		{"a long text, which was sent already", []scripted.Step{asking(long, ask)}, strings.TrimSpace(long) + "\n\nWhich activity, and which size?", typed},
		{"after a look-up", []scripted.Step{look("nothing"), asking("", ask)}, "Which activity, and which size?", typed},
		{"a text that broke off", []scripted.Step{cutAt("Happy to help. We have sh", ask)}, "Happy to help. Which activity, and which size?", typed},
		{"a long text that broke off", []scripted.Step{cutAt(long+"And we ha", ask)}, strings.TrimSpace(long) + "\n\nWhich activity, and which size?", typed},
		{"half a sentence", []scripted.Step{cutAt("We have sh", ask)}, "Which activity, and which size?", typed},
		{"a question without a mark, where the text broke off", []scripted.Step{cutAt("We have sh", `{"question":"Your size"}`)}, "Your size",
			&specialistv1.ClarifyingQuestion{Text: "Your size"}},
		{"quick replies are cleaned", []scripted.Step{asking("", string(replies))}, "Which activity, and which size?",
			&specialistv1.ClarifyingQuestion{Text: typed.GetText(), QuickReplies: []string{"Running", "Hiking", "Road", "Gym"}}},
		{"an empty question is refused, with the text beside it", []scripted.Step{asking("Hm.", `{"question":" "}`), {Text: "Here are all."}}, "Here are all.", nil},
		{"a question that is too long is refused", []scripted.Step{asking("", `{"question":"`+strings.Repeat("x", 301)+`"}`), {Text: "Here are all."}}, "Here are all.", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := answerOf(t, scripted.New(c.steps...), question)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.answer.GetText(); got != c.want || r.text != got {
				t.Errorf("text %q, sent %q, want %q", got, r.text, c.want)
			}
			if diff := cmp.Diff(c.typed, r.answer.GetClarifyingQuestion(), protocmp.Transform()); diff != "" {
				t.Errorf("clarifying question (-want +got):\n%s", diff)
			}
			if r.answer.GetFinishReason() != specialistv1.FinishReason_FINISH_REASON_STOP {
				t.Errorf("finish reason %v", r.answer.GetFinishReason())
			}
		})
	}
}

// A model may ask in its text, without the tool.
func TestAQuestionAsTextIsTyped(t *testing.T) {
	for _, c := range []struct {
		name, want string
		steps      []scripted.Step
	}{
		{"alone", "Which activity, and which size?", []scripted.Step{{Text: "Which activity, and which size?"}}},
		{"after a courtesy", "Which activity, and which size?", []scripted.Step{{Text: "Gladly!\n\nWhich activity, and which size? "}}},
		{"in Chinese", "您要多大的？", []scripted.Step{{Text: "好的。您要多大的？"}}},
		{"an answer", "", []scripted.Step{{Text: "We have lamps."}}},
		{"a question within an answer", "", []scripted.Step{{Text: "Which size? See the table."}}},
		{"a long one", "", []scripted.Step{{Text: "Which of these " + strings.Repeat("very ", 80) + "long shoes?"}}},
		{"an offer after what was found", "", []scripted.Step{look("nothing"), {Text: "There is a lamp. Would you like another?"}}},
		{"a claim", "", []scripted.Step{{Text: "It costs 149.99 EUR. Is that too much?"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := answerOf(t, scripted.New(c.steps...), question)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.answer.GetClarifyingQuestion().GetText(); got != c.want {
				t.Errorf("clarifying question %q, want %q", got, c.want)
			}
		})
	}
}

func answerOf(t *testing.T, model agentloop.Model, req *specialistv1.AnswerRequest) (reply, error) {
	t.Helper()
	return ask(t, serve(t, lamps, model), req)
}

// A question is the answer's text, so its claims are checked like any others.
// With concurrent calls, another one of the 20 would be the first now and then.
func TestTheFirstQuestionOfAStepCounts(t *testing.T) {
	step := asking("", `{"question":"Which size?"}`)
	for i := range 20 {
		step.ToolCalls = append(step.ToolCalls, agentloop.ToolCall{Name: "ask_shopper", Arguments: fmt.Sprintf(`{"question":"Which colour, %d?"}`, i)})
	}
	for range 20 {
		r, err := answerOf(t, scripted.New(step), question)
		if err != nil || r.answer.GetClarifyingQuestion().GetText() != "Which size?" {
			t.Fatalf("question %q, %v", r.answer.GetClarifyingQuestion().GetText(), err)
		}
	}
}

func TestClaimsOfAQuestionAreChecked(t *testing.T) {
	r, err := answerOf(t, scripted.New(asking("", `{"question":"Is 149.99 EUR too much?"}`)), question)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"149.99 EUR"}, r.answer.GetUnsupportedClaims()); diff != "" {
		t.Errorf("unsupported claims (-want +got):\n%s", diff)
	}
}

func TestNotMinePassesTheAssignmentOn(t *testing.T) {
	pass := func(text string) scripted.Step {
		return scripted.Step{Text: text, ToolCalls: []agentloop.ToolCall{{Name: "not_mine", Arguments: `{"specialist":"chairs","reason":"it is about a chair"}`}}}
	}
	req := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a chair, please", Colleagues: []string{"tables", "chairs", "lamps"}}
	chairs := &specialistv1.NotMine{Specialist: "chairs", Reason: "it is about a chair"}
	long := strings.Repeat("A lamp is not a chair. ", 12)
	unknown := scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "not_mine", Arguments: `{"specialist":"lamps"}`}}}
	for _, c := range []struct {
		name  string
		steps []scripted.Step
		text  string
		want  *specialistv1.NotMine
	}{
		{"at once", []scripted.Step{pass("")}, "", chairs},
		{"a text beside it is dropped", []scripted.Step{pass("That is for a colleague.")}, "", chairs},
		{"after a look-up", []scripted.Step{look("nothing"), pass("")}, "", chairs},
		{"a text that was sent already is the answer", []scripted.Step{pass(long)}, strings.TrimSpace(long), nil},
		{"not to itself", []scripted.Step{unknown, {Text: "No chairs here."}}, "No chairs here.", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.New(c.steps...)
			r, err := answerOf(t, model, req)
			if err != nil {
				t.Fatal(err)
			}
			if r.answer.GetText() != c.text || r.text != c.text {
				t.Errorf("text %q, sent %q, want %q", r.answer.GetText(), r.text, c.text)
			}
			if diff := cmp.Diff(c.want, r.answer.GetNotMine(), protocmp.Transform()); diff != "" {
				t.Errorf("not mine (-want +got):\n%s", diff)
			}
			tools := model.Requests()[0].Tools
			if offered := string(tools[len(tools)-1].Parameters); !strings.Contains(offered, `"enum":["chairs","tables"]`) {
				t.Errorf("the tool's parameters are %s; want the colleagues in order", offered)
			}
		})
	}
}

func TestWithoutColleaguesNothingIsPassedOn(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "Hello."})
	if _, err := answerOf(t, model, question); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(model.Requests()[0].Tools, func(s agentloop.ToolSpec) bool { return s.Name == "not_mine" }) {
		t.Error("not_mine is offered")
	}
	many := &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", Colleagues: make([]string, 33)}
	if _, err := answerOf(t, model, many); status.Code(err) != codes.InvalidArgument {
		t.Errorf("33 colleagues: %v", err)
	}
}
