package classifier

import (
	"strings"
	"unicode/utf8"
)

// clause is the smallest stretch of words that goes to one specialist: words from lo to hi-1.
type clause struct{ lo, hi int }

// openers are words before which another request may begin without a mark. They only offer a place: the model decides.
var openers = wordSet(`
	and but or also plus then what which where when who why how whats wheres whens hows do does did can could is are was will would
	should have has i we show tell give need want
	und oder aber was wie wo wann warum welche welcher kann konnen gibt habt haben ist darf ich wir
	et ou mais que quel quelle quels quelles quand comment combien pourquoi puis avez est je nous
	y o pero cual cuando donde como cuanto cuanta puedo teneis tienen hay
	e ma och og oraz men maar wat waar hoe wanneer heeft`)

// minClause is how many words stand before an opener at least.
const minClause = 3

// clauses cuts a message wherever another request may begin.
func clauses(ws []word) []clause {
	var out []clause
	lo := 0
	for i := 1; i < len(ws); i++ {
		if ws[i].gap == gapSpace && (!openers[ws[i].norm] || i-lo < minClause) {
			continue
		}
		out = append(out, clause{lo, i})
		lo = i
	}
	if len(ws) > 0 {
		out = append(out, clause{lo, len(ws)})
	}
	return out
}

// leadIns may be cut from the beginning of a sub-query.
var leadIns = wordSet("and also plus und auch et aussi y tambien e anche og och en ook oraz then")

// greets reports whether a message begins with a greeting that its first mark ends.
func greets(ws []word) bool {
	return greetings[ws[0].norm] && (ws[1].gap != gapSpace || leadIns[ws[1].norm])
}

var greetings = wordSet("hi hello hey hiya hallo moin servus bonjour bonsoir salut coucou hola ciao oi hej oh ok okay")

// excerpt returns the words from lo to hi-1 as they stand in the message, with the marks that belong to them and without
// what joins them to the words before and after.
func excerpt(message string, ws []word, lo, hi int) string {
	for lo < hi-1 && (lo > 0 && leadIns[ws[lo].norm] || lo == 0 && greets(ws)) {
		lo++
	}
	for hi < len(ws) && hi-1 > lo && leadIns[ws[hi-1].norm] {
		hi--
	}
	start, end, floor := ws[lo].start, len(message), 0
	if lo > 0 {
		floor = ws[lo-1].end
	}
	for start > floor {
		r, n := utf8.DecodeLastRuneInString(message[floor:start])
		if !strings.ContainsRune("¿¡\"“«'(#€$£", r) {
			break
		}
		start -= n
	}
	if hi < len(ws) {
		end = ws[hi].start
	}
	tail := message[ws[hi-1].end:end]
	if cut := strings.IndexAny(tail, "\n\r¿¡"); cut >= 0 {
		tail = tail[:cut]
	}
	return message[start:ws[hi-1].end] + strings.TrimRight(tail, " \t,;:-–—(&+\"“«")
}
