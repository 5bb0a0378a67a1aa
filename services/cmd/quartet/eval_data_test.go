package main

import (
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// publicSet reads messages from a public CSV file as routing.ReadCSV does. Repeated texts count once. Of large sets it is one of
// every few.
func publicSet(t *testing.T, file string, text, kind int, gold string) []routing.Message {
	t.Helper()
	messages, err := routing.ReadCSV(publicdata.Open(t, file), text, kind, gold)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	messages = slices.DeleteFunc(messages, func(m routing.Message) bool {
		trained := kind >= 0 && m.Line%20 == 1 // the trainer of the classifier reads these
		again := seen[m.Text]
		seen[m.Text] = again || !trained
		return trained || again
	})
	if len(messages) < 100*every {
		return messages
	}
	var some []routing.Message
	for i := 0; i < len(messages); i += every {
		some = append(some, messages[i])
	}
	return some
}

// What the classifier reaches on messages that others collected, each a single request and labelled with the one specialist
// that the whole collection is for. The floors lie below what is reached, in per cent.
func TestRulesOnPublicMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file   string
		text, kind   int
		gold         string
		messages     int
		exact        float64
		certain      float64
		certainRight float64
	}{
		{"customer service", "bitext/bitext_8k.csv", 1, 3, "support", 7_700, 95, 50, 99},
		{"product queries", "chorus/judgments.csv", 0, -1, "search", 60, 91, 30, 97},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			messages := publicSet(t, tt.file, tt.text, tt.kind, tt.gold)
			if len(messages) < tt.messages/every {
				t.Fatalf("there are %d messages, want at least %d", len(messages), tt.messages/every)
			}
			r := measureRules(t, messages)
			for _, kind := range slices.Sorted(maps.Keys(r.ByKind)) {
				g := r.ByKind[kind]
				recall := routing.Rate{N: g.UnderSplitRate.Of - g.UnderSplitRate.N, Of: g.UnderSplitRate.Of}
				t.Logf("%-26s recall %s, over-split %s", kind, recall.Percent(), g.OverSplitRate.Percent())
			}
			t.Logf("over-split %s, median %.0f µs", r.OverSplitRate.Percent(), r.MedianMicros)
			floor(t, "share sent to one specialist", unsplit(r), 99)
			floor(t, "exact set accuracy", r.ExactSetAccuracy, tt.exact)
			floor(t, "certain share", r.CertainShare, tt.certain)
			floor(t, "certain accuracy", r.CertainAccuracy, tt.certainRight)
		})
	}
}

// unsplit is the share of the messages that were sent to one specialist.
func unsplit(r *routing.Report) routing.Rate {
	one := routing.Rate{Of: r.Messages}
	for _, c := range r.Confusion {
		if len(c.Got) == 1 {
			one.N += c.Messages
		}
	}
	return one
}

// floor wants at least a share, in per cent; a rate of nothing is 0.
func floor(t *testing.T, name string, r routing.Rate, least float64) {
	t.Helper()
	t.Logf("%s %s", name, r.Percent())
	if v, _ := r.Value(); 100*v < least {
		t.Errorf("%s is %s, want at least %v %%", name, r.Percent(), least)
	}
}

// measureRules measures what 'quartet eval routing --router rules' does.
func measureRules(t *testing.T, messages []routing.Message) *routing.Report {
	t.Helper()
	env := environment{get: func(string) string { return "" }, err: t.Output()}
	level := slog.LevelError
	f := &routingFlags{router: routerRules, level: &level}
	l, err := f.open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	b, closeRouter, err := f.newRouter(t.Context(), l.cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeRouter() }() // without an endpoint, there is nothing to end
	report, err := b.measure(t.Context(), messages, env)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
