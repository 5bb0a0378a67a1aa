package offline

import (
	"regexp"
	"strings"
	"unicode"
)

// pair is a property that the text gives a thing, such as size 42.
type pair struct {
	key, value string
	span
}

var (
	sizeRE     = regexp.MustCompile(`(?i)(?:^|[^\p{L}])((?:in\s+(?:a\s+)?)?(?:size|sizes|sized|talla|tallas|taille|pointure|größe|groesse|grösse|número|eu|uk|us)\s*:?\s*(?:(?:eu|uk|us)\s+)?)(\d{1,3}(?:[.,]5)?|x{0,4}[sml]|xx+l|small|medium|large|one size)(?:[^\p{L}\d]|$)`)
	bareSizeRE = regexp.MustCompile(`(?i)(?:^|[^\p{L}])((?:in|en|taille)\s+(?:an?\s+)?)(\d{2}(?:[.,]5)?|xx?s|xx?x?l|[SML]|small|medium|large)(?:[^\p{L}\d€$£%-]|$)`)
	letterRE   = regexp.MustCompile(`(?:^|[^\p{L}\d])()(XXS|XS|XL|XXL|XXXL|2XL|3XL)(?:[^\p{L}\d]|$)`)
)

var sizeWords = map[string]string{"small": "S", "medium": "M", "large": "L"}

// colours are folded and lead to their English names.
var colours = pairs(`blue=blue red=red green=green black=black white=white yellow=yellow grey=grey gray=grey brown=brown pink=pink orange=orange purple=purple navy=navy beige=beige turquoise=turquoise
	khaki=khaki olive=olive silver=silver gold=gold teal=teal burgundy=burgundy cream=cream charcoal=charcoal`)

// denials before a colour say that it is not wanted.
var denials = set("no not without except hate dislike avoid isnt dont sin ohne kein keine keinen nicht sans pas")

// optionPairs finds sizes and colours.
func optionPairs(t text) []pair {
	var out []pair
	if p, ok := size(t); ok {
		out = append(out, p)
	}
	for i, w := range t.words {
		if i > 0 && denials[t.words[i-1].norm] {
			continue
		}
		name := w.norm
		if len(w.gloss) == 1 {
			name = w.gloss[0]
		}
		colour, ok := colours[name]
		if !ok || t.kindAt(i) {
			continue
		}
		start := w.start
		if i > 0 && (t.words[i-1].norm == "in" || t.words[i-1].norm == "en") {
			start = t.words[i-1].start
		}
		out = append(out, pair{"colour", colour, span{start, w.end}})
	}
	return onlyOneColour(out)
}

// coloured are things that have a colour in their names: green tea is a kind of tea.
var coloured = set("tea teas wine wines beans bean pepper peppercorns rice bread chocolate juice coffee onion onions cabbage card cards friday")

// kindAt reports whether the colour at i belongs to a name: "green tea", "té verde".
func (t text) kindAt(i int) bool {
	if i > 1 && isUpper(t.words[i].raw) && isUpper(t.words[i-1].raw) {
		return true // a name: "Earl Grey"
	}
	names := func(j int) bool {
		if j < 0 || j >= len(t.words) {
			return false
		}
		w := t.words[j]
		return coloured[w.norm] || len(w.gloss) > 0 && coloured[w.gloss[len(w.gloss)-1]]
	}
	return names(i+1) || t.lang != english && names(i-1)
}

func isUpper(s string) bool { return unicode.IsUpper(firstRune(s)) }

// onlyOneColour drops the colours of "brown or black": both are wanted, and a pair can hold only one.
func onlyOneColour(pairs []pair) []pair {
	n := 0
	for _, p := range pairs {
		if p.key == "colour" {
			n++
		}
	}
	if n < 2 {
		return pairs
	}
	var out []pair
	for _, p := range pairs {
		if p.key != "colour" {
			out = append(out, p)
		}
	}
	return out
}

func size(t text) (pair, bool) {
	for _, re := range []*regexp.Regexp{sizeRE, bareSizeRE, letterRE} {
		for _, m := range re.FindAllStringSubmatchIndex(t.raw, -1) {
			if measured(t.lower, m[5]) || m[4] > 0 && unicode.IsLetter(rune(t.raw[m[4]-1])) && unicode.IsLetter(firstRune(t.raw[m[4]:])) {
				continue // "sizes" is no size S
			}
			value := strings.ToUpper(strings.ReplaceAll(t.raw[m[4]:m[5]], ",", "."))
			if word := sizeWords[strings.ToLower(value)]; word != "" {
				value = word
			}
			if strings.EqualFold(value, "one size") {
				value = "one size"
			}
			return pair{"size", value, span{m[2], m[5]}}, true
		}
	}
	return pair{}, false
}
