package search

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/embed"
)

// stubEmbedder takes a second for products, and fails for those without a name.
type stubEmbedder struct{ Embedder }

func (stubEmbedder) Documents(_ context.Context, texts []string) ([]embed.Vector, error) {
	time.Sleep(time.Second)
	if texts[0] == "" {
		return nil, errors.New("no name")
	}
	return make([]embed.Vector, len(texts)), nil
}

func TestEmbedderIsIdleWhenAllIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &WatchedEmbedder{next: stubEmbedder{}, last: time.Now().Add(-embedIdle)}
		if !w.idle() {
			t.Error("what was never asked is at work")
		}
		for _, c := range []struct {
			text string
			wait time.Duration // after the call
			idle bool
		}{{"kite", 0, false}, {"kite", embedIdle, true}, {"", embedIdle, false}, {"kite", embedIdle, true}} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = w.Documents(t.Context(), []string{c.text})
			}()
			synctest.Wait()
			if w.idle() {
				t.Error("a call is under way, and it is idle")
			}
			<-done
			time.Sleep(c.wait)
			if got := w.idle(); got != c.idle {
				t.Errorf("%v after %q: idle is %v", c.wait, c.text, got)
			}
		}
		if embedded, failures, err := w.state(); embedded != 3 || failures != 0 || err != nil {
			t.Errorf("%d embedded, %d failures, %v", embedded, failures, err)
		}
	})
}
