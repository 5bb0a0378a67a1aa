// Package specialist makes a further specialist beside Quartet's four, in a program of its own and outside this repository.
//
// A [Definition] says what the specialist is for and which tools it has. [Serve] serves it over gRPC with what the four have: the
// tool-calling loop, the rules of every prompt, checked claims, budgets, deadlines, traces and metrics. The gateway learns the
// rest from the specialist itself:
//
//	quartet serve gateway --specialist workshops=dns:///workshops:7311
package specialist

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

// Definition is what distinguishes one specialist from another.
type Definition struct {
	// Name, unique in a deployment: lower-case letters, digits and '-'. The gateway has to be told the same name. Required.
	Name string
	// Purpose says in one or two sentences what the specialist is for, and what it is not for. A routing model reads it. Required.
	Purpose string
	// Examples are questions for the specialist, as shoppers write them. They decide where similar questions go.
	Examples []string
	// Keywords are words and phrases in lower case for routing without a model, by weight: 1 is weak, 2 is clear, 3 is almost
	// certain, and a negative weight speaks against the specialist.
	Keywords map[float64][]string
	// Prompt begins the system prompt. The rules for all specialists and the facts of the turn follow it. Required.
	Prompt string
	// Tools makes the tools of one turn, closed over what the turn may see. Tools must not change anything: a turn may run
	// twice, or be cancelled. Nil: none.
	Tools func(t *Turn) []agentloop.Tool
	// Unavailable says why the specialist cannot serve a store, in words for the shopper, or "" when it can. Its questions then
	// go to support. Nil: it serves every store.
	Unavailable func(ctx context.Context, storeID string) (string, error)
	// MaxSteps bounds the model calls that may ask for tools. Zero: 4.
	MaxSteps int
}

// Turn is one question in progress. It is safe for concurrent use by tools.
type Turn struct{ turn *specialist.Turn }

// StoreID returns the store that the shopper is in.
func (t *Turn) StoreID() string { return t.turn.Scope.StoreID }

// Question returns the question in the shopper's words. It may be a part of a longer message.
func (t *Turn) Question() string { return t.turn.SubQuery }

// Language returns the language of the answer, a BCP 47 tag such as "de-AT". Empty: it is unknown.
func (t *Turn) Language() string { return t.turn.Language }

// Now returns the beginning of the turn in the store's time zone.
func (t *Turn) Now() time.Time { return t.turn.Now }

// Found notes how many results a look-up had. Look-ups without results lower the confidence of the answer.
func (t *Turn) Found(n int) { t.turn.Found(n) }

// AddProducts adds products of the store's catalog, the best first. Those that the text names are in the answer.
func (t *Turn) AddProducts(products ...*specialistv1.ProductChoice) { t.turn.AddProducts(products...) }

// AddActions adds what the store's backend could do next, such as a handover to a human.
func (t *Turn) AddActions(actions ...*specialistv1.SuggestedAction) { t.turn.AddActions(actions...) }

// SetExtension sets typed data that no other field of an answer has, for the backend that displays it; the last call counts. Without
// types of your own, use a google.protobuf.Struct. A google.protobuf.Any is taken as it is. A gateway leaves out what has more than 64 KiB.
func (t *Turn) SetExtension(m proto.Message) error {
	if packed, ok := m.(*anypb.Any); ok {
		t.turn.SetExtension(packed)
		return nil
	}
	packed, err := anypb.New(m)
	if err != nil {
		return fmt.Errorf("specialist: extension: %w", err)
	}
	t.turn.SetExtension(packed)
	return nil
}

// internal returns the definition as the shared implementation reads it.
func (d Definition) internal() specialist.Definition {
	out := specialist.Definition{
		Name: d.Name, Purpose: d.Purpose, Examples: d.Examples, Keywords: d.Keywords, Prompt: d.Prompt, MaxSteps: d.MaxSteps,
	}
	if d.Tools != nil {
		out.Tools = func(t *specialist.Turn) []agentloop.Tool { return d.Tools(&Turn{t}) }
	}
	if d.Unavailable != nil {
		out.Unavailable = func(ctx context.Context, s scope.Scope) (string, error) { return d.Unavailable(ctx, s.StoreID) }
	}
	return out
}
