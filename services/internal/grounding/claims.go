package grounding

import "slices"

// Kind is what a claim states.
type Kind uint8

// Kinds of claims.
const (
	Number     Kind = iota // without a unit, also a range, a size or a count
	Amount                 // of money
	Percentage             //
	Moment                 // a date or a time of day
	Code                   // a code, an id or an address
	Statement              // that something is so or not: a stock, a status, what is possible or free
	Action                 // a sentence that says that the speaker changed something in the shop, or will
	Measure                // a number with a unit: a period, a measure, or pieces in stock
)

// IsLiteral reports whether claims of the kind are compared letter by letter, or come from a list of words: codes, ids, addresses, actions.
func (k Kind) IsLiteral() bool { return k == Code || k == Action }

// Verdict is what the evidence says of a claim.
type Verdict uint8

// Verdicts.
const (
	// Undecided claims cannot be compared with the evidence. They pass.
	Undecided Verdict = iota
	// Supported claims stand in the evidence, or follow from it by a rule.
	Supported
	// Contradicted claims are true of another subject only, or the evidence says the opposite.
	Contradicted
	// Unsupported claims are not in the evidence.
	Unsupported
)

// Claim is something that a text states and that needs evidence.
type Claim struct {
	// Start and End delimit the claim in its text, in bytes.
	Start, End int
	// Text is the claim as it stands.
	Text string
	Kind Kind
	// Subject is the id of the product, order or code that the claim is about. Empty: it is not known.
	Subject string
	Verdict Verdict
	// Sources are what supports the claim, or what contradicts it. Empty: nothing does.
	Sources []Source
}

// Source is a place in the evidence.
type Source struct {
	// CallID is the id of the tool call that returned it. Empty: a person wrote it, or the assignment gave it.
	CallID string
	// Pointer is its place in the tool's result, as of RFC 6901. Empty: the result is no JSON.
	Pointer string
	// Value is the text there.
	Value string
	// Rule is how the claim follows from the source: one of the rules below. Empty: it stands there.
	Rule string
}

// maxValue bounds the value of a source, in characters.
const maxValue = 200

// Rules by which a claim may follow from the evidence.
const (
	RuleCount      = "count"      // how many things the text lists
	RuleQuantity   = "quantity"   // a multiple of an amount, or an amount without another
	RuleConversion = "conversion" // the same in another unit
	RuleAmount     = "amount"     // a sum, a difference or a percentage of amounts
	RulePercentage = "percentage" // by how many percent an amount is less than another
	RuleRounding   = "rounding"   // "about 70 EUR"
	RuleDay        = "day"        // "the 21st" of a date, or the days between two
	RuleJudge      = "judge"      // a language model says so
)

// Claims are those of one text, in the order of the text.
type Claims []Claim

// Rejected returns the claims that are contradicted or unsupported.
func (c Claims) Rejected() Claims {
	return slices.DeleteFunc(slices.Clone(c), func(c Claim) bool { return c.Verdict != Contradicted && c.Verdict != Unsupported })
}

// WithoutPlaces returns the claims of a text that is gone.
func (c Claims) WithoutPlaces() Claims {
	out := slices.Clone(c)
	for i := range out {
		out[i].Start, out[i].End = 0, 0
	}
	return out
}

// Count returns how many claims have a verdict.
func (c Claims) Count(v Verdict) int {
	n := 0
	for _, claim := range c {
		if claim.Verdict == v {
			n++
		}
	}
	return n
}

// Texts returns the claims as they stand, each once, at most limit.
func (c Claims) Texts(limit int) []string {
	var out []string
	for _, claim := range c {
		if len(out) < limit && !slices.Contains(out, claim.Text) {
			out = append(out, claim.Text)
		}
	}
	return out
}

// kind returns what a claim states.
func (c claim) kind() Kind {
	switch {
	case c.currency != "":
		return Amount
	case c.Unit == Percent:
		return Percentage
	case c.Unit == Date || c.Unit == Time:
		return Moment
	case c.Name:
		return Code
	case isSpecific(c):
		return Measure
	}
	return Number
}
