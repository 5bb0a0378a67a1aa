package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/suite"
)

// Who asks for a person is offered one at once, with what a person needs to know, and hears so in their own language.
func TestAPersonIsOfferedToWhoAsksForOne(t *testing.T) {
	h := newSystem(t)
	for message, says := range map[string]string{
		"a person please":                        "A person of the store can take over",
		"I want to talk to a human":              "A person of the store can take over",
		"einen Mitarbeiter bitte":                "kann übernehmen",
		"Ich möchte mit einem Menschen sprechen": "kann übernehmen",
		"una persona, por favor":                 "puede ocuparse",
		"quiero hablar con una persona":          "puede ocuparse",
		"une vraie personne svp":                 "peut prendre le relais",
		"je veux parler à un conseiller":         "peut prendre le relais",
	} {
		reply := h.ask(t, message)
		if !slices.Equal(specialists(reply), []string{suite.Support}) || !reply.GetHandoff().GetRecommended() || !strings.Contains(reply.GetHandoff().GetSummary(), message) || !strings.Contains(reply.GetText(), says) {
			t.Errorf("%q: %v, handoff %v: %s", message, specialists(reply), reply.GetHandoff(), reply.GetText())
		}
	}
}
