package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop/internal/repair"
)

// GenerateConfig says how to ask for a typed answer.
type GenerateConfig struct {
	// Model answers. Required.
	Model Model
	// Name of the answer's shape: letters, digits, '_' and '-'. Required.
	Name string
	// System is the system prompt. Empty: none is sent.
	System string
	// Schema overrides the one derived from the type, say to narrow a string to the values that exist now. Nil: derived.
	Schema json.RawMessage
	// Temperature is passed to the model. Nil: the provider's default.
	Temperature *float64
	// MaxOutputTokens bounds the answer, as [Config.MaxOutputTokens] does. Zero: DefaultMaxOutputTokens.
	MaxOutputTokens int
	// Price turns usage into cost. Nil: the cost is unknown.
	Price *Price
}

// Generate asks a model for a value of type T, a struct with json tags. The answer is taken from the text even when it is
// wrapped in prose or a code fence or is almost JSON (see [CallRecord]), checked against the schema, and asked for once more
// when it does not fit. Errors:
// [ErrBadOutput] wrapped with what did not fit, or Run's. The result is nil only when the configuration is bad. Generate
// panics if no schema can be derived from T, which is a fault in the program.
func Generate[T any](ctx context.Context, cfg GenerateConfig, history []Message, message string) (T, *Result, error) {
	var zero T
	loop, shape, err := cfg.prepare(reflect.TypeFor[T]())
	if err != nil {
		return zero, nil, err
	}
	result, err := loop.answer(ctx, history, message)
	if err != nil {
		return zero, result, err
	}
	value, fault := parseAs[T](shape, result.Text)
	if fault == nil {
		return value, result, nil
	}
	history = append(slices.Clone(history),
		Message{Role: RoleUser, Text: message}, Message{Role: RoleAssistant, Text: result.Text})
	second, err := loop.answer(ctx, history, fmt.Sprintf("That does not fit: %v. Write the JSON object again, and nothing else.", fault))
	result = joined(result, second)
	if err != nil {
		return zero, result, err
	}
	if value, fault = parseAs[T](shape, second.Text); fault != nil {
		return zero, result, fmt.Errorf("%w: %w", ErrBadOutput, fault)
	}
	return value, result, nil
}

// prepare makes the loop that asks, and the shape that the answer must have.
func (cfg GenerateConfig) prepare(t reflect.Type) (*Loop, Tool, error) {
	if cfg.Model == nil {
		return nil, Tool{}, errors.New("agentloop: GenerateConfig.Model is nil")
	}
	shape := Tool{ToolSpec: ToolSpec{Name: cfg.Name, Parameters: cfg.Schema}, Run: noRun}
	if cfg.Schema == nil {
		shape.schema = derive(t)
		shape.Parameters = shape.schema.raw
	}
	shape, err := shape.compile()
	if err != nil {
		return nil, shape, fmt.Errorf("agentloop: answer: %w", err)
	}
	loop, err := New(Config{
		Model:  outputModel{Model: cfg.Model, output: &OutputSchema{Name: cfg.Name, Schema: shape.Parameters}},
		System: cfg.System, Temperature: cfg.Temperature, MaxOutputTokens: cfg.MaxOutputTokens, Price: cfg.Price,
		MaxSteps: 1, // there are no tools to call
	})
	return loop, shape, err
}

// answer is Run, where an answer after a call of tools that are not there is as good as any.
func (l *Loop) answer(ctx context.Context, history []Message, message string) (*Result, error) {
	result, err := l.Run(ctx, history, message)
	if errors.Is(err, ErrMaxSteps) {
		err = nil
	}
	return result, err
}

// noRun stands in for a tool's function where only its schema is used.
func noRun(context.Context, ToolCall) (any, error) { return nil, nil }

// outputModel asks for typed output in every request.
type outputModel struct {
	Model
	output *OutputSchema
}

// joined is the result of two runs as one.
func joined(a, b *Result) *Result {
	sum := *b
	sum.Steps = slices.Concat(a.Steps, b.Steps)
	sum.Calls = slices.Concat(a.Calls, b.Calls)
	sum.Usage = a.Usage.Add(b.Usage)
	sum.Duration += a.Duration
	if a.Cost != nil && b.Cost != nil {
		sum.Cost = &Cost{Micros: a.Cost.Micros + b.Cost.Micros, Currency: b.Cost.Currency}
	}
	return &sum
}

// parseAs finds the JSON object in a text and decodes it.
func parseAs[T any](shape Tool, text string) (T, error) {
	var value T
	raw, _, err := shape.check(findObject(text))
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, err
	}
	return value, nil
}

// findObject returns the object that a text is or almost is, else the first JSON object in it, or the text when there is
// none. An object that does not end hides those within it: part of an answer is not the answer.
func findObject(text string) json.RawMessage {
	if object, ok := repair.Object(text); ok {
		return json.RawMessage(object)
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return json.RawMessage(text)
		}
		at += i
		var raw json.RawMessage
		switch err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&raw); {
		case err == nil:
			return raw
		case errors.Is(err, io.ErrUnexpectedEOF):
			return json.RawMessage(text[at:])
		}
	}
}

// Generate implements [Model].
func (m outputModel) Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error] {
	typed := *req
	typed.Output = m.output
	return m.Model.Generate(ctx, &typed)
}
