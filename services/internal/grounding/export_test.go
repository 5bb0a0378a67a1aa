package grounding

// Families are all that SetWithout takes.
var Families = []string{
	famTable, famScorer, famAttributes, famReversals, famPromises, famComparisons, famNames, famProperNames, famActions, famSubjects,
	famUnits, famArrival, famPieces, famFocus, RuleCount, RuleQuantity, RuleConversion, RuleAmount, RulePercentage, RuleRounding, RuleDay,
}

// SetWithout leaves out a family of rules from then on; "": none.
func SetWithout(family string) { without = family }
