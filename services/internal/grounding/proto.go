package grounding

import specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

var kindProtos = map[Kind]specialistv1.ClaimKind{
	Number:     specialistv1.ClaimKind_CLAIM_KIND_NUMBER,
	Amount:     specialistv1.ClaimKind_CLAIM_KIND_AMOUNT,
	Percentage: specialistv1.ClaimKind_CLAIM_KIND_PERCENTAGE,
	Moment:     specialistv1.ClaimKind_CLAIM_KIND_DATE,
	Code:       specialistv1.ClaimKind_CLAIM_KIND_CODE,
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
