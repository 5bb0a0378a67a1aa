package wording

import (
	"reflect"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Every language has all sentences, in that language.
func TestEveryLanguageHasAllSentences(t *testing.T) {
	t.Parallel()
	for tag, s := range byLanguage {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			if v.Field(i).String() == "" || tag != "en" && v.Field(i).String() == reflect.ValueOf(byLanguage["en"]).Field(i).String() {
				t.Errorf("%s has %q", tag, v.Field(i).String())
			}
		}
		if strings.Count(s.Unanswered, "%s") != 1 || text.Language(s.Unanswered+" "+s.Refusal) != tag {
			t.Errorf("%s: %q is taken for %q", tag, s.Unanswered, text.Language(s.Unanswered+" "+s.Refusal))
		}
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"": "(link removed)", "nl-BE": "(link verwijderd)", "pt": "(link removido)", "pl": "[…]"} {
		if got := In(tag).LinkRemoved; got != want {
			t.Errorf("%q: %q, want %q", tag, got, want)
		}
	}
}

func TestOrderStatus(t *testing.T) {
	t.Parallel()
	for english := range statuses {
		for tag := range byLanguage {
			if got := OrderStatus(tag, english); got == "" || (got == english) != (tag == "en") {
				t.Errorf("%s in %s: %q", english, tag, got)
			}
		}
	}
	if got := OrderStatus("de-AT", "on its way") + OrderStatus("pl", "delivered") + OrderStatus("de", "lost"); got != "unterwegsdeliveredlost" {
		t.Error(got)
	}
}
