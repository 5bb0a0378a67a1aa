package grounding

import (
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

var kindProtos = map[Kind]specialistv1.ClaimKind{
	Number:     specialistv1.ClaimKind_CLAIM_KIND_NUMBER,
	Amount:     specialistv1.ClaimKind_CLAIM_KIND_AMOUNT,
	Percentage: specialistv1.ClaimKind_CLAIM_KIND_PERCENTAGE,
	Moment:     specialistv1.ClaimKind_CLAIM_KIND_DATE,
	Code:       specialistv1.ClaimKind_CLAIM_KIND_CODE,
	Statement:  specialistv1.ClaimKind_CLAIM_KIND_STATEMENT,
	Measure:    specialistv1.ClaimKind_CLAIM_KIND_MEASURE,
	Action:     specialistv1.ClaimKind_CLAIM_KIND_ACTION,
}

var verdictProtos = map[Verdict]specialistv1.ClaimVerdict{
	Undecided:    specialistv1.ClaimVerdict_CLAIM_VERDICT_UNDECIDED,
	Supported:    specialistv1.ClaimVerdict_CLAIM_VERDICT_SUPPORTED,
	Contradicted: specialistv1.ClaimVerdict_CLAIM_VERDICT_CONTRADICTED,
	Unsupported:  specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED,
}

// Proto returns the claims as answers and replies carry them.
func (c Claims) Proto() []*specialistv1.Claim {
	var out []*specialistv1.Claim
	for _, claim := range c {
		p := &specialistv1.Claim{
			Start: int32(claim.Start), End: int32(claim.End), Text: claim.Text, Kind: kindProtos[claim.Kind],
			Subject: claim.Subject, Verdict: verdictProtos[claim.Verdict],
		}
		for _, s := range claim.Sources {
			p.Sources = append(p.Sources, &specialistv1.ClaimSource{ToolCallId: s.CallID, Pointer: s.Pointer, Value: s.Value, Rule: s.Rule})
		}
		out = append(out, p)
	}
	return out
}

// FromProto returns the claims of an answer.
func FromProto(claims []*specialistv1.Claim) Claims {
	var out Claims
	for _, p := range claims {
		c := Claim{
			Start: int(p.GetStart()), End: int(p.GetEnd()), Text: p.GetText(), Kind: keyOf(kindProtos, p.GetKind()),
			Subject: p.GetSubject(), Verdict: keyOf(verdictProtos, p.GetVerdict()),
		}
		for _, s := range p.GetSources() {
			c.Sources = append(c.Sources, Source{CallID: s.GetToolCallId(), Pointer: s.GetPointer(), Value: s.GetValue(), Rule: s.GetRule()})
		}
		out = append(out, c)
	}
	return out
}

// keyOf returns the key of a value, or the zero value.
func keyOf[K, V comparable](m map[K]V, value V) K {
	for k, v := range m {
		if v == value {
			return k
		}
	}
	var zero K
	return zero
}

// KindProto returns a kind as answers carry it.
func KindProto(k Kind) specialistv1.ClaimKind { return kindProtos[k] }

// MaxRules bounds the claim rules of a store or a request: one for each kind.
const MaxRules = 16

// CheckRules reports what is wrong with claim rules.
func CheckRules(check *fault.Checker, field string, rules []*specialistv1.ClaimRule) {
	if !check.Count(field, len(rules), MaxRules) {
		return
	}
	seen := map[specialistv1.ClaimKind]bool{}
	for i, r := range rules {
		at := fault.At(field, i)
		if r.GetKind() == 0 || specialistv1.ClaimKind_name[int32(r.GetKind())] == "" {
			check.Addf(at+".kind", "is %d, which is no kind of claim", r.GetKind())
		}
		if r.GetAction() == 0 || specialistv1.ClaimAction_name[int32(r.GetAction())] == "" {
			check.Addf(at+".action", "is %d, which is no action", r.GetAction())
		}
		if seen[r.GetKind()] {
			check.Addf(at+".kind", "has a rule already")
		}
		seen[r.GetKind()] = true
	}
}
