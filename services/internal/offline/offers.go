package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// offers names the best offer that applies, or says why none does.
func (w *writer) offers(list []object, r result) string {
	for _, o := range list { // a code that was asked about is the answer, whether it applies or not
		if code := scalarField(o, "code"); code != "" && len(list) > 1 && indexName(w.c.question.lower, code) >= 0 {
			return w.offers([]object{o}, r)
		}
	}
	best, saving := -1, -1.0
	for i, o := range list {
		if s := amount(scalarField(o, "saving", "savings", "discount")); !refused(o) && s > saving {
			best, saving = i, s
		}
	}
	if best >= 0 {
		return w.offer(list[best])
	}
	if len(list) == 1 {
		return "- " + w.refusal(list[0], nil)
	}
	var lines []string
	if note(r.value) == "" {
		lines = append(lines, w.say.noOffers)
	}
	said := map[string]bool{}
	for _, o := range w.ranked(list)[:min(len(list), maxOffers)] {
		lines = append(lines, "- "+w.refusal(o, said))
	}
	return strings.Join(lines, "\n")
}

const maxOffers = 4

// ranked puts the offers first that the question speaks of.
func (w *writer) ranked(list []object) []object {
	own := ownTerms(w.c.question)
	bags := map[string]bag{}
	var all []bag
	for _, o := range list {
		b := bag{}
		b.addText(w.value(o), 1)
		bags[string(encode(o))], all = b, append(all, b)
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b object) int {
		return cmp.Compare(own.overlap(bags[string(encode(b))], all), own.overlap(bags[string(encode(a))], all))
	})
	return out
}

var selfRE = regexp.MustCompile(`^[A-Z0-9-]{3,} (?:does not apply|applies): `)

// refusal words an offer that does not apply: what it is and why not. A reason that was said for another is not repeated.
func (w *writer) refusal(o object, said map[string]bool) string {
	name := scalarField(o, "code")
	if title := scalarField(o, "title", "name"); title != "" {
		name = joinNonEmpty(" ", title, parenthesised(name))
	}
	why := scalarField(o, "explanation", "missing", "reason", "why", "refusal", "description")
	why = selfRE.ReplaceAllString(why, "")
	about := scalarField(o, "offer", "terms")
	switch {
	case why == "" || said[why]:
		return sentence(joinNonEmpty(": ", name, about))
	case said == nil || about == "":
		return fmt.Sprintf(w.say.noOffer, name, sentence(why))
	}
	said[why] = true
	return joinNonEmpty(": ", name, sentence(about)) + " " + fmt.Sprintf(w.say.notNow, sentence(why))
}

func (w *writer) offer(o object) string {
	code, title := scalarField(o, "code"), scalarField(o, "title", "name", "promotion", "offer")
	head := title
	if code != "" {
		head = fmt.Sprintf(w.say.useCode, code, orElse(title, code))
	}
	if s := scalarField(o, "saving", "savings", "discount"); s != "" {
		head += ": " + fmt.Sprintf(w.say.saves, s)
	}
	out := []string{sentence(head)}
	for _, key := range []string{"explanation", "description", "conditions", "terms"} {
		if v := scalarField(o, key); v != "" && tellsMore(v, head) {
			out = append(out, sentence(v))
			break
		}
	}
	if ends := scalarField(o, "ends", "end", "valid_until", "expires"); ends != "" && !strings.Contains(strings.Join(out, " "), ends) {
		out = append(out, fmt.Sprintf(w.say.until, ends))
	}
	return strings.Join(out, " ")
}

// figureRE finds numbers that are no parts of codes.
var figureRE = regexp.MustCompile(`\b\d+(?:[.,]\d+)?`)

// tellsMore reports whether text holds a number that said lacks or, when it has no numbers, a word.
func tellsMore(text, said string) bool {
	known := map[float64]bool{}
	for _, n := range figureRE.FindAllString(said, -1) {
		known[amount(n)] = true
	}
	numbers := figureRE.FindAllString(text, -1)
	if len(numbers) > 0 {
		return slices.ContainsFunc(numbers, func(n string) bool { return !known[amount(n)] })
	}
	b := bag{}
	b.addText(said, 1)
	return slices.ContainsFunc(split(text), func(x word) bool { return !stopWords[english][x.norm] && b.weigh(stem(x.norm)) == 0 })
}

func parenthesised(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
