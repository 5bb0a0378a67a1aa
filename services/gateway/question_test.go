package gateway

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// asks makes a fake specialist answer with a question.
func (f *fakeSpecialist) asks(q *specialistv1.ClarifyingQuestion) {
	f.answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{Text: "Gladly. " + q.GetText(), Confidence: 0.41, ClarifyingQuestion: q})
	}
}

func TestTheReplyHasTheQuestionOfASpecialist(t *testing.T) {
	size := &specialistv1.ClarifyingQuestion{Text: "Which activity, and which size?", QuickReplies: []string{"Running", "Hiking"}}
	which := &specialistv1.ClarifyingQuestion{Text: "Which order do you mean?"}
	for _, c := range []struct {
		name, message, merged string
		support               *specialistv1.ClarifyingQuestion
		want                  string
		method                gatewayv1.MergeMethod
	}{
		{"one part", "search: shoes", "", nil, "Gladly. Which activity, and which size?", gatewayv1.MergeMethod_MERGE_METHOD_PASS_THROUGH},
		{"two parts, asked in other words", shoesAndReturns, goodReturns + " For what activity, and in which size?", nil,
			goodReturns + " For what activity, and in which size?", byModel},
		{"two parts, made a statement", shoesAndReturns, goodReturns + " Gladly, tell me the activity and the size.", nil,
			goodReturns + " Gladly, tell me the activity and the size.\n\nWhich activity, and which size?", byBoth},
		{"two questions, of which the model keeps the second", shoesAndReturns, "Gladly, which order do you mean?", which,
			"Gladly, which order do you mean?\n\nGladly. Which activity, and which size?", byBoth},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			h.config.Model = scripted.New(scripted.Step{Text: c.merged})
			h.start()
			stock(h)
			h.specialists["search"].asks(size)
			if c.support != nil {
				h.specialists["support"].asks(c.support)
			}
			reply := h.ask(c.message)
			if reply.GetText() != c.want || reply.GetMergeMethod() != c.method {
				t.Errorf("%v %q, want %v %q", reply.GetMergeMethod(), reply.GetText(), c.method, c.want)
			}
			if reply.GetHandoff().GetRecommended() {
				t.Errorf("a human is recommended: %s", reply.GetHandoff().GetReason())
			}
			if diff := cmp.Diff(size, reply.GetClarifyingQuestion(), protocmp.Transform()); diff != "" {
				t.Errorf("question (-want +got):\n%s", diff)
			}
		})
	}
}

// What a model puts into a question is shown like any other text, so it is checked like any other.
func TestAQuestionShowsOnlyWhatIsTheStores(t *testing.T) {
	h := open(t, nil)
	h.specialists["search"].asks(&specialistv1.ClarifyingQuestion{
		Text: "Have you seen https://evil.example/win?", QuickReplies: []string{"https://evil.example/yes", "No"}})
	q := h.ask("search: shoes").GetClarifyingQuestion()
	if diff := cmp.Diff(&specialistv1.ClarifyingQuestion{Text: "Have you seen (link removed)?", QuickReplies: []string{"No"}}, q, protocmp.Transform()); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}
