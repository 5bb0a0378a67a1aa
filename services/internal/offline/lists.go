package offline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// priceNames are the members that hold what an item costs.
var priceNames = []string{"price", "cost", "total", "fare"}

// bullets words a list of items: a lead that answers, a line for each, and how many more there are.
func (w *writer) bullets(name string, list []object, r result) string {
	total := max(len(list), w.total(r))
	if named := w.asksFor(list); len(named) > 0 {
		list, total = named, len(named)
	}
	if dir := direction(w.c.question); dir != "" && amount(scalarField(list[0], priceNames...)) > 0 {
		return w.superlative(list, dir)
	}
	shown := list[:min(len(list), maxBullets)]
	lead := w.lead(total, len(shown), has(list[0], "quantity"), r)
	if w.counts() && total > len(shown) {
		shown = shown[:min(len(shown), maxExamples)]
	}
	lines := []string{lead}
	if w.compares() {
		lines = nil // one list beside another: the things speak for themselves
	}
	for _, o := range shown {
		lines = append(lines, "- "+sentence(w.item(o)))
	}
	if more := total - len(shown); more > 0 && !w.counts() {
		lines = append(lines, "- "+fmt.Sprintf(w.say.more, more))
	}
	return strings.Join(lines, "\n")
}

// total is what a result says it has in all, 0 if it does not say.
func (w *writer) total(r result) int {
	o, _ := r.value.(object)
	n, _ := strconv.Atoi(scalarField(o, "total", "count", "total_count"))
	return n
}

// counts reports whether the question is how many there are.
func (w *writer) counts() bool { return w.speaks[stem("count")] > 0 && !asksCurrency(w.c.question) }

// superlative names the cheapest or dearest item, and the next ones in short.
func (w *writer) superlative(list []object, dir string) string {
	best := extreme(list, dir)
	head := w.say.cheapest
	if dir == "desc" {
		head = w.say.dearest
	}
	lead := fmt.Sprintf(head, strings.TrimSuffix(w.item(list[best]), "."))
	rest := slices.Delete(slices.Clone(list), best, best+1)
	if len(rest) == 0 {
		return sentence(lead)
	}
	lines := []string{sentence(lead) + " " + w.say.others}
	for _, o := range rest[:min(len(rest), maxExamples)] {
		lines = append(lines, "- "+sentence(w.brief(o)))
	}
	return strings.Join(lines, "\n")
}

// extreme is the index of the item with the lowest or highest price, the first of equals.
func extreme(list []object, dir string) int {
	best := 0
	for i, o := range list {
		a, b := amount(scalarField(o, priceNames...)), amount(scalarField(list[best], priceNames...))
		if a > 0 && (dir == "asc" && a < b || dir == "desc" && a > b) {
			best = i
		}
	}
	return best
}

// refusalRE begins a note that says that nothing fits.
var refusalRE = regexp.MustCompile(`(?i)^(?:no|none|nothing|sold out|not)\b`)

// lead is the line above a list. A question whether there is something is answered first.
func (w *writer) lead(total, shown int, held bool, r result) string {
	refused := refusalRE.MatchString(note(r.value))
	switch {
	case refused:
		return w.say.closest
	case w.counts() && total <= shown:
		return fmt.Sprintf(w.say.totalAll, total)
	case w.counts():
		return fmt.Sprintf(w.say.total, total)
	}
	if from := w.source(r); from != "" {
		return from
	}
	if held && w.namesCart() {
		return w.say.inCart
	}
	switch {
	case !w.asksExistence():
		if q := w.c.nameOf(queryOf(r)); q != "" && w.lang == english {
			return fmt.Sprintf(w.say.found, q)
		}
		return w.say.foundPlain
	case total == 1:
		return w.say.yesOne
	case total > shown:
		return fmt.Sprintf(w.say.yesMany, total)
	}
	return fmt.Sprintf(w.say.yesAll, total)
}

func (w *writer) namesCart() bool {
	return slices.ContainsFunc(w.c.question.words, func(x word) bool { return slices.ContainsFunc(x.gloss, isCart) })
}

// queryOf is the text that a call searched for.
func queryOf(r result) string {
	args, _ := r.args.(object)
	for _, a := range args {
		if roleOf("", property{a.name, &schema{Type: "string"}}) == roleQuery && scalar(a.value) != "" {
			return scalar(a.value)
		}
	}
	return ""
}

// source words the lead of a list that was found by the items of an earlier result.
func (w *writer) source(r result) string {
	for _, b := range w.c.turn.results {
		if sameJSON(b.value, r.value) || consumed(b, r) == nil {
			continue
		}
		if w.namesCart() {
			return w.say.fitsCart
		}
		from := findings{results: []result{b}}
		if titles, ok := from.values("title"); ok {
			var names []string
			for _, t := range titles[:min(len(titles), 3)] {
				names = append(names, t.(string))
			}
			return fmt.Sprintf(w.say.forSubject, strings.Join(names, ", "))
		}
	}
	return ""
}

var existenceRE = regexp.MustCompile(` (?:do you (?:\w+ )?(?:have|sell|carry|stock|offer)|have you (?:got )?(?:any|an|a)|are there|is there|got any|can i (?:get|buy)|teneis|tienen|tienes|teneis|hay|vendeis|venden|haben sie|habt ihr|hast du|gibt es|verkauft ihr|verkaufen sie|fuhren sie|avez vous|vous avez|vendez vous|auriez vous|y a t il|il y a) `)

var inStockRE = regexp.MustCompile(`^ (?:is|are|esta|estan|ist|sind|est ce que|est|sont) .* (?:in stock|available|disponible|disponibles|lieferbar|verfugbar|auf lager|vorratig|en stock) `)

// asksExistence reports whether the question is whether there is something: one that yes or no answers.
func (w *writer) asksExistence() bool {
	for _, clause := range requests(w.c.question) {
		asks := slices.ContainsFunc(clause.words[:min(3, len(clause.words))], func(x word) bool {
			return askWords[x.norm] && x.norm != "que" || x.norm == "how"
		})
		if flat := flatten(clause); !asks && (existenceRE.MatchString(flat) || inStockRE.MatchString(flat)) {
			return true
		}
	}
	return false
}

// asksFor returns the items that the question calls by name, nil when it names none or looks for others like them.
func (w *writer) asksFor(list []object) []object {
	if w.speaks[stem("similar")] >= synonymWeight || w.speaks[stem("complement")] >= synonymWeight {
		return nil
	}
	said := map[string]bool{}
	for _, x := range w.c.question.words {
		said[x.norm] = true
	}
	best, hits := 0, make([]int, len(list))
	for i, o := range list {
		hits[i] = namedBy(split(scalarField(o, "title", "name")), said)
		best = max(best, hits[i])
	}
	if best == 0 {
		return nil
	}
	compares := w.compares()
	var out []object
	for i, o := range list {
		if hits[i] == best || compares && hits[i] > 0 {
			out = append(out, o)
		}
	}
	return out
}

// compares reports whether the question holds things side by side: it says so, or one clause led to several finds.
func (w *writer) compares() bool {
	found := map[string]int{}
	for _, r := range w.c.turn.results {
		if !isEmpty(r.value) && whichRE.MatchString(w.c.question.raw) {
			found[r.tool]++
		}
	}
	return compareRE.MatchString(flatten(w.c.question)) || slices.ContainsFunc(slices.Collect(maps.Values(found)), func(n int) bool { return n > 1 })
}

var compareRE = regexp.MustCompile(` (?:compare|comparison|difference|versus|vs|better|compara|comparar|diferencia|vergleich|vergleiche|unterschied|comparer|comparez) `)

// namedBy counts the names in a title that were said: its capitals and numbers. The first word of a title has a capital
// in any case, so alone it is no evidence, and neither is a number.
func namedBy(title []word, said map[string]bool) int {
	hits, clear := 0, false
	for i, x := range title {
		capital := strings.ToLower(x.raw) != x.raw
		number := x.raw[0] >= '0' && x.raw[0] <= '9'
		if (capital || number) && said[x.norm] {
			hits++
			clear = clear || capital && i > 0
		}
	}
	if !clear {
		return 0
	}
	return hits
}
