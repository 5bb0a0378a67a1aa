package classifier

import "math"

// DefaultThreshold is the confidence from which a result is certain enough to use without asking a model.
const DefaultThreshold = 0.9

// traits are what the certainty of a message's routing rests on: numbers that grow with belief or with doubt.
type traits [traitCount]float64

const (
	always     = iota // 1
	lead              // how much more the words lean to the specialist than to the next, up to maxLead
	storied           // how much more the words lean to asking for nothing, from -maxLead to maxLead
	onlyNamed         // 1: they only name a thing
	onlyServed        // 1: they only ask for a service in general
	unfamiliar        // 1: they have a verb that nobody published
	// Of the whole message:
	unexplained // the logarithm of 1 and the content words that no published keyword rests on
	several     // 1: there is more than one group
	unplaced    // the logarithm of 1 and the clauses that have no group of their own
	swallowed   // 1: a clause that asks is in another's group
	followUp    // 1: there is a history
	traitCount
)

// maxLead is where a lead says no more: the examples are sure of themselves soon.
const maxLead = 5

// beliefs are the weights of a logistic model of how likely the set of specialists is right. TestFitBeliefs fits them to
// the messages that the rules may be tuned on.
var beliefs = traits{
	always: 0.21, lead: 0.60, storied: -0.20, onlyNamed: -0.73, onlyServed: -0.72, unfamiliar: -0.26,
	unexplained: -0.23, several: -0.99, unplaced: -0.25, swallowed: -0.53, followUp: 0.57,
}

// certainty turns traits into how likely a message is routed right, 0 to 1.
func (t traits) certainty() float64 { return 1 / (1 + math.Exp(-t.believed())) }

// believed returns the logistic model's sum.
func (t traits) believed() float64 {
	var x float64
	for i, v := range t {
		x += beliefs[i] * v
	}
	return x
}

// traits returns those of a clause for its best specialist.
func (e evidence) traits(product int) traits {
	var t traits
	best, _, _ := e.best(product)
	t[always], t[lead] = 1, maxLead
	for i := range e.scores {
		if i != best {
			t[lead] = max(min(t[lead], e.leanings[best]-e.leanings[i]), -maxLead)
		}
	}
	t[storied] = max(min(e.story(), maxLead), -maxLead)
	for _, s := range [...]struct {
		sign  sign
		trait int
	}{{named, onlyNamed}, {served, onlyServed}, {newVerb, unfamiliar}} {
		if e.signs.has(s.sign) {
			t[s.trait] = 1
		}
	}
	return t
}

// weighMessage adds what is known of the whole message to the traits of one of its groups.
func (r *ruler) weighMessage(t traits) traits {
	t[unexplained], t[unplaced] = math.Log1p(float64(r.unknown)), math.Log1p(float64(r.unplaced))
	if len(r.groups) > 1 {
		t[several] = 1
	}
	if r.swallowed {
		t[swallowed] = 1
	}
	if len(r.history) > 0 {
		t[followUp] = 1
	}
	return t
}
