package classifier

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// class is a set of the parts that a word can play in a message.
type class uint32

const (
	function     class = 1 << iota // carries no meaning of its own
	questionWord                   // opens a question: "which", "wo"
	auxiliary                      // opens a question before a subject: "can", "is", "kann"
	requestVerb                    // opens a request by itself: "tenéis", "busco", "need"
	imperative                     // opens a request: "show", "dime"
	subject                        // a pronoun that a sentence starts with
	possessive                     // "my", "mein"
	determiner                     // "the", "una"
	conjunction                    // joins two requests or two nouns: "and", "y"
	contrast                       // "but", "aber"
	preposition                    // ends a noun phrase: "in", "für"
	pronoun                        // stands for something said before: "it", "those"
	conditional                    // opens a clause that depends on another: "if", "wenn"
	pastVerb                       // tells of something past: "bought", "compré"
	leadIn                         // may be trimmed from the start of a sub-query: "also"
	greeting                       // "hi", "gracias"
	filler                         // politeness and noise: "please", "ok"
	vagueNoun                      // a noun that says nothing of the subject: "help", "question"
	aspectNoun                     // a noun for an aspect of what the words beside it name: "costs", "deadline"
)

// opens are the classes that start a request wherever they stand.
const opens = questionWord | requestVerb | imperative

// language is a set of languages.
type language uint8

const (
	english language = 1 << iota
	spanish
	german
	french
	otherLanguage // any other; only a few words are known
)

// headFirst are the languages whose noun phrases begin with their head: "una mesa plegable".
const headFirst = spanish | french

// vocabularies say what the words of each language can be. The words are folded. Words that are a product in one language
// and a function word in another ("hat", "son") are left out.
var vocabularies = map[language]map[class]string{
	english: {
		function | questionWord: `what which where when who whose why how whats wheres whens hows`,
		function | auxiliary: `is are am was were do does did can could will would should shall may might has have had
		isnt arent dont
			doesnt didnt cant couldnt wont wouldnt hasnt havent`,
		function | requestVerb:            `need needs want wants looking search searching wanna`,
		function | imperative:             `show tell give send recommend suggest find explain track cancel help let`,
		function | subject:                `i we you u someone anyone anybody somebody nobody he she they im id ive ill youre`,
		function | subject | pronoun:      `it this that its`,
		function | possessive:             `my our mine`,
		function | determiner:             `the a an any some your their his her two three four five six`,
		function | pronoun:                `them those these one ones`,
		function | conjunction:            `and`,
		function | conjunction | leadIn:   `also plus too additionally furthermore`,
		function | contrast | conjunction: `but`,
		function | preposition: `in on at for from with without to into about by under over than near per
		between as`,
		function: `of or not no if there here be been being so just only really very more most much many get got us
		me same other
			another each every all both done go going like liked lot know see wondering wonder whether possible today now currently
			available left tomorrow yet still again right out`,
		function | conditional: `if when because since while unless although`,
		pastVerb:               `bought ordered received purchased broke arrived came sent dropped found lost forgot`,
		function | leadIn:      `then lastly finally secondly btw oh well`,
		greeting: `hi hello hey hiya howdy greetings dear yo morning evening afternoon thanks thank thx
		cheers bye goodbye regards`,
		filler: `please pls plz favor ok okay yes yeah yep nope sure great cool nice good perfect super sorry excuse
		lol haha hehe wow hmm um uh
			advance everyone team guys folks day lovely`,
		function | vagueNoun: `question questions information info smth sth help assistance support advice idea ideas
		problem problems issue issues
			trouble minute moment time thing things item items something anything someone somebody way kind sort`,
		aspectNoun: `cost costs fee fees charge charges status date dates number window deadline period option options
		method methods
			label labels address confirmation detail details process procedure form request terms condition conditions rule rules
			rate rates estimate update updates department service page link times`,
	},
	spanish: {
		function | questionWord: `que cual cuales donde cuando quien cuanto cuanta cuantos cuantas como`,
		function | auxiliary:    `es esta estan son`,
		function | requestVerb: `tengo tienes teneis tienen tiene hay puedo puedes podeis pueden puede podria podriais
		podrian busco buscando
			necesito quiero quisiera queria`,
		function | imperative: `dime muestra muestrame ensename recomienda recomiendame dame`,
		function | subject:    `yo nosotros`,
		function | possessive: `mi mis nuestro nuestra`,
		function | determiner: `el la los las un una unos unas tu tus su sus vuestra vuestro vuestras dos tres
		cuatro cinco`,
		function | pronoun:                `lo ese esa eso esto este esta`,
		function | conjunction:            `y e`,
		function | conjunction | leadIn:   `ademas tambien`,
		function | contrast | conjunction: `pero sino`,
		function | preposition:            `para con sin por en sobre hasta desde`,
		function: `de del al o no se te me nos mucho muy mas ya si gustaria hoy ahora algun
		alguna otra otro`,
		function | conditional: `cuando porque aunque`,
		pastVerb:               `compre compramos recibi pedi llego vino falta faltan`,
		function | leadIn:      `luego entonces`,
		greeting:               `hola buenas buenos gracias adios ciao grazie obrigado obrigada bom`,
		filler:                 `favor vale bien dias tardes noches perdon muchas`,
		function | vagueNoun:   `pregunta preguntas ayuda problema problemas algo informacion duda cosa`,
		aspectNoun: `plazo plazos gastos coste costes estado numero fecha opciones metodos formas
		condiciones direccion`,
	},
	german: {
		function | questionWord: `wer wo wann wie welche welcher welches welchen wieviel warum wohin was`,
		function | auxiliary: `ist sind war kann konnen konnt konnte konnten darf durfte wird werden bin habe haben habt
		hatte hatten muss
			soll sollte`,
		function | requestVerb: `gibt gibts suche suchen brauche brauchen mochte mochten will wollte`,
		function | imperative:  `zeig zeige zeigen sag sagen gib empfiehl empfehlt empfehlen`,
		function | subject:     `ich wir ihr sie du man`,
		function | possessive:  `mein meine meiner meinen meinem unser unsere unseren`,
		function | determiner: `der die das den dem ein eine einen einem einer kein keine keinen eure eurer
		euren ihre ihren zwei drei vier funf`,
		function | pronoun:                `ihn es diese dieses dieser diesen`,
		function | conjunction:            `und`,
		function | conjunction | leadIn:   `ausserdem sowie auch`,
		function | contrast | conjunction: `aber sondern`,
		function | preposition:            `in mit ohne fur von zu zum zur bei unter uber auf aus nach an im am`,
		function: `oder nicht des mich mir dich dir uns euch da hier noch nur sehr mehr gern gerne heute jetzt ob
		schon bis denn
			eigentlich mal wieder`,
		function | conditional: `wenn falls weil obwohl`,
		pastVerb: `kam kamen fehlt fehlen zerbrochen gerissen gekauft bestellt bekommen erhalten
		angekommen kaputtgegangen`,
		function | leadIn:    `dann`,
		greeting:             `hallo servus moin tag abend danke tschuss liebes gruss grusse`,
		filler:               `bitte gut guten super ja nein entschuldigung vielen dank`,
		function | vagueNoun: `frage fragen hilfe etwas problem probleme`,
		aspectNoun: `zeit kosten status nummer frist adresse bedingungen recht gebuhr gebuhren etikett option optionen
		moglichkeit
			moglichkeiten datum dauer bestatigung art arten`,
	},
	french: {
		function | questionWord:           `quel quelle quels quelles ou quand qui comment combien pourquoi que`,
		function | auxiliary:              `est sont peut puis peux pouvez peuvent fait dois doit`,
		function | requestVerb:            `cherche recherche voudrais veux aimerais avez vendez`,
		function | imperative:             `montre montrez dites dis recommandez conseillez trouve trouvez donnez`,
		function | subject:                `je j nous vous tu il elle ils moi on`,
		function | possessive:             `mon ma mes notre nos`,
		function | determiner:             `le la les l un une des du votre vos leur deux trois quatre cinq`,
		function | pronoun:                `celui celle cela ca ce cet cette c`,
		function | conjunction:            `et`,
		function | conjunction | leadIn:   `aussi ensuite`,
		function | contrast | conjunction: `mais`,
		function | preposition:            `en pour avec sans dans sous sur par chez jusqu`,
		function:                          `de d au aux ne pas plus tres vraiment maintenant qu se me te y`,
		function | conditional:            `quand lorsque parce puisque`,
		pastVerb:                          `achete recu commande manque`,
		function | leadIn:                 `alors`,
		greeting:                          `bonjour bonsoir salut coucou merci`,
		filler:                            `sil plait oui non pardon beaucoup`,
		function | vagueNoun: `aide renseignement renseignements probleme problemes question questions
		quelque chose`,
		aspectNoun: `delai delais frais statut numero date options modes conditions adresse suivi`,
	},
	otherLanguage: {
		function: `il della gli avete vorrei mio dove quanto di che per una het een mijn ik jullie hebben waar niet
		voor kan voces
			voce meu minha tem nao uma onde com posso quero uns umas um os do ist`,
	},
	english | spanish | german | french: {
		function: `o s t m n`,
	},
}

// senses are what a word can be in each language, by the position of the language's bit.
type senses [languageCount]class

const languageCount = 5

// any returns the classes of all languages together.
func (m *senses) any() class {
	var all class
	for _, c := range m {
		all |= c
	}
	return all
}

// in returns the classes in one language. Greetings and politeness are understood in all.
func (m *senses) in(l language) class {
	weight := m[bits.TrailingZeros8(uint8(l))]
	if all := m.any(); weight == 0 && all&(greeting|filler) != 0 {
		return all
	}
	return weight
}

// meanings has what is known of each word.
var meanings = func() map[string]*senses {
	m := make(map[string]*senses, 900)
	for languages, lists := range vocabularies {
		for c, list := range lists {
			for w := range strings.FieldsSeq(list) {
				if m[w] == nil {
					m[w] = new(senses)
				}
				for i := range languageCount {
					if languages>>i&1 != 0 {
						m[w][i] |= c
					}
				}
			}
		}
	}
	return m
}()

// pattern is a sequence of folded words with a meaning.
type pattern struct {
	words []string
	// weight is the score for the product specialist when the object is an unknown word. Zero in other tables.
	weight float64
}

// Weights of product patterns. "Do you sell X" can only mean a product; "do you have X" may mean a car park; "which X" and
// "I need X" may mean anything.
const (
	sellWeight  = 2.6
	haveWeight  = 1.4
	needWeight  = 1.2
	whichWeight = 0.9
)

// productPatterns ask for a product. Like the tables below, it is keyed by the first word, longest patterns first.
var productPatterns = buildPatterns(map[float64]string{
	sellWeight: `do you sell|do you carry|do you stock|do you guys sell|where can i buy|want to buy|like to buy|looking to buy|
		want to order|like to order|want to purchase|in the market for|can i buy|can i order a|can i order some|
		shopping for|
		vendeis|venden ustedes|vendes|quiero comprar|verkauft ihr|verkaufen sie|fuhrt ihr|fuhren sie|vendez vous|
		est ce que vous vendez|je veux acheter|je voudrais acheter|ich mochte kaufen|quisiera comprar`,
	haveWeight: `do you have|do you guys have|you guys have|do u have|you have any|have you got|you got|got any|got a|
		got some|do you offer|are there any|show me|
		find me|looking for|trying to find|hoping to find|i am after|im after|searching for|search for|price of|
		price for|how much is|how much are|how much does|how much do|
		how much for|teneis|tienen|tienes|tiene|buscando|busco|cuanto cuesta|cuanto cuestan|cuanto vale|precio de|
		muestrame|
		ensename|habt ihr|haben sie|hast du|ich suche|suche|was kostet|was kosten|wie viel kostet|wie viel kosten|
		wieviel kostet|zeig mir|zeigen sie mir|avez vous|vous avez|as tu|est ce que vous avez|je cherche|cherche|
		combien coute|combien coutent|prix de|prix du|montrez moi|montre moi|proposez vous|do u hav|do you hav|
		recommend a|recommend me a|recommend some|suggest a|suggest some|
		vs avez|do you still have|habt ihr noch|haben sie noch|recomendarme un|recomendarme una|recomiendame un|
		recomiendame una`,
	needWeight: `i need|we need|i could use|i want|we want|id like|would like|need|hay|il y a|y a t il|gibt es|gibts|
		ich brauche|ich brauchte|brauche|ich hatte gern|ich hatte gerne|
		ich mochte|wir brauchen|necesito|necesitamos|quiero|quisiera|ai besoin de|ai besoin d|je veux|je voudrais|
		is there|
		are there|what about|how about|any`,
	whichWeight: `which of|which|what kind of|what sort of|what type of|what|que tipo de|welche|welcher|welches|welchen|
		was fur|quel type de|quels|quelles|quel|quelle|cual de|cuales`,
})

func buildPatterns(lists map[float64]string) map[string][]pattern {
	m := make(map[string][]pattern, 100)
	for weight, list := range lists {
		for nounPhrase := range strings.SplitSeq(list, "|") {
			f := pattern{words: strings.Fields(nounPhrase), weight: weight}
			m[f.words[0]] = append(m[f.words[0]], f)
		}
	}
	for _, patterns := range m {
		slices.SortStableFunc(patterns, func(a, b pattern) int { return len(b.words) - len(a.words) })
	}
	return m
}

// negationPatterns say that what follows is not what the shopper wants, or only a name. "I have not received it" is no
// such negation.
var negationPatterns = buildPatterns(map[float64]string{
	0: `not asking about|not asking for|not asking if|not asking whether|not asking|not about|not talking about|
		isnt about|dont tell me|dont send|question is not|question isnt|not here for|not after|not writing about|dont bother|please no|no more|
		not looking for|not interested in|dont need|do not need|dont want|do not want|dont care|do not care|no need for|
		no need to|never mind|nevermind|forget|forget about|scrap|skip|leave out|ignore|leaving aside|setting aside|
		that says|saying|suche nichts|brauche nichts|will nichts|demande pas de|demande pas|not complaining|
		not returning|not buying|neednt tell|need not tell|wont ask|will not ask|not asked for|never asked for|drop the|drop my|
		leave the|without going into|last thing i need|cancel my question|no me digan|no me digas|no me diga|
		pas pour cela|pas pour ca|ne veux ni|no quiero ni|weder|ni|already know|already found|already have|weiss schon|ya se|sais deja|called|titled|
		with the title|entitled|intitule|titulado|mit dem titel|nothing to do with|instead of|rather than|other than|
		no quiero|no necesito|no busco|no pregunto por|no es por|no se trata de|en vez de|no me interesa|no hace falta|olvide|
		olvida|olvidad|olvidaos|dejad|nada de|
		nicht um|nicht uber|geht nicht um|geht mir nicht um|nichts kaufen|brauche kein|brauche keine|brauche keinen|
		bitte kein|bitte keine|bitte keinen|mochte kein|mochte keine|mochte keinen|frage nicht|interessiert mich nicht|
		suche kein|suche keine|suche keinen|will kein|will keine|will keinen|vergessen sie|vergesst|vergiss|
		statt|pas besoin de|pas besoin d|ne veux pas|veux pas|veux plus|ne cherche pas|cherche pas|ne parle pas de|
		oubliez|oublie|inutile de|laissez tomber|au lieu de|plutot que`,
})

// settledPatterns are in sentences that say what needs no answer any more.
var settledPatterns = buildPatterns(map[float64]string{
	0: `already found|already got|already have|already know|already own|already ordered|found it|found everything|got it now|
		sorted it|sorted that|is sorted|all sorted|is settled|fine now|leave that|leave it|drop that|no longer need|
		is not the problem|isnt the problem|not the issue|problem solved|changed my mind|just wanted to say|
		hat sich erledigt|erledigt|schon gefunden|schon gekauft|habe schon|hab schon|ya lo encontre|ya tengo|ya llevo|
		ya compre|ya esta resuelto|deja trouve|deja achete|deja pris|ai deja|est regle`,
})

// wishPatterns ask without a question.
var wishPatterns = buildPatterns(map[float64]string{
	0: `please|id like|id love|id prefer|id rather|would like|could do with|want to know|need to know|tell me|let me know|
		send me|show me|asks whether|asks if|wants to know|wonder if|wonder whether|wondering if|wondering whether|
		looking for|hunting for|
		me gustaria|quisiera|quiero saber|diganme|dime|me pregunto|necesito|por favor|mochte wissen|will wissen|
		hatte gern|hatte gerne|wurde gern|wurde gerne|ich mochte|ich suche|ich brauche|bitte|frage mich|
		je voudrais|j aimerais|aimerais|je cherche|dites moi|je veux savoir|je me demande|il me faut|il me faudrait`,
})

// prefacePatterns announce the question that follows.
var prefacePatterns = buildPatterns(map[float64]string{
	0: `can you tell me|could you tell me|i want to know|id like to know|tell me|do you know|i need to know|dime|sag mir|
		ich will wissen|ich mochte wissen|je veux savoir|quiero saber`,
	1: `whether|wondering|is it true|ob|savoir si`,
})

// matchAt returns the longest pattern of the table that starts at ws[i], if any.
func matchAt(table map[string][]pattern, ws []word, i int) (pattern, bool) {
	for _, f := range table[ws[i].norm] {
		if len(f.words) > len(ws)-i {
			continue
		}
		ok := true
		for j, w := range f.words {
			if ws[i+j].norm != w {
				ok = false
				break
			}
		}
		if ok {
			return f, true
		}
	}
	return pattern{}, false
}

// resolveLanguage tells the language of a message, English if no language stands out, and narrows the classes of its words
// to that language: "die" and "bin" are no function words in English.
func resolveLanguage(message string, ws []word) language {
	lang := languageOf(message)
	for i := range ws {
		w := &ws[i]
		if w.senses != nil && lang != otherLanguage {
			w.class = w.senses.in(lang)
		}
		switch {
		case lang == english && w.norm == "n":
			w.class |= conjunction
		case i > 0 && w.is(imperative|requestVerb) && !w.is(vagueNoun) && ws[i-1].is(determiner) && w.gap == gapNone:
			w.class = 0 // a noun: "la montre"
		case lang == spanish && w.class == 0 && len(w.norm) > 5 && (strings.HasSuffix(w.norm, "eis") || strings.HasSuffix(w.norm, "ais")):
			w.class = function | requestVerb // "haceis"
		case lang == spanish && w.class == 0 && len(w.norm) > 5 && strings.HasSuffix(w.norm, "ron"):
			w.class = pastVerb // "cobraron"
		case lang == german && w.class == 0 && !w.upper && len(w.norm) > 6 && strings.HasPrefix(w.norm, "ge") && strings.HasSuffix(w.norm, "t"):
			w.class = pastVerb // "geklingelt"
		}
	}
	return lang
}

// languageOf returns the language of a message.
func languageOf(message string) language {
	switch text.Language(message) {
	case "", "en":
		return english
	case "es":
		return spanish
	case "de":
		return german
	case "fr":
		return french
	}
	return otherLanguage
}
