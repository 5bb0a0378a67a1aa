package grounding

// Families of rules, as the test of ablation leaves them out one at a time.
const (
	famTable       = "phrases of topics.txt"
	famScorer      = "scorer"
	famAttributes  = "attributes"
	famReversals   = "reversed clauses"
	famPromises    = "promises"
	famComparisons = "comparisons"
	famNames       = "names beside prices"
	famProperNames = "names elsewhere"
	famActions     = "actions by verbs"
	famSubjects    = "values of other subjects"
	famUnits       = "numbers in other units"
	famArrival     = "times of arrival"
	famPieces      = "pieces in stock"
	famFocus       = "products by part of a name"
)

// without is the family, or the rule of derived amounts, that a test leaves out.
var without string

func uses(family string) bool { return without != family }
