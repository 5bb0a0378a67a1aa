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

// GenerateConfig configures [Generate].
type GenerateConfig struct {
	// Model answers. Required.
	Model Model
	// Name names the schema for the provider: letters, digits, '_' and '-'. Required.
	Name string
	// System is the system prompt. Empty: none.
	System string
	// Schema replaces the schema derived from the type, for example to narrow a string to the values that exist now. Nil:
	// derived.
	Schema json.RawMessage
	// Temperature is the sampling temperature. Nil: the provider's default.
	Temperature *float64
	// MaxOutputTokens limits the answer, as [Config.MaxOutputTokens] does. Zero: DefaultMaxOutputTokens.
	MaxOutputTokens int
	// Price turns usage into cost. Nil: the cost is unknown.
	Price *Price
}

// Generate asks a model for a value of type T, a struct with json tags. It finds the JSON object in prose or a code fence,
// repairs almost-JSON (see [CallRecord]), checks the object against the schema, and asks once more if it does not fit.
//
// Errors: [ErrBadOutput], wrapped with what does not fit, or those of [Loop.Run]. The result is nil only if the configuration
// is bad. Generate panics if no schema can be derived from T, which is a programming error.
func Generate[T any](ctx context.Context, cfg GenerateConfig, history []Message, message string) (T, *Result, error) {
	var zero T
	loop, s, err := cfg.compile(reflect.TypeFor[T]())
	if err != nil {
		return zero, nil, err
	}
	result, err := loop.runUntyped(ctx, history, message)
	if err != nil {
		return zero, result, err
	}
	value, mismatch := parseOutput[T](ctx, s, result.Text)
	switch {
	case mismatch == nil:
		return value, result, nil
	case ctx.Err() != nil:
		return zero, result, fmt.Errorf("agentloop: %w", ctx.Err())
	}
	history = append(slices.Clone(history),
		Message{Role: RoleUser, Text: message}, Message{Role: RoleAssistant, Text: result.Text})
	second, err := loop.runUntyped(ctx, history, fmt.Sprintf("That does not fit: %v. Write the JSON object again, and nothing else.", mismatch))
	result = mergeResults(result, second)
	if err != nil {
		return zero, result, err
	}
	if value, mismatch = parseOutput[T](ctx, s, second.Text); mismatch != nil {
		return zero, result, fmt.Errorf("%w: %w", ErrBadOutput, mismatch)
	}
	return value, result, nil
}

// compile returns the loop that asks for a value of a type, and the schema that the answer must fit.
func (cfg GenerateConfig) compile(t reflect.Type) (*Loop, *schema, error) {
	if cfg.Model == nil {
		return nil, nil, errors.New("agentloop: GenerateConfig.Model is nil")
	}
	if !toolName.MatchString(cfg.Name) {
		return nil, nil, fmt.Errorf("agentloop: GenerateConfig.Name is %q: want 1 to 64 letters, digits, '_' or '-'", cfg.Name)
	}
	s, err := (*schema)(nil), error(nil)
	if cfg.Schema == nil {
		s = schemaOf(t, false)
	} else if s, err = parseSchema(cfg.Schema, false, false); err != nil {
		return nil, nil, fmt.Errorf("agentloop: GenerateConfig.Schema: %w", err)
	}
	loop, err := New(Config{
		Model:  outputModel{Model: cfg.Model, output: &OutputSchema{Name: cfg.Name, Schema: s.raw}},
		System: cfg.System, Temperature: cfg.Temperature, MaxOutputTokens: cfg.MaxOutputTokens, Price: cfg.Price,
		MaxSteps: 1, // there are no tools to call
	})
	return loop, s, err
}

// runUntyped is Run, except that an answer after calls of tools that do not exist is as good as any.
func (l *Loop) runUntyped(ctx context.Context, history []Message, message string) (*Result, error) {
	result, err := l.Run(ctx, history, message)
	if errors.Is(err, ErrMaxSteps) {
		err = nil
	}
	return result, err
}

// outputModel asks for typed output in every request.
type outputModel struct {
	Model
	output *OutputSchema
}

// Generate implements [Model].
func (m outputModel) Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error] {
	typed := *req
	typed.Output = m.output
	return m.Model.Generate(ctx, &typed)
}

// mergeResults returns the results of two runs as one.
func mergeResults(a, b *Result) *Result {
	sum := *b
	sum.Steps = slices.Concat(a.Steps, b.Steps)
	sum.Calls = slices.Concat(a.Calls, b.Calls)
	sum.Usage = a.Usage.Add(b.Usage)
	sum.Duration += a.Duration
	if sum.Cost = nil; a.Cost != nil && b.Cost != nil {
		sum.Cost = &Cost{Micros: a.Cost.Micros + b.Cost.Micros, Currency: b.Cost.Currency}
	}
	return &sum
}

// parseOutput finds the JSON object in an answer, checks it against the schema and decodes it.
func parseOutput[T any](ctx context.Context, s *schema, text string) (T, error) {
	var value T
	object, _, err := findObject(ctx, text)
	if err != nil {
		return value, err
	}
	checked, _, err := s.check(object)
	if err != nil {
		return value, err
	}
	err = json.Unmarshal(checked, &value)
	return value, err
}

// minDecode is the least that one attempt of json.Decoder costs, in bytes: the size of its first read.
const minDecode = 512

// maxFindWork limits the bytes that findObject decodes in total.
func maxFindWork(text string) int { return 64<<10 + 8*len(text) }

// findObject returns the object that a text is or almost is, else the first JSON object in the text, or the whole text if
// there is none. An object that does not end hides the objects inside it: part of an answer is not the answer.
//
// An attempt at each opening brace would take quadratic time for hostile text, so maxFindWork limits them all together. work
// is the number of bytes that they decoded. The error is the context's.
func findObject(ctx context.Context, text string) (object json.RawMessage, work int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if object, ok := repair.Object(text); ok {
		return json.RawMessage(object), 0, nil
	}
	for at := 0; work < maxFindWork(text) && ctx.Err() == nil; at++ {
		brace := strings.IndexByte(text[at:], '{')
		if brace < 0 {
			break
		}
		at += brace
		var syntax *json.SyntaxError
		switch err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&object); {
		case err == nil:
			return object, work, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return json.RawMessage(text[at:]), work, nil
		case errors.As(err, &syntax):
			work += max(int(syntax.Offset), minDecode)
		}
	}
	return json.RawMessage(text), work, ctx.Err()
}
