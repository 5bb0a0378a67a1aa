// Package specialist serves SpecialistService for any specialist: a prompt and a few tools over agentloop. It has
// no knowledge of any one specialist, and must not import a service.
package specialist

import (
	"context"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Definition is what distinguishes one specialist from another.
type Definition struct {
	// Name, unique in a deployment: lower-case letters, digits and '-'. Required.
	Name string
	// Purpose says what it is for, in one or two sentences that a routing model reads. Required.
	Purpose string
	// Examples are sub-queries for the specialist, as shoppers write them.
	Examples []string
	// Keywords are words and phrases in lower case for routing without a model, by weight: 1 is weak, 2 is clear, 3 is almost
	// certain, and a negative weight speaks against the specialist.
	Keywords map[float64][]string
	// Prompt begins the system prompt. The rules for all specialists and the facts of the turn follow it. Required.
	Prompt string
	// Tools makes the tools of one turn, closed over its scope and findings. Nil: none.
	Tools func(t *Turn) []agentloop.Tool
	// FitTools changes, in place, what the model reads of the tools to fit the data of a store. What it reads delays the first model
	// call. Nil: the tools are the same in all stores.
	FitTools func(ctx context.Context, storeID string, tools []agentloop.Tool)
	// Unavailable says why the specialist cannot serve the scope's store, in words for the shopper, or "" when it can.
	// Nil: it always can.
	Unavailable func(ctx context.Context, s scope.Scope) (string, error)
	// DisabledTools returns the tools that do not work for the scope's store because it has no such system, with the reason in a
	// sentence for the model. Disabled tools are not offered. Nil: none.
	DisabledTools func(ctx context.Context, s scope.Scope) (map[string]string, error)
	// ToolReads are the kinds of data that tools read. A tool is disabled, with a reason for the model, when the scope of the turn
	// does not allow all of its reads.
	ToolReads map[string][]scope.Read
	// ReadsCart says that the tools read the shopper's cart, so that it comes with each assignment. See Turn.Cart.
	ReadsCart bool
	// MaxSteps bounds model calls that may ask for tools. Zero: 4.
	MaxSteps int
}
