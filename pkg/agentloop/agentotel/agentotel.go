// Package agentotel adds OpenTelemetry traces and metrics to the models and tools of agentloop, by wrapping them. Names follow
// OpenTelemetry's conventions for generative AI.
//
//	model := agentotel.Model(model, agentotel.Config{Provider: "openai", RequestModel: "gpt-x"})
//	tool := agentotel.Tool(tool, agentotel.Config{})
//
// A model call is a span "chat {model}", a tool call a span "execute_tool {tool}". Spans hold no content, not even in the
// description of an error, unless Config.CaptureContent is set.
//
// The package must not import anything beyond the standard library, agentloop and the OpenTelemetry API. Without an SDK set up
// elsewhere it does nothing.
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

// The names of the conventions for generative AI, version 1.41. They are written out because later versions of the semconv
// packages do not have them.
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

// Config configures [Model] and [Tool]. The zero value is valid.
type Config struct {
	// Provider is the provider's name in the conventions: "openai", "anthropic", "gcp.gemini" and so on. Empty: "openai", after
	// the API. Not used for tools.
	Provider string
	// RequestModel is the name of the requested model. Empty: left out. Not used for tools.
	RequestModel string
	// CaptureContent writes the arguments and results of tools, and the texts of errors, to spans. They may hold personal data.
	CaptureContent bool
	// TracerProvider makes the spans. Nil: the global provider.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics of models. Nil: the global provider.
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

// errorType returns a short name for the kind of an error, of low cardinality. An error may name itself with a method
// ErrorType() string.
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
