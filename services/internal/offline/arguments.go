package offline

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	plaintext "github.com/quartet-commerce/quartet/services/internal/text"
)

// request is what a text says of a product: the arguments of a search, which the readers take out of the rest.
type request struct {
	rest string
	args object
	// unordered: a superlative was asked for that no sort has.
	unordered bool
}

const (
	most     = `(?:under|below|less than|cheaper than|lighter than|up to|at most|max(?:imum)?\.?|no more than|not more than|within|unter|bis(?: zu)?|höchstens|maximal|weniger als|moins de|jusqu'à|menos de|hasta|por debajo de|máximo)\s+(?:of\s+)?`
	least    = `(?:over|above|more than|at least|min(?:imum)?\.?|über|ab|mindestens|mehr als|plus de|au moins|más de|al menos|desde)\s+`
	amount   = `(?:[€$£]\s?)?(\d{1,6}(?:[.,]\d{1,2})?)\s?(?:€|\$|£|euros?\b|eur\b|dollars?\b|usd\b|bucks\b|pounds?\b|quid\b|gbp\b|libras\b|dólares\b|livres\b)?`
	currency = `(?:[€$£]\s?(\d{1,6}(?:[.,]\d{1,2})?)|(\d{1,6}(?:[.,]\d{1,2})?)\s?(?:€|\$|£|euros?\b|eur\b|dollars?\b|usd\b|bucks\b|pounds?\b|quid\b|gbp\b|libras\b|dólares\b|livres\b))`
)

var (
	betweenRE = regexp.MustCompile(`(?i)(?:between|from|zwischen|von|entre|de)\s+` + amount + `\s*(?:and|to|und|bis|et|à|y|a|-|–)\s*` + amount)
	maxRE     = regexp.MustCompile(`(?i)` + most + amount)
	minRE     = regexp.MustCompile(`(?i)` + least + amount)
	measureRE = regexp.MustCompile(`(?i)(?:(` + most + `)|` + least + `)(\d{1,6}(?:[.,]\d{1,2})?)\s?(\pL+)`)
	moneyRE   = regexp.MustCompile(`(?i)(?:for\s+|für\s+|pour\s+|por\s+)?` + currency + `(?:\s+or less|\s+max)?`)
	// unitRE begins what makes a number no price.
	unitRE   = regexp.MustCompile(`(?i)^\s?(?:[gmlwv]\b|kg|mg|cm|mm|km|ml|cl|lb|oz|inch|lit[re]|gram|lumen|volt|watt|mah|days?|weeks?|hours?|years?|people|person|°|%)`)
	sizeRE   = regexp.MustCompile(`(?i)(?:\bin\s+)?(?:\ba\s+)?\b(?:size|sizes|größe|groesse|gr\.|taille|pointure|talla|número)\s+(\d+(?:[.,-]\d+)?|[smlSML]|[xX]{1,3}[sSlL]|\d[xX][lL])(?:$|[^\pL\pN])`)
	letterRE = regexp.MustCompile(`(?:\b(?:in|for)(?: an?)?\s+|,\s*)(X{0,3}[SL]|M|\dXL)\b`)
	countRE  = words(`how_many number_of wie_?viele combien_d\S* cu[aá]nt[oa]s`)

	offerWordsRE = words(`free_codes? (promo(tion(al)?)?_)?codes? coupons? vouchers? discounts? deals? offers? promos? promotions? savings? save use apply applies work works valid off rabatt\pL* gutschein\pL* aktion\pL* angebot\pL* r[eé]ductions? remises? offres? bons? descuentos? ofertas? cup[oó]n(es)? c[oó]digos?`)

	idRE       = regexp.MustCompile(`\b[A-Z]{1,4}-?\d{3,}\b|#\d{3,}\b|\b\d{4,}\b`)
	codeRE     = regexp.MustCompile(`\b[A-Z][A-Z0-9]{3,}\b|(?i:code)\s+([A-Za-z]+\d+)\b`)
	quantityRE = regexp.MustCompile(`(?i)(?:^|\s)(\d{1,2}|two|three|four|five|six|zwei|drei|vier|deux|trois|quatre|dos|tres|cuatro)(?:\s+of(?:\s+the)?)?\s+`)
	numbers    = map[string]int{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "zwei": 2, "drei": 3, "vier": 4, "deux": 2, "trois": 3, "quatre": 4, "dos": 2, "tres": 3, "cuatro": 4}
)

var sorts = []struct {
	words *regexp.Regexp
	by    string
}{
	{words(`cheapest least_expensive lowest_priced? most_affordable günstigste\pL* billigste\pL* (le|la|les)_(plus_abordable|moins_ch[eè]re?s?) (más|mas)_barat\pL+`), "price_low_to_high"},
	{words(`most_expensive dearest priciest highest_priced? teuerste\pL* plus_ch[eè]re?s? (más|mas)_car\pL+`), "price_high_to_low"},
	{words(`best_rated top_rated highest_rated best_reviews? am_besten_bewertet\pL* mieux_noté\pL* mejor_valorad\pL+`), "rating"},
	{words(`lightest leichteste\pL* plus_l[eé]g[eè]re?s? más_liger\pL+`), "weight_low_to_high"},
	{words(`heaviest schwerste\pL* plus_lourde?s? más_pesad\pL+`), "weight_high_to_low"},
	{words(`warmest wärmste\pL* plus_chaude?s?`), "comfort_temperature_low_to_high"},
	{words(`brightest hellste\pL*`), "brightness_high_to_low"},
	{words(`largest biggest größte\pL* plus_grande?s? más_grandes?`), "capacity_high_to_low"},
	{words(`smallest kleinste\pL* plus_petite?s? más_pequeñ\pL+`), "capacity_low_to_high"},
}

// unorderedRE is a superlative that no sort has, with what it is about at the end of a clause.
var unorderedRE = regexp.MustCompile(`(?i)(?:\b(?:has|have|with|hat|haben|mit|a|ont|avec|tiene|con)\s+)?\b(?:the|an?|die|den|das|der|la|le|les|el|los|las)\s+(?:(?:long|short|strong|thick|thin|wide|narrow|fast|quiet|new|old|deep|tall|dry|soft|hard|safe|sharp|tough|high|low)e?st|(?:läng|kürz|stärk|dick|dünn|schnell|leise|neu|tief|höch|weich)(?:e?ste)[nrms]?|plus (?:long|court|fort|épais|rapide|récent|haut)\pL*|(?:más) (?:larg|cort|fuerte|rápid|nuev|alt)\pL*)(?:\s[^,.?!;]*)?`)

// measures are attributes and their units by the units that a bound may have: "under 800 g".
var measures = map[string]string{"g": "weight g", "grams": "weight g", "gramm": "weight g", "kg": "weight kg", "lm": "brightness lm", "lumen": "brightness lm",
	"lumens": "brightness lm", "l": "capacity l", "litres": "capacity l", "w": "power W", "watts": "power W", "v": "voltage V", "cm": "length cm", "mm": "length mm"}

// talk are words about shopping that name no product, in four languages, beside the stop words of the languages.
var talk = set(`one ones two three four five six zwei drei vier deux trois quatre dos tres cuatro together combine im yo yet use after have has had got sell sells selling carry stock stocked offer need needs want wants wanted looking look searching search find show me buy get please pls could would can any some
	available availability left price prices priced cost costs much many how what's whats what which where is are it its it's they them there does do did you your i i'd i'm we us my hi hello hey the a an of for in on with and or
	something anything thing things kind good nice cheap cheaper expensive best budget under over euro euros eur dollar dollars usd pounds gbp size sizes colour colours color colors come comes still also tell about like
	interested recommend suggest give lighter heavier better bigger smaller difference between compare versus vs too than not right now today go goes well ideas idea gift gifts present presents son daughter wife husband mum mom dad friend mother father
	pair pairs paar paire paires par pares similar alternative alternatives instead put add place remove delete take cart basket someone person number
	haben hast habt ihr gibt gibts verkauft verkaufen suche suchen brauche möchte will hätte zeig zeigen bitte kostet kosten preis verfügbar vorrätig sie ihr ich es ein eine einen einem einer der die das den dem und oder mit für in unter günstig günstige etwas auch noch größe farbe euch
	avez-vous avez vous vendez-vous y a-t-il est-ce cherche besoin veux voudrais montrez prix coûte combien disponible disponibles stock je tu il un une des les le la de du et ou avec pour en sous vendez taille couleur avoir s'il plaît plait
	tenéis teneis tienen tienes tiene hay busco buscando necesito quiero quisiera precio cuesta cuánto cuanto disponible vendéis venden una uno unos unas el la los las de del y o con para en por favor talla color me algún alguna algo`)

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

func number(s string) float64 {
	f, _ := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64) // the patterns match only numbers
	return f
}

// take removes what re matches from the rest and returns its groups. A match that a unit follows is no price.
func (r *request) take(re *regexp.Regexp) []string {
	at := re.FindStringSubmatchIndex(r.rest)
	if at == nil || unitRE.MatchString(r.rest[at[1]:]) {
		return nil
	}
	var groups []string
	for i := 2; i < len(at); i += 2 {
		if at[i] >= 0 {
			groups = append(groups, r.rest[at[i]:at[i+1]])
		}
	}
	r.rest = r.rest[:at[0]] + " , " + r.rest[at[1]:]
	return groups
}

// prices are the readers of bounds, the most specific first.
var prices = []struct {
	pattern *regexp.Regexp
	bounds  []string
}{
	{betweenRE, []string{"min_price", "max_price"}},
	{maxRE, []string{"max_price"}},
	{minRE, []string{"min_price"}},
	{moneyRE, []string{"max_price"}},
}

// readRequest takes money, measures, sizes and orders of results out of a text. Measures and orders must be in the tool's definition.
func readRequest(s, toolText string) *request {
	r := &request{rest: s, args: object{}}
	for _, by := range sorts {
		number := strings.NewReplacer("_low_to_high", "", "_high_to_low", "").Replace(by.by)
		if by.words.MatchString(r.rest) && (number == "price" || number == "rating" || strings.Contains(toolText, strings.ReplaceAll(number, "_", " "))) {
			r.args["sort"] = by.by
			r.rest = by.words.ReplaceAllString(r.rest, " ")
			break
		}
	}
	if m := unorderedRE.FindString(r.rest); m != "" && !has(r.args, "sort") {
		r.unordered = true
		r.rest = strings.Replace(r.rest, m, " , ", 1)
	}
	if m := measureRE.FindStringSubmatch(r.rest); m != nil {
		attribute, unit, known := strings.Cut(measures[strings.ToLower(m[3])], " ")
		if known && strings.Contains(toolText, attribute) {
			bound := map[bool]string{true: ">=", false: "<="}[m[1] == ""]
			r.args["attributes"] = object{attribute: bound + m[2] + " " + unit}
			r.rest = strings.Replace(r.rest, m[0], " , ", 1)
		}
	}
	r.rest = countRE.ReplaceAllString(r.rest, " ")
	for _, price := range prices {
		if found := r.take(price.pattern); found != nil {
			for i, bound := range price.bounds {
				r.args[bound] = number(found[i])
			}
			break
		}
	}
	for _, pattern := range []*regexp.Regexp{sizeRE, letterRE} {
		if found := r.take(pattern); found != nil {
			r.args["options"] = object{"size": strings.ToUpper(found[0])}
			break
		}
	}
	return r
}

// negators stand before what a product must not have.
var negators = set("without ohne sans sin")

// productWords are the words of a text that may name a product, and those that negate a part of it.
func productWords(s, lang string) []string {
	var out []string
	negator := "" // right before the word
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,.?!;:()\"“”„«»¿¡", r) }) {
		low := strings.ToLower(w)
		switch {
		case negators[low]:
			negator = w
		case talk[low] || plaintext.IsStopWord(lang, low) || strings.Trim(w, "-–'’") == "":
		case negator != "" && len(out) > 0:
			out, negator = append(out, negator, w), ""
		default:
			out, negator = append(out, w), ""
		}
	}
	return out
}

// codes are the promotion codes of a text.
func codes(s string) []string {
	var out []string
	for _, m := range codeRE.FindAllStringSubmatch(s, -1) {
		code := cmp.Or(strings.ToUpper(m[1]), m[0])
		shouted := s == strings.ToUpper(s) && !strings.ContainsAny(code, "0123456789")
		if !shouted && !slices.Contains(out, code) {
			out = append(out, code)
		}
	}
	return out
}

// quantity is the number of things that a text speaks of, 1 if it names none, and the text without it.
func quantity(s string) (int, string) {
	at := quantityRE.FindStringSubmatchIndex(s)
	if at == nil {
		return 1, s
	}
	n := cmp.Or(numbers[strings.ToLower(s[at[2]:at[3]])], int(number(s[at[2]:at[3]])))
	return max(n, 1), s[:at[0]] + " " + s[at[1]:]
}
