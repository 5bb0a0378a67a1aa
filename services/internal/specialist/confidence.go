package specialist

import (
	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

// evidence is what is known of how an answer came about. Its zero value is that of an answer without look-ups.
type evidence struct {
	found, empty int // look-ups that returned something, or nothing
	calls        int // of tools
	failed       int // calls that came to an error
	repaired     int // calls whose arguments had to be mended
	cut          bool
	claims       int // of the text that were checked
	unsupported  int // of these, those that nothing supports
	finish       agentloop.FinishReason
}

// evidence gathers what the findings, the call log and the text's claims say. It wants the lock.
func (f *Findings) evidence(result *agentloop.Result, verdict grounding.Verdict) evidence {
	e := evidence{
		found: f.found, empty: f.empty, calls: len(result.Calls), finish: result.FinishReason,
		claims: verdict.Claims, unsupported: verdict.Unsupported,
	}
	for _, c := range result.Calls {
		if c.Error != "" {
			e.failed++
		}
		if c.RepairedFrom != "" {
			e.repaired++
		}
		e.cut = e.cut || c.Cut
	}
	return e
}

// confidence is how far an answer can be trusted, from 0 to 1, computed from evidence alone:
//
//	base    0.95 look-ups found something, and none came back empty
//	        0.85 some did and some did not
//	        0.7  no look-up was needed
//	        0.5  all look-ups came back empty, or every tool call failed
//	less    0.1  for each failed tool call, at most 0.3
//	        0.05 for each tool call whose arguments had to be mended, at most 0.1
//	        0.05 when the model did not see all of a result, for its size
//	times   0.8  when the limit of steps or the budget came before the model was done
//	        0.6  when the answer was cut short: by its length, the deadline, or the provider
//	        1 - 0.5 x unsupported / checked, of the claims in the text
//
// docs/turn.md has the same table for readers.
func (e evidence) confidence() float64 {
	c := e.base() - 0.1*float64(min(e.failed, 3)) - 0.05*float64(min(e.repaired, 2))
	if e.cut {
		c -= 0.05
	}
	switch {
	case wasCut(e.finish):
		c *= 0.6
	case e.finish != agentloop.FinishStop:
		c *= 0.8
	}
	if e.unsupported > 0 {
		c *= 1 - 0.5*float64(e.unsupported)/float64(e.claims)
	}
	return c
}

// wasCut reports whether a run ended before its text did.
func wasCut(r agentloop.FinishReason) bool {
	return r != agentloop.FinishStop && r != agentloop.FinishMaxSteps && r != agentloop.FinishBudget
}

func (e evidence) base() float64 {
	switch {
	case e.found > 0 && e.empty > 0:
		return 0.85
	case e.found > 0:
		return 0.95
	case e.empty > 0, e.failed > 0 && e.failed == e.calls:
		return 0.5
	}
	return 0.7
}
