package policies

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/support/policies/policiestest"
)

// senses are what the vectors of fakeEmbedder know: a dimension for each, and one for everything else.
var senses = [][]string{{"guarantee", "warranty", "covered", "lasts"}, {"sent", "return", "unwanted"}, {"parcels", "delivery"}}

// fakeEmbedder tells which senses a text has. Its functions may be replaced before it is used.
type fakeEmbedder struct {
	documents func(ctx context.Context) error
	query     func() error
}

func (f fakeEmbedder) Query(_ context.Context, text string) (embed.Vector, error) {
	if f.query != nil {
		if err := f.query(); err != nil {
			return nil, err
		}
	}
	return sensed(text), nil
}

func (f fakeEmbedder) Documents(ctx context.Context, texts []string) ([]embed.Vector, error) {
	if f.documents != nil {
		if err := f.documents(ctx); err != nil {
			return nil, err
		}
	}
	out := make([]embed.Vector, len(texts))
	for i, text := range texts {
		out[i] = sensed(text)
	}
	return out, nil
}

func sensed(text string) embed.Vector {
	v := make(embed.Vector, len(senses)+1)
	v[len(senses)] = 0.1
	for i, words := range senses {
		for _, w := range words {
			v[i] += float32(strings.Count(strings.ToLower(text), w))
		}
	}
	length := float32(math.Sqrt(float64(v.Dot(v))))
	for i := range v {
		v[i] /= length
	}
	return v
}

// embedded serves the handbook, with vectors.
func embedded(t *testing.T, f fakeEmbedder) *Repository {
	r := newRepository(t, f, policiestest.Handbook()...)
	ask(t, r, "anything") // starts to embed
	r.background.Wait()
	return r
}

func TestMeaningFindsWhatNoWordDoesAndSaysSo(t *testing.T) {
	r := embedded(t, fakeEmbedder{})
	got, legs := ask(t, r, "which stuff lasts longest")
	if len(got) == 0 || got[0].GetPolicyId() != "warranty" || !got[0].GetNearInMeaning() || !slices.Equal(legs, []string{"lexical", "vector"}) {
		t.Errorf("%v by %v; want the warranty, near in meaning", got, legs)
	}
	if got, _ := ask(t, r, "the and of"); len(got) > 0 {
		t.Errorf("a question without words: %v", got)
	}
}

func TestMeaningOrdersWhatWordsFindAndAddsNothing(t *testing.T) {
	lexical := newRepository(t, nil, policiestest.Handbook()...)
	both := embedded(t, fakeEmbedder{})
	for _, question := range []string{"guarantee on bags", "how do I return something", "do you deliver to Norway"} {
		want, _ := ask(t, lexical, question)
		got, _ := ask(t, both, question)
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("%q: %d passages, by words alone %d", question, len(got), len(want))
		}
		for i, p := range got {
			if p.GetNearInMeaning() || i > 0 && p.GetScore() > got[i-1].GetScore() {
				t.Errorf("%q: passage %d is %v", question, i, p)
			}
		}
	}
	// Words put a passage last that is the nearest in meaning; both together do not.
	x := handbookIndex(t)
	words := x.find("returns", "")
	found := words.candidates
	vectors := make([]embed.Vector, len(x.entries))
	for i := range vectors {
		vectors[i] = embed.Vector{0, 1}
	}
	last := found[len(found)-1].at
	vectors[last] = embed.Vector{1, 0}
	fused := x.fused(words, embed.Vector{1, 0}, vectors).candidates
	if len(found) < 3 || len(fused) != len(found) || slices.IndexFunc(fused, func(c candidate) bool { return c.at == last }) >= len(fused)-1 {
		t.Errorf("the nearest in meaning stays last: %v, was %v", fused, found)
	}
}

func TestALegThatCanNotTakePartIsNamed(t *testing.T) {
	down := errors.New("down")
	release := make(chan struct{})
	for _, tt := range []struct {
		name, leg string
		embedder  fakeEmbedder
		wait      bool
	}{
		{"passages are not embedded yet", "vector:building", fakeEmbedder{documents: func(ctx context.Context) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}, false},
		{"the question can not be embedded", "vector:failed", fakeEmbedder{query: func() error { return down }}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepository(t, tt.embedder, policiestest.Handbook()...)
			ask(t, r, "warranty")
			if tt.wait {
				r.background.Wait()
			}
			got, legs := ask(t, r, "warranty")
			if !slices.Equal(legs, []string{"lexical", tt.leg}) || len(got) == 0 {
				t.Errorf("%d passages by %v, want some by words, and %s", len(got), legs, tt.leg)
			}
		})
	}
	r := newRepository(t, nil, policiestest.Handbook()...)
	if _, legs := ask(t, r, "warranty"); !slices.Equal(legs, []string{"lexical"}) {
		t.Errorf("without an embedder: %v", legs)
	}
}

func TestVectorsOfAnotherDimensionAreAFailure(t *testing.T) {
	r := embedded(t, fakeEmbedder{})
	x := r.indexes["one"]
	other := make([]embed.Vector, len(x.index.entries))
	for i := range other {
		other[i] = embed.Vector{1}
	}
	x.vectors.passages.Store(&other)
	if got, legs := ask(t, r, "warranty"); !slices.Contains(legs, "vector:failed") || len(got) == 0 {
		t.Errorf("%d passages by %v", len(got), legs)
	}
}

func TestPassagesAreEmbeddedAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		f := fakeEmbedder{documents: func(context.Context) error {
			if calls++; calls < 3 {
				return errors.New("down")
			}
			return nil
		}}
		v := &vectors{}
		begun := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			v.make(t.Context(), f, []string{"warranty"}, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		if v.leg() != "vector:failed" {
			t.Errorf("after a failure the leg is %s", v.leg())
		}
		<-done
		if v.leg() != "vector" || time.Since(begun) != 15*time.Second {
			t.Errorf("leg %s after %v, want vector after 5 and 10 seconds", v.leg(), time.Since(begun))
		}
	})
}

func TestAReplacedIndexIsNotEmbeddedAnyMore(t *testing.T) {
	ended := make(chan struct{}, 2)
	r := newRepository(t, fakeEmbedder{documents: func(ctx context.Context) error {
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}}, policiestest.Handbook()...)
	ask(t, r, "warranty")
	put(t, r, &policyv1.Policy{PolicyId: "warranty", Title: "Warranty", Body: "None at all."})
	ask(t, r, "warranty")
	<-ended // the first; the test would hang
	if r.Close(); len(ended) != 1 {
		t.Errorf("closed; the second has ended %d times", len(ended))
	}
}
