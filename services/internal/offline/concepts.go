package offline

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// synonyms are groups of words that ask for the same thing. They are general: no group belongs to a tool.
var synonyms = synonymTable(synonymGroups...)

var synonymGroups = []string{
	"backpack rucksack daypack", "jacket coat parka anorak", "shoe sneaker trainer footwear", "trousers pants", "torch flashlight headlamp",
	"cheap price cost budget affordable expensive", "return refund exchange money-back", "discount promotion coupon promo deal offer voucher sale saving save bargain",
	"order purchase package parcel bought ordered", "shipping delivery ship deliver postage dispatch courier", "tracking track status arrive arrival whereabouts late",
	"cart basket trolley checkout", "policy rule terms conditions faq guideline", "warranty guarantee repair broken broke torn ripped cracked leaks defect faulty damaged", "product item article catalog catalogue",
	"search find query lookup browse", "recommend suggest recommendation suggestion advice", "complement accessory matching pair match", "similar alternative comparable like",
	"forecast weather temperature rain sunny snow umbrella wind cold hot degrees climate", "flight fly plane airfare airline airport", "train rail railway", "book novel loan borrow library read author",
	"hotel room accommodation stay hostel", "restaurant eat dinner lunch table cuisine", "meeting appointment calendar schedule event reservation", "email mail message inbox",
	"translate translation language", "convert conversion currency exchange-rate", "distance route directions drive map", "balance account bank", "invoice bill payment pay receipt",
	"cancel cancellation abort", "address location place city town", "doctor clinic medical patient", "film movie cinema show", "song music track playlist", "recipe cook dish ingredient meal",
	"stock availability available inventory", "size fit sizing", "count number total many statistics", "news headline", "employee staff colleague", "human person agent representative", "ticket issue bug incident", "due overdue deadline", "renew extend",
}

func synonymTable(groups ...string) map[string][]string {
	out := map[string][]string{}
	for _, g := range groups {
		var members []string
		for _, w := range strings.Fields(g) {
			members = append(members, stem(w))
		}
		for _, m := range members {
			for _, other := range members {
				if other != m {
					out[m] = append(out[m], other)
				}
			}
		}
	}
	return out
}

// intent is a turn of phrase whose words say little one by one.
type intent struct {
	phrases []string // folded; matched on word boundaries
	means   string
}

const (
	seeksGoods = "find search product catalog"
	asksRules  = "policy rule terms faq"
	// changesMoney is what a sum in another currency needs.
	changesMoney = "convert currency exchange"
)

var intents = []intent{
	{[]string{"do you have", "do you sell", "do you carry", "do you stock", "have you got", "got any", "looking for", "i need a", "i need an", "i need some", "i need new", "i want a", "i want to buy", "i d like a",
		"i d like to buy", "show me", "find me", "search for", "shopping for", "in the market for", "which of your", "are there any", "a gift", "a present", "want to buy", "teneis", "tienen", "tienes", "busco", "buscando", "quiero comprar", "un regalo", "necesito un", "necesito una", "haben sie",
		"habt ihr", "ich suche", "suche ein", "ich brauche", "gibt es", "ein geschenk", "avez vous", "je cherche", "vendez vous", "auriez vous", "j ai besoin", "un cadeau"}, seeksGoods},
	{[]string{"go with", "goes with", "go well with", "goes well with", "going with", "match my", "matches the", "match the", "what matches", "matches my", "pair with", "pairs with", "along with my", "complete my", "complete the", "to complement", "bought together", "good with", "nice with", "work with my", "with my", "in my cart", "in my basket", "combine con", "combina con",
		"combine bien", "passt zu", "passen zu", "dazu passt", "va avec", "vont avec", "aller avec", "assorti a"}, "complement recommend similar matching"},
	{[]string{"similar to", "something like", "alternative to", "instead of", "what else", "you recommend", "you suggest", "any suggestions", "any ideas", "other people buy", "algo parecido", "etwas ahnliches", "quelque chose comme"}, "similar recommend suggest alternative"},
	{[]string{"where is my", "where are my", "wheres my", "where s my", "has my", "have my", "when will my", "when does my", "when do my", "when is my", "status of my", "what happened to my", "not arrived", "hasnt arrived", "hasn arrived", "hasn t arrived", "not received", "hasnt come",
		"my package", "my parcel", "my delivery", "my shipment", "still waiting", "still not here", "did my", "donde esta mi", "donde estan mis", "cuando llega", "no ha llegado", "wo ist mein", "wo ist meine", "wo bleibt", "wann kommt", "nicht angekommen", "ou est ma", "ou est mon", "ou en est", "quand arrive", "pas arrive", "pas recu"}, "order track status lookup"},
	{[]string{"send back", "sending back", "wrong size", "too small", "too big", "too large", "does not fit", "doesn t fit", "doesnt fit", "dont fit", "not working", "stopped working", "it leaks", "is leaking", "it broke", "is broken", "is faulty", "is defective", "esta roto", "esta rota", "ist kaputt", "est casse", "est cassee", "can i return", "can i send", "can it be returned", "can i exchange", "can i swap", "can i get a refund", "can i get my money", "send it back", "send them back", "bring it back", "give it back", "take it back", "money back", "change my mind", "changed my mind", "puedo devolver", "kann ich zuruck", "puis je retourner"}, "return policy"},
	{[]string{"how long do i", "how long does", "how long is", "how long will", "do you ship", "do you deliver", "do you accept", "do you take", "do you offer", "do you charge", "do i have to", "can i pay", "how can i pay", "is it possible", "am i allowed", "what happens if", "what if i", "how do i", "what is your", "what are your", "your policy", "is there a fee", "are there fees",
		"shipping cost", "delivery cost", "cost of delivery", "cost of shipping", "much is shipping", "much is delivery", "much does shipping", "much does delivery", "coute la livraison", "frais de livraison", "cuesta el envio", "kostet der versand", "kostet die lieferung", "what can i do", "free delivery", "free shipping", "envio gratis", "versandkostenfrei", "livraison gratuite", "what should i do", "can i cancel", "cancel my order", "puedo cancelar", "kann ich stornieren", "puis je annuler", "who pays", "are you open", "opening hours", "do you open", "do you close", "what time", "price match", "cuanto tarda", "que pasa si", "se puede", "wie lange", "kann man", "was passiert", "wer zahlt", "combien de temps", "est ce que je peux", "que se passe"}, asksRules},
	{[]string{"save money", "money off", "pay less", "any code", "a code", "percent off", "% off", "get it cheaper", "price reduction", "student", "newsletter", "black friday"}, "discount promotion"},
	{[]string{"compare", "difference between", "versus", "vs", "which is better", "compara", "diferencia entre", "vergleich", "vergleiche", "unterschied zwischen", "compare", "comparez"}, seeksGoods},
	{[]string{"talk to a", "speak to a", "talk to someone", "speak to someone", "speak with", "real person", "actual person", "person please", "human please", "a human", "persona por favor", "persona de verdad", "persona real", "mensch bitte", "menschen bitte", "einen menschen", "mitarbeiter bitte", "vraie personne", "personne svp", "personne s il vous plait", "un conseiller", "human being", "hablar con una persona", "hablar con alguien", "mit einem menschen", "mit jemandem sprechen", "parler a quelqu un", "parler a un"}, "person human handoff agent"},
	{[]string{"how many", "wie viele", "cuantos", "cuantas", "combien de"}, "count number total"},
	{[]string{"the cheapest", "least expensive", "most expensive", "lowest price", "highest price", "mas barato", "mas barata", "billigste", "gunstigste", "moins cher", "moins chere", "best rated", "top rated"}, "price product sort"},
}

// smallTalk are words that neither ask nor tell anything.
var smallTalk = set(`hi hello hey hiya howdy greetings good morning afternoon evening night day bye goodbye cheers thanks thank thx ty you much so lot a very many great ok okay cool nice perfect awesome lovely
	wonderful super sure alright fine that is all for now have there everyone team welcome pleasure understood got it the help your this was were really appreciate weekend one to
	hola buenos buenas dias tardes noches gracias muchas adios hasta luego vale perfecto genial que tal por todo
	hallo guten tag morgen abend danke vielen dank schon tschuss gruss gott moin servus prima bitte wiedersehen auf
	bonjour salut bonsoir merci beaucoup au revoir bien parfait tout le monde et`)

// talkCues must occur in small talk: its other words are innocent only beside one of them.
var talkCues = set(`hi hello hey hiya howdy greetings morning afternoon evening bye goodbye cheers thanks thank thx ty great ok okay cool perfect awesome understood appreciate hola buenos buenas gracias adios vale
	genial hallo guten danke dank tschuss moin servus prima bonjour salut bonsoir merci revoir parfait`)

// talkPhrases are small talk whose words are not.
var talkPhrases = []string{"how are you", "how is it going", "how are things", "who are you", "what are you", "are you a robot", "are you a bot", "are you human", "are you real", "are you there", "are you an ai", "whats your name", "what is your name", "nice to meet you", "what can you do",
	"what can you help", "how can you help", "can you help me", "i need help", "tell me a joke", "como estas", "quien eres", "que puedes hacer", "wie geht", "wer bist du", "wer sind sie", "was kannst du", "comment ca va", "qui es tu", "qui etes vous"}

// isSmallTalk reports whether t is a greeting, thanks or chat, and asks nothing.
func isSmallTalk(t text) bool {
	if len(t.words) == 0 {
		return true
	}
	flat := flatten(t)
	rest := flat
	for _, p := range talkPhrases {
		rest = strings.Replace(rest, " "+p+" ", " hello ", 1)
	}
	cue := false
	for _, w := range strings.Fields(rest) {
		if !smallTalk[w] && !(rest != flat && stopWords[t.lang][w]) {
			return false
		}
		cue = cue || talkCues[w]
	}
	return cue
}

// shortened are the verbs that hide behind an apostrophe.
var shortened = map[string]string{"re": "are", "ve": "have", "ll": "will", "m": "am", "d": "d"}

// isAfter are the words whose 's is a verb and not a possessive.
var isAfter = set("what where when who how that it there here which")

// flatten returns the folded words with one space before and after each, and English contractions spelled out.
func flatten(t text) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range t.words {
		b.WriteString(strings.ReplaceAll(w.norm, "-", " "))
		b.WriteByte(' ')
		_, tail, ok := strings.Cut(strings.ReplaceAll(w.raw, "’", "'"), "'")
		if verb := shortened[fold(tail)]; ok && verb != "" {
			b.WriteString(verb + " ")
		} else if ok && fold(tail) == "s" && isAfter[w.norm] {
			b.WriteString("is ")
		}
	}
	return b.String()
}

// terms are stems with the weight at which a text speaks of them.
type terms map[string]float64

func (t terms) add(s string, weight float64) {
	if weight > t[s] {
		t[s] = weight
	}
}

const (
	synonymWeight = 0.55
	intentWeight  = 0.8
	hintWeight    = 0.4
)

// termsOf returns what t speaks of: its own words, their synonyms, and what its turns of phrase mean.
func termsOf(t text) terms {
	out := terms{}
	for _, w := range t.words {
		for _, g := range w.gloss {
			for _, s := range stems(g) {
				out.add(s, 1)
			}
		}
	}
	return out.expand(t)
}

func (out terms) expand(t text) terms {
	own := make([]string, 0, len(out))
	for s := range out {
		own = append(own, s)
	}
	for _, s := range own {
		for _, other := range synonyms[s] {
			out.add(other, synonymWeight)
		}
	}
	flat := flatten(t)
	for _, in := range intents {
		for _, p := range in.phrases {
			if strings.Contains(flat, " "+p+" ") {
				for _, m := range strings.Fields(in.means) {
					out.add(stem(m), intentWeight)
				}
				break
			}
		}
	}
	if _, _, spans := priceBounds(t); len(spans) > 0 {
		out.add(stem("price"), hintWeight)
		out.add(stem("product"), hintWeight)
	}
	if choosesGoods(t) {
		for _, m := range strings.Fields(seeksGoods) {
			out.add(stem(m), hintWeight)
		}
	}
	if asksCurrency(t) {
		for _, m := range strings.Fields(changesMoney) {
			out.add(stem(m), intentWeight)
		}
	}
	for _, p := range optionPairs(t) {
		out.add(stem(p.key), intentWeight)
		out.add(stem("product"), synonymWeight)
	}
	return out
}

// notGoods follow a question word without being looked for, as stems.
var notGoods = set("tim day dat kind sort type happen number addres languag match pair suit work fit pay payment method reason polic policy")

// choosesGoods recognises "what sleeping bag ...", "which tents ...": a question word with a noun of its own; and "how
// heavy ...": one with a quality that goods have.
func choosesGoods(t text) bool {
	for i, w := range t.words[:max(0, len(t.words)-1)] {
		if next := t.words[i+1].norm; w.norm == "how" && next != "long" && len(factWords[stem(next)]) > 0 {
			return true // "how heavy is it"
		}
		if w.norm == "what" || w.norm == "which" || t.lang != english && (w.norm == "que" || w.norm == "welche" || w.norm == "welcher" || w.norm == "welches" || w.norm == "welchen" || w.norm == "quel" || w.norm == "quelle" || w.norm == "quels" || w.norm == "quelles") {
			return len(t.words[i+1].gloss) > 0 && !notGoods[stem(t.words[i+1].gloss[0])]
		}
	}
	return false
}

// ownTerms returns the words of t and their synonyms, without what its turns of phrase mean.
func ownTerms(t text) terms {
	out := terms{}
	for _, w := range t.words {
		for _, g := range w.gloss {
			out.add(stem(g), 1)
			for _, other := range synonyms[stem(g)] {
				out.add(other, synonymWeight)
			}
		}
	}
	return out
}

// bag holds the stems of a description with their weights.
type bag map[string]float64

func (b bag) addText(s string, weight float64) {
	for _, w := range split(s) {
		if stopWords[english][w.norm] && w.norm != "find" && w.norm != "many" {
			continue
		}
		for _, st := range stems(w.norm) {
			b[st] = max(b[st], weight)
		}
	}
}

// weigh returns the weight of the stem, or most of that of its next of kin.
func (b bag) weigh(s string) float64 {
	if w, ok := b[s]; ok {
		return w
	}
	best := 0.0
	for other, w := range b {
		if sameRoot(s, other) {
			best = max(best, 0.7*w)
		}
	}
	return best
}

// rarity is how much a stem tells the bags apart: nearly nothing when all of them have it.
func rarity(s string, bags []bag) float64 {
	n := 0
	for _, b := range bags {
		if b.weigh(s) > 0 {
			n++
		}
	}
	return math.Log(1 + float64(len(bags)+1)/float64(n+1))
}

// overlap scores a text against one of several bags.
func (t terms) overlap(b bag, all []bag) float64 {
	sum := 0.0
	for _, s := range slices.Sorted(maps.Keys(t)) { // sorted: a sum must not depend on the map's order
		if w := b.weigh(s); w > 0 {
			sum += t[s] * w * rarity(s, all)
		}
	}
	return sum
}
