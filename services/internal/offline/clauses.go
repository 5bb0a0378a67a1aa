package offline

import (
	"regexp"
	"slices"
	"strings"
)

var (
	connectors = set("and also plus but then y ademas tambien pero und ausserdem ausserdem auch aber sowie et aussi mais puis additionally furthermore moreover")
	// skippable may stand before the words that open a request.
	skippable = set("and also then please so maybe secondly finally lastly additionally ademas tambien auch noch aussi ausserdem ausserdem but y und et just first hi hello hey hola hallo bonjour")
	askWords  = set("wie what where when who why how which whose whom cual cuales donde cuando cuanto cuanta cuantos cuantas wo wann warum wieso welche welcher welches welchen wieviel quel quelle quels quelles comment combien quand pourquoi")
	helpVerbs = set("is are do does did can could will would should may has have am was were might shall puedo puede podria podeis teneis tienen tienes hay kann kannst konnen konnt haben habt gibt ist sind darf puis peut peux pouvez avez est-ce auriez y-a")
	subjects  = set("i you we they it he she there my your the this that these those any anyone some one sie ihr ich man es mein meine je vous on il elle usted ustedes mi el la que")
	wishVerbs = set("need want would also like wish wonder look looking also brauche suche mochte hatte cherche voudrais aimerais d m")
	commands  = set("show find tell give track recommend suggest list help send book cancel explain apply search compare let translate convert check get look describe remind muestrame dime busca enseñame quiero necesito busco zeig zeige sag such montrez montre dites trouvez recommande recommandez cherchez empfiehl empfehlen recomienda recomiendame")
	openers   = set("any something anything algo alguna algun irgendeinen irgendwelche etwas quelque")
	subjected = set("tengo tenemos he hemos j i my we it the they he she this that these those if when because since as our mi mis ich mein meine wir es je mon ma mes nous si wenn weil")
)

// opens reports whether ws begin a request of their own.
func opens(ws []word, afterAnd bool) bool {
	for len(ws) > 0 && skippable[ws[0].norm] && len(ws) > 1 {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		return false
	}
	first, next := ws[0], ""
	if len(ws) > 1 {
		next = ws[1].norm
	}
	switch {
	case askWords[first.norm] || first.norm == "que" && strings.ToLower(first.raw) == "qué" || first.norm == "ou" && strings.ToLower(first.raw) == "où":
		return afterAnd || first.norm != "which" && first.norm != "who" && first.norm != "where"
	case helpVerbs[first.norm]:
		return subjects[next] || first.norm == "puedo" || first.norm == "teneis" || first.norm == "tienen" || first.norm == "hay" || first.norm == "est-ce"
	case first.norm == "i" || first.norm == "we" || first.norm == "ich" || first.norm == "je":
		return wishVerbs[next] || strings.HasSuffix(first.raw, "d") && len(first.raw) > 1
	case first.norm == "j":
		return true
	case commands[first.norm] || openers[first.norm]:
		return len(ws) > 1
	}
	return false
}

// pieces parts a text into clauses that each ask or tell one thing. Lists ("a or b", "a and b") stay whole.
func (t text) pieces() []span {
	var out []span
	at := 0
	for _, s := range sentences(t.raw) {
		start := at + strings.Index(t.raw[at:], s)
		end := start + len(s)
		out = append(out, t.cut(start, end)...)
		at = end
	}
	return out
}

func (t text) cut(start, end int) []span {
	var ws []word
	for _, w := range t.words {
		if w.start >= start && w.end <= end {
			ws = append(ws, w)
		}
	}
	var out []span
	from := start
	for len(ws) > 1 && connectors[ws[0].norm] && opens(ws[1:], true) {
		ws, from = ws[1:], ws[1].start
	}
	for i := 1; i < len(ws); i++ {
		comma := strings.ContainsAny(t.raw[ws[i-1].end:ws[i].start], ",:¿(–—")
		and := connectors[ws[i-1].norm]
		question := strings.HasSuffix(t.raw[start:end], "?")
		if !comma && !and || !opens(ws[i:], and || question) && !(comma && chat(ws[:i])) {
			continue
		}
		stop := ws[i-1].end
		for j := i - 1; j > 0 && (connectors[ws[j].norm] || skippable[ws[j].norm]); j-- {
			stop = ws[j-1].end
		}
		if stop > from && ws[i-1].start >= from {
			out = append(out, span{from, stop})
		}
		for i+1 < len(ws) && connectors[ws[i].norm] {
			i++
		}
		from = ws[i].start
	}
	return append(out, span{from, end})
}

// chat reports whether ws greet or thank, and do nothing else.
func chat(ws []word) bool {
	return isSmallTalk(text{words: ws})
}

// isStatement reports whether t tells something and asks nothing: context for what stands beside it.
func isStatement(t text) bool {
	if len(t.words) == 0 || strings.ContainsAny(t.raw, "?¿") || opens(t.words, true) {
		return false
	}
	flat := flatten(t)
	for _, in := range intents {
		for _, p := range in.phrases {
			if strings.Contains(flat, " "+p+" ") {
				return false
			}
		}
	}
	ws := t.words
	for len(ws) > 1 && skippable[ws[0].norm] {
		ws = ws[1:]
	}
	return subjected[ws[0].norm]
}

// subjectPronoun reports whether t speaks of something before it from its very start: "are they waterproof?".
func subjectPronoun(t text) bool {
	for _, w := range t.words[:min(2, len(t.words))] {
		if w.norm == "it" || w.norm == "they" || w.norm == "them" || w.norm == "ones" {
			return true
		}
	}
	return false
}

var ofItRE = regexp.MustCompile(` (?:is|are|was|were|does|do|did) (?:it|they|that|those|these|this) `)

// asksOfIt reports whether t asks for a quality of what stands before it: "how heavy are they?".
func asksOfIt(t text) bool { return len(t.words) <= 6 && ofItRE.MatchString(flatten(t)) }

// joined groups pieces that belong together: small talk goes, what only tells something joins what asks.
func (t text) joined() []span {
	var out []span
	pending := -1 // where told context began
	for _, s := range t.pieces() {
		part := readAs(t.raw[s.start:s.end], t.lang)
		switch {
		case isSmallTalk(part):
			continue
		case isStatement(part):
			if pending < 0 {
				pending = s.start
			}
			continue
		case pending >= 0:
			s.start = pending
			pending = -1
		}
		out = append(out, s)
	}
	if pending < 0 {
		return out
	}
	last := strings.TrimSpace(t.raw[pending:])
	end := pending + len(last)
	if len(out) > 0 {
		out[len(out)-1].end = end
		return out
	}
	return []span{{pending, end}}
}

// requests returns the clauses that want something done, each with the context it needs. A text that asks nothing is one
// request.
func requests(t text) []text {
	var out []span
	for _, s := range t.joined() {
		part := readAs(t.raw[s.start:s.end], t.lang)
		if len(out) > 0 && (subjectPronoun(part) || leansOnContext(part) || asksOfIt(part)) {
			out[len(out)-1].end = s.end
			continue
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return []text{t}
	}
	texts := make([]text, len(out))
	for i, s := range out {
		texts[i] = readAs(tidy(t.raw[s.start:s.end]), t.lang)
	}
	return slices.DeleteFunc(texts, func(t text) bool { return len(t.words) == 0 })
}

func tidy(s string) string { return strings.Trim(s, " \t\n,;:–—(") }
