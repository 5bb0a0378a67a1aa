package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/embed"
	labelled "github.com/quartet-commerce/quartet/services/internal/eval/routing"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

const byExamples = routerv1.DecisionSource_DECISION_SOURCE_EXAMPLES

// embeddings stands for an embeddings endpoint and for an Embedder. An example "search 3" points to search, the less so the higher its
// number; other texts point to the specialists that about names.
type embeddings struct {
	about map[string][]string
	fail  error                                           // of queries; nil: none
	slow  func(ctx context.Context, documents bool) error // called first; may be nil

	mu       sync.Mutex // guards the rest
	examples []string
	queries  [][]string
}

func (e *embeddings) vector(text string) embed.Vector {
	axes := []string{"search", "recommend", "promotions", "support", "gifts", ""}
	v := make(embed.Vector, len(axes))
	if name, n, ok := strings.Cut(text, " "); ok && slices.Contains(axes, name) {
		if i, err := strconv.Atoi(n); err == nil {
			v[slices.Index(axes, name)], v[len(axes)-1] = 1, float32(i)/100
			return v
		}
	}
	for _, name := range e.about[text] {
		v[slices.Index(axes, name)] = 1
	}
	return v
}

func (e *embeddings) embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	_, number, _ := strings.Cut(texts[0], " ")
	_, err := strconv.Atoi(number)
	documents := err == nil
	if e.slow != nil {
		if err := e.slow(ctx, documents); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if documents {
		e.examples = append(e.examples, texts...)
	} else if e.queries = append(e.queries, texts); e.fail != nil {
		return nil, e.fail
	}
	var out []embed.Vector
	for _, t := range texts {
		out = append(out, e.vector(t))
	}
	return out, nil
}

func (e *embeddings) Queries(ctx context.Context, texts []string) ([]embed.Vector, error) {
	return e.embed(ctx, texts)
}

func (e *embeddings) Documents(ctx context.Context, texts []string) ([]embed.Vector, error) {
	return e.embed(ctx, texts)
}

// client returns a client of a server that answers as e does, over HTTP.
func (e *embeddings) client(t *testing.T) Embedder {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		err := json.NewDecoder(r.Body).Decode(&in)
		vectors, failed := e.embed(r.Context(), in.Input)
		if err = errors.Join(err, failed); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type datum struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var out struct {
			Data []datum `json:"data"`
		}
		for i, v := range vectors {
			out.Data = append(out.Data, datum{i, v})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	c, err := embed.New(embed.Config{URL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// withExamples returns the four specialists, each with a number of examples such as "search 3". The classifier knows the four, so
// their examples do not change its results.
func withExamples(n int) []*specialistv1.Specialist {
	all := specialists()
	for _, s := range all {
		s.Examples = nil
		for i := range n {
			s.Examples = append(s.Examples, fmt.Sprintf("%s %d", s.GetName(), i))
		}
	}
	return all
}

// classified returns the classifier's assignments of a message of which it must not be certain.
func classified(t *testing.T, message string) []classifier.Assignment {
	t.Helper()
	got := classifier.New(four).Classify(classifier.Input{Message: message})
	if got.Confidence >= classifier.Threshold {
		t.Fatalf("the classifier is certain of %q; the test needs another message", message)
	}
	return got.Assignments
}

// agreeing returns what makes the examples confirm a message as the classifier splits it.
func agreeing(t *testing.T, message string) map[string][]string {
	t.Helper()
	about := map[string][]string{}
	for _, a := range classified(t, message) {
		about[a.SubQuery] = []string{a.Specialist}
		if len(about[message]) == 0 {
			about[message] = []string{a.Specialist}
		}
	}
	return about
}

// newEmbedding returns a router whose examples are embedded.
func newEmbedding(t *testing.T, cfg Config, specialists []*specialistv1.Specialist) *Service {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Embed(t.Context(), specialists); err != nil {
		t.Fatal(err)
	}
	return s
}

// outcome routes a message.
func outcome(t *testing.T, s *Service, specialists []*specialistv1.Specialist, message string) labelled.Outcome {
	t.Helper()
	all, err := labelled.Run(t.Context(), labelled.Config{Router: s, Specialists: specialists}, []labelled.Message{{Text: message}})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// asksNobody is a model that must not be asked.
func asksNobody(t *testing.T) agentloop.Model {
	return fakeModel{func(context.Context, *agentloop.Request) (string, error) {
		t.Error("the model was asked")
		return "", errors.New("not wanted")
	}}
}

func TestTheNearestExamplesConfirmWhatTheClassifierIsNotCertainOf(t *testing.T) {
	e := &embeddings{about: agreeing(t, unsureMessage)}
	s := newEmbedding(t, Config{Model: asksNobody(t), Embedder: e.client(t)}, withExamples(12))
	defer s.Close()
	var all []*routerv1.RoutingDecision
	req := &routerv1.RouteRequest{Message: unsureMessage, Specialists: withExamples(12)}
	set, err := s.specialists.forRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	r := newRouting(s.cfg, req, set)
	r.examples = s.examples
	last, err := r.decide(t.Context(), func(d *routerv1.RoutingDecision) error { all = append(all, d); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if all = append(all, last); len(all) != 2 || all[0].GetStage() != provisional || last.GetStage() != final || last.GetSource() != byExamples {
		t.Fatalf("decisions %v, want a provisional one and one by examples", all)
	}
	if diff := cmp.Diff(assignments(all[0]), assignments(last)); diff != "" {
		t.Errorf("the assignments differ from the provisional ones:\n%s", diff)
	}
	if last.GetCertainty() < clearVote || last.GetPromptVersion() != "" || len(last.GetNotes()) > 0 {
		t.Errorf("got %v", last)
	}
	texts := []string{unsureMessage}
	for _, a := range classified(t, unsureMessage) {
		texts = append(texts, a.SubQuery)
	}
	if diff := cmp.Diff([][]string{texts}, e.queries); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(e.examples) != 4*12 {
		t.Errorf("%d examples were embedded, want 48", len(e.examples))
	}
}

func TestAVoteThatIsNotClearLeavesTheDecisionToTheModel(t *testing.T) {
	parts := classified(t, unsureMessage)
	if len(parts) < 2 {
		t.Fatalf("the classifier makes %d parts of %q; the test needs two", len(parts), unsureMessage)
	}
	const single = "does a roof terrace exist?"
	for name, c := range map[string]struct {
		message, text string   // the text of the message that is elsewhere
		about         []string // where
	}{
		"between two specialists":                 {unsureMessage, parts[0].SubQuery, []string{"search", "support"}},
		"another specialist than the classifier":  {unsureMessage, parts[0].SubQuery, []string{"promotions"}},
		"the message is about somebody else":      {unsureMessage, unsureMessage, []string{"recommend"}},
		"one part, and the message is about more": {single, single, []string{classified(t, single)[0].Specialist, "promotions"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &embeddings{about: agreeing(t, c.message)}
			e.about[c.text] = c.about
			s := newEmbedding(t, Config{Model: says(given("support", c.message)), Embedder: e.client(t)}, withExamples(12))
			defer s.Close()
			if got := outcome(t, s, withExamples(12), c.message); got.Source != byModel || len(got.Notes) > 0 || len(e.queries) != 1 {
				t.Errorf("source %v, notes %q, %d requests", got.Source, got.Notes, len(e.queries))
			}
		})
	}
}

func TestExamplesAreNotAskedAboutPartsThatMayLackSomething(t *testing.T) {
	const message = "do you have blue tents? do you have red ones?"
	if r := classifier.New(four).Classify(classifier.Input{Message: message}); len(r.Assignments) != 1 || !r.Incomplete {
		t.Fatalf("the classifier makes %v of %q; the test needs two questions in one part", r.Assignments, message)
	}
	e := &embeddings{about: agreeing(t, message)}
	s := newEmbedding(t, Config{Model: says(given("support", message)), Embedder: e.client(t)}, withExamples(12))
	defer s.Close()
	if got := outcome(t, s, withExamples(12), message); got.Source != byModel || len(e.queries) > 0 {
		t.Errorf("source %v, %d requests", got.Source, len(e.queries))
	}
}

func TestAFailingEndpointIsAsIfThereWereNone(t *testing.T) {
	const why = "the embeddings endpoint failed or was late"
	for name, model := range map[string]agentloop.Model{"with a model": says(given("support", unsureMessage)), "without": nil} {
		t.Run(name, func(t *testing.T) {
			e := &embeddings{about: agreeing(t, unsureMessage), fail: errors.New("no")}
			s := newEmbedding(t, Config{Model: model, Embedder: e.client(t)}, withExamples(12))
			defer s.Close()
			for range 2 { // the second time it rests
				got := outcome(t, s, withExamples(12), unsureMessage)
				if model != nil && got.Source != byModel || model == nil && got.Source != byFallback || len(got.Notes) == 0 || got.Notes[0] != why {
					t.Errorf("source %v, notes %q", got.Source, got.Notes)
				}
			}
			if len(e.queries) != 1 {
				t.Errorf("the endpoint was asked %d times, want once", len(e.queries))
			}
		})
	}
}

func TestVectorsOfAnotherDimensionAreAFailure(t *testing.T) {
	all := []*examples{{specialist: "search"}}
	all[0].vectors.Store(&[]embed.Vector{{1, 0}})
	if near, err := nearest(embed.Vector{1, 0, 0}, all); err == nil {
		t.Errorf("got %v", near)
	}
}

func TestASlowEndpointIsWaitedForBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := true
		e := &embeddings{about: agreeing(t, unsureMessage), slow: func(ctx context.Context, documents bool) error {
			if documents || !hangs {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		s := newEmbedding(t, Config{Model: says(given("support", unsureMessage)), Embedder: e}, withExamples(12))
		defer s.Close()
		for _, want := range []struct {
			waits  time.Duration
			source routerv1.DecisionSource
			later  time.Duration
		}{
			{examplesTimeout, byModel, time.Second}, {0, byModel, 5 * time.Second}, {0, byExamples, 0},
		} {
			began := time.Now()
			if got := outcome(t, s, withExamples(12), unsureMessage); got.Source != want.source || time.Since(began) != want.waits {
				t.Errorf("source %v after %v, want %v after %v", got.Source, time.Since(began), want.source, want.waits)
			}
			hangs = false
			time.Sleep(want.later)
		}
	})
}

func TestExamplesOfEachVersionAreEmbeddedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &embeddings{about: agreeing(t, unsureMessage)}
		s, err := New(Config{Embedder: e})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		route := func(specialists []*specialistv1.Specialist, wantEmbedded int) {
			t.Helper()
			outcome(t, s, specialists, sureMessage) // the first message has them embedded
			synctest.Wait()
			if got := outcome(t, s, specialists, unsureMessage); got.Source != byExamples || len(e.examples) != wantEmbedded {
				t.Errorf("source %v, notes %q, %d examples embedded, want %d", got.Source, got.Notes, len(e.examples), wantEmbedded)
			}
		}
		all := withExamples(12)
		route(all, 48)
		all[2].Available = false // another store, where one is not available
		route(all, 48)
		all[1].Examples = append(all[1].Examples, "recommend 12") // a new version of one
		route(all, 48+13)
		all = append(all, &specialistv1.Specialist{Name: "gifts", Purpose: "wraps gifts", Available: true, Examples: []string{"gifts 1", "gifts 2"}})
		outcome(t, s, all, sureMessage)
		synctest.Wait()
		if len(e.examples) != 48+13+2 {
			t.Errorf("%d examples embedded with a fifth specialist, want 2 more", len(e.examples))
		}
		e.about["gifts"] = []string{"gifts"}
		votes, ok := s.examples.votes(t.Context(), s.examples.of(all), []string{"gifts"})
		if near := votes[0]; !ok || near.specialist != "gifts" || near.share >= clearVote {
			t.Errorf("vote %v: two examples are not enough to be clear", votes)
		}
	})
}

func TestExamplesThatCouldNotBeEmbeddedAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Duration
		began := time.Now()
		e := &embeddings{about: agreeing(t, unsureMessage), slow: func(_ context.Context, documents bool) error {
			if tries = append(tries, time.Since(began)); documents && len(tries) < 3 {
				return errors.New("not yet")
			}
			return nil
		}}
		s, err := New(Config{Embedder: e})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			if got := outcome(t, s, withExamples(12), unsureMessage); got.Source != byFallback || got.Notes[0] != "the specialists' examples are not embedded yet" {
				t.Errorf("source %v, notes %q", got.Source, got.Notes)
			}
			synctest.Wait()
			time.Sleep(firstRetry + time.Second)
		}
		outcome(t, s, withExamples(12), unsureMessage)
		time.Sleep(2 * firstRetry)
		if got := outcome(t, s, withExamples(12), unsureMessage); got.Source != byExamples {
			t.Errorf("source %v, notes %q", got.Source, got.Notes)
		}
		if len(tries) < 3 || tries[1] != firstRetry || tries[2] != 3*firstRetry {
			t.Errorf("tries after %v", tries)
		}
	})
}

// synctest fails if a goroutine is left.
func TestCloseEndsAnEmbeddingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &embeddings{about: agreeing(t, unsureMessage), slow: func(ctx context.Context, _ bool) error { <-ctx.Done(); return ctx.Err() }}
		s, err := New(Config{Embedder: e})
		if err != nil {
			t.Fatal(err)
		}
		outcome(t, s, withExamples(12), unsureMessage)
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Embed(t.Context(), withExamples(12)); !errors.Is(err, errClosed) {
			t.Errorf("error %v after Close", err)
		}
	})
}
