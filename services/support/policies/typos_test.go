package policies

import (
	"strings"
	"testing"
)

func TestTyposAreTakenForTheWordThatWasMeant(t *testing.T) {
	x := handbookIndex(t)
	tests := []struct{ name, question, want string }{
		{"a letter too few", "how long is the waranty?", "Everything is covered"},
		{"two letters that changed places", "your retrun policy", "Anything can be sent back"},
		{"a letter too many", "how much is delivvery", "Standard delivery takes"},
		{"in German", "wie lange dauert die Lieferunk?", "Standard delivery takes"},
		{"a word of a section", "parcels to Norwey", "Parcels to Norway"},
		{"too many letters", "your rturm policy", ""},
		{"another first letter", "the parranty", ""},
		{"a short word is no typo", "my bigs", ""},
		{"beside a word that nothing is known of it names no topic", "what zorbles a waranty", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := x.search(tt.question, "", 3)
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("%q: got %v, want nothing", tt.question, got)
			case tt.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0].GetText(), tt.want)):
				t.Errorf("%q: got %v, want %q first", tt.question, got, tt.want)
			}
		})
	}
	right, wrong := x.search("warranty", "", 1), x.search("waranty", "", 1)
	if len(right) == 0 || len(wrong) == 0 || right[0].GetScore() <= wrong[0].GetScore() {
		t.Errorf("spelled right it is worth no more: %v, %v", right, wrong)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"return", "return", 0}, {"return", "retrun", 1}, {"waranty", "warranty", 1}, {"teh", "the", 1}, {"abcd", "dcba", 3}, {"a", "abcdef", 3}} {
		if got := distance(tt.a, tt.b, 3); got != tt.want {
			t.Errorf("%s, %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// A section whose whole title the question has answers it, though another word of it is a topic of other documents.
func TestASectionThatIsNamedAnswers(t *testing.T) {
	words := newLexicon()
	x := newPassageIndex(words, demoPolicies(t))
	got := x.search("do you deliver on public holidays?", "en", 3)
	if len(got) == 0 || placeOf(got[0]) != "contact#Public holidays" {
		t.Errorf("got %v", got)
	}
}
