package specialist_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

func TestAReadAheadIsMadeWhileTheModelThinks(t *testing.T) {
	const readTime = 100 * time.Millisecond
	for name, tt := range map[string]struct {
		steps []scripted.Step
		fail  bool     // the first read fails
		panic bool     // the first read panics
		deaf  bool     // reads do not hear that their time is over
		want  []string // what happened when
	}{
		"done when a tool wants it": {
			steps: []scripted.Step{{Delay: time.Second, ToolCalls: look("lamp").ToolCalls}, {Text: "The Dune Lamp."}},
			want:  []string{"read at 5ms", "tool at 1s", "answered at 1s"},
		},
		"a tool waits for it": {
			steps: []scripted.Step{{Delay: 25 * time.Millisecond, ToolCalls: look("lamp").ToolCalls}, {Text: "The Dune Lamp."}},
			want:  []string{"read at 5ms", "tool at 105ms", "answered at 105ms"},
		},
		"a tool comes before it": {
			steps: []scripted.Step{look("lamp"), {Delay: time.Second, Text: "The Dune Lamp."}},
			want:  []string{"read at 0s", "tool at 100ms", "answered at 1.1s"},
		},
		"it fails, and a tool wants it": {
			steps: []scripted.Step{{Delay: time.Second, ToolCalls: look("lamp").ToolCalls}, {Text: "The Dune Lamp."}},
			fail:  true,
			want:  []string{"read at 5ms", "read at 1s", "tool at 1.1s", "answered at 1.1s"},
		},
		"it panics, and a tool wants it": {
			steps: []scripted.Step{{Delay: time.Second, ToolCalls: look("lamp").ToolCalls}, {Text: "The Dune Lamp."}},
			panic: true,
			want:  []string{"read at 5ms", "read at 1s", "tool at 1.1s", "answered at 1.1s"},
		},
		"it fails, and no tool wants it": {
			steps: []scripted.Step{{Delay: time.Second, Text: "Hello."}},
			fail:  true,
			want:  []string{"read at 5ms", "answered at 1s"},
		},
		"the answer is there before it begins": {
			steps: []scripted.Step{{Text: "Hello."}},
			want:  []string{"answered at 0s"},
		},
		"the answer is there before it is done": {
			steps: []scripted.Step{{Delay: 25 * time.Millisecond, Text: "Hello."}},
			want:  []string{"read at 5ms", "read cut off at 25ms", "answered at 25ms"},
		},
		"nothing is left behind": {
			steps: []scripted.Step{{Delay: 25 * time.Millisecond, Text: "Hello."}},
			deaf:  true,
			want:  []string{"read at 5ms", "answered at 105ms"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				begun := time.Now()
				note := func(what string) { got = append(got, fmt.Sprint(what, " at ", time.Since(begun))) }
				def := lamps
				def.Tools = func(turn *specialist.Turn) []agentloop.Tool {
					ahead := specialist.Prefetch(turn, func(ctx context.Context) (string, error) {
						note("read")
						if tt.panic && len(got) == 1 {
							panic("a bug")
						}
						if tt.deaf {
							ctx = context.WithoutCancel(ctx)
						}
						select {
						case <-time.After(readTime):
						case <-ctx.Done():
							note("read cut off")
							return "", ctx.Err()
						}
						if tt.fail && len(got) == 1 {
							return "", errors.New("not yet")
						}
						return "fresh", nil
					})
					return []agentloop.Tool{agentloop.NewTool("look", "Looks for lamps.", func(ctx context.Context, _ lookArgs) (string, error) {
						value, err := ahead.Get(ctx)
						note("tool")
						return value, err
					})}
				}
				client := serve(t, def, scripted.New(tt.steps...))
				r, err := ask(t, client, question)
				if err != nil {
					t.Fatal(err)
				}
				if want := tt.steps[len(tt.steps)-1].Text; r.answer.GetText() != want {
					t.Errorf("text %q, want %q", r.answer.GetText(), want)
				}
				note("answered")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestOnceReadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		once := specialist.Memoise(func(context.Context) (int, error) {
			reads++
			time.Sleep(time.Second) // in the bubble
			if reads == 1 {
				return 0, errors.New("not yet")
			}
			return reads, nil
		})
		if _, err := once.Get(t.Context()); err == nil {
			t.Fatal("the first read did not fail")
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got, err := once.Get(t.Context()); got != 2 || err != nil {
					t.Errorf("got %d, %v; want what the second read returned", got, err)
				}
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait() // until one of the three reads
		if _, err := once.Get(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller without time got %v", err)
		}
		wg.Wait()
		if reads != 2 {
			t.Errorf("%d reads", reads)
		}
	})
}
