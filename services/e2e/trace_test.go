package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
)

// whole returns the spans of one trace by their parents, without those of Redis, once each one's parent has ended: a
// server's span ends a moment after its caller has the reply.
func whole(t *testing.T, traceID string) map[string][]sdktrace.ReadOnlySpan {
	t.Helper()
	children := make(map[string][]sdktrace.ReadOnlySpan)
	redistest.Eventually(t, func() error {
		clear(children)
		ended := map[string]bool{"": true}
		for _, s := range spans.Ended() {
			if s.SpanContext().TraceID().String() != traceID || strings.Contains(s.InstrumentationScope().Name, "redis") {
				continue
			}
			parent := ""
			if s.Parent().IsValid() {
				parent = s.Parent().SpanID().String()
			}
			children[parent] = append(children[parent], s)
			ended[s.SpanContext().SpanID().String()] = true
		}
		for parent, spans := range children {
			if !ended[parent] {
				return fmt.Errorf("the parent of %q has not ended", spans[0].Name())
			}
		}
		return nil
	})
	return children
}

// treeOf renders the spans of one trace as indented names, children by name, without the spans of Redis.
func treeOf(t *testing.T, traceID string) []string {
	t.Helper()
	children := whole(t, traceID)
	var lines []string
	var walk func(parent, indent string)
	walk = func(parent, indent string) {
		next := children[parent]
		slices.SortStableFunc(next, func(a, b sdktrace.ReadOnlySpan) int {
			if c := strings.Compare(a.Name(), b.Name()); c != 0 {
				return c
			}
			return a.StartTime().Compare(b.StartTime())
		})
		for _, s := range next {
			lines = append(lines, indent+s.Name())
			walk(s.SpanContext().SpanID().String(), indent+"  ")
		}
	}
	walk("", "")
	return lines
}

func TestATurnIsOneSpanTreeAcrossTheServices(t *testing.T) {
	h := newSystem(t)
	reply := h.ask(t, twoParts)
	got := treeOf(t, reply.GetTraceId())
	if len(got) == 0 || got[0] != "quartet.gateway.v1.GatewayService/Ask" {
		t.Fatalf("the trace does not begin with the call:\n%s", strings.Join(got, "\n"))
	}
	roots := 0
	for _, line := range got {
		if !strings.HasPrefix(line, " ") {
			roots++
		}
	}
	if roots != 1 {
		t.Errorf("%d roots, want 1", roots)
	}
	search := []string{
		"invoke_agent search",
		"quartet.specialist.v1.SpecialistService/Answer",
		"quartet.specialist.v1.SpecialistService/Answer",
		"invoke_agent search",
		"chat quartet-offline",
		"chat quartet-offline",
		"execute_tool search_catalog",
	}
	if diff := cmp.Diff(search, under(got, "invoke_agent search")); diff != "" {
		t.Errorf("the search branch (-want +got):\n%s\nthe tree:\n%s", diff, strings.Join(got, "\n"))
	}
	for _, want := range []string{"invoke_workflow shopping_turn", "quartet.router.v1.RouterService/Route", "execute_tool search_policies"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.TrimSpace(line) == want }) {
			t.Errorf("no span %q in:\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// under returns the names of a span, the first of its name, and all below it.
func under(tree []string, name string) []string {
	start := slices.IndexFunc(tree, func(line string) bool { return strings.TrimSpace(line) == name })
	if start < 0 {
		return nil
	}
	depth := indentOf(tree[start])
	names := []string{name}
	for _, line := range tree[start+1:] {
		if indentOf(line) <= depth {
			break
		}
		names = append(names, strings.TrimSpace(line))
	}
	return names
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// Attributes must not hold what customers wrote or what tools returned, unless that was switched on.
func TestSpansHoldNoContent(t *testing.T) {
	h := newSystem(t)
	const secret = "heliotrope"
	reply := h.ask(t, "Do you have "+secret+" sandals, and where is my order?")
	for _, s := range spans.Ended() {
		if s.SpanContext().TraceID().String() != reply.GetTraceId() {
			continue
		}
		for _, a := range s.Attributes() {
			if v := a.Value.String(); strings.Contains(v, secret) || strings.Contains(v, "QT-10029") {
				t.Errorf("span %q has %s=%q", s.Name(), a.Key, v)
			}
		}
	}
}
