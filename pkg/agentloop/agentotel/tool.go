package agentotel

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// contentBytes limits what is captured of a tool's arguments or result.
const contentBytes = 8 << 10

// Tool returns a tool that does what t does, with a span for every call. It is cheap enough to be called for every request.
// Cfg's Provider, RequestModel and MeterProvider are not used.
func Tool(t agentloop.Tool, cfg Config) agentloop.Tool {
	if t.Run == nil {
		return t // for agentloop.New to refuse
	}
	run, tracer, name := t.Run, cfg.tracer(), t.Name
	t.Run = func(ctx context.Context, call agentloop.ToolCall) (value any, err error) {
		attrs := []attribute.KeyValue{
			keyOperation.String(operationExecuteTool), keyToolName.String(name),
			keyToolType.String("function"), keyToolCallID.String(call.ID),
		}
		if cfg.CaptureContent {
			attrs = append(attrs, keyToolArguments.String(content(call.Arguments)))
		}
		ctx, span := tracer.Start(ctx, operationExecuteTool+" "+name, trace.WithAttributes(attrs...))
		err = errPanicked // until run returns
		defer func() {
			if err != nil {
				cfg.fail(span, err)
			}
			span.End()
		}()
		value, err = run(ctx, call)
		if err == nil && cfg.CaptureContent && span.IsRecording() {
			span.SetAttributes(keyToolResult.String(result(value)))
		}
		return value, err
	}
	return t
}

// offeredName is the form of a tool's name. A model may write anything.
var offeredName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Refused records a span for a call that the loop has refused, so that no tool has run: one of an unknown tool, or with bad arguments.
// Its name lacks the tool's, which the model may have made up.
func Refused(ctx context.Context, call agentloop.CallRecord, cfg Config) {
	attrs := []attribute.KeyValue{
		keyOperation.String(operationExecuteTool), keyToolType.String("function"), keyToolCallID.String(call.ID), keyErrorType.String("refused"),
	}
	if offeredName.MatchString(call.Name) {
		attrs = append(attrs, keyToolName.String(call.Name))
	}
	description := ""
	if cfg.CaptureContent {
		attrs = append(attrs, keyToolArguments.String(content(call.Arguments)))
		description = call.Error
	}
	_, span := cfg.tracer().Start(ctx, operationExecuteTool, trace.WithAttributes(attrs...), trace.WithTimestamp(call.Start))
	span.SetStatus(codes.Error, description)
	span.End(trace.WithTimestamp(call.Start.Add(call.Duration)))
}

// errPanicked is the error of a tool that did not return.
var errPanicked error = panicked{errors.New("the tool panicked")}

type panicked struct{ error }

// ErrorType names the error for errorType.
func (panicked) ErrorType() string { return "panic" }

// result writes a tool's value as text.
func result(value any) string {
	switch v := value.(type) {
	case string:
		return content(v)
	case json.RawMessage:
		return content(string(v))
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return content(string(raw))
}

// content limits captured text to contentBytes.
func content(text string) string {
	if len(text) > contentBytes {
		text = text[:contentBytes]
	}
	return strings.ToValidUTF8(text, "")
}
