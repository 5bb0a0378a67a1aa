package wording

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Apologies lets one apology through: several answers to an upset shopper would each begin with one. It knows English, German,
// French and Spanish. The zero value is ready.
type Apologies struct{ said bool }

var (
	// apology is how a sentence begins that apologizes.
	apology = regexp.MustCompile(`(?i)^\W*(?:(?:I'm|I’m|I am|we're|we’re|we are)\s+(?:\pL+\s+)?sorry|sorry|(?:my|our)\s+(?:\pL+\s+)?apologies|(?:I|we)\s+(?:\pL+\s+)?apologi[sz]e` +
		`|(?:das\s+|es\s+)?tut\s+(?:mir|uns)\s+(?:\pL+\s+)?leid|(?:ich|wir)\s+(?:bitte|bitten)\s+(?:\pL+\s+)?um\s+entschuldigung|entschuldigung|entschuldigen\s+sie` +
		`|(?:je\s+suis|nous\s+sommes)\s+(?:\pL+\s+)?désolée?s?|désolée?s?|(?:toutes\s+)?(?:mes|nos)\s+excuses|veuillez\s+(?:nous\s+)?excuser` +
		`|(?:lo\s+)?(?:siento|sentimos|lamento|lamentamos)(?:\s+mucho)?|(?:mis\s+|nuestras\s+)?disculpas)`)
	// reason is how it goes on if all of it is the apology.
	reason = regexp.MustCompile(`(?i)^\W*(?:$|(?:to\s+hear|to\s+read|for|about|that|für|dass|das|wegen|zu\s+hören|pour|que|d['’]|de|des|du|por|las|los|el|la|ce|cette)\b)`)
	// more is what stands between the apology and what else the sentence says.
	more = regexp.MustCompile(`(?i)^(?:\s*[,;:–—-]\s*(?:(?:but|aber|jedoch|mais|pero)\s+)?|\s+(?:but|aber|mais|pero)\s+)`)
)

// Once returns a sentence without an apology if one was made before: nothing of it, or what else it says.
func (a *Apologies) Once(sentence string) string {
	at := apology.FindStringIndex(sentence)
	switch {
	case at == nil:
		return sentence
	case !a.said:
		a.said = true
		return sentence
	}
	rest := sentence[at[1]:]
	if reason.MatchString(rest) {
		return ""
	}
	between := more.FindString(rest)
	if between == "" {
		return sentence
	}
	rest = rest[len(between):]
	first, size := utf8.DecodeRuneInString(rest)
	space := sentence[:len(sentence)-len(strings.TrimLeftFunc(sentence, unicode.IsSpace))]
	return space + string(unicode.ToUpper(first)) + rest[size:]
}
