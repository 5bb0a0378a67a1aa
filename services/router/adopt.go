package router

import (
	"fmt"
	"slices"
	"strings"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// A model's answer is a proposal. What follows makes it one that can be carried out: known names, sub-queries that rest
// on what the shopper wrote, nothing forgotten, in the message's order.

// unsaid is the confidence of an assignment whose model did not say how sure it is.
const unsaid = 0.5

// adopt turns one assignment of the model into a draft, with a note on whatever had to be mended.
func (t *turn) adopt(d *routerv1.RoutingDecision, a classified) draft {
	out := draft{text: strings.TrimSpace(a.SubQuery), reason: cut(oneLine(a.Reason), maxReason), confidence: unsaid}
	if a.Confidence != nil {
		out.confidence = *a.Confidence
		if out.confidence > 1 && out.confidence <= 100 {
			out.confidence /= 100 // some models answer in per cent
		}
		out.confidence = min(max(out.confidence, 0), 1)
	}
	name := strings.ToLower(strings.TrimSpace(a.Specialist))
	out.specialist = slices.Index(t.lexicon.names, name)
	if out.specialist < 0 {
		out.specialist = t.lexicon.catchAll
		out.confidence = min(out.confidence, unsaid)
		d.Notes = append(d.Notes, fmt.Sprintf("model named unknown specialist %q; sent to %s",
			cut(oneLine(a.Specialist), 64), t.lexicon.names[out.specialist]))
	}
	switch {
	case out.text == "":
		out.text = t.wholeMessage()
		d.Notes = append(d.Notes, fmt.Sprintf("model left the sub-query for %s empty; it gets the whole message", t.lexicon.names[out.specialist]))
	case !t.rests(out.text):
		out.text = t.wholeMessage()
		d.Notes = append(d.Notes, fmt.Sprintf("model's sub-query for %s has none of the shopper's words; it gets the whole message", t.lexicon.names[out.specialist]))
	}
	out.at = t.position(out.text)
	return out
}

func (t *turn) wholeMessage() string {
	if s := strings.TrimSpace(t.req.GetMessage()); s != "" {
		return s
	}
	return t.req.GetMessage()
}

// rests reports whether a sub-query shares a word with what was said. Without it the model would speak for the shopper.
func (t *turn) rests(subQuery string) bool {
	if holds(t.req.GetMessage(), subQuery) || holds(subQuery, t.req.GetMessage()) {
		return true
	}
	asked := stemsOf(subQuery)
	if common(asked, stemsOf(t.req.GetMessage())) > 0 {
		return true
	}
	for _, m := range t.req.GetHistory() {
		if common(asked, stemsOf(m.GetText())) > 0 {
			return true
		}
	}
	return false
}

// holds reports whether text contains part, whatever the case.
func holds(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// stemsOf returns the stems of the words that carry meaning, or of all if none does.
func stemsOf(text string) []string {
	ws := splitWords(text)
	if stems := contentStems(ws); len(stems) > 0 {
		return stems
	}
	stems := make([]string, len(ws))
	for i, w := range ws {
		stems[i] = w.stem
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}

// position returns where in the message a sub-query begins, in bytes: where its words stand as they are, or else where
// the rules' draft begins that it shares most words with.
func (t *turn) position(subQuery string) int {
	if i := strings.Index(strings.ToLower(t.req.GetMessage()), strings.ToLower(subQuery)); i >= 0 {
		return i
	}
	asked, best, at := stemsOf(subQuery), 0, len(t.req.GetMessage())
	for _, d := range t.ruling.drafts {
		if n := common(asked, stemsOf(d.text)); n > best {
			best, at = n, d.at
		}
	}
	return at
}

// restore adds what the rules are sure of and the model gave to nobody, and puts all in the order of the message.
func (t *turn) restore(d *routerv1.RoutingDecision, drafts []draft) []draft {
	for _, sure := range t.ruling.drafts {
		if sure.confidence < t.cfg.CertainThreshold || t.covered(sure, drafts) {
			continue
		}
		drafts = append(drafts, sure)
		d.Notes = append(d.Notes, fmt.Sprintf("model left out a part that the rules are sure of; added for %s", t.lexicon.names[sure.specialist]))
	}
	slices.SortStableFunc(drafts, func(a, b draft) int { return a.at - b.at })
	return drafts
}

// covered reports whether the drafts take care of what the rules are sure of: one of the same specialist's is about it,
// or the model gave this part, and not just the whole message, to another.
func (t *turn) covered(sure draft, drafts []draft) bool {
	asked := stemsOf(sure.text)
	words := strings.Trim(sure.text, " ?!.¿¡")
	return slices.ContainsFunc(drafts, func(d draft) bool {
		if d.specialist == sure.specialist {
			return common(asked, stemsOf(d.text)) > 0
		}
		return holds(d.text, words) && 2*len(d.text) <= 3*len(sure.text)
	})
}
