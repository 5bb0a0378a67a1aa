package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// span is a span of a turn, without times and attributes.
type span struct {
	ID, Parent, Name string
	RPC              bool   `json:",omitempty"` // what it carries out is in its children
	Assignment       string `json:",omitempty"` // on the gateway's side
}

// rpcScope is in the names of the instrumentation of gRPC.
const rpcScope = "otelgrpc"

// spanLog collects the spans of turns, and gives them to a sink when the outermost span of a turn in this process ends. It is a
// [sdktrace.SpanProcessor]. The zero value with a sink is ready.
//
// The spans of what a tape stands before are left out: a call on tape is one node, noted by call, whatever retries and connections are
// below. A replay makes none of them.
type spanLog struct {
	sink func(ctx context.Context, t Turn, all []span)

	mu   sync.Mutex
	open map[trace.SpanID]openSpan
	// callers are the spans of the callers of the calls that this process serves: when the span of such a call starts, the scope of
	// the turn is not known yet.
	callers map[trace.SpanID]trace.SpanID
}

type openSpan struct {
	root *rootSpan
	own  bool // it is the root
}

// rootSpan is the outermost span of a turn in this process.
type rootSpan struct {
	ctx   context.Context // to write with
	turn  Turn
	ended bool
	spans []span
}

func newSpanLog(sink func(context.Context, Turn, []span)) *spanLog {
	return &spanLog{sink: sink, open: make(map[trace.SpanID]openSpan), callers: make(map[trace.SpanID]trace.SpanID)}
}

// Watch reads the spans of this process until stop is called. Without a sampled trace, a turn has none.
func (l *spanLog) Watch() (stop func()) {
	provider, ok := otel.GetTracerProvider().(*sdktrace.TracerProvider)
	if !ok {
		return func() {}
	}
	provider.RegisterSpanProcessor(l)
	return func() { provider.UnregisterSpanProcessor(l) }
}

// OnStart implements [sdktrace.SpanProcessor].
func (l *spanLog) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, parent := s.SpanContext().SpanID(), s.Parent().SpanID()
	rpc := strings.HasSuffix(s.InstrumentationScope().Name, rpcScope)
	if rpc && s.SpanKind() == trace.SpanKindServer {
		l.callers[id] = parent
		return
	}
	sc, ok := scope.FromContext(ctx)
	if !ok || sc.TurnID == "" || !kept(s.InstrumentationScope().Name, s.Name()) {
		return
	}
	if caller, ok := l.callers[parent]; ok {
		parent = caller
	}
	o := openSpan{root: l.open[parent].root}
	if o.root == nil {
		o = openSpan{&rootSpan{ctx: context.WithoutCancel(ctx), turn: turnOf(sc)}, true}
	}
	l.open[id] = o
	node := span{ID: id.String(), Name: s.Name(), RPC: rpc}
	if parent.IsValid() {
		node.Parent = parent.String()
	}
	for _, a := range s.Attributes() {
		if s.SpanKind() == trace.SpanKindClient && string(a.Key) == telemetry.KeyAssignment {
			node.Assignment = a.Value.AsString()
		}
	}
	o.root.add(node)
}

func (r *rootSpan) add(s span) {
	if !r.ended {
		r.spans = append(r.spans, s)
	}
}

// kept reports whether spans of an instrumentation are a part of the tree.
func kept(instrumentation, name string) bool {
	return !strings.Contains(instrumentation, "redis") && !strings.HasPrefix(name, chat)
}

// chat begins the names of the spans of model calls.
const chat = "chat"

// OnEnd implements [sdktrace.SpanProcessor].
func (l *spanLog) OnEnd(s sdktrace.ReadOnlySpan) {
	id := s.SpanContext().SpanID()
	l.mu.Lock()
	o := l.open[id]
	delete(l.callers, id)
	delete(l.open, id)
	if o.own {
		o.root.ended = true
	}
	l.mu.Unlock()
	if o.own {
		l.sink(o.root.ctx, o.root.turn, o.root.spans)
	}
}

// call notes a call on tape as a node below the span of the context.
func (l *spanLog) call(ctx context.Context, name string) {
	sc, _ := scope.FromContext(ctx)
	parent := trace.SpanContextFromContext(ctx).SpanID()
	l.mu.Lock()
	caller, served := l.callers[parent]
	if served {
		parent = caller
	}
	node, root := span{Parent: parent.String(), Name: name}, l.open[parent].root
	if root != nil {
		root.add(node)
	}
	l.mu.Unlock()
	if root == nil && served {
		l.sink(ctx, turnOf(sc), []span{node})
	}
}

// Shutdown implements [sdktrace.SpanProcessor].
func (l *spanLog) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdktrace.SpanProcessor].
func (l *spanLog) ForceFlush(context.Context) error { return nil }

// tree returns the spans of a turn as lines that are indented by their depth, siblings by name, or nil if the turn's own span is not
// among them. Calls between services are left out, and so is what is below a tool, which a replay does not run, and the branches that
// the reply does not use: those of a run-ahead that the routing did not confirm.
func tree(spans []span, reply *gatewayv1.AskResponse) []string {
	used := make(map[string]bool)
	for _, r := range reply.GetResults() {
		used[r.GetAssignment().GetAssignmentId()] = true
	}
	children := make(map[string][]span)
	var root *span
	for _, s := range spans {
		if strings.HasPrefix(s.Name, telemetry.OperationInvokeWorkflow) {
			root = &s
		} else if s.Assignment == "" || used[s.Assignment] {
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	if root == nil {
		return nil
	}
	var below func(id, indent string) [][]string // each child with what is below it
	below = func(id, indent string) (parts [][]string) {
		for _, s := range children[id] {
			line := indent + s.Name
			switch {
			case s.RPC:
				parts = append(parts, below(s.ID, indent)...)
			case s.ID == "" || strings.HasPrefix(s.Name, telemetry.OperationExecuteTool):
				parts = append(parts, []string{line})
			default:
				parts = append(parts, slices.Concat([]string{line}, slices.Concat(below(s.ID, indent+"  ")...)))
			}
		}
		slices.SortFunc(parts, slices.Compare)
		return parts
	}
	return slices.Concat([]string{root.Name}, slices.Concat(below(root.ID, "  ")...))
}

// SpanDifference returns the first span in which a replay differs from the recorded turn, with both sides, or "". A turn whose trace was
// not sampled has no spans to compare.
func (p *Player) SpanDifference(now *gatewayv1.AskResponse) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, b := tree(p.spans, p.Reply), tree(p.now, now)
	if a == nil {
		return ""
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return ""
	}
	side := func(lines []string) string {
		if at >= len(lines) {
			return "nothing"
		}
		return path(lines, at)
	}
	return fmt.Sprintf("span %d\n  recorded %s\n  now      %s", at, side(a), side(b))
}

// path returns a line of a tree with those above it.
func path(lines []string, at int) string {
	depth := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	out := strings.TrimSpace(lines[at])
	for d := depth(lines[at]); at >= 0; at-- {
		if depth(lines[at]) < d {
			d = depth(lines[at])
			out = strings.TrimSpace(lines[at]) + " > " + out
		}
	}
	return out
}
