package policies

import "strings"

// Names of countries as shoppers write them in the languages of topics. Documents seldom name each of them: they speak of
// the European Union, or of deliveries abroad.
const (
	unionPlaces = `
	austria österreich autriche belgium belgien bélgica belgique bulgaria bulgarien bulgarie croatia kroatien croacia croatie
	cyprus zypern chipre chypre czechia tschechien chequia tchéquie denmark dänemark dinamarca danemark estonia estland estonie
	finland finnland finlandia finlande france frankreich francia germany deutschland alemania allemagne greece griechenland
	grecia grèce hungary ungarn hungría hongrie ireland irland irlanda irlande italy italien italia italie latvia lettland
	letonia lettonie lithuania litauen lituania lituanie luxembourg luxemburg luxemburgo malta malte netherlands holland
	niederlande holanda pays-bas poland polen polonia pologne portugal romania rumänien rumania roumanie slovakia slowakei
	eslovaquia slovaquie slovenia slowenien eslovenia slovénie spain spanien españa espagne sweden schweden suecia suède`
	otherPlaces = `
	norway norwegen noruega norvège switzerland schweiz suiza suisse liechtenstein iceland islandia islande uk britain
	england scotland wales großbritannien inglaterra angleterre usa america amerika américa amérique canada kanada
	canadá mexico mexiko méxico mexique brazil brasilien brasil brésil australia australien australie japan japón japon china
	india indien turkey türkei turquía turquie ukraine serbia serbien israel`
)

// abroad are words for all places abroad, and union those for the European Union.
var (
	abroad = topic{en: "international abroad overseas foreign country countries", de: "international ausland länder land",
		es: "internacional extranjero países país", fr: "international étranger pays"}
	union = topic{en: "european eu europe", de: "europäische eu europa", es: "europea ue europa", fr: "européenne ue europe"}
)

// learnPlaces fills the names of countries and what stands for them.
func (l *lexicon) learnPlaces() {
	l.places = make(map[string]bool)
	l.foreign, l.union = make(map[string][]weighted), make(map[string][]weighted)
	for _, name := range strings.Fields(otherPlaces) {
		l.places[name] = false
	}
	for _, name := range strings.Fields(unionPlaces) {
		l.places[name] = true
	}
	for lang, terms := range l.termsOf(abroad).byLanguage {
		l.foreign[lang] = weigh(terms, abroadShare)
	}
	for lang, terms := range l.termsOf(union).byLanguage {
		l.union[lang] = append(weigh(terms, unionShare), l.foreign[lang]...)
	}
}

// A passage that names the country itself comes before one on the European Union, and that before one on all places abroad.
const (
	unionShare  = 0.7
	abroadShare = 0.15
)

func weigh(terms []string, share float64) []weighted {
	out := make([]weighted, len(terms))
	for i, t := range terms {
		out[i] = weighted{t, share}
	}
	return out
}

// abroad returns the terms that stand for a country. A word that is none has none.
func (l *lexicon) abroad(word, lang string) []weighted {
	switch inUnion, known := l.places[word]; {
	case !known:
		return nil
	case inUnion:
		return l.union[lang]
	}
	return l.foreign[lang]
}
