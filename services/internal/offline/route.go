package offline

import (
	"regexp"
	"slices"
	"strings"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// specialistRE is a specialist in a routing prompt.
var (
	specialistRE = regexp.MustCompile(`(?m)^- ([a-z][a-z0-9_-]*): (.*?)(?: Examples: (.*))?$`)
	exampleRE    = regexp.MustCompile(`"([^"]+)"`)
	// personRE is a clear request for a person. Support publishes such phrases as keywords, which the prompt leaves out.
	personRE = words(`(real|actual|live)_person (human|person)_please (talk|speak)_to_(a_human|a_person|someone|somebody) echte[nrm]?_mensch\pL* (mensch\pL*|mitarbeiter(in)?)_bitte vraie_personne personne_(svp|s['’]il_vous_pla[iî]t) persona_(real|por_favor)`)
)

// form is the JSON that a response schema asks for. The only form that the suite asks for is a routing, which the router's own
// classifier decides; of another, every required member is there.
func (c *conversation) form(s *schema) any {
	if _, routes := s.Properties["assignments"]; routes {
		return c.route()
	}
	out := object{}
	for _, key := range s.Required {
		out[key] = s.value(key, c.ask)
	}
	return out
}

// fewWords is the length of a message that has no other request beside that for a person.
const fewWords = 8

func (c *conversation) route() object {
	var list []*specialistv1.Specialist
	_, after, _ := strings.Cut(c.system, "Specialists:")
	for _, m := range specialistRE.FindAllStringSubmatch(after, -1) {
		s := &specialistv1.Specialist{Name: m[1], Purpose: m[2], Available: true}
		for _, e := range exampleRE.FindAllStringSubmatch(m[3], -1) {
			s.Examples = append(s.Examples, e[1])
		}
		list = append(list, s)
	}
	out := []any{}
	hasSupport := slices.ContainsFunc(list, func(s *specialistv1.Specialist) bool { return s.GetName() == "support" })
	switch {
	case hasSupport && personRE.MatchString(c.ask) && len(strings.Fields(c.ask)) <= fewWords:
		out = append(out, object{"specialist": "support", "sub_query": c.ask, "reason": "asks for a person", "confidence": 1})
	case len(list) > 0 && c.ask != "":
		var history []string
		if c.before != "" {
			history = append(history, c.before)
		}
		for _, a := range classifier.New(list).Classify(classifier.Input{Message: c.ask, History: history}).Assignments {
			out = append(out, object{"specialist": a.Specialist, "sub_query": a.SubQuery, "reason": a.Reason, "confidence": a.Confidence})
		}
	}
	return object{"assignments": out}
}
