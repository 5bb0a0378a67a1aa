package grounding

import "strings"

// The words of the languages that are read: a word's place says what it means. Words that mean something else as
// often are left out.
var (
	belowTwenty = map[string]string{ // from 0
		"en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
		"es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
		"de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
		"fr": "zéro un deux trois quatre cinq six sept huit - dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
	}
	tens = map[string]string{ // from 20
		"en": "twenty thirty forty fifty sixty seventy eighty ninety",
		"es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
		"de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
		"fr": "vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix",
	}
	months = []string{ // in all languages: few of them mean anything else
		"january february march april may june july august september october november december",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"januar februar märz april mai juni juli august september oktober november dezember",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"jan feb mar apr - jun jul aug sep oct nov dec", "ene - - abr - - - ago sept - - dic",
		"jän - mär - - - - - - okt - dez", "janv févr - avr - - juil - sept - - déc",
	}
	weekdays = []string{
		"monday tuesday wednesday thursday friday saturday sunday", "lunes martes miércoles jueves viernes sábado domingo",
		"montag dienstag mittwoch donnerstag freitag samstag sonntag", "lundi mardi mercredi jeudi vendredi samedi dimanche",
		"- - - - - sonnabend -",
	}
	// monthsAlone say a month without a day beside them.
	monthsAlone = "january february april june july august september october november december enero febrero abril junio julio agosto " +
		"septiembre octubre noviembre diciembre januar februar märz mai juni juli oktober dezember janvier février avril juin " +
		"juillet août septembre octobre novembre décembre"
)

// limits are the words before a limit of a price.
var limits = positions([]string{"under below around about over above maximum unter bis etwa rund circa ca über ab maximal höchstens mindestens " +
	"hasta unos alrededor máximo mínimo environ sous maximum minimum"})

// approximate are the words before an amount that is rounded.
var approximate = positions([]string{
	"about around roughly nearly almost approximately knapp fast rund etwa circa ca gut environ presque unos casi aproximadamente", nearWordsBeforeDe,
})

// nearWords are those of approximate that have one of nearJoints behind them: "près de", "algo más de", "just over".
var (
	nearWords  = positions([]string{nearWordsBeforeDe})
	nearJoints = positions([]string{"de d que als over under los"})
)

const nearWordsBeforeDe = "près autour alrededor cerca ronda rondan más menos plus moins mehr weniger just slightly little"

// dayEndings and dayArticles are what stands behind and before a day whose month is not named.
var (
	dayEndings  = positions([]string{"st nd rd th"})
	dayArticles = positions([]string{"le el am dem vom zwischen between from du del au al"})
)

var (
	numerals         = numeralWords()
	monthOf          = positions(months)
	standaloneMonths = positions([]string{monthsAlone})
	// shortMonths are those that a dot may follow.
	shortMonths = positions(months[4:])
	weekdayOf   = positions(weekdays)
	// calendar has all months, and weekdays with their plurals.
	calendar = calendarWords()
)

func calendarWords() map[string]bool {
	out := map[string]bool{}
	for w := range monthOf {
		out[w] = true
	}
	for w := range weekdayOf {
		out[w], out[w+"s"] = true, true
	}
	return out
}

// ordinalDays are the days of a month in words that count: "fourth", "vierten", "premier". In French and Spanish, the others are numerals.
var ordinalDays = func() map[string]int {
	out := map[string]int{"premier": 1, "primero": 1}
	for _, line := range []string{
		"first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth " +
			"eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh " +
			"twenty-eighth twenty-ninth thirtieth thirty-first",
		"erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte dreizehnte vierzehnte fünfzehnte sechzehnte siebzehnte " +
			"achtzehnte neunzehnte zwanzigste einundzwanzigste zweiundzwanzigste dreiundzwanzigste vierundzwanzigste fünfundzwanzigste " +
			"sechsundzwanzigste siebenundzwanzigste achtundzwanzigste neunundzwanzigste dreißigste einunddreißigste",
	} {
		for i, w := range strings.Fields(line) {
			out[w] = i + 1
			if strings.HasSuffix(w, "te") {
				out[w+"n"], out[w+"r"] = i+1, i+1
			}
		}
	}
	return out
}()

// daysBefore are the words before the day of a month in words, in German and French.
var daysBefore = positions([]string{"am vom zum dem den le du au"})

// positions maps each word to its place in its line, from 1.
func positions(lines []string) map[string]int {
	out := map[string]int{}
	for _, line := range lines {
		for i, w := range strings.Fields(line) {
			if w != "-" {
				out[w] = i + 1
			}
		}
	}
	return out
}

// numeralWords maps the words for 0 to 99 of each language to the number.
func numeralWords() map[string]map[string]int {
	out := map[string]map[string]int{}
	for base := range belowTwenty {
		words := map[string]int{}
		out[base] = words
		ones := strings.Fields(belowTwenty[base])
		for n, w := range ones {
			words[w] = n
		}
		for i, ten := range strings.Fields(tens[base]) {
			for n, one := range ones[:10] {
				words[numeralWord(base, ten, one, i == 0, n)] = 20 + 10*i + n
			}
		}
	}
	for word, n := range map[string]int{"veintidós": 22, "veintitrés": 23, "veintiséis": 26} {
		out["es"][word] = n
	}
	delete(out["fr"], "-")
	return out
}

// numeralWord returns the word for a ten and n ones.
func numeralWord(base, ten, one string, twenty bool, n int) string {
	switch {
	case n == 0:
		return ten
	case base == "de":
		return strings.Replace(one, "eins", "ein", 1) + "und" + ten
	case base == "es" && twenty:
		return "veinti" + one
	}
	return ten + "-" + one
}
