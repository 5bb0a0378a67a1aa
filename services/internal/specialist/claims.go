package specialist

import (
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

const (
	// maxUnsupported bounds the claims that an answer names as unsupported.
	maxUnsupported = 10
	// maxChecked bounds those that are checked, for the sake of time. No honest answer has as many.
	maxChecked = 200
)

// claims are those of an answer's text.
type claims struct {
	checked     int
	missing     int      // have no support
	unsupported []string // those, as they stand in the text, the first maxUnsupported
}

// checkClaims holds what a text says against what the assignment gave the model and the tools found. Most claims stand there
// as they are, which is cheap to see; only for the rest is all of that read. At the end of a text that was cut, half a claim may stand.
func checkClaims(turn *Turn, req *specialistv1.AnswerRequest, messages []agentloop.Message, text string, wasCut bool) claims {
	if wasCut {
		text = text[:strings.LastIndexAny(text, " \n")+1]
	}
	return newGrounds(turn, req, messages).check(text)
}

func (g *grounds) check(text string) claims {
	var out claims
	var said reckoning
	var open []claim
	for c, ok := nextClaim(text, 0); ok && out.checked < maxChecked; c, ok = nextClaim(text, c.end) {
		out.checked++
		if g.stands(&c) {
			said.learn(c)
		} else {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return out
	}
	said.count(text)
	for _, c := range open {
		if said.yieldsCount(g, &c) || g.says(&c) || said.yields(g, &c) {
			said.learn(c)
			continue
		}
		out.missing++
		if s := c.surface(); len(out.unsupported) < maxUnsupported && !slices.Contains(out.unsupported, s) {
			out.unsupported = append(out.unsupported, s)
		}
	}
	return out
}
