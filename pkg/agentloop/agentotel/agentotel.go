// Package agentotel traces and measures models and tools of agentloop, by wrapping them, in the terms of OpenTelemetry's
// conventions for generative AI.
//
//	model := agentotel.Model(model, agentotel.Config{Provider: "openai", RequestModel: "gpt-x"})
//	tool := agentotel.Tool(tool, agentotel.Config{})
//
// A call of a model is a span "chat {model}", a call of a tool a span "execute_tool {tool}". What was said never shows in
// them, not even in the description of an error, unless Config.CaptureContent asks for it.
//
// The package imports the OpenTelemetry API only. Without an SDK that is set up elsewhere it does nothing, cheaply.
package agentotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scopeName = "github.com/quartet-commerce/quartet/pkg/agentloop/agentotel"

// The names of the conventions for generative AI, version 1.41. They are written out because the packages of later
// versions have none of them.
const (
	keyOperation        = attribute.Key("gen_ai.operation.name")
	keyProvider         = attribute.Key("gen_ai.provider.name")
	keyOutputType       = attribute.Key("gen_ai.output.type")
	keyRequestModel     = attribute.Key("gen_ai.request.model")
	keyMaxTokens        = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature      = attribute.Key("gen_ai.request.temperature")
	keyResponseModel    = attribute.Key("gen_ai.response.model")
	keyFinishReasons    = attribute.Key("gen_ai.response.finish_reasons")
	keyTimeToFirstChunk = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyInputTokens      = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens     = attribute.Key("gen_ai.usage.output_tokens")
	keyCachedTokens     = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyReasoningTokens  = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyTokenType        = attribute.Key("gen_ai.token.type")
	keyToolName         = attribute.Key("gen_ai.tool.name")
	keyToolType         = attribute.Key("gen_ai.tool.type")
	keyToolCallID       = attribute.Key("gen_ai.tool.call.id")
	keyToolArguments    = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult       = attribute.Key("gen_ai.tool.call.result")
	keyErrorType        = attribute.Key("error.type")

	operationChat        = "chat"
	operationExecuteTool = "execute_tool"
)

// Config says what to write down, and where to. The zero Config serves for tools.
type Config struct {
	// Provider is who runs the model, in the conventions' terms: "openai", "anthropic", "gcp.gemini" and so on. Empty: "openai",
	// for the interface if not the owner. Not used for tools.
	Provider string
	// RequestModel is the name of the model that is asked for. Empty: it is left out. Not used for tools.
	RequestModel string
	// CaptureContent writes the arguments and results of tools, and the words of errors, to spans. They may hold what
	// people wrote.
	CaptureContent bool
	// TracerProvider makes the spans. Nil: the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics of models. Nil: the global one.
	MeterProvider metric.MeterProvider
}

func (c *Config) tracer() trace.Tracer {
	if c.TracerProvider == nil {
		return otel.Tracer(scopeName)
	}
	return c.TracerProvider.Tracer(scopeName)
}

func (c *Config) meter() metric.Meter {
	if c.MeterProvider == nil {
		return otel.Meter(scopeName)
	}
	return c.MeterProvider.Meter(scopeName)
}

// fail marks a span as failed.
func (c *Config) fail(span trace.Span, err error) {
	description := ""
	if c.CaptureContent {
		description = err.Error()
	}
	span.SetAttributes(keyErrorType.String(errorType(err)))
	span.SetStatus(codes.Error, description)
}

// errorType returns a short name for the kind of an error, out of few. An error may name itself by a method ErrorType.
func errorType(err error) string {
	var named interface{ ErrorType() string }
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &named):
		return named.ErrorType()
	}
	return "_OTHER"
}
