package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/quartet-commerce/quartet/services/internal/offline"
)

// blockingModel counts the calls to another model by caller, and holds the calls that a test chooses.
type blockingModel struct {
	model http.Handler

	mu    sync.Mutex
	calls map[string]int
	fault http.HandlerFunc // answers in place of the model; nil: the model does
	hold  func(caller string, nth int) bool
	held  chan string   // gets the caller of each call that is held
	open  chan struct{} // closed: held calls go on
}

func newBlockingModel(model http.Handler) *blockingModel {
	return &blockingModel{model: model, calls: make(map[string]int)}
}

// set counts from zero again and holds the calls for which hold says so, until release.
func (g *blockingModel) set(hold func(caller string, nth int) bool) (held <-chan string, release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = make(map[string]int)
	g.hold, g.held, g.open = hold, make(chan string, 64), make(chan struct{})
	return g.held, sync.OnceFunc(func() { close(g.open) })
}

// setFault makes every call fail as fault does; nil ends that.
func (g *blockingModel) setFault(fault http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = fault
}

// count returns the number of calls of a caller since set.
func (g *blockingModel) count(caller string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[caller]
}

func (g *blockingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	caller := callerOf(body)
	g.mu.Lock()
	g.calls[caller]++
	hold := g.hold != nil && g.hold(caller, g.calls[caller])
	held, open, fault := g.held, g.open, g.fault
	g.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	if hold {
		held <- caller
		select {
		case <-open:
		case <-r.Context().Done():
			return
		}
	}
	g.model.ServeHTTP(w, r)
}

// callerOf returns the caller of a model, which its tools and its prompt tell.
func callerOf(body []byte) string {
	var req struct {
		Model    string
		Messages []struct{ Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 {
		return "nobody"
	}
	for _, t := range req.Tools {
		switch t.Function.Name {
		case "search_catalog":
			return "search"
		case "search_policies":
			return "support"
		}
	}
	switch system := req.Messages[0].Content; {
	case len(req.Tools) > 0:
		return "another specialist"
	case strings.HasPrefix(system, "You edit an online store's reply"):
		return "merge"
	case strings.HasPrefix(system, "You keep the notes"):
		return "notes"
	case req.Model == offline.ModelFast:
		return "router"
	}
	return "nobody"
}
