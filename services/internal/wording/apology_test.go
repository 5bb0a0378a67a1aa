package wording

import "testing"

func TestOneApology(t *testing.T) {
	for _, c := range []struct{ second, want string }{
		{" I'm sorry to hear that.", ""},
		{" We are very sorry for the inconvenience.", ""},
		{"\n\nI am sorry, but QT-1 can no longer be returned.", "\n\nQT-1 can no longer be returned."},
		{" Sorry, we have no red tents.", " We have no red tents."},
		{" Sorry about that!", ""},
		{" Our apologies.", ""},
		{" Es tut mir sehr leid, dass das passiert ist.", ""},
		{" Es tut uns leid, aber die Frist ist vorbei.", " Die Frist ist vorbei."},
		{" Je suis vraiment désolé pour ce retard.", ""},
		{" Désolé, mais le délai est passé.", " Le délai est passé."},
		{" Lo siento mucho.", ""},
		{" Lo sentimos, pero el plazo ha terminado.", " El plazo ha terminado."},
		{" The jacket is red.", " The jacket is red."},
		{" If you are not sorry, buy it.", " If you are not sorry, buy it."},
	} {
		var a Apologies
		const first = "I'm sorry that your parcel is late."
		if got := a.Once(first); got != first {
			t.Errorf("the first apology became %q", got)
		}
		if got := a.Once(c.second); got != c.want {
			t.Errorf("%q became %q, want %q", c.second, got, c.want)
		}
	}
	var a Apologies
	for _, s := range []string{"The jacket is red.", " Sorry, it is gone."} {
		if got := a.Once(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}
