package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const notesPrompt = `You keep the notes of a conversation between a shopper and an online store. You get your notes so far and the last messages.
Write the notes anew, at most 60 words.`

func notesOn(system, given string) string {
	return respond(ask(system, given, nil), today).text
}

func TestNotesKeepWhatWasAskedAndAnswered(t *testing.T) {
	for _, tc := range []struct{ name, given, want string }{
		{"the first message served as notes until now",
			"Your notes so far:\n<notes>\nDo you have lamps\n</notes>\n\nThe last messages:\n<messages>\n<shopper>\nDo you have lamps?\n</shopper>\n" +
				"<store>\nYes, two:\n- Dune Lamp, 49.00 EUR.\n- Reed Lamp, 12.00 EUR.\n</store>\n</messages>\n\nWrite the notes anew.",
			`The shopper asked: "Do you have lamps?". The answer: Yes, two: Dune Lamp, 49.00 EUR. Reed Lamp, 12.00 EUR.`},
		{"what is noted is not noted again, thanks not at all",
			"<notes>\nThe shopper asked: \"Do you have lamps?\". The answer: Yes.\n</notes>\n<shopper>\nDo you have lamps?\n</shopper>\n<store>\nYes.\n</store>\n" +
				"<shopper>\nIs &lt;Reed&gt; dimmable?\n</shopper>\n<store>\nNo\n</store>\n<shopper>\nThanks!\n</shopper>\n<store>\nWelcome.\n</store>",
			"The shopper asked: \"Do you have lamps?\". The answer: Yes.\nThe shopper asked: \"Is <Reed> dimmable?\". The answer: No."},
		{"in the language of the conversation, between names",
			"Shopper: Habt ihr Lampen?\nStore: Ja, die Schilflampe.", "Gefragt wurde: \"Habt ihr Lampen?\". Die Antwort: Ja, die Schilflampe."},
		{"a message without an answer", "<customer>\n¿Dónde está mi pedido?\n</customer>", `Se preguntó: "¿Dónde está mi pedido?".`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, notesOn(notesPrompt, tc.given)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNotesOnMessagesThatComeAsSuch(t *testing.T) {
	req := ask(notesPrompt, "Do you have lamps?", nil)
	req.Messages = append(req.Messages, message{Role: "assistant", Content: "Two."}, message{Role: "user", Content: "Write your notes now."})
	if got, want := respond(req, today).text, `The shopper asked: "Do you have lamps?". The answer: Two.`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNotesStayShort(t *testing.T) {
	long := strings.Repeat("and a lamp for the hall ", 40)
	notes := ""
	for i := range 12 {
		question := strings.Repeat("I", i+1) + " need a lamp " + long
		notes = notesOn(notesPrompt, "<notes>\n"+notes+"\n</notes>\n<shopper>\n"+question+"\n</shopper>\n<store>\nHere: "+long+"\n</store>")
		if n := len(strings.Fields(notes)); n == 0 || n > 60 || !strings.Contains(notes, `"`+strings.Repeat("I", i+1)+" need") {
			t.Fatalf("after %d messages %d words, the latest must be there: %q", i+1, n, notes)
		}
	}
}

func TestWhoOnlySpeaksOfNotesGetsAnAnswer(t *testing.T) {
	for _, system := range []string{"You help shoppers. Keep your answers short.", "You keep the books of a library."} {
		if got := notesOn(system, "<shopper>\nDo you have lamps?\n</shopper>"); strings.Contains(got, "asked") {
			t.Errorf("%s: %q", system, got)
		}
	}
}
