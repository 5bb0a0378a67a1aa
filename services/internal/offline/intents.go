package offline

import (
	"regexp"
	"slices"
	"strings"
)

// intent is something that a shopper may want, by the words that ask for it in English, German, French and Spanish.
type intent struct {
	name  string
	words *regexp.Regexp
}

func words(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(?:` + strings.Join(strings.Fields(strings.ReplaceAll(pattern, "_", `\s+`)), "|") + `)(?:$|[^\pL\pN])`)
}

// intents are read from top to bottom: of those that a tool serves, the first that fits counts. "_" is a space.
var intents = []intent{
	{"person", words(`(human|(a|an_actual|real|actual|live)_person|manager|supervisor|someone|somebody|real_person|agent|representative)(_please)? (talk|speak)_(to|with)_.* complain about_you
		mensch(en)? mitarbeiter(in)? jemand(en)? humain conseill(er|[eè]re) (une_)?(vraie_)?personne quelqu'un (una_)?persona humano alguien agente`)},
	{"greeting", regexp.MustCompile(`(?i)^\W*(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|moin|servus|bonjour|bonsoir|salut|hola|buenos d[ií]as|buenas(?: tardes| noches)?)(?: (?:there|all|everyone|zusammen|à tous))?\W*$`)},
	{"thanks", regexp.MustCompile(`(?i)^\W*(?:many |ok,? |great,? |perfect,? )?(?:thanks?|thank you|thx|cheers|bye|goodbye|danke|vielen dank|tschüss|merci|au revoir|gracias|adi[oó]s)\b[^?]{0,40}$`)},
	{"cancel", words(`cancel(l?ed|l?ing|lation)? storn\pL+ abbestellen annul\pL+ cancel(ar|o|arlo|aci[oó]n)? anular`)},
	{"exchange", words(`exchang\pL* swap(ping)? umtausch\pL* tauschen [eé]chang\pL+ cambiar(lo|los|la|las)?_por cambio_de_talla`)},
	{"change_address", words(`(change|update|correct|wrong)_.*address address_.*(change|wrong|update) (new|another|different)_address neue_adresse nouvelle_adresse nueva_direcci[oó]n (adresse_.*|lieferadresse_.*)(ändern|falsch) (chang|modifi)\pL*_.*adresse cambiar_.*direcci[oó]n`)},
	{"return", words(`return(s|ing|ed|able)? send_.{0,40}back give_.{0,40}back bring_.{0,40}back (zurück|retour)\pL* r[uü]ckgabe\pL* rücksend\pL+ rend(re|u) renvoy\pL+ retour\pL* devol\pL+ devuelv\pL+`)},
	{"problem", words(`damaged blunt (came|fell|coming|falling)_(off|apart) not_happy unhappy disappointed broken broke smashed cracked ripped faulty defective wrong_(item|size|one|colour|color|product) missing stopped_working does(n't|_not)_work torn leak(s|ing|ed)? beschädigt kaputt defekt falsch\pL* fehlt cass[ée]\pL* abîm\pL* défectueu\pL+ manque roto\pL* rota\pL* dañad\pL+ defectuos\pL+ falta`)},
	{"upset", words(`ridiculous unacceptable angry furious annoy\pL+ fed_up terrible awful a_joke (days?|weeks?)_(late|overdue) unverschämt\pL* unmöglich inakzeptabel wütend sauer ärger\pL* inacceptable ridicule furieu\pL+ inaceptable rid[ií]cul\pL+ enfadad\pL+ vergüenza .*!!`)},
	{"rule", words(`policy policies polic[ií]a pol[ií]tica politique richtlinie\pL* how_long how_many_days do_you_(ship|deliver|match|offer|take|accept|have_a_(shop|store)) can_(i|you|we)_(pay|repair|deliver|ship) warranty guarantee opening_hours open contact call_you repair price_match privacy
		versand\pL* lieferzeit\pL* liefer(n|t|ung) garantie gewährleistung öffnungszeiten kontakt livraison d[eé]lai\pL* horaires garant[ií]a env[ií]o\pL* plazo horario`)},
	{"topic", words(`shipping delivery postage phone telephone e-?mail`)},
	{"status", words(`where_.* when_(will|does|is)_my_.* status track(ing)? on_(its|the|their)_way shipped sent arriv\pL+ (my|the|an|our)_(\pL+_)?(order|orders|parcel|package|delivery|refund|payment) orders? delivered bestellung\pL* paket sendung lieferung wo_(ist|bleibt) commandes? colis où pedidos? paquete d[oó]nde`)},
	{"add", words(`(put|add|place|throw)_.* in_den_warenkorb ajoute\pL* mets mettez a[ñn]ad\pL+ agreg\pL+ pon(er)?`)},
	{"remove", words(`(remove|delete|drop)_.* take_.*_out entfern\pL+ lösch\pL+ enl[eè]v\pL+ retir\pL+ supprim\pL+ quit(a|ar) elimin\pL+`)},
	{"gift", words(`gifts? presents? birthday christmas geschenk\pL* cadeaux? regalos?`)},
	{"alternative", words(`similar alternatives? like_the instead_of comparable ähnlich\pL* alternativen? statt similaires? semblables? parecid[oa]s? alternativas?`)},
	{"pairs", words(`(go|goes|going|fit|fits|pair|pairs|match|matches)_.*(with|together) with_(it|this|these|them|my_.*) what_else .*(buy|need|recommend)_with.* add_to passt_.*zu pass(en|end)_.*zu va_.*avec aller_.*avec pega_con va(n)?_(bien_)?con combina\pL*`)},
	{"offer", words(`codes? coupons? vouchers? discounts? deals? offers? sales? promos? promotions? (free|cheaper)_(shipping|delivery|postage) save rabatt\pL* gutschein\pL* aktion\pL* angebot\pL* r[eé]ductions? remises? offres? promotions? descuentos? ofertas? cup[oó]n(es)? c[oó]digos? promoci[oó]n(es)?`)},
	{"cart", words(`cart basket ((in|to|into|from)_)?(my|the|our)_(shopping_)?bag trolley warenkorb einkaufswagen panier carrito cesta`)},
	{"all", words(`(all|which|what|every)_(the_)?(codes?|offers?|deals?|promotions?|discounts?|vouchers?|coupons?) (codes|offers|deals)_.*(have|there) welche_.*(codes?|angebote|aktionen|rabatte) quel(le)?s_.*(codes?|offres|promotions) qu[eé]_.*(c[oó]digos|ofertas|descuentos|promociones)`)},
}

// topics are English words for what shoppers ask of a store's documents in other words or languages: the documents are often English.
var topics = []struct {
	words   *regexp.Regexp
	english string
}{
	{words(`shipping postage delivery versand\pL* liefer\pL* livraison exp[eé]di\pL+ env[ií]o\pL* entrega\pL*`), "delivery costs"},
	{words(`zurück\pL* rückgabe\pL* rücksend\pL+ umtausch\pL* rend(re|u) renvoy\pL+ retour\pL* rembours\pL+ devol\pL+ devuelv\pL+ reembols\pL+`), "return"},
	{words(`garantie gewährleistung garant[ií]a`), "guarantee warranty"},
	{words(`open opening öffnungszeiten geöffnet horaires ouvert\pL* horario\pL* abiert\pL+`), "opening hours contact"},
	{words(`call_you kontakt telefon\pL* erreich\pL+ contact\pL* joindre téléphone teléfono`), "contact"},
	{words(`broke broken smashed cracked ripped faulty beschädigt kaputt defekt ab[iî]m\pL* cass[ée]\pL* défectueu\pL+ roto\pL* rota\pL* dañad\pL+ defectuos\pL+`), "damaged broken faulty guarantee"},
	{words(`stornier\pL* annul\pL+ cancel\pL+`), "cancel"},
	{words(`bezahl\pL* zahl(en|ung)\pL* (take|accept) pay(er|ement)\pL* pag(ar|o)\pL*`), "pay"},
}

// wanted is the first of names that a text asks for, "" for none.
func wanted(s string, names ...string) string {
	for _, i := range intents {
		if slices.Contains(names, i.name) && i.words.MatchString(s) {
			return i.name
		}
	}
	return ""
}

// is reports whether a text has the words of an intent.
func is(name, s string) bool { return wanted(s, name) != "" }
