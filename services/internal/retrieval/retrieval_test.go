package retrieval

import (
	"context"
	"errors"
	"log/slog"
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
