package main

import (
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func TestClaimsWithoutSupportArePrinted(t *testing.T) {
	finished := func(a *specialistv1.Answer) string {
		var out strings.Builder
		result := &gatewayv1.AssignmentResult{Assignment: &routerv1.Assignment{Specialist: "search"}, Outcome: &gatewayv1.AssignmentResult_Answer{Answer: a}}
		newPrinter(&out, 0).event(&gatewayv1.AskStreamResponse{Event: &gatewayv1.AskStreamResponse_AgentFinished{
			AgentFinished: &gatewayv1.AgentFinished{Result: result}}})
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got, want := finished(&specialistv1.Answer{Claims: 3, UnsupportedClaims: []string{"39.00 EUR", "LAMP-8"}}), "search not supported: 39.00 EUR, LAMP-8 of 3 claims"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := finished(&specialistv1.Answer{Claims: 3}); got != "" {
		t.Errorf("an answer whose claims are supported prints %q", got)
	}
}
