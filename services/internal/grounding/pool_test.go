package grounding

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// Readers are used again, by other goroutines: nothing of a text may be in another's, and a text must not change later.
func TestReadersShareNothing(t *testing.T) {
	var texts []string
	for i := range 50 {
		texts = append(texts, fmt.Sprintf("Order ABCD-%d of %d May 2026 costs %d,50 € at shop%d.example/a, not -%d %%. %s", i, i%28+1, 100+i, i, i,
			strings.Repeat("three words more ", i*i)))
	}
	want := make([]Text, len(texts))
	for i, text := range texts {
		r := reader{text: text, numerals: numerals["en"]}
		r.tokenize()
		r.read()
		want[i] = r.out
	}
	got := make([][]Text, 8)
	var wg sync.WaitGroup
	for g := range got {
		got[g] = make([]Text, len(texts))
		wg.Go(func() {
			for k := range texts {
				i := (k + g*7) % len(texts)
				got[g][i] = Read(texts[i], "en")
			}
		})
	}
	wg.Wait()
	for g := range got {
		for i := range texts {
			if !reflect.DeepEqual(got[g][i], want[i]) {
				t.Fatalf("goroutine %d reads text %d as %v, want %v", g, i, got[g][i], want[i])
			}
		}
	}
}

// A reader that is kept holds no text.
func TestKeptReadersHoldNoText(t *testing.T) {
	r := &reader{text: "Order ABCD-1 costs 5 €."}
	r.tokenize()
	r.read()
	r.keep()
	for _, a := range r.atoms[:cap(r.atoms)] {
		if a != (atom{}) {
			t.Errorf("it holds %+v", a)
		}
	}
	for _, tok := range r.tokens[:cap(r.tokens)] {
		if tok.atoms != nil {
			t.Errorf("it holds %+v", tok)
		}
	}
	if r.text != "" || r.out.Facts != nil || r.out.words != nil {
		t.Errorf("it holds %q, %v", r.text, r.out)
	}
}
