package gateway

import (
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// Specialists and the merge are told how the store speaks, and a handover ends with the store's words, once.
func TestAStoreHasItsVoice(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "About a. I am sorry."})
	h := open(t, model)
	const words = "A person from our hut answers within a day."
	_, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "demo", Name: "Demo", CurrencyCode: "EUR", DefaultLocale: "en",
		Voice: &specialistv1.Voice{Tone: "Like an old guide.", HandoffTexts: map[string]string{"en": words}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var told *specialistv1.Voice
	h.specialists["support"].answer = func(req *specialistv1.AnswerRequest, stream answerStream) error {
		told = req.GetVoice()
		a := &specialistv1.Answer{Text: "I am sorry."}
		if strings.Contains(req.GetSubQuery(), "person") {
			a.SuggestedActions = []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: "asked"}}}}
		}
		return sayAnswer(stream, a)
	}
	events, err := h.askStream(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "support: a person, please"})
	if err != nil {
		t.Fatal(err)
	}
	text, reply := textOf(events)
	if want := "I am sorry.\n\n" + words; reply.GetText() != want || text != want {
		t.Errorf("the text is %q, streamed %q, want %q", reply.GetText(), text, want)
	}
	if told.GetTone() != "Like an old guide." {
		t.Errorf("the specialist is told %v", told)
	}
	if reply := h.ask("support: hours"); strings.Contains(reply.GetText(), words) {
		t.Errorf("without a handover: %q", reply.GetText())
	}
	h.ask("search: a | support: b")
	messages := model.Requests()[0].Messages
	if said := messages[len(messages)-1].Text; !strings.Contains(said, "How the store speaks: Like an old guide.") {
		t.Errorf("the merge is told %q", said)
	}
}
