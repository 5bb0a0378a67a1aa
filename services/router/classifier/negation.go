package classifier

import (
	"slices"
	"strings"
)

// ignorer marks the words that ask for nothing: quotations and mails, the scope of negations,
// and what the shopper says is settled.
type ignorer struct {
	text  string
	words []word
	// marks is nil until a word is marked.
	marks []bool
}

// ignoredWords returns for each word whether it is ignored; nil if none is.
func ignoredWords(text string, ws []word) []bool {
	m := ignorer{text: text, words: ws}
	m.quotations()
	m.quotedMail()
	m.negations()
	m.sentences()
	return m.marks
}

func (m *ignorer) mark(lo, hi int) {
	if m.marks == nil {
		m.marks = make([]bool, len(m.words))
	}
	for i := lo; i < hi; i++ {
		m.marks[i] = true
	}
}

// span returns the words that begin between two byte offsets of the text.
func (m *ignorer) span(from, to int) (lo, hi int) {
	before := func(w word, at int) int { return w.start - at }
	lo, _ = slices.BinarySearchFunc(m.words, from, before)
	hi, _ = slices.BinarySearchFunc(m.words, to, before)
	return lo, hi
}

// negations marks the scope of "not asking about", "no discounts please" and the like.
func (m *ignorer) negations() {
	ws := m.words
	for i := 0; i < len(ws); i++ {
		f, ok := matchAt(negationPatterns, ws, i)
		if !ok && !startsRefusal(ws, i) {
			continue
		}
		lo := i
		for i += max(1, len(f.words)); i < len(ws) && ws[i].gap != gapHard && !endsNegation(ws, i); i++ {
		}
		m.mark(lo, i)
		i--
	}
}

// startsRefusal reports whether a refusal such as "no discounts please, just ..." or "not the red one" begins at i.
func startsRefusal(ws []word, i int) bool {
	if i > 0 && ws[i].gap == gapNone {
		return false
	}
	begins := i == 0 || ws[i].gap == gapHard
	switch ws[i].norm {
	case "neither":
		return begins
	case "not", "nicht", "pas":
		if i+1 == len(ws) || !ws[i+1].is(determiner) {
			return false
		}
		if begins {
			return true
		}
	case "no":
	default:
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

// endsNegation reports whether the scope of a negation ends before word i.
func endsNegation(ws []word, i int) bool {
	switch w := ws[i]; w.norm {
	case "only", "just", "nur", "solo", "seulement", "juste", "rather":
		return true
	case "whether", "ob":
		return ws[i-1].norm != "mind" && ws[i-1].norm != "asking"
	default:
		opens := w.gap == gapComma && w.is(subject|auxiliary|opens)
		joins := w.is(conjunction) && (i+1 == len(ws) || !ws[i+1].content()) // "returns and delivery" goes on
		anew := w.is(subject) && i+1 < len(ws) && ws[i+1].is(requestVerb)    // "i dont want credit i want my money"
		return opens || joins || anew || w.is(conditional|contrast)
	}
}

// sentences marks the sentences that say what is settled ("I have found it already"). A sentence that instructs a machine
// is routed like any other: no list of phrases tells it from a question, and a specialist that reads it can do no harm.
func (m *ignorer) sentences() {
	for lo := 0; lo < len(m.words); {
		hi, settled := lo+1, false
		for ; hi < len(m.words) && m.words[hi].gap != gapHard; hi++ {
		}
		for i := lo; i < hi; i++ {
			_, is := matchAt(settledPatterns, m.words[:hi], i)
			settled = settled || is
		}
		if settled && !m.words[hi-1].asked {
			m.mark(lo, m.topicChange(lo, hi))
		}
		lo = hi
	}
}

// topicChange returns where, from lo to hi-1, the shopper changes the subject: ", but do you have ...".
func (m *ignorer) topicChange(lo, hi int) int {
	for i := lo + 1; i < hi; i++ {
		w := m.words[i]
		if w.is(contrast) || w.gap == gapComma && w.is(auxiliary|questionWord) {
			return i
		}
	}
	return hi
}

// minQuote is how many words a quotation has at least. Fewer may be a name, as in "a sign that says SALE".
const minQuote = 4

// quotations marks what stands in quotation marks.
func (m *ignorer) quotations() {
	for at := 0; at < len(m.text); {
		open := strings.IndexAny(m.text[at:], "\"“„«")
		if open < 0 {
			return
		}
		open += at
		if open > 0 && m.text[open-1] >= '0' && m.text[open-1] <= '9' {
			at = open + 1 // inches
			continue
		}
		end := strings.IndexAny(m.text[open+1:], "\"”“»")
		if end < 0 {
			return
		}
		if lo, hi := m.span(open, open+1+end); hi-lo >= minQuote {
			m.mark(lo, hi)
		}
		at = open + 2 + end
	}
}

// quotedMail marks lines that begin with '>' and the attribution line above them, and forwarded mails from a header to
// the next blank line.
func (m *ignorer) quotedMail() {
	if !strings.Contains(m.text, "\n") && !strings.HasPrefix(m.text, ">") {
		return
	}
	forwarded, at, above := false, 0, 0
	for line := range strings.Lines(m.text) {
		trimmed := strings.ToLower(strings.TrimSpace(line))
		quoted := strings.HasPrefix(trimmed, ">")
		forwarded = isMailHeader(trimmed) || forwarded && trimmed != ""
		if quoted || forwarded {
			m.mark(m.span(at, at+len(line)))
		}
		if before := m.text[above:at]; quoted && isAttribution(before) {
			m.mark(m.span(above, at))
		}
		above, at = at, at+len(line)
	}
}

// isMailHeader reports whether a line is a header of a forwarded mail.
func isMailHeader(line string) bool {
	for _, h := range [...]string{"from:", "subject:", "von:", "betreff:", "asunto:", "objet:", "oggetto:", "onderwerp:"} {
		if strings.HasPrefix(line, h) {
			return true
		}
	}
	return strings.HasPrefix(line, "--") && strings.Trim(line, "- ") != ""
}

// isAttribution reports whether a line says who wrote what follows: "On Tuesday you wrote:".
func isAttribution(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	if !strings.HasSuffix(line, ":") {
		return false
	}
	for _, verb := range [...]string{"wrote", "schrieb", "écrit", "escribi", "scritto", "schreef", "fwd"} {
		if strings.Contains(line, verb) {
			return true
		}
	}
	return false
}
