package router

import (
	"context"
	"slices"
	"strings"
	"testing"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// afterQuestion is a request after a question of a specialist.
func afterQuestion(message, specialist string, quickReplies ...string) *routerv1.RouteRequest {
	req := request(message)
	req.History = []*commonv1.Message{{Role: commonv1.Role_ROLE_USER, Text: "I need help"}}
	req.PendingQuestion = &specialistv1.PendingQuestion{
		Specialist: specialist, Question: &specialistv1.ClarifyingQuestion{Text: "Which do you mean?", QuickReplies: quickReplies},
	}
	return req
}

func TestAnAnswerGoesToTheSpecialistThatAsked(t *testing.T) {
	for _, c := range []struct {
		name, message, asker string
		quickReplies         []string
		want                 string
	}{
		{"a list of things", "the trail running shoes, size 42", "support", nil, "support"},
		{"a few words", "the last one", "promotions", nil, "promotions"},
		{"yes", "oui", "recommend", nil, "recommend"},
		{"a suggested reply, whatever its words", "my voucher ", "support", []string{"My voucher", "My gift card"}, "support"},
		{"a request of its own", "where is my order", "search", nil, "support"},
		{"a question", "shoes in size 42?", "support", nil, "search"},
		{"what asks for a product", "show me tents", "support", nil, "search"},
		{"a specialist that is gone", "size 42", "seating", nil, "search"},
	} {
		d := route(t, Config{}, afterQuestion(c.message, c.asker, c.quickReplies...))[0]
		if got := d.GetAssignments(); len(got) != 1 || got[0].GetSpecialist() != c.want || got[0].GetSubQuery() != strings.TrimSpace(c.message) && c.want == c.asker && c.quickReplies == nil {
			t.Errorf("%s: %v, want %s", c.name, assignments(d), c.want)
		}
	}
}

func TestTheModelIsToldOfTheQuestion(t *testing.T) {
	const told = `support has just asked the shopper: "Which do you mean?"`
	var systems []string
	model := fakeModel{func(_ context.Context, req *agentloop.Request) (string, error) {
		systems = append(systems, req.Messages[0].Text)
		return `{"assignments":[{"specialist":"support","sub_query":"it is","reason":"answers","confidence":1}]}`, nil
	}}
	for _, asker := range []string{"support", "seating"} {
		req := afterQuestion("it is for somebody who walks a lot in the rain, I believe", asker)
		route(t, Config{Model: model, AlwaysAskModel: true}, req)
	}
	if want := []bool{true, false}; !slices.Equal([]bool{strings.Contains(systems[0], told), strings.Contains(systems[1], "has just asked")}, want) {
		t.Errorf("prompts:\n%s", strings.Join(systems, "\n---\n"))
	}
}
