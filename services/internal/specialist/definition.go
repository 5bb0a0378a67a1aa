// Package specialist serves SpecialistService for any specialist: a prompt and a few tools over agentloop. It knows
// nothing of what a specialist is about, and imports no service.
package specialist

import (
	"context"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Definition is what makes one specialist different from another.
type Definition struct {
	// Name, unique in a deployment: lower-case letters, digits and '-'. Required.
	Name string
	// Purpose says what it is for, in one or two sentences that a routing model reads. Required.
	Purpose string
	// Examples are sub-queries that it should get, as shoppers write them.
	Examples []string
	// Keywords speak for it when messages are routed without a model: words and phrases in lower case by weight, which is
	// 1 for weak, 2 for clear, 3 for almost certain, and negative for what speaks against it.
	Keywords map[float64][]string
	// Prompt is the system prompt. The store's name and the language to answer in are appended. Required.
	Prompt string
	// Tools makes the tools of one turn, closed over its scope and findings. Nil: none.
	Tools func(t *Turn) []agentloop.Tool
	// Unavailable says why the specialist can not serve the scope's store, in words for the shopper, or "" when it can.
	// Nil: it always can.
	Unavailable func(ctx context.Context, s scope.Scope) (string, error)
	// Lacks says which tools do not work for the scope's store because it has no such system, and why, in a sentence for the
	// model. They are not offered. What can not be told is not lacking. Nil: none.
	Lacks func(ctx context.Context, s scope.Scope) (map[string]string, error)
	// ReadsCart says that the tools read the shopper's cart, so that it comes with each assignment. See Turn.Cart.
	ReadsCart bool
	// MaxSteps bounds model calls that may ask for tools. Zero: 4.
	MaxSteps int
}

// Turn is one assignment being worked on. Tools read its scope and leave what they found in its findings.
type Turn struct {
	// Scope says who is asking.
	Scope scope.Scope
	// SubQuery is the assignment in the shopper's words.
	SubQuery string
	// Message is the whole message that the assignment is a part of.
	Message string
	// Cart is the shopper's cart as all specialists of the turn see it. Nil: the caller did not send it, so tools that need
	// it read it themselves. It must not be changed.
	Cart *cartv1.Cart
	// Findings collects typed results. Safe for concurrent use.
	*Findings

	// lacks holds the tools that are switched off for the store, and why.
	lacks map[string]string
	// ahead is what to read while the model thinks. Nil: nothing. See Ahead.
	ahead func(context.Context)
}

// Lacks reports whether a tool is switched off for the store, since it has no such system.
func (t *Turn) Lacks(tool string) bool { return t.lacks[tool] != "" }
