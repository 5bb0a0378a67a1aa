package gateway

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
)

// languages that the gateway itself can say something in. The first is what it falls back to.
var languages = [...]struct {
	base       string
	unanswered string // %s: the sub-query
	words      string // small words that tell it from the others
	letters    string // letters that the others lack
}{
	{
		base:       "en",
		unanswered: "I could not answer this part of your message just now: “%s”",
		words: " the and you your have what which is are do does can could would i my it with for of to how where when this that " +
			"any there please thanks hello hi looking need want me show ",
	},
	{
		base:       "es",
		unanswered: "Ahora mismo no he podido responder a esta parte de tu mensaje: «%s»",
		words: " el los las una unos y o que es son hay con para por cuál cual cómo como dónde donde cuándo mi tu su quiero " +
			"busco necesito tienen tienes tenéis puedo hola gracias del al está ",
		letters: "ñ¿¡óíú",
	},
	{
		base:       "de",
		unanswered: "Diesen Teil deiner Nachricht konnte ich gerade nicht beantworten: „%s“",
		words: " der die das und oder ich ihr sie ist sind habt haben mit für nicht ein eine einen wie was wo wann kann mein " +
			"meine bitte danke hallo gibt es im zu auf suche brauche ",
		letters: "äöüß",
	},
	{
		base:       "fr",
		unanswered: "Je n’ai pas pu répondre à cette partie de votre message pour le moment : « %s »",
		words: " le les des une et ou je vous nous est sont avez avec pour dans quel quelle quels quelles comment où quand mon " +
			"ma mes votre vos bonjour merci cherche voudrais du au ce cette il y a ",
		letters: "çèêœàù",
	},
}

// smallWords maps each small word to the languages that have it, by their places in languages.
var smallWords = func() map[string][]int {
	out := map[string][]int{}
	for i, l := range languages {
		for w := range strings.FieldsSeq(l.words) {
			out[w] = append(out[w], i)
		}
	}
	return out
}()

// languageOf tells the language of a message by its small words: the base of a tag, or "" when nothing speaks for one
// language more than for the others.
func languageOf(text string) string {
	var scores [len(languages)]int
	var own [len(languages)]bool            // it has letters that the others lack
	word := make([]byte, 0, 32+utf8.UTFMax) // in lower case
	end := func() {
		for _, i := range smallWords[string(word)] {
			scores[i]++
		}
		word = word[:0]
	}
	for _, r := range text {
		r = unicode.ToLower(r)
		if r >= utf8.RuneSelf {
			for i := range languages {
				own[i] = own[i] || strings.ContainsRune(languages[i].letters, r)
			}
		}
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		if len(word) < 32 { // no small word is as long
			word = utf8.AppendRune(word, r)
		}
	}
	end()
	for i, found := range own {
		if found {
			scores[i] += 2
		}
	}
	best, top, second := "", 0, 0
	for i, l := range languages {
		score := scores[i]
		switch {
		case score > top:
			best, top, second = l.base, score, top
		case score > second:
			second = score
		}
	}
	if top == second {
		return ""
	}
	return best
}

// languageTag is the language to answer in as far as it is known: the shopper's locale, or what the message tells.
func (t *turn) languageTag() string {
	if t.scope.Locale != "" {
		return t.scope.Locale
	}
	return languageOf(t.message)
}

// language is the base of languageTag.
func (t *turn) language() string {
	base, _ := language.Make(t.languageTag()).Base()
	return base.String()
}

// sayUnanswered tells the shopper which part of the message nobody could answer. Languages that the gateway does not
// speak get English.
func sayUnanswered(base, subQuery string) string {
	sentence := languages[0].unanswered
	for _, l := range languages {
		if l.base == base {
			sentence = l.unanswered
		}
	}
	return fmt.Sprintf(sentence, oneLine(subQuery))
}
