package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"go.opentelemetry.io/otel/trace"
)

// TraceID returns the hexadecimal id of the trace that ctx belongs to, or "" outside one.
func TraceID(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}

// LogHandler returns a handler that adds trace_id and span_id to records whose context belongs to a span.
// A handler that does so already is returned as it is.
func LogHandler(h slog.Handler) slog.Handler {
	if wrapped, ok := h.(logHandler); ok {
		return wrapped
	}
	return logHandler{next: h}
}

type logHandler struct{ next slog.Handler }

func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone() // the attributes of a record may be shared with its maker
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return h.next.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{next: h.next.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{next: h.next.WithGroup(name)}
}

// AtLeast returns a handler that passes on records of a level or above.
func AtLeast(level slog.Level, h slog.Handler) slog.Handler { return leveled{level: level, next: h} }

type leveled struct {
	level slog.Level
	next  slog.Handler
}

func (h leveled) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.next.Enabled(ctx, level)
}

func (h leveled) Handle(ctx context.Context, r slog.Record) error { return h.next.Handle(ctx, r) }

func (h leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{level: h.level, next: h.next.WithAttrs(attrs)}
}

func (h leveled) WithGroup(name string) slog.Handler {
	return leveled{level: h.level, next: h.next.WithGroup(name)}
}

// PanicText says what a log may tell of a panic: the text of an error of the Go runtime, which holds no data, and the type of
// anything else. The stack says where it happened.
func PanicText(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", p)
}
