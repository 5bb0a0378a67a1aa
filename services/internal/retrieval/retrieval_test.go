package retrieval

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestTyposGrowWithTheStem(t *testing.T) {
	for stem, want := range map[string]int{"": 0, "tent": 0, "boots": 1, "überzug": 1, "waranty": 1, "sandalen": 2, "p123456789": 0} {
		if got := Typos(stem); got != want {
			t.Errorf("%q: %d wrong letters, want %d", stem, got, want)
		}
	}
}

func TestEarlierPlacesAreWorthMore(t *testing.T) {
	if Fused(0) != 1.0/61 || Fused(1) >= Fused(0) || Fused(100) <= 0 {
		t.Errorf("worth %v, %v ... %v", Fused(0), Fused(1), Fused(100))
	}
}

func TestAnEndpointIsWaitedForASecondAndThenRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEndpoint("vector", slog.New(slog.DiscardHandler))
		var calls int
		hang := func(ctx context.Context) error { calls++; <-ctx.Done(); return ctx.Err() }
		fine := func(context.Context) error { calls++; return nil }
		begun := time.Now()
		if e.Ask(t.Context(), hang) || time.Since(begun) != time.Second {
			t.Fatalf("a hanging endpoint was waited for %v", time.Since(begun))
		}
		if e.Ask(t.Context(), fine) || calls != 1 {
			t.Error("it was asked again at once")
		}
		time.Sleep(legRest + 1)
		for range 2 {
			if !e.Ask(t.Context(), fine) {
				t.Error("it was not asked after its rest")
			}
		}
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
	})
}

func TestACallerThatLeavesIsNoFailure(t *testing.T) {
	e := NewEndpoint("vector", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e.Ask(ctx, func(context.Context) error { return errors.New("left") }) {
		t.Error("it went well")
	}
	if !e.Ask(t.Context(), func(context.Context) error { return nil }) {
		t.Error("the endpoint rests although it did not fail")
	}
}

// Both forms of a term are in one text; the rarity is that of the texts that have any of them.
func TestIndexScoresByBM25(t *testing.T) {
	var x Index
	x.Add(map[string]float64{"tent": 2})
	x.Add(map[string]float64{"tents": 1, "bag": 1})
	x.Add(map[string]float64{"bag": 2})
	scores := make([]float64, 3)
	having, rarity := x.Score(scores, 0.75, Form{"tent", 1}, Form{"tents", 0.5})
	if len(having) != 2 || rarity != IDF(3, 2) || scores[0] != rarity*Saturate(2, 1) || scores[1] != rarity*Saturate(0.5, 1) || scores[2] != 0 {
		t.Errorf("scores %v, rarity %v, in %v", scores, rarity, having)
	}
	var grams []string
	if Grams("bag", func(g string) { grams = append(grams, g) }); !slices.Equal(grams, []string{" ba", "bag", "ag ", " bag", "bag "}) {
		t.Errorf("n-grams %q", grams)
	}
}
