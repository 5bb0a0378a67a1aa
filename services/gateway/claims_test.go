package gateway

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

func TestAReplyExplainsItsClaims(t *testing.T) {
	const (
		amount      = specialistv1.ClaimKind_CLAIM_KIND_AMOUNT
		supported   = specialistv1.ClaimVerdict_CLAIM_VERDICT_SUPPORTED
		unsupported = specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED
	)
	h := newFixture(t, miniredis.RunT(t))
	m := h.meter()
	h.start()
	sources := []*specialistv1.ClaimSource{{ToolCallId: "call_1", Pointer: "/products/0/price", Value: "49.00 EUR"}}
	for specialist, a := range map[string]*specialistv1.Answer{
		"search": {Text: "The Dune Lamp costs 49 EUR.", CheckedClaims: []*specialistv1.Claim{
			{Start: 20, End: 26, Text: "49 EUR", Kind: amount, Subject: "LAMP-8", Verdict: supported, Sources: sources},
		}},
		"support":    {Text: "Delivery is 5 EUR.", DroppedClaims: []*specialistv1.Claim{{Text: "by Monday", Kind: specialistv1.ClaimKind_CLAIM_KIND_DATE, Verdict: unsupported}}, CheckedClaims: []*specialistv1.Claim{{Start: 12, End: 17, Text: "5 EUR", Kind: amount, Verdict: unsupported}}},
		"promotions": {Text: "You save 10 EUR."}, // of a specialist that checks nothing
	} {
		h.specialists[specialist].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error { return sayAnswer(stream, a) }
	}
	reply := h.ask("search: a lamp | support: delivery | promotions: savings")
	want := []*specialistv1.Claim{
		{Start: 20, End: 26, Text: "49 EUR", Kind: amount, Subject: "LAMP-8", Verdict: supported, Sources: sources},
		{Start: 41, End: 46, Text: "5 EUR", Kind: amount, Verdict: unsupported},
		{Start: 58, End: 64, Text: "10 EUR", Kind: amount, Verdict: specialistv1.ClaimVerdict_CLAIM_VERDICT_UNDECIDED},
	}
	if diff := cmp.Diff(want, reply.GetClaims(), protocmp.Transform()); diff != "" {
		t.Errorf("claims of %q (-want +got):\n%s", reply.GetText(), diff)
	}
	turn, err := h.client.GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, turn.GetTurn().GetClaims(), protocmp.Transform()); diff != "" {
		t.Errorf("recorded claims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"amount supported": 1, "amount unsupported": 1, "amount undecided": 1},
		m.sums(telemetry.MetricClaims, telemetry.KeyClaimKind, telemetry.KeyClaimVerdict)); diff != "" {
		t.Errorf("metric (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"support date": 1}, m.sums(telemetry.MetricClaimsDropped, telemetry.KeyAgent, telemetry.KeyClaimKind)); diff != "" {
		t.Errorf("metric of dropped claims (-want +got):\n%s", diff)
	}
}
