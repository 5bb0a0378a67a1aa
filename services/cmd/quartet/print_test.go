package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

func TestToldSaysEachThingOnce(t *testing.T) {
	for want, err := range map[string]error{
		"NotFound: read the store: no store": fmt.Errorf("read the store: %w", status.Error(codes.NotFound, "no store")),
		"Unavailable: line 1: connection refused\n  is the service running, and is this its address? 'quartet up' starts all services": fmt.Errorf("line 1: %w", status.Error(codes.Unavailable, "connection refused")),
		"no such file": errors.New("no such file"),
	} {
		if got := told(err).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
