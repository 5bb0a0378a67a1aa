package specialist_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// newYear is a moment of different days in Berlin and in UTC.
var newYear = time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)

// promptOf returns the system prompt of an assignment in a locale.
func promptOf(t *testing.T, locale string, req *specialistv1.AnswerRequest) string {
	t.Helper()
	model := scripted.New(scripted.Step{Text: "Hello!"})
	client := serveWith(t, lamps, specialist.Deps{Model: model, Now: func() time.Time { return newYear }})
	req.AssignmentId = "a1"
	sc := scope.Scope{StoreID: "demo", Locale: locale}
	stream, err := client.Answer(signed(t, t.Context(), sc), req)
	for err == nil {
		_, err = stream.Recv()
	}
	if len(model.Requests()) == 0 {
		t.Fatal(err)
	}
	return model.Requests()[0].Messages[0].Text
}

// Providers cache what the prompts of consecutive calls have in common at their beginning.
func TestPromptsBeginWithWhatDoesNotChange(t *testing.T) {
	first := promptOf(t, "de-AT", &specialistv1.AnswerRequest{SubQuery: "a lamp", StoreName: "Lamp Hall", TimeZone: "Europe/Berlin"})
	for name, same := range map[string]struct {
		prompt string
		until  string
	}{
		"another store": {promptOf(t, "de-AT", &specialistv1.AnswerRequest{SubQuery: "a lamp", StoreName: "Lampe & Co"}), "\nStore: Lamp"},
		"another shopper of the store": {promptOf(t, "fr", &specialistv1.AnswerRequest{
			SubQuery: "and my order?", Message: "a lamp, and my order?", StoreName: "Lamp Hall", Summary: "Wants a lamp.", TimeZone: "Europe/Berlin",
			UnavailableReason: "none", ShownProducts: []*specialistv1.ProductChoice{{ProductId: "L1", Title: "Dune Lamp"}},
		}), "\nToday is Friday, 1 January 2027 (Europe/Berlin).\nAnswer in "},
	} {
		at := strings.Index(first, same.until)
		if at < 0 || !strings.HasPrefix(same.prompt, first[:at+len(same.until)]) {
			t.Errorf("%s: the prompts differ before %q:\n%s\n---\n%s", name, same.until, first, same.prompt)
		}
	}
}

func TestPromptNamesTheDayInTheStoresTimeZone(t *testing.T) {
	for zone, want := range map[string]string{
		"":                 "Today is Thursday, 31 December 2026 (UTC).",
		"Europe/Berlin":    "Today is Friday, 1 January 2027 (Europe/Berlin).",
		"America/New_York": "Today is Thursday, 31 December 2026 (America/New_York).",
	} {
		if got := promptOf(t, "", &specialistv1.AnswerRequest{SubQuery: "a lamp", TimeZone: zone}); !strings.Contains(got, want+"\n") {
			t.Errorf("%q: the prompt lacks %q:\n%s", zone, want, got)
		}
	}
	for _, zone := range []string{"Mars/Olympus", "Local", "../../etc/passwd"} {
		_, err := ask(t, serve(t, lamps, scripted.New()), &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "a lamp", TimeZone: zone})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "time_zone") {
			t.Errorf("%q: error is %v", zone, err)
		}
	}
}

func TestPromptNamesTheLanguage(t *testing.T) {
	for _, tt := range []struct{ locale, subQuery, message, want string }{
		{"de-AT", "Do you have a lamp?", "", "Answer in German (de-AT)."},
		{"zh-Hant-TW", "Do you have a lamp?", "", "Answer in Chinese (zh-Hant-TW)."},
		{"", "Do you have a lamp?", "", "Answer in English (en)."},
		{"", "lampe duna", "¿Tenéis una lámpara? ¿Y dónde está mi pedido?", "Answer in Spanish (es)."},
		{"", "Vorrei una lampada, grazie", "", "Answer in Italian (it)."},
		{"", "L2", "", "Answer in the language of the shopper's message."},
	} {
		if got := promptOf(t, tt.locale, &specialistv1.AnswerRequest{SubQuery: tt.subQuery, Message: tt.message}); !strings.Contains(got, "\n"+tt.want+"\n") {
			t.Errorf("%+v: the prompt has another language:\n%s", tt, got)
		}
	}
}

// A date that the model takes from the prompt is no invention.
func TestTodayIsEvidence(t *testing.T) {
	model := scripted.New(scripted.Step{Text: "Today is 31 December 2026, so no."}, scripted.Step{Text: "It ended on 30 December 2026."})
	client := serveWith(t, lamps, specialist.Deps{Model: model, Now: func() time.Time { return newYear }})
	for want := range 2 {
		r, err := ask(t, client, &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "is the sale on?"})
		if err != nil || len(r.answer.GetUnsupportedClaims()) != want {
			t.Errorf("%q: unsupported claims %v, want %d; error %v", r.text, r.answer.GetUnsupportedClaims(), want, err)
		}
	}
}

func TestPromptHasTheStoresVoice(t *testing.T) {
	got := promptOf(t, "de", &specialistv1.AnswerRequest{SubQuery: "hallo", StoreName: "Lamp Hall", Voice: &specialistv1.Voice{
		Tone: "Say du.", Glossary: []*specialistv1.Term{{Use: "lamp", Avoid: []string{"light"}}}, Greetings: map[string]string{"de": "Servus!"},
	}})
	want := "\nStore: Lamp Hall\nHow the store speaks: Say du.\nSay \"lamp\", never \"light\".\nIf the shopper only greets, answer: Servus!\n"
	if !strings.Contains(got, want) {
		t.Errorf("the prompt lacks %q:\n%s", want, got)
	}
}
