package grounding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// adjective is a word that compares products.
type adjective struct {
	stem     string // the beginning of the folded word
	property property
	sign     int64 // of those that have more of it: 1 if the larger value has
}

// adjectives are the known ones. Another one that begins like the name of a property is about that: intense, intensity.
var adjectives = slices.Concat(
	adjectivesOf("price", -1, "cheap inexpensive affordabl gunstig preisgunstig kostengunstig billig preiswert barat economi abordabl asequibl"),
	adjectivesOf("price", 1, "expensive pricey dear teuer cher caro cara"),
	adjectivesOf("weight", -1, "light leicht leger ligero ligera"), adjectivesOf("weight", 1, "heav schwer lourd pesad"),
	adjectivesOf("length", 1, "long lang largo larga"), adjectivesOf("length", -1, "short kurz court corto corta"),
	adjectivesOf("width", 1, "wide broad breit large ancho ancha"), adjectivesOf("width", -1, "narrow schmal etroit estrech"),
	adjectivesOf("thickness", 1, "thick dick epais grues"), adjectivesOf("thickness", -1, "thin dunn fin delgad"),
	adjectivesOf("height", 1, "tall"), adjectivesOf("noise", -1, "quiet leis silenc"), adjectivesOf("noise", 1, "loud laut bruyant ruidos"),
	adjectivesOf("power", 1, "powerful leistungsstark puissan potent"),
	adjectivesOf("", -1, "low niedrig gering klein bas bajo baja reduit reducid small inferior inferieur"),
	adjectivesOf("", 1, "high hoch hoh haut alto alta elev superior superieur"))

// adjectivesByBeginning are by the first letters of their stems, in order.
var adjectivesByBeginning = func() map[string][]adjective {
	out := map[string][]adjective{}
	for _, a := range adjectives {
		out[beginningOf(a.stem)] = append(out[beginningOf(a.stem)], a)
	}
	return out
}()

// amountWords compare what a noun or a verb names, as in "costs less", with their signs.
var amountWords = map[string]int64{
	"less": -1, "weniger": -1, "moins": -1, "menos": -1, "least": -1, "wenigsten": -1,
	"more": 1, "mehr": 1, "plus": 1, "mas": 1, "most": 1, "meisten": 1,
}

// named are the beginnings of nouns and verbs that name properties.
var named = map[property][]string{
	"price":  strings.Fields("cost pric pay spend kost preis zahl ausgeb cout prix pay pai depens tarif cuest coste preci pag gast importe"),
	"weight": strings.Fields("weigh wieg gewicht poids pese peso pesa"),
	"time":   strings.Fields("last duration run life dauer laufzeit akkulaufzeit halt duree dure dura autonom"),
	"length": strings.Fields("length lange longueur longitud largo"), "width": strings.Fields("width breite largeur anchura ancho"),
	"thickness": strings.Fields("thickness dicke starke epaisseur grosor"), "height": strings.Fields("height hohe hauteur altura alto"),
	"noise": strings.Fields("noise lautstarke gerausch bruit ruido"), "power": strings.Fields("power leistung puissance potencia"),
}

// namedProperty returns the property that words name, or "" if they name none or several.
func namedProperty(words []text.Word) property {
	var found property
	for p, stems := range named {
		isNamed := slices.ContainsFunc(words, func(w text.Word) bool {
			return slices.ContainsFunc(stems, func(stem string) bool { return strings.HasPrefix(w.Text, stem) })
		})
		switch {
		case isNamed && found != "":
			return ""
		case isNamed:
			found = p
		}
	}
	return found
}

func adjectivesOf(p property, sign int64, stems string) []adjective {
	var out []adjective
	for stem := range strings.FieldsSeq(stems) {
		out = append(out, adjective{stem, p, sign})
	}
	return out
}

// property is what is compared: price, weight, time, or the stem of its name.
type property string

// comparison is how a word compares products.
type comparison struct {
	property property
	sign     int64
	isMost   bool // of all; else of two
	isOfTwo  bool // it is a comparative with an article: "the lighter one"
	at       int  // number of the word
}

// comparisonsOf returns how the words of a clause compare, in English, German, French and Spanish.
func comparisonsOf(words []text.Word) []comparison {
	var out []comparison
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1].Text
		}
		a := adjective{property: property(stemOf(w.Text)), sign: 1}
		for _, known := range adjectivesByBeginning[beginningOf(w.Text)] {
			if strings.HasPrefix(w.Text, known.stem) {
				a = known
			}
		}
		sign, isAmount := amountWords[w.Text]
		if isAmount && (i+1 == len(words) || !comparesWith(words[i+1])) {
			if p := namedProperty(words); p != "" {
				isMost := w.Text == "least" || w.Text == "most" || w.Text == "wenigsten" || w.Text == "meisten" ||
					before == "le" || before == "lo" || before == "que" || before == "el"
				out = append(out, comparison{property: p, sign: sign, isMost: isMost, at: i})
			}
			continue
		}
		if a.property == "" {
			if a.property = namedProperty(words); a.property == "" {
				continue
			}
		}
		how := comparison{property: a.property, sign: a.sign, at: i}
		ending := strings.TrimPrefix(w.Text, a.stem)
		isKnown := a.stem != ""
		switch before {
		case "least", "less", "moins", "menos":
			how.sign = -how.sign
		}
		switch before {
		case "most", "least":
			how.isMost = true
		case "more", "less":
		case "plus", "moins", "mas", "menos":
			how.isMost = hasArticle(words[:i-1]) && !(i+1 < len(words) && words[i+1].Text == "que") // "ce qui la rend plus légère que"
		case "ein", "der", "kein": // "ein leichter Rucksack"
			if !isKnown || !isSuperlative(ending) {
				continue
			}
			how.isMost = true
		default:
			if !isKnown {
				continue
			}
			how.isMost = isSuperlative(ending)
			isComparative := isDeclined(ending) || ending == "er" || ending == "ier" || ending == "r" || strings.HasPrefix(a.stem, "inferi") || strings.HasPrefix(a.stem, "superi")
			if !how.isMost && !isComparative {
				continue
			}
			how.isOfTwo = isComparative && (before == "the" || isDeclined(ending) && slices.Contains([]string{"der", "die", "das", "den", "dem"}, before))
		}
		out = append(out, how)
	}
	return out
}

// comparesWith reports whether a word is a known adjective, which an amount word before it compares.
func comparesWith(w text.Word) bool {
	return slices.ContainsFunc(adjectivesByBeginning[beginningOf(w.Text)], func(a adjective) bool { return strings.HasPrefix(w.Text, a.stem) })
}

// isSuperlative reports whether an adjective with an ending is one of English or German.
func isSuperlative(ending string) bool {
	for _, suffix := range []string{"", "e", "en", "er", "es", "em"} {
		if stem, ok := strings.CutSuffix(ending, "st"+suffix); ok && len(stem) <= 2 {
			return true
		}
	}
	return false
}

// isDeclined reports whether an ending is that of a German comparative in front of a noun.
func isDeclined(ending string) bool {
	return slices.Contains([]string{"ere", "erer", "eres", "eren", "erem"}, ending)
}

// hasArticle reports whether the last article of some words is definite, in French or Spanish.
func hasArticle(words []text.Word) bool {
	for _, w := range slices.Backward(words) {
		switch w.Text {
		case "le", "la", "les", "el", "los", "las", "lo":
			return true
		case "un", "une", "una", "es", "est":
			return false
		}
	}
	return false
}

// span is the least and the largest value of a property, which has several if a product has variants.
type span struct{ least, largest int64 }

// isBetter reports whether a value has more of what a sign asks for than another one.
func (s span) isBetter(other span, sign int64) bool {
	if sign > 0 {
		return s.least > other.largest
	}
	return s.largest < other.least
}

// valueOf returns the value of a property of a product that is typed: a price, or a measure with its name in the details, as in
// "weight 254 g; battery life 30 h". ok is false if it has none, or several.
func (s *subject) valueOf(p property) (value span, unit string, ok bool) {
	add := func(f Fact, u string) bool {
		values := f.values()
		if len(values) == 0 || unit != "" && unit != u {
			return false
		}
		if !ok {
			value = span{values[0], values[0]}
		}
		value, unit, ok = span{min(value.least, values[0]), max(value.largest, values[0])}, u, true
		return true
	}
	if p == "price" || p == "total" || p == "saving" || p == "missing" {
		for _, t := range s.fields[string(p)] {
			for _, f := range Read(t, "").Facts {
				if f.currency != "" && !add(f, f.currency) {
					return span{}, "", false
				}
			}
		}
		return value, unit, ok
	}
	for _, details := range s.fields["details"] {
		names := 0
		for part := range strings.SplitSeq(details, ";") {
			facts := Read(part, "").Facts
			if len(facts) != 1 || !facts[0].IsNumber() || !p.isOf(part[:facts[0].Start], facts[0]) {
				continue
			}
			if names++; names > 1 || !add(facts[0], unitOf(facts[0])) {
				return span{}, "", false
			}
		}
	}
	return value, unit, ok
}

// isOf reports whether a fact with a name is of the property.
func (p property) isOf(name string, f Fact) bool {
	switch p {
	case "weight":
		return measures[f.Unit] == "g" || measures[f.Unit] == "kg"
	case "time":
		_, isPeriod := periods[f.Unit]
		return isPeriod || measures[f.Unit] == "minute60"
	}
	return slices.ContainsFunc(text.Words(name), func(w text.Word) bool {
		isNamed := slices.ContainsFunc(named[p], func(stem string) bool { return strings.Contains(w.Text, stem) }) // Gesamtlänge
		return isNamed || len(w.Text) >= stemLength && stemOf(w.Text) == string(p)
	})
}

// compare returns the claims that compare products by a property that is typed. before are the products that the text has named.
func (s *subjects) compare(o outline, before []*subject) Claims {
	var out Claims
	for i := range o.clauses {
		c := &o.clauses[i]
		if !c.isQuestion && !c.has("NOT") && !sentenceHas(o.clauses, i, "IF") && !sentenceHas(o.clauses, i, "SOME") {
			for _, how := range comparisonsOf(c.words) {
				if v, of := s.judgeComparison(o, i, how, before); v != Undecided {
					out = append(out, Claim{Start: c.start, End: c.end, Text: o.raw[c.start:c.end], Kind: Statement, Subject: of.id, Verdict: v})
				}
			}
		}
		before = append(before, o.own[i].mentioned...)
		if p := o.focus[i].own(); p != nil {
			before = append(before, p)
		}
	}
	return out
}

// reachOfThan is how many words behind an adjective "than" may stand.
const reachOfThan = 2

func (s *subjects) judgeComparison(o outline, number int, how comparison, before []*subject) (Verdict, *subject) {
	c := &o.clauses[number]
	product := cmp.Or(o.focus[number].own(), o.refs[number].of(kindProduct))
	if product == nil && number > 0 && isRow(o.raw, c.start) && o.clauses[number-1].line == c.line && !o.own[number].mentionsKind(kindProduct) {
		product = o.refs[number-1].of(kindProduct) // "- Alder: lighter at 254 g"
	}
	if how.isMost && number+1 < len(o.clauses) && o.clauses[number+1].sentence == c.sentence && !o.focus[number].isOwn && o.focus[number+1].isOwn {
		product = o.focus[number+1].only() // "The cheapest of them, that is Alder"
	}
	others := before
	isOfTwo := sentenceHas(o.clauses, number, "BOTH") || how.isOfTwo
	than := how.at + slices.IndexFunc(c.words[how.at:], isThan)
	switch {
	case !how.isMost && than > how.at:
		others = s.meantBy(o, c.words[than:])
		if left := s.meantBy(o, c.words[:than]); len(left) > 0 {
			product = cmp.Or(focus{products: left}.only(), product)
		} else if len(others) > 0 {
			product = focus{products: o.productsBefore(number)}.only() // "Birch is red and lighter than Alder"
		}
		if slices.Contains(others, product) || c.hasOther(than) { // "all others are dearer than Alder"
			return Undecided, nil
		}
		if product == nil || than > how.at+reachOfThan && !slices.Contains(s.meantBy(o, c.words[how.at:than]), product) {
			return Undecided, nil
		}
	case product == nil:
		return Undecided, nil
	case how.isMost && !isOfTwo:
		others = s.list
	}
	if how.property == "length" {
		_, _, isLength := product.valueOf(how.property)
		switch hasNoun := how.at+1 < len(c.words) && isContent(c.words[how.at+1].Text); {
		case namedProperty(slices.Concat(c.words[:how.at], c.words[how.at+1:])) == "time", !isLength:
			how.property = "time" // "the longest battery life"
		case hasNoun:
			return Undecided, nil // "a longer focal length"
		}
	}
	value, unit, ok := product.valueOf(how.property)
	if !ok {
		return Undecided, nil
	}
	better, worse := 0, 0 // than the product, and than which it is better
	for _, of := range others {
		if of == product || of.kind != kindProduct || how.isMost && !isOfTwo && !slices.Contains(before, of) && !s.isRival(of, product, c) {
			continue
		}
		switch other, u, has := of.valueOf(how.property); {
		case !has || u != unit:
		case other.isBetter(value, how.sign):
			better++
		case value.isBetter(other, how.sign):
			worse++
		}
	}
	switch {
	case better > 0 && (how.isMost && !isOfTwo || worse == 0):
		return Contradicted, product
	case worse > 0 && (!how.isMost || better == 0):
		return Supported, product
	}
	return Undecided, nil
}

// hasOther reports whether the clause speaks of other things, which it does not name, before one of its words.
func (c *clause) hasOther(end int) bool {
	return slices.ContainsFunc(c.hits, func(h hit) bool { return h.topic == "OTHER" && h.at < end })
}

func isThan(w text.Word) bool {
	switch w.Text {
	case "than", "als", "que", "al", "celui", "celle", "compared", "verglichen", "gegenuber", "comparado", "comparada", "frente":
		return true
	}
	return false
}

// isRival reports whether a product is one of those of which a superlative says that another has most: of the same category and in
// stock, with all that the other has of what the clause says and the shopper asks for.
func (s *subjects) isRival(of, product *subject, c *clause) bool {
	if of.kind != kindProduct || !slices.Equal(of.fields["category"], product.fields["category"]) {
		return false
	}
	asked := slices.Clone(s.asked)
	for _, w := range c.words {
		if isContent(w.Text) && !text.IsDigit(rune(w.Text[0])) { // a number is the value itself
			asked = append(asked, stemOf(w.Text))
		}
	}
	for _, a := range s.assertions {
		if !a.denied || !slices.Contains(a.about, of) {
			continue
		}
		name, isAttribute := strings.CutPrefix(a.topic, topicAttribute)
		isAsked := isAttribute && !slices.ContainsFunc(strings.Fields(name), func(stem string) bool { return !slices.Contains(asked, stem) })
		if isAsked || a.topic == "stock" && !of.isInStock() {
			return false
		}
	}
	return !slices.ContainsFunc(asked, func(stem string) bool {
		isName := slices.ContainsFunc(product.words, func(w string) bool { return stemOf(w) == stem })
		return !isName && product.says(stem) && !of.says(stem)
	})
}

// says reports whether the texts of a subject have a word with a stem.
func (s *subject) says(stem string) bool { return s.stems()[stem] }

// readStems returns the stems of the words of a subject's fields.
func (s *subject) readStems() map[string]bool {
	out := map[string]bool{}
	for key, texts := range s.fields {
		if key == "price" { // people ask for a limit, not for a price
			continue
		}
		for _, t := range texts {
			for _, w := range text.Words(t) {
				out[stemOf(w.Text)] = true
			}
		}
	}
	return out
}
