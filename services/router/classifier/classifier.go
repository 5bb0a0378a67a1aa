// Package classifier splits a shopper's message into sub-queries and assigns each to a specialist, without a model. It
// learns from what the specialists publish (keywords and examples) and from nothing else, so a fifth specialist needs
// no code here.
//
// Classify works in stages, one file each: normalise (words, stems), language, negation scope, noun phrases, segments,
// scores (keywords and naive Bayes), decoding into assignments, references to earlier parts, calibrated confidence.
//
// The package must not import a service, read the environment or keep state between calls.
package classifier

import (
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

const (
	// MaxMessage is the longest message and the longest sub-query in characters.
	MaxMessage = 8000
	// MaxAssignments is how many assignments a message has at most, unless there are more specialists than that.
	MaxAssignments = 8
)

// Classifier classifies messages for a fixed set of specialists. It is immutable and safe for concurrent use. Use New to
// make one.
type Classifier struct{ lexicon *lexicon }

// New compiles what specialists publish, of which there must be at least one. It keeps no reference to them.
func New(specialists []*specialistv1.Specialist) *Classifier {
	return &Classifier{newLexicon(specialists)}
}

// WithKeywords returns a classifier that also knows a store's own keywords, and shares everything else with c. A store's
// keyword replaces the specialist's keyword with the same stems. Keywords for unknown specialists do not speak for
// anyone.
func (c *Classifier) WithKeywords(keywords []*routerv1.RoutingKeyword) *Classifier {
	if len(keywords) == 0 {
		return c
	}
	return &Classifier{c.lexicon.withKeywords(keywords)}
}

// Specialists returns the names of the specialists in the order given to New. The result must not be modified.
func (c *Classifier) Specialists() []string { return c.lexicon.names }

// CatchAll returns the name of the specialist that gets whatever fits no other: "support", or else the last one.
func (c *Classifier) CatchAll() string { return c.lexicon.names[c.lexicon.catchAll] }

// Input is a message to classify.
type Input struct {
	// Message is the shopper's message. It must not be empty.
	Message string
	// History holds the shopper's earlier messages of the conversation, oldest first. May be empty.
	History []string
}

// Assignment is a part of a message and the specialist that should answer it.
type Assignment struct {
	// Specialist is one of the classifier's specialists.
	Specialist string
	// SubQuery is the part in the shopper's words. Where a pronoun stands for something in another part, that follows in
	// brackets. Never empty.
	SubQuery string
	// Reason says in a few words why.
	Reason string
	// Confidence is the estimated probability that the specialist is right, 0 to 1.
	Confidence float64
	// Start is where the part begins in the message, in bytes.
	Start int
}

// Result is a classified message.
type Result struct {
	// Assignments cover the message in its order. Never empty.
	Assignments []Assignment
	// Confidence is the lowest of the assignments' confidences, 0 to 1.
	Confidence float64
	// Notes say what a caller should know about the result beyond the assignments. Usually empty.
	Notes []string
	// OnlyNames says that the message names products and asks for nothing: it has no verb and no subject.
	OnlyNames bool
	// Terms are the message's, as Terms would return them had it known the language. They must not be modified.
	Terms []string

	features features // of the assignment with the lowest confidence; zero if no features decided
}

// Classify splits and assigns a message.
func (c *Classifier) Classify(in Input) Result { return decode(c.lexicon, in) }

// Merge joins the assignments of each specialist into one, on a line each, in the order of their first ones. The
// confidence is the lowest of those joined.
func Merge(assignments []Assignment) []Assignment {
	var out []Assignment
	index := map[string]int{}
	for _, a := range assignments {
		i, seen := index[a.Specialist]
		if !seen {
			index[a.Specialist] = len(out)
			out = append(out, a)
			continue
		}
		out[i].SubQuery += "\n" + a.SubQuery
		out[i].Confidence = min(out[i].Confidence, a.Confidence)
	}
	return out
}
