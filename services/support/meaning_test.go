package support

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

	"go.uber.org/goleak"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// ask searches the documents of store "one".
func (c clients) ask(t *testing.T, question string) *policyv1.SearchPoliciesResponse {
	t.Helper()
	resp, err := c.policies.SearchPolicies(t.Context(), &policyv1.SearchPoliciesRequest{StoreId: "one", Query: question})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// embedded serves the handbook, with vectors.
func embedded(t *testing.T, f fakeEmbedder) clients {
	c := serveBy(t, silent(), f)
	c.havePolicies(t, "one", handbook()...)
	c.ask(t, "anything") // begins to embed
	c.service.policies.store.work.Wait()
	return c
}

func TestMeaningFindsWhatNoWordDoesAndSaysSo(t *testing.T) {
	c := embedded(t, fakeEmbedder{})
	resp := c.ask(t, "which stuff lasts longest")
	got := resp.GetPassages()
	if len(got) == 0 || got[0].GetPolicyId() != "warranty" || !got[0].GetNearInMeaning() || !slices.Equal(resp.GetLegs(), []string{"lexical", "vector"}) {
		t.Errorf("%v by %v; want the warranty, near in meaning", got, resp.GetLegs())
	}
	if got := c.ask(t, "the and of").GetPassages(); len(got) > 0 {
		t.Errorf("a question without words: %v", got)
	}
	shown, err := servicetest.Run[searchResult](t.Context(), t, toolsFor(c, ""), "search_policies", `{"query":"which stuff lasts longest"}`)
	if err != nil || len(shown.Passages) == 0 || !strings.Contains(shown.Note, "only if it answers") {
		t.Errorf("the model is told %+v, %v", shown, err)
	}
}

func TestMeaningOrdersWhatWordsFindAndAddsNothing(t *testing.T) {
	byWords := serve(t, silent())
	byWords.havePolicies(t, "one", handbook()...)
	both := embedded(t, fakeEmbedder{})
	for _, question := range []string{"guarantee on bags", "how do I return something", "do you deliver to Norway"} {
		want, got := byWords.ask(t, question).GetPassages(), both.ask(t, question).GetPassages()
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
	found, _ := x.find("returns", "")
	vectors := make([]embed.Vector, len(x.entries))
	for i := range vectors {
		vectors[i] = embed.Vector{0, 1}
	}
	last := found[len(found)-1].at
	vectors[last] = embed.Vector{1, 0}
	joined := x.joined(found, embed.Vector{1, 0}, vectors, 3)
	if len(found) < 3 || len(joined) != len(found) || slices.IndexFunc(joined, func(c candidate) bool { return c.at == last }) >= len(joined)-1 {
		t.Errorf("the nearest in meaning stays last: %v, was %v", joined, found)
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
			c := serveBy(t, silent(), tt.embedder)
			c.havePolicies(t, "one", handbook()...)
			c.ask(t, "warranty")
			if tt.wait {
				c.service.policies.store.work.Wait()
			}
			resp := c.ask(t, "warranty")
			if !slices.Equal(resp.GetLegs(), []string{"lexical", tt.leg}) || len(resp.GetPassages()) == 0 {
				t.Errorf("%d passages by %v, want some by words, and %s", len(resp.GetPassages()), resp.GetLegs(), tt.leg)
			}
		})
	}
	c := serve(t, silent())
	c.havePolicies(t, "one", handbook()...)
	if legs := c.ask(t, "warranty").GetLegs(); !slices.Equal(legs, []string{"lexical"}) {
		t.Errorf("without an embedder: %v", legs)
	}
}

func TestVectorsOfAnotherDimensionAreAFailure(t *testing.T) {
	c := embedded(t, fakeEmbedder{})
	v := c.service.policies.store.indexes["one"]
	other := make([]embed.Vector, len(v.index.entries))
	for i := range other {
		other[i] = embed.Vector{1}
	}
	v.meanings.vectors.Store(&other)
	if resp := c.ask(t, "warranty"); !slices.Contains(resp.GetLegs(), "vector:failed") || len(resp.GetPassages()) == 0 {
		t.Errorf("%d passages by %v", len(resp.GetPassages()), resp.GetLegs())
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
		m := &meanings{}
		begun := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.make(t.Context(), f, []string{"warranty"}, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		if m.leg() != "vector:failed" {
			t.Errorf("after a failure the leg is %s", m.leg())
		}
		<-done
		if m.leg() != "vector" || time.Since(begun) != 15*time.Second {
			t.Errorf("leg %s after %v, want vector after 5 and 10 seconds", m.leg(), time.Since(begun))
		}
	})
}

func TestAReplacedIndexIsNotEmbeddedAnyMore(t *testing.T) {
	ended := make(chan struct{}, 2)
	c := serveBy(t, silent(), fakeEmbedder{documents: func(ctx context.Context) error {
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}})
	c.havePolicies(t, "one", handbook()...)
	c.ask(t, "warranty")
	c.havePolicies(t, "one", &policyv1.Policy{PolicyId: "warranty", Title: "Warranty", Body: "None at all."})
	c.ask(t, "warranty")
	<-ended // the first; the test would hang
	if err := c.service.Close(); err != nil || len(ended) != 1 {
		t.Errorf("closed with %v, the second has ended %d times", err, len(ended))
	}
}
