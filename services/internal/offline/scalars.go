package offline

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// enum picks the value that the question speaks of. Words such as cheapest choose a sort order.
func (f *filler) enum(p property, required bool) any {
	if dir := direction(f.ask); dir != "" {
		if v := ordered(p.Enum, dir); v != "" {
			return v
		}
	}
	if set("sort order sorting ordering")[nameWords(p.name)[0]] && direction(f.ask) == "" && !strings.Contains(f.ask.lower, "sort") {
		return nil
	}
	speaks := ownTerms(f.ask)
	bags := make([]bag, len(p.Enum))
	for i, v := range p.Enum {
		bags[i] = bag{}
		bags[i].addText(strings.Join(nameWords(v), " "), 1)
		if note := noteOn(v, p.Description); note != "" {
			bags[i].addText(note, 0.6)
		}
	}
	best, score := -1, 0.45
	for i := range bags {
		if s := speaks.overlap(bags[i], bags); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return nil
	}
	for _, w := range f.ask.words {
		for _, g := range w.gloss {
			if slices.Contains(nameWords(p.Enum[best]), g) && !required {
				f.take(span{w.start, w.end})
			}
		}
	}
	return p.Enum[best]
}

// noteOn returns what a description says of one of its values: "asc: cheapest first".
func noteOn(value, description string) string {
	re, err := regexp.Compile(`(?i)\b` + regexp.QuoteMeta(value) + `\b['"` + "`" + `]?\s*(?:[:=(—–-]|means|for|is)\s*([^.;,\n)]+)`)
	if err != nil {
		return ""
	}
	if m := re.FindStringSubmatch(description); m != nil {
		return m[1]
	}
	return ""
}

// ordered finds the enum value that sorts by price in the given direction.
func ordered(values []string, dir string) string {
	if dir == "" {
		return ""
	}
	up := map[string]bool{"asc": true, "ascending": true, "low": true, "lowest": true, "cheapest": true, "min": true, "cheap": true, "increasing": true}
	down := map[string]bool{"desc": true, "descending": true, "high": true, "highest": true, "expensive": true, "max": true, "decreasing": true}
	want, other := up, down
	if dir == "desc" {
		want, other = down, up
	}
	for _, v := range values {
		ws := nameWords(v)
		for _, w := range ws { // the first word of direction decides: "price_low_to_high"
			if other[w] {
				break
			}
			if want[w] && !slices.ContainsFunc(ws, func(w string) bool { return w == "rating" || w == "date" }) {
				return v
			}
		}
	}
	return ""
}

// boolean is true when the question uses the words of the name, false when it denies them, and absent otherwise.
func (f *filler) boolean(p property) any {
	flat := flatten(f.ask)
	var named []string
	for _, w := range nameWords(p.name) {
		if !stopWords[english][w] && w != "include" && w != "only" {
			named = append(named, stem(w))
		}
	}
	if len(named) == 0 {
		return nil
	}
	speaks := termsOf(f.ask)
	for _, n := range named {
		if speaks[n] < synonymWeight {
			return nil
		}
		if n == "stock" && !strings.Contains(flat, " in stock ") && !strings.Contains(flat, " available ") && !strings.Contains(flat, " disponible") && !strings.Contains(flat, " auf lager ") &&
			!strings.Contains(flat, " lieferbar ") && !strings.Contains(flat, " verfugbar ") && !strings.Contains(flat, " en stock ") && !strings.Contains(flat, " availability ") {
			return nil // "do you stock" is not "in stock"
		}
	}
	for i, w := range f.ask.words {
		if len(w.gloss) == 0 || !slices.Contains(named, stem(w.gloss[0])) {
			continue
		}
		f.take(span{w.start, w.end})
		if i > 0 && (f.ask.words[i-1].norm == "no" || f.ask.words[i-1].norm == "without" || f.ask.words[i-1].norm == "not") {
			return false
		}
	}
	return true
}

// number fills price bounds, limits, and numbers that stand beside the property's noun.
func (f *filler) number(parent string, p property, required, sole bool) any {
	low, high, where := priceBounds(f.ask)
	switch roleOf(parent, p) {
	case roleSkip:
		return nil
	case rolePriceMin, rolePriceMax:
		v := low
		if roleOf(parent, p) == rolePriceMax {
			v = high
		}
		if v == nil {
			return nil
		}
		f.take(where...)
		return asNumber(p, *v*scale(p))
	case roleLimit:
		return f.limit(p)
	}
	var cues []string
	for _, w := range append(nameWords(parent), nameWords(p.name)...) {
		cues = append(cues, stem(w))
		cues = append(cues, synonyms[stem(w)]...)
	}
	about := bag{}
	about.addText(p.Description, 1)
	free := f.freeNumbers()
	if required && slices.ContainsFunc(nameWords(p.name), func(w string) bool { return sumNames[w] }) {
		if v, ok := f.sum(free); ok {
			return asNumber(p, v*scale(p))
		}
	}
	for _, strict := range []bool{true, false} {
		for _, n := range free {
			near := n.after[:min(1, len(n.after))]
			if strict {
				near = append(slices.Clone(near), n.before[:min(1, len(n.before))]...)
			}
			for _, s := range near {
				if slices.Contains(cues, s) || !strict && about[s] > 0 {
					f.take(n.span)
					return asNumber(p, n.value)
				}
			}
		}
	}
	if required && len(free) > 0 && (len(free) == 1 || sole) {
		f.take(free[0].span)
		return asNumber(p, free[0].value)
	}
	return nil
}

func (f *filler) freeNumbers() []counted {
	var out []counted
	_, days := dates(f.ask, f.now)
	for _, n := range numbers(f.ask) {
		if w := (word{start: n.start, end: n.end}); !covered(f.taken, w) && !covered(days, w) {
			out = append(out, n)
		}
	}
	return out
}

// scale is 100 for amounts in minor units.
func scale(p property) float64 {
	if regexp.MustCompile(`minor|cents`).MatchString(strings.ToLower(p.name + " " + p.Description)) {
		return 100
	}
	return 1
}

// limit is set only when the question asks for a number of results.
func (f *filler) limit(p property) any {
	for _, n := range f.freeNumbers() {
		asked := slices.ContainsFunc(n.before, func(s string) bool {
			return slices.Contains([]string{"top", "show", "first", "list", "best", "give"}, s)
		})
		counts := len(n.after) > 0 && slices.Contains([]string{"option", "suggestion", "idea", "result", "product", "example", "choic", "alternativ"}, n.after[0])
		if (asked || counts) && n.value >= 1 && n.value <= 50 {
			f.take(n.span)
			return asNumber(p, n.value)
		}
	}
	return nil
}

func asNumber(p property, v float64) any {
	if p.Minimum != nil {
		v = math.Max(v, *p.Minimum)
	}
	if p.Maximum != nil {
		v = math.Min(v, *p.Maximum)
	}
	if p.Type == "integer" {
		return int64(math.Round(v))
	}
	return v
}

// array fills lists: ids from results, enum values that the question names, else its salient words.
func (f *filler) array(p property, required bool) any {
	if p.Items == nil {
		return nil
	}
	one := property{strings.TrimSuffix(p.name, "s"), p.Items}
	if roleOf("", p) == roleOptions {
		return f.options(p)
	}
	if len(p.Items.Enum) > 0 {
		if isWish(p) && asksHowItStands(f.ask) {
			return nil
		}
		return f.enums(one)
	}
	if p.Items.Type != "string" {
		return nil
	}
	if v := f.pointed(p.name); v != "" {
		return []any{v}
	}
	if vals, _ := f.found.values(p.name); len(vals) > 0 {
		f.fromResults = true
		return atMost(vals, p.MaxItems)
	}
	r := roleOf("", p)
	if r == roleID || r == roleCode {
		if v := f.identifier(one); v != "" {
			return []any{v}
		}
		if _, at, ok := properName(f.ask); ok && !required && titledRE.MatchString(p.Description) {
			at = f.ask.called(at)
			f.take(at)
			return []any{f.ask.raw[at.start:at.end]}
		}
		return nil
	}
	if !required {
		return nil
	}
	var out []any
	for _, w := range f.queryWords() {
		out = append(out, w)
	}
	if len(out) == 0 {
		return nil
	}
	return atMost(out, p.MaxItems)
}

// titledRE is in the description of ids that may be names as well.
var titledRE = regexp.MustCompile(`(?i)\bids?\b[^.]*\bor (?:their )?(?:titles?|names?)\b`)

func atMost(list []any, n int) []any {
	if n > 0 && len(list) > n {
		return list[:n]
	}
	return list
}

func (f *filler) enums(p property) any {
	var out []any
	for _, v := range named(p.Enum, f.ask) {
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
