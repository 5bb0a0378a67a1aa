package offline

import (
	"slices"
	"strings"
)

// assignment is a part of the message and the class that takes it.
type assignment struct {
	span
	class      int
	text       string
	confidence float64
	score      float64
	why        []string // words of the message that spoke for the class
}

// assign parts t among the classes.
func (c *classifier) assign(t text) []assignment {
	var out []assignment
	for _, s := range t.joined() {
		for _, part := range c.parts(t, s) {
			out = c.place(out, t, part)
		}
	}
	if len(out) == 0 {
		return []assignment{{span: span{0, len(t.raw)}, class: c.other, text: tidy(t.raw), confidence: 0.9, why: nil}}
	}
	c.finish(out, t)
	return out
}

// place adds a part as an assignment of its own, or to the one before it when both are one thought.
func (c *classifier) place(out []assignment, t text, s span) []assignment {
	part := readAs(t.raw[s.start:s.end], t.lang)
	v := c.classify(part)
	if len(out) > 0 {
		prev := &out[len(out)-1]
		leans := leansOnContext(part) || subjectPronoun(part)
		if leans && (v.score < 2*leastEvidence || v.class == prev.class || prev.score == 0) || hasPronoun(part) && (v.score == 0 || v.class == prev.class) {
			prev.end = s.end
			if prev.score == 0 && v.score > 0 {
				prev.class, prev.why = v.class, c.why(part, v.class)
			}
			prev.confidence = max(prev.confidence, 0.5)
			return out
		}
	}
	return append(out, assignment{span: s, class: v.class, confidence: v.confidence, score: v.score, why: c.why(part, v.class)})
}

func (c *classifier) why(t text, class int) []string {
	var out []string
	for _, w := range t.words {
		if len(w.gloss) > 0 && c.classes[class].bag.weigh(stem(w.gloss[0])) > 0 && !slices.Contains(out, strings.ToLower(w.raw)) {
			out = append(out, strings.ToLower(w.raw))
		}
	}
	return out[:min(len(out), 4)]
}

// finish writes the sub-queries: the message's own words, with a noun or a number from elsewhere when they need it.
func (c *classifier) finish(out []assignment, t text) {
	ids := identifiers(t)
	for i := range out {
		a := &out[i]
		a.text = tidy(t.raw[a.start:a.end])
		part := readAs(a.text, t.lang)
		var extra []string
		if i > 0 && hasPronoun(part) && out[i-1].class != a.class {
			before := readAs(out[i-1].text, t.lang)
			drop := append(optionSpans(before), moneySpans(before)...)
			if nouns := salient(before, drop); len(nouns) > 0 {
				extra = append(extra, strings.Join(nouns[:min(len(nouns), 4)], " "))
			}
		}
		for _, id := range ids {
			if !strings.Contains(a.text, id.value) && len(id.nouns) > 0 && (hasPronoun(part) || termsOf(part)[id.nouns[0]] >= 1) {
				extra = append(extra, id.nouns[0]+" "+id.value)
			}
		}
		if len(extra) > 0 {
			a.text += " (" + strings.Join(extra, "; ") + ")"
		}
	}
}

// longestList is how many words a list of requests may have; looking for cuts costs the square of it.
const longestList = 60

// parts cuts a clause at commas and "and" where both sides clearly belong to different classes: "tents, your return
// policy and any coupons".
func (c *classifier) parts(t text, s span) []span {
	var ws []word
	for _, w := range t.words {
		if w.start >= s.start && w.end <= s.end {
			ws = append(ws, w)
		}
	}
	if len(ws) > longestList {
		return []span{s}
	}
	var out []span
	from, first := s.start, 0
	for i := 1; i < len(ws); i++ {
		and := connectors[ws[i].norm] || ws[i].norm == "or"
		comma := strings.Contains(t.raw[ws[i-1].end:ws[i].start], ",")
		right := i
		if and {
			right++
		}
		if !and && !comma || right >= len(ws) || i <= first {
			continue
		}
		end := len(ws)
		for j := right + 1; j < len(ws); j++ {
			if connectors[ws[j].norm] || strings.Contains(t.raw[ws[j-1].end:ws[j].start], ",") {
				end = j
				break
			}
		}
		l := c.classify(readAs(t.raw[from:ws[i-1].end], t.lang))
		r := c.classify(readAs(t.raw[ws[right].start:ws[end-1].end], t.lang))
		if l.class != r.class && l.score >= 1.5 && r.clear >= 1.2 && l.confidence > 0.55 && r.confidence > 0.6 {
			out = append(out, span{from, ws[i-1].end})
			from, first = ws[right].start, right
		}
	}
	return append(out, span{from, s.end})
}
