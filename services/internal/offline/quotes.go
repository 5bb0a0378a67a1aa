package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	maxQuote    = 500 // bytes of a passage
	maxPassages = 2
	// closeSecond is how relevant a second passage must be beside the first.
	closeSecond = 0.85
)

// passages quotes what fits the question best, in the words it is written in; two passages of one text under one lead.
func (w *writer) passages(list []object) string {
	scores := w.relevance(list)
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var out, titles []string
	for n, i := range order {
		if n == maxPassages || n > 0 && (scores[i] < closeSecond*scores[order[0]] || scores[i] == 0) {
			break
		}
		text, title := w.excerpt(passageText(list[i])), passageTitle(list[i])
		switch at := slices.Index(titles, title); {
		case at >= 0 && strings.Contains(out[at], text):
		case at >= 0:
			out[at] += " " + text
		case title != "":
			titles, out = append(titles, title), append(out, fmt.Sprintf(w.say.passage, title, text))
		default:
			titles, out = append(titles, title), append(out, fmt.Sprintf(w.say.passagePlain, text))
		}
	}
	return strings.Join(out, "\n\n")
}

// Weights of a word of the question in a passage. Words of the trade ("return", "warranty") name the subject, so a heading
// may hold them as well; the others ("tent", "opened") tell passages on one subject apart, and count where they stand.
const (
	tradeWeight   = 0.8
	ownWeight     = 1.3
	headingWeight = 0.5
	kindBonus     = 0.5
)

// relevance scores passages by the question's words, the rarer among them the more, and by whether they hold the kind of
// fact that is asked for. Passages come best first, so an earlier one has the edge.
func (w *writer) relevance(list []object) []float64 {
	texts, heads, both := make([]bag, len(list)), make([]bag, len(list)), make([]bag, len(list))
	for i, o := range list {
		texts[i], heads[i], both[i] = bag{}, bag{}, bag{}
		head := joinNonEmpty(" ", passageTitle(o), scalarField(o, "section", "heading"))
		texts[i].addText(passageText(o), 1)
		heads[i].addText(head, 1)
		both[i].addText(head+" "+passageText(o), 1)
	}
	out := make([]float64, len(list))
	for i, o := range list {
		for _, s := range w.wordStems() {
			worth := fit(s, texts[i], heads[i]) * rarity(s, both)
			for _, other := range synonyms[s] {
				worth = max(worth, synonymWeight*fit(other, texts[i], heads[i])*rarity(other, both))
			}
			out[i] += worth
		}
		if re := w.wantedKind(); re != nil && re.MatchString(passageText(o)) {
			out[i] += kindBonus
		}
		out[i] *= 1 - 0.03*float64(min(i, 10))
	}
	return out
}

// fit is how much a passage that holds the stem in its text or above it is worth.
func fit(s string, text, head bag) float64 {
	if len(synonyms[s]) > 0 {
		return tradeWeight * max(text.weigh(s), head.weigh(s))
	}
	return max(ownWeight*text.weigh(s), headingWeight*head.weigh(s))
}

// wordStems are the stems of the question's words, once each.
func (w *writer) wordStems() []string {
	var out []string
	for _, x := range w.c.question.words {
		for _, g := range x.gloss {
			out = appendNew(out, stem(g))
		}
	}
	return out
}

var (
	howLongRE  = regexp.MustCompile(` (?:how long|how many days|how soon|when|cuanto tarda|cuanto tiempo|cuando|wie lange|wann|combien de temps|quand) `)
	howMuchRE  = regexp.MustCompile(` (?:how much|cost|costs|cuanto cuesta|cuesta|wie viel|kostet|kosten|combien coute|combien coutent|free) `)
	sumRE      = regexp.MustCompile(`\d\s*(?:[A-Z]{3}\b|€|£|\$)|[€£$]\s*\d|\bfree\b`)
	durationRE = regexp.MustCompile(`\d+\s+(?:working )?(?:hour|day|week|month|year)|\d{1,2}:\d{2}`)
)

// wantedKind matches the kind of fact that the question asks for, nil when it does not say.
func (w *writer) wantedKind() *regexp.Regexp {
	flat := flatten(w.c.question)
	switch {
	case howLongRE.MatchString(flat):
		return durationRE
	case howMuchRE.MatchString(flat):
		return sumRE
	}
	return nil
}

func passageText(o object) string {
	return scalarField(o, "text", "passage", "excerpt", "answer", "content", "snippet", "quote")
}

func passageTitle(o object) string {
	return scalarField(o, "policy_title", "policy", "title", "heading", "section", "source", "question", "name")
}

// excerpt keeps whole sentences of a long passage, from the one that fits the question best.
func (w *writer) excerpt(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxQuote {
		return text
	}
	all := sentences(text)
	best, score := 0, -1.0
	for i, s := range all {
		b := bag{}
		b.addText(s, 1)
		if v := w.speaks.overlap(b, []bag{b}); v > score {
			best, score = i, v
		}
	}
	out, size := []string{}, 0
	for _, s := range all[max(0, best-1):] {
		if size += len(s) + 1; size > maxQuote && len(out) > 1 {
			break
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}
