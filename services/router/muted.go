package router

import (
	"slices"
	"strings"
)

// mutedWords marks the words that ask for nothing: what the shopper says not to be asking about, and what others wrote.
// It is nil if there are none.
func mutedWords(text string, ws []word) []bool {
	muted := quotedWords(text, ws)
	for i := 0; i < len(ws); i++ {
		f, ok := matchAt(denials, ws, i)
		if !ok {
			ok = declines(ws, i)
		}
		if !ok {
			continue
		}
		if muted == nil {
			muted = make([]bool, len(ws))
		}
		for end := i + max(1, len(f.words)); i < end; i++ {
			muted[i] = true
		}
		for ; i < len(ws) && ws[i].gap != gapHard && !endsDenial(ws, i); i++ {
			muted[i] = true
		}
		i--
	}
	return muted
}

// declines reports whether a refusal such as "no discounts please, just ..." begins at i.
func declines(ws []word, i int) bool {
	notA := ws[i].norm == "not" && i+1 < len(ws) && ws[i+1].is(determiner)
	if ws[i].norm != "no" && !notA || i > 0 && ws[i].gap == gapNone {
		return false
	}
	for j := i + 1; j < min(len(ws), i+5); j++ {
		if ws[j].norm == "please" || ws[j].norm == "just" || ws[j].norm == "needed" || j > i+1 && ws[j].gap == gapComma {
			return true
		}
		if ws[j].gap != gapNone {
			return false
		}
	}
	return false
}

// endsDenial reports whether what is denied goes no further than the word before i.
func endsDenial(ws []word, i int) bool {
	switch w := ws[i]; w.norm {
	case "only", "just", "nur", "solo", "seulement", "juste", "rather":
		return true
	case "whether", "ob":
		return ws[i-1].norm != "mind" && ws[i-1].norm != "asking"
	default:
		opens := w.gap == gapComma && w.is(subject|helper|opens)
		joins := w.is(linker) && (i+1 == len(ws) || !ws[i+1].content()) // "returns and delivery" goes on
		return opens || joins || w.is(condition|contrast)
	}
}

// longQuote is how many words a quotation has at least: less may be a name, as in "a sign that says SALE".
const longQuote = 4

// quotedWords marks what stands in quotation marks or on lines that begin with '>'; nil if there is nothing.
func quotedWords(text string, ws []word) []bool {
	if !strings.ContainsAny(text, "\"“„«>") {
		return nil
	}
	quoted := make([]bool, len(ws))
	mark := func(from, to int) {
		lo, _ := slices.BinarySearchFunc(ws, from, func(w word, at int) int { return w.start - at })
		hi, _ := slices.BinarySearchFunc(ws, to, func(w word, at int) int { return w.start - at })
		if hi-lo >= longQuote || text[from] == '>' {
			for i := lo; i < hi; i++ {
				quoted[i] = true
			}
		}
	}
	at := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ">") {
			mark(at, at+len(line))
		}
		at += len(line)
	}
	for at := 0; ; {
		open := strings.IndexAny(text[at:], "\"“„«")
		if open < 0 {
			return quoted
		}
		open += at
		if open > 0 && text[open-1] >= '0' && text[open-1] <= '9' {
			at = open + 1 // inches
			continue
		}
		end := strings.IndexAny(text[open+1:], "\"”“»")
		if end < 0 {
			return quoted
		}
		mark(open, open+1+end)
		at = open + 2 + end
		if at >= len(text) {
			return quoted
		}
	}
}
