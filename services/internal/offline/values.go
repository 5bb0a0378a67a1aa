package offline

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// identifier is a token of the text that names something, with the words before it.
type identifier struct {
	value string
	nouns []string // stems of up to three words before it
	plain bool     // digits only
	span
}

var (
	idRE     = regexp.MustCompile(`#\s?[A-Za-z]*-?\d[\w-]*|\b[A-Za-z]{1,8}(?:-[A-Z]{1,8})*-\d[\w-]*\b|\b[A-Z]{1,5}\d{2,}\w*\b|\b\d{2,}(?:-\d+)*\b`)
	codeRE   = regexp.MustCompile(`\b[A-Z][A-Z0-9]{2,}(?:-[A-Z0-9]+)*\b`)
	emailRE  = regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]*\w`)
	urlRE    = regexp.MustCompile(`https?://[^\s<>"]+`)
	phoneRE  = regexp.MustCompile(`\+?\d[\d ()/-]{6,}\d`)
	quotedRE = regexp.MustCompile(`["“„«]\s*([^"“”„«»]{2,200}?)\s*["”“»]|(?:^|\s)['‘]([^'‘’]{2,200})['’](?:\W|$)`)
)

// skippedBeforeID may stand between a noun and its number: "order number 1042", "pedido n.º 1042".
var skippedBeforeID = set("number no nr num numero nummer id n is the my with reference ref code es ist est")

// identifiers finds what may be an order number, a loan id and so on.
func identifiers(t text) []identifier {
	prices := append(money(t), optionSpans(t)...)
	if _, _, bounds := priceBounds(t); len(bounds) > 0 {
		prices = append(prices, bounds...)
	}
	for _, m := range postalRE.FindAllStringIndex(t.raw, -1) {
		prices = append(prices, span{m[0], m[1]}) // a postal code is no number of a thing
	}
	var out []identifier
	for _, m := range idRE.FindAllStringIndex(t.raw, -1) {
		at := span{m[0], m[1]}
		if covered(prices, word{start: m[0], end: m[1]}) || measured(t.lower, m[1]) {
			continue
		}
		value := strings.TrimSpace(strings.TrimPrefix(t.raw[m[0]:m[1]], "#"))
		id := identifier{value: value, span: at, plain: strings.Trim(value, "0123456789-") == "" && t.raw[m[0]] != '#'}
		id.nouns = nounsBefore(t, m[0])
		out = append(out, id)
	}
	return out
}

func nounsBefore(t text, at int) []string {
	var out []string
	for i := len(t.words) - 1; i >= 0 && len(out) < 2; i-- {
		w := t.words[i]
		if w.end > at || skippedBeforeID[w.norm] {
			continue
		}
		if at-w.start > 48 {
			break
		}
		if len(w.gloss) == 0 {
			break
		}
		for _, g := range w.gloss {
			out = append(out, stem(g))
		}
	}
	return out
}

func optionSpans(t text) []span {
	var out []span
	for _, p := range optionPairs(t) {
		out = append(out, p.span)
	}
	return out
}

// quoted returns what stands in quotation marks.
func quoted(t text) (string, bool) {
	m := quotedRE.FindStringSubmatch(t.raw)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(m[1] + m[2]), true
}

// counted is a number with the words around it.
type counted struct {
	value         float64
	before, after []string // stems, the nearest first, two at most
	span
}

var numberWords = map[string]float64{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "twenty": 20,
	"dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "zwei": 2, "drei": 3, "vier": 4, "funf": 5, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5}

var leadingNumberRE = regexp.MustCompile(`^(\d+(?:[.,]\d+)?)(\p{L}*)$`)

// numbers finds the numbers of t that are not parts of names.
func numbers(t text) []counted {
	var out []counted
	for i, w := range t.words {
		value, ok := numberWords[w.norm]
		var unit string
		if m := leadingNumberRE.FindStringSubmatch(w.raw); m != nil {
			if v, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64); err == nil {
				value, unit, ok = v, m[2], true
			}
		} else if head, tail, cut := strings.Cut(w.norm, "-"); cut {
			if v, err := strconv.ParseFloat(head, 64); err == nil { // "2-person"
				value, unit, ok = v, tail, true
			}
		}
		if !ok {
			continue
		}
		c := counted{value: value, span: span{w.start, w.end}}
		if unit != "" {
			c.after = append(c.after, stem(fold(unit)))
		}
		for j := i + 1; j < len(t.words) && len(c.after) < 2; j++ {
			c.after = append(c.after, glossStem(t.words[j]))
		}
		for j := i - 1; j >= 0 && len(c.before) < 2; j-- {
			c.before = append(c.before, glossStem(t.words[j]))
		}
		out = append(out, c)
	}
	return out
}

func glossStem(w word) string {
	if len(w.gloss) > 0 {
		return stem(w.gloss[len(w.gloss)-1])
	}
	return stem(w.norm)
}

var (
	fromPlace = set("from desde von depuis")
	toPlace   = set("to towards hasta nach vers into")
	inPlace   = set("in at near around for en a bei pres nahe cerca within")
	timeWords = set("today tomorrow tonight now next this monday tuesday wednesday thursday friday saturday sunday weekend morning week on at by before after january february march april may june july august september october november december hoy manana heute morgen demain and or under with from to in for until till via returning leaving departing")
)

// place finds a place after one of the prepositions: capitalised words, or in a text without capitals the words that follow.
func place(t text, prepositions map[string]bool) (string, span, bool) {
	capitals := strings.ContainsFunc(t.raw[min(1, len(t.raw)):], unicode.IsUpper)
	for i := 0; i+1 < len(t.words); i++ {
		if !prepositions[t.words[i].norm] {
			continue
		}
		j := i + 1
		if t.words[j].norm == "the" || t.words[j].norm == "la" {
			j++
		}
		end := j
		for end < len(t.words) && placeWord(t, end, j, capitals) {
			end++
		}
		if end > j {
			s := span{t.words[j].start, t.words[end-1].end}
			return t.raw[s.start:s.end], span{t.words[i].start, s.end}, true
		}
	}
	return "", span{}, false
}

func placeWord(t text, i, first int, capitals bool) bool {
	w := t.words[i]
	if i > first && strings.TrimSpace(t.raw[t.words[i-1].end:w.start]) != "" {
		return false // punctuation ends a name
	}
	if timeWords[w.norm] || currencyCodes[w.norm] != "" || !unicode.IsLetter(firstRune(w.raw)) {
		return false
	}
	if capitals {
		return unicode.IsUpper(firstRune(w.raw)) && (i > 0)
	}
	return !stopWords[t.lang][w.norm] && i < first+2
}

// properName finds the first run of capitalised words that does not begin the sentence.
func properName(t text) (string, span, bool) {
	for i := 1; i < len(t.words); i++ {
		w := t.words[i]
		begins := strings.ContainsAny(t.raw[t.words[i-1].end:w.start], ".?!\n")
		if begins || !unicode.IsUpper(firstRune(w.raw)) || w.norm == "i" || currencyCodes[w.norm] != "" {
			continue
		}
		end := i + 1
		for end < len(t.words) && unicode.IsUpper(firstRune(t.words[end].raw)) && strings.TrimSpace(t.raw[t.words[end-1].end:t.words[end].start]) == "" {
			end++
		}
		s := span{w.start, t.words[end-1].end}
		return t.raw[s.start:s.end], s, true
	}
	return "", span{}, false
}

// called is a name's span with the words that belong to it: "Starter 2", "Fledge down jacket".
func (t text) called(name span) span {
	_, _, prices := priceBounds(t)
	for _, w := range t.words {
		joins := len(w.gloss) > 0 || unicode.IsDigit(firstRune(w.raw))
		if w.start > name.end && joins && strings.TrimSpace(t.raw[name.end:w.start]) == "" && !covered(prices, w) && !fillers[w.norm] && !superlatives[w.norm] {
			name.end = w.end
		}
	}
	return name
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
