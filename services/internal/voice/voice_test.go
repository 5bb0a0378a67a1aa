package voice

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func TestLines(t *testing.T) {
	v := &specialistv1.Voice{
		Tone: "Warm,\nshort.",
		Glossary: []*specialistv1.Term{
			{Use: "parcel", Avoid: []string{"package", "box"}, Translations: map[string]string{"de": "Paket", "de-AT": "Packerl"}}, {Use: "Circle"},
		},
		Greetings: map[string]string{"en": "Hello from the hills!"},
	}
	for tag, want := range map[string]string{
		"en":    "How the store speaks: Warm, short.\nSay \"parcel\", never \"package\", \"box\".\nSay \"Circle\".\n",
		"de-AT": "How the store speaks: Warm, short.\nSay \"Packerl\", never \"package\", \"box\".\nSay \"Circle\".\n",
		"de-CH": "How the store speaks: Warm, short.\nSay \"Paket\", never \"package\", \"box\".\nSay \"Circle\".\n",
	} {
		if diff := cmp.Diff(want, Lines(v, tag)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tag, diff)
		}
	}
	if got := GreetingLine(v, "en-GB"); got != "If the shopper only greets, answer: Hello from the hills!\n" {
		t.Error(got)
	}
	if got := Lines(nil, "en") + GreetingLine(nil, "en") + GreetingLine(v, "fr"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestCheckNamesEveryField(t *testing.T) {
	var check fault.Checker
	Check(&check, "voice", nil)
	if err := check.Err(); err != nil {
		t.Fatal(err)
	}
	Check(&check, "voice", &specialistv1.Voice{
		Tone: strings.Repeat("a", maxTone+1), Glossary: []*specialistv1.Term{{Avoid: []string{""}, Translations: map[string]string{"German, please": "a"}}},
		Greetings: map[string]string{"en": ""}, HandoffTexts: map[string]string{"en": strings.Repeat("a", maxText+1)},
	})
	var invalid *fault.Invalid
	if !errors.As(check.Err(), &invalid) {
		t.Fatal(check.Err())
	}
	var fields []string
	for _, v := range invalid.Violations {
		fields = append(fields, v.Field)
	}
	want := []string{
		"voice.tone", "voice.glossary[0].use", "voice.glossary[0].avoid[0]", "voice.glossary[0].translations[0]", "voice.greetings[0]", "voice.handoff_texts[0]",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
