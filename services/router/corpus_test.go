package router

import (
	"slices"
	"strings"
	"testing"
)

// tally counts how the rules do on a list of messages.
type tally struct{ all, right, certain, certainRight int }

func (s tally) share(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// assess compares the rules' sets of specialists with the labels.
func assess(t *testing.T, messages []labelled) tally {
	t.Helper()
	l := testLexicon(t)
	var s tally
	for _, m := range messages {
		var history []string
		if m.history != "" {
			history = []string{m.history}
		}
		r := rule(l, m.message, history)
		want := strings.Fields(m.want)
		slices.Sort(want)
		right := slices.Equal(names(l, r), want)
		certain := r.certainty >= DefaultCertainThreshold
		s.all++
		if right {
			s.right++
		}
		if certain {
			s.certain++
		}
		if certain && right {
			s.certainRight++
		}
		if !right {
			t.Logf("certainty %.2f, want %v: %q", r.certainty, want, routes(l, r))
		}
	}
	t.Logf("the right set for %d of %d (%.0f%%), certain of %d (%.0f%%), right of these %d (%.0f%%)",
		s.right, s.all, s.share(s.right, s.all), s.certain, s.share(s.certain, s.all), s.certainRight, s.share(s.certainRight, s.certain))
	return s
}

// names returns the specialists of a ruling, each once, sorted.
func names(l *lexicon, r ruling) []string {
	var out []string
	for _, d := range r.drafts {
		out = append(out, l.names[d.specialist])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// The floors lie just below what the rules reach. Being wrong and certain is worse than being wrong: nobody is asked then.
func TestMessagesGoToTheRightSpecialists(t *testing.T) {
	for _, c := range []struct {
		name                string
		messages            []labelled
		right, certainRight float64 // per cent
	}{
		{"tuned", tunedMessages, 88, 100},
		{"untouched", untouchedMessages, 82, 95},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := assess(t, c.messages)
			if got := s.share(s.right, s.all); got < c.right {
				t.Errorf("%.1f%% have the right set, want at least %v%%", got, c.right)
			}
			if got := s.share(s.certainRight, s.certain); got < c.certainRight {
				t.Errorf("%.1f%% of those that the rules are certain of have the right set, want at least %v%%", got, c.certainRight)
			}
			if s.certain < s.all/4 {
				t.Errorf("the rules are certain of %d of %d messages, want at least a quarter", s.certain, s.all)
			}
		})
	}
}

func TestNoWordOfTheMessagesIsDropped(t *testing.T) {
	l := testLexicon(t)
	all := slices.Concat(tunedMessages, untouchedMessages)
	for i, m := range all {
		checkCover(t, l, m.message)
		for _, joint := range []string{" and ", ", ", ". "} {
			checkCover(t, l, m.message+joint+all[(i*7+3)%len(all)].message)
		}
	}
}
