package router

import "strings"

// class is a set of the parts that a word can play in a message.
type class uint32

const (
	function    class = 1 << iota // carries no meaning of its own
	asker                         // opens a question: "which", "wo"
	helper                        // opens a question before a subject: "can", "is", "kann"
	verbFirst                     // opens a request by itself: "tenéis", "busco", "need"
	imperative                    // opens a request: "show", "dime"
	subject                       // a pronoun that a sentence starts with
	possessed                     // "my", "mein"
	determiner                    // "the", "una"
	linker                        // joins two requests or two nouns: "and", "y"
	contrast                      // "but", "aber"
	preposition                   // ends a noun phrase: "in", "für"
	pointer                       // stands for something said before: "it", "those"
	condition                     // opens a clause that leans on another: "if", "wenn"
	told                          // tells of something past: "bought", "compré"
	leadIn                        // may be trimmed from the start of a sub-query: "also"
	greeting                      // "hi", "gracias"
	filler                        // politeness and noise: "please", "ok"
	vague                         // a noun that says nothing of the subject: "help", "question"
)

// opens are the classes that start a request wherever they stand.
const opens = asker | verbFirst | imperative

// classes says what the words of four languages can be, folded as fold does. A word in several languages has the
// classes of all; words that are a product in one language and a particle in another ("hat", "son") are left out.
var classes = buildClasses(map[class]string{
	function | asker: `what which where when who whose why how whats wheres whens hows que cual cuales donde cuando quien
		cuanto cuanta cuantos cuantas como was wer wo wann wie welche welcher welches welchen wieviel warum wohin quel quelle
		quels quelles ou quand qui comment combien pourquoi`,
	function | helper: `is are am was were do does did can could will would should shall may might has have had isnt arent
		dont doesnt didnt cant couldnt wont wouldnt ist sind war kann konnen konnt konnte konnten darf wird werden bin habe
		haben habt es esta estan son est sont peut puis peux pouvez peuvent fait dois doit`,
	function | verbFirst: `need want looking search searching wanna tengo tienes teneis tienen tiene hay puedo puedes podeis
		pueden puede podria busco buscando necesito quiero quisiera queria gibt gibts suche brauche mochte will mag cherche
		recherche voudrais veux aimerais avez vendez`,
	function | imperative: `show tell give send recommend suggest find explain track cancel help let zeig zeige zeigen sag
		sagen gib empfiehl empfehlt empfehlen dime muestra muestrame ensename recomienda recomiendame dame montre montrez dites
		dis recommandez conseillez trouve trouvez donnez`,
	function | subject:           `i we you he she they im id ive ill youre yo nosotros ich wir ihr sie du je j nous vous tu il elle ils moi`,
	function | subject | pointer: `it this that its`,
	function | possessed:         `my our mine mi mis nuestro nuestra mein meine meiner meinen meinem unser unsere mon ma mes notre nos`,
	function | determiner:        `the a an any some your their his her der die das den dem ein eine einen einem einer kein keine keinen el la los las un una unos unas tu tus su sus vuestra vuestro vuestras le les l une des du votre vos leur eure eurer euren ihre ihren`,
	function | pointer:           `them those these one ones lo ihn es diese dieses dieser diesen ese esa eso esto esta este celui celle cela ca ce cet cette c`,
	function | linker:            `and und y et e`,
	function | linker | leadIn:   `also plus too ausserdem sowie auch ademas tambien aussi ensuite additionally furthermore`,
	function | contrast | linker: `but aber pero mais sondern sino`,
	function | preposition:       `in on at for from with without to into about by under over than near per between for mit ohne fur von zu zum zur bei unter uber auf aus nach an als im am para con sin por en sobre hasta desde pour avec sans dans sous sur par chez jusqu`,
	function:                     `of de d del al or oder o s t m n if not no nicht pas ne there here be been being as so just only really very more most much many get got us me mich mir dich dir uns euch se te nos qu da hier noch nur sehr mehr mucho muy mas plus tres vraiment ya si same other another each every all both did done go going would like liked gern gerne gustaria lot know see wondering wonder whether possible today now currently available left tomorrow heute jetzt hoy ahora maintenant one ob s`,
	function | condition:         `if when because since while unless although wenn falls weil obwohl cuando porque aunque quand lorsque parce puisque`,
	told: `bought ordered received purchased broke arrived came compre compramos recibi pedi llego gekauft bestellt bekommen
		erhalten angekommen kaputtgegangen achete recu commande`,
	function | leadIn: `then lastly finally secondly dann luego entonces alors btw oh well`,
	greeting:          `hi hello hey hiya howdy greetings dear liebes regards morning evening afternoon hallo servus moin tag hola buenas buenos bonjour bonsoir salut coucou thanks thank thx cheers danke gracias merci bye goodbye tschuss adios ciao`,
	filler:            `please pls plz bitte favor sil plait ok okay yes yeah yep nope sure great cool nice good perfect super gut guten vale bien dias tardes noches ya oui ja nein non sorry excuse perdon pardon entschuldigung lol hmm um uh advance there everyone team guys folks day lovely beaucoup muchas vielen dank`,
	function | vague:  `question questions information info help advice idea ideas problem problems issue issues minute moment time thing things something anything someone somebody frage fragen hilfe pregunta preguntas ayuda problema aide renseignement probleme algo etwas quelque chose way`,
})

// buildClasses turns lists of words by class into classes by word.
func buildClasses(lists map[class]string) map[string]class {
	m := make(map[string]class, 700)
	for c, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] |= c
		}
	}
	return m
}

// frame is a way of asking for a product, as folded words.
type frame struct {
	words []string
	// own is what the frame says for itself of the product specialist when the object is a word that nobody published.
	own float64
}

// Weights of frames. "Do you sell X" can only mean a product; "do you have X" may be a car park; "which X" and "I need X"
// may be anything.
const (
	sells = 2.6
	has   = 1.4
	seeks = 1.2
	picks = 0.9
)

// frames lists the ways of asking for a product by their first word, longest first.
var frames = buildFrames(map[float64]string{
	sells: `do you sell|do you carry|do you stock|do you guys sell|where can i buy|want to buy|like to buy|looking to buy|
		want to order|like to order|want to purchase|in the market for|can i buy|can i order a|can i order some|shopping for|
		vendeis|venden ustedes|vendes|quiero comprar|verkauft ihr|verkaufen sie|fuhrt ihr|fuhren sie|vendez vous|
		est ce que vous vendez|je veux acheter|je voudrais acheter|ich mochte kaufen|quisiera comprar`,
	has: `do you have|do you guys have|you guys have|do u have|you have any|have you got|you got|got any|do you offer|are there any|show me|
		find me|looking for|searching for|search for|price of|price for|how much is|how much are|how much does|how much do|
		how much for|teneis|tienen|tienes|tiene|buscando|busco|cuanto cuesta|cuanto cuestan|cuanto vale|precio de|muestrame|
		ensename|habt ihr|haben sie|hast du|ich suche|suche|was kostet|was kosten|wie viel kostet|wie viel kosten|
		wieviel kostet|zeig mir|zeigen sie mir|avez vous|vous avez|as tu|est ce que vous avez|je cherche|cherche|
		combien coute|combien coutent|prix de|prix du|montrez moi|montre moi|proposez vous`,
	seeks: `i need|we need|i want|we want|id like|would like|need|hay|il y a|y a t il|gibt es|gibts|ich brauche|brauche|
		ich mochte|wir brauchen|necesito|necesitamos|quiero|quisiera|ai besoin de|ai besoin d|je veux|je voudrais|is there|
		are there|what about|how about|any`,
	picks: `which of|which|what kind of|what sort of|what type of|what|que tipo de|welche|welcher|welches|welchen|
		was fur|quel type de|quels|quelles|quel|quelle|cual de|cuales`,
})

func buildFrames(lists map[float64]string) map[string][]frame {
	m := make(map[string][]frame, 100)
	for own, list := range lists {
		for phrase := range strings.SplitSeq(list, "|") {
			f := frame{words: strings.Fields(phrase), own: own}
			m[f.words[0]] = append(m[f.words[0]], f)
		}
	}
	for first := range m {
		sortFrames(m[first])
	}
	return m
}

// sortFrames puts longer frames first, so that the first match is the best.
func sortFrames(fs []frame) {
	for i := range fs {
		for j := i; j > 0 && len(fs[j].words) > len(fs[j-1].words); j-- {
			fs[j], fs[j-1] = fs[j-1], fs[j]
		}
	}
}

// denials say that what follows is not what the shopper wants. "I have not received it" is none of them.
var denials = buildFrames(map[float64]string{
	0: `not asking about|not asking for|not asking if|not asking whether|not asking|not about|not talking about|
		not looking for|not interested in|dont need|do not need|dont want|do not want|dont care about|no need for|no need to|
		nothing to do with|instead of|rather than|other than|no quiero|no necesito|no busco|no pregunto por|en vez de|
		nicht um|nicht uber|geht nicht um|brauche kein|brauche keine|brauche keinen|suche kein|suche keine|will kein|
		will keine|statt|pas besoin de|pas besoin d|ne veux pas|ne cherche pas|ne parle pas de|au lieu de`,
})

// matchAt returns the longest frame of the table that starts at ws[i], if any.
func matchAt(table map[string][]frame, ws []word, i int) (frame, bool) {
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
	return frame{}, false
}
