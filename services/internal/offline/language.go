package offline

import (
	"strings"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// language is one that the rules answer in.
type language int

const (
	english language = iota
	spanish
	german
	french
	languages // how many there are
)

// stopWords carry no content. Words that are content in another language stay listed: a text has one language.
var stopWords = [languages]map[string]bool{
	english: set(`a an the this that these those it its i me my mine we us our you your yours he him his she her they them their theirs
		am is are was were be been being do does did doing done have has had having can could will would shall should may might must
		and or but if so of to in on at by for from with within without about into onto over under than then as up out off
		not no nor dont doesnt didnt cant couldnt wont isnt arent wasnt havent hasnt im ive id ill youre
		what which who whom whose where when why how there here some any each all both more most much many very too just also only really still
		please thanks thank hi hello hey ok okay well yes um like anything something anyone someone somewhere one ones
		let lets get got give gives want wants wanted need needs needed wish know tell show see say ask help think seem mean means
		looking look find found wondering wonder interested else maybe perhaps currently now actually new
		got able try trying going go goes went come comes make makes made take takes way bit lot lots around between
		both per via yet ever least pls plz compare even such same other another again because since while until after before during dear
		happens happen possible kindly quick question questions btw hope whats wheres theres hows`),
	spanish: set(`el la los las lo un una unos unas este esta estos estas ese esa eso esos esas esto aquel de del al a en y e o u con sin por para sobre entre
		que cual cuales quien donde cuando como cuanto cuanta cuantos cuantas porque si no ni ya muy mas menos tambien solo pero
		yo tu mi mis me te se nos os su sus le les nuestro nuestra vuestro vuestra vuestros vuestras ustedes usted
		es son era ser estar esta estan estoy soy hay ha han he haber puede puedo pueden puedes podria quiero quisiera quiere necesito necesita
		tener tengo tiene tienen teneis tienes busco buscar buscando encontrar dime decir saber gustaria algo alguna alguno algun algunos algunas
		hola gracias favor buenos buenas dias tardes noches hacer hago haceis hacen cosa cosas otro otra dar da dan voy va bien`),
	german: set(`der die das den dem des ein eine einen einem einer eines dieser diese dieses dieses und oder aber mit ohne von vom zu zum zur in im an am auf aus bei
		fur uber unter nach vor ist sind war waren sein bin bist seid habe hast hat haben habt hatte hatten kann kannst konnen konnt konnte konnten
		will wollen mochte mochten wurde wurden werden wird muss mussen soll sollen darf ich du er sie es wir ihr mir mich dir dich uns euch ihnen
		mein meine meinen meinem meiner dein deine euer eure euren ihre ihren unser unsere was wer wie wo wann warum wieso welche welcher welches welchen
		nicht kein keine keinen ja nein auch noch nur schon sehr mehr viel viele vielen dank bitte danke hallo guten tag morgen abend gibt etwas irgendwelche
		suche suchen brauche brauchen finde finden gern gerne zeig zeigen zeige mal doch so wenn dass als bis um man denn da hier gut`),
	french: set(`le la les l un une des du de d ce cet cette ces et ou mais avec sans sur sous dans en au aux a par pour entre chez
		que qui quoi dont quel quelle quels quelles ou comment quand pourquoi combien si ne pas plus moins tres aussi
		je j tu il elle on nous vous ils elles me m te t se s mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs
		est sont suis es etes sommes etait etre ai as avez avons ont avoir eu peux peut pouvez puis pouvons voudrais veux voulez besoin
		cherche chercher trouver faire fait faut quelque quelques chose choses y c n qu jusqu bonjour salut bonsoir merci svp plait
		aimerais montrez dites moi toi lui proposez auriez tout tous toute toutes autre est-ce avez-vous puis-je bien`),
}

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// detect identifies the language of a text. Any that the rules do not answer in counts as English.
func detect(s string) language {
	switch plaintext.Language(s) {
	case "es":
		return spanish
	case "de":
		return german
	case "fr":
		return french
	}
	return english
}

// text is what somebody wrote, read once.
type text struct {
	raw   string
	lower string // same offsets as raw
	lang  language
	words []word
}

// read splits, detects and glosses s.
func read(s string) text {
	return readAs(s, detect(s))
}

// readAs is read for a part of a text whose language is known.
func readAs(s string, lang language) text {
	t := text{raw: s, lower: strings.ToLower(s), lang: lang, words: split(s)}
	if len(t.lower) != len(s) {
		t.lower = s // a rare letter changes its size when lowered: keep the offsets right
	}
	for i := 0; i < len(t.words); {
		i += gloss(lang, t.words[i:])
	}
	return t
}

// accented are words that only their accents tell from small words.
var accented = map[string]string{"té": "tea", "tés": "tea", "thé": "tea", "thés": "tea"}

// gloss sets the meaning of the first word and returns how many words it took.
func gloss(lang language, ws []word) int {
	w := &ws[0]
	if meaning := accented[strings.ToLower(w.raw)]; meaning != "" && lang != english {
		w.gloss = []string{meaning}
		return 1
	}
	if lang != english {
		if meaning, n := translate(lang, ws); n > 0 {
			w.gloss = strings.Fields(meaning)
			return n
		}
	}
	if !stopWords[lang][w.norm] && w.norm != "" {
		w.gloss = []string{w.norm}
	}
	return 1
}
