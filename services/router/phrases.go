package router

import "strings"

// phrase is a noun phrase, or a verb in the place of one: the content words from lo to hi-1.
type phrase struct {
	lo, hi int
	// head is the word that says what the phrase is: the "spring" of "return spring", the "mesa" of "mesa plegable".
	head int
	// verb is true for what the shopper wants to do: the "return" of "can I return".
	verb bool
	// of is the phrase that this one only describes further, as "garden" does in "a cart for the garden", or -1.
	of int
}

// phrases finds the phrases of a message: runs of content words that nothing parts.
func phrases(ws []word, muted []bool, lang language) (ps []phrase, at []int) {
	at = make([]int, len(ws))
	for i := 0; i < len(ws); {
		at[i] = -1
		if !ws[i].content() {
			i++
			continue
		}
		p := phrase{lo: i, hi: i + 1, of: -1, verb: isVerb(ws, i, lang)}
		for !p.verb && p.hi < len(ws) && ws[p.hi].content() && ws[p.hi].gap == gapNone && !isVerb(ws, p.hi, lang) &&
			(muted == nil || muted[p.hi] == muted[i]) {
			p.hi++
		}
		if last := ws[p.hi-1].norm; lang == english && p.hi-p.lo > 1 && (doesAsk(ws, p.lo) || strings.HasSuffix(last, "ed") && len(last) > 5) {
			p.hi-- // the verb: "does the gift card expire", "has the parcel shipped"
		}
		p.head = headOf(ws, p.lo, p.hi, lang)
		if n := len(ps) - 1; n >= 0 && !ps[n].verb && complements(ws, ps[n].hi, p.lo) {
			p.of = n
		}
		for ; i < p.hi; i++ {
			at[i] = len(ps)
		}
		ps = append(ps, p)
	}
	return ps, at
}

// doesAsk reports whether "does" or the like stands before a noun phrase, so that a verb has to follow.
func doesAsk(ws []word, lo int) bool {
	i := lo - 1
	if i > 0 && ws[i].is(determiner|possessed|pointer) {
		i--
	}
	if i < 0 || (i > 0 && ws[i].gap == gapNone && !ws[i-1].is(linker|asker)) {
		return false
	}
	switch ws[i].norm {
	case "does", "do", "did", "will", "can", "could", "would":
		return true
	}
	return false
}

// headOf returns the word that a noun phrase is about. Numbers, and adverbs at the end, are not it.
func headOf(ws []word, lo, hi int, lang language) int {
	if lang&headFirst != 0 {
		for i := lo; i < hi; i++ {
			if ws[i].norm[0] > '9' {
				return i
			}
		}
		return lo
	}
	for i := hi - 1; i > lo; i-- {
		if ws[i].norm[0] > '9' && !strings.HasSuffix(ws[i].norm, "ly") {
			return i
		}
	}
	return lo
}

// isVerb reports whether the word at i must be a verb: after "can I", "not", or a "to" that is no direction, and at the
// start of an order such as "print your ...".
func isVerb(ws []word, i int, lang language) bool {
	w := ws[i]
	if w.norm[0] <= '9' {
		return false
	}
	if i == 0 || w.gap == gapHard {
		if i+1 == len(ws) || ws[i+1].gap != gapNone {
			return false
		}
		next := ws[i+1]
		return next.is(determiner|possessed|pointer) || next.norm == "me" || next.norm == "all" || i+2 < len(ws) && ws[i+2].norm == "me"
	}
	if w.gap != gapNone {
		return false
	}
	before := ws[i-1]
	switch {
	case before.norm == "to":
		return i == 1 || !ws[i-2].content()
	case before.norm == "not" || before.is(helper) && strings.HasSuffix(before.norm, "nt"):
		return true
	case before.is(subject) && lang&(english|french) != 0:
		return before.norm == "it" || !before.is(pointer)
	case lang == german:
		last := i+1 == len(ws) || ws[i+1].gap != gapNone || ws[i+1].is(linker)
		return last && strings.HasSuffix(w.norm, "en") && !w.upper && before.content()
	}
	return false
}

// complements reports whether only "of", "for" or "about" and an article stand between two phrases.
func complements(ws []word, lo, hi int) bool {
	if lo >= hi || hi-lo > 2 || ws[lo].gap != gapNone || ws[hi].gap != gapNone {
		return false
	}
	switch ws[lo].norm {
	case "of", "for", "about", "de", "del", "d", "du", "des", "para", "sobre", "fur", "uber", "pour", "sur", "von", "vom":
		return hi-lo == 1 || ws[lo+1].is(determiner)
	}
	return false
}

// settle finds the language that most of the words belong to, English if they say nothing, and takes the words for what
// they are in that language: "die" and "bin" are no particles in English.
func settle(text string, ws []word) language {
	votes := letterVotes(text)
	for _, w := range ws {
		for i := range votes {
			if w.senses != nil && w.senses[i] != 0 {
				votes[i]++
			}
		}
	}
	best := 0
	for i, v := range votes {
		if v > votes[best] {
			best = i
		}
	}
	lang := language(1 << best)
	for i := range ws {
		w := &ws[i]
		if w.senses != nil && votes[best] > 0 && lang != foreigner {
			w.class = w.senses.in(lang)
		}
		switch {
		case lang == english && w.norm == "n":
			w.class |= linker
		case i > 0 && w.is(imperative|verbFirst) && !w.is(vague) && ws[i-1].is(determiner) && w.gap == gapNone:
			w.class = 0 // a noun: "la montre"
		case lang == spanish && w.class == 0 && len(w.norm) > 5 && (strings.HasSuffix(w.norm, "eis") || strings.HasSuffix(w.norm, "ais")):
			w.class = function | verbFirst // "haceis"
		case lang == spanish && w.class == 0 && len(w.norm) > 5 && strings.HasSuffix(w.norm, "ron"):
			w.class = told // "cobraron"
		case lang == german && w.class == 0 && !w.upper && len(w.norm) > 6 && strings.HasPrefix(w.norm, "ge") && strings.HasSuffix(w.norm, "t"):
			w.class = told // "geklingelt"
		}
	}
	return lang
}

// letterVotes gives a vote to each language that has letters in the text which the others lack.
func letterVotes(text string) [languageCount]int {
	var votes [languageCount]int
	for _, r := range text {
		switch r {
		case '¿', '¡', 'ñ':
			votes[1] = 1
		case 'ä', 'ö', 'ü', 'ß':
			votes[2] = 1
		case 'ç', 'œ', 'ê', 'è', 'à':
			votes[3] = 1
		case 'ã', 'õ':
			votes[4] = 1
		}
	}
	return votes
}
