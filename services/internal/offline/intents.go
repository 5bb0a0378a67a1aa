package offline

import (
	"regexp"
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
	{"thanks", regexp.MustCompile(`(?i)^\W*(?:many |ok,? |great,? |perfect,? )?(?:thanks?|thank you|cheers|bye|goodbye|danke|vielen dank|tschüss|merci|au revoir|gracias|adi[oó]s)\b[^?]{0,40}$`)},
	{"cancel", words(`cancel(l?ed|l?ing|lation)? storn\pL+ abbestellen annul\pL+ cancel(ar|o|arlo|aci[oó]n)? anular`)},
	{"exchange", words(`exchang\pL* swap(ping)? umtausch\pL* tauschen [eé]chang\pL+ cambiar(lo|los|la|las)?_por cambio_de_talla`)},
	{"change_address", words(`(change|update|correct|wrong)_.*address address_.*(change|wrong|update) (adresse_.*|lieferadresse_.*)(ändern|falsch) (chang|modifi)\pL*_.*adresse cambiar_.*direcci[oó]n`)},
	{"return", words(`return(s|ing|ed|able)? send_.{0,40}back give_.{0,40}back bring_.{0,40}back (zurück|retour)\pL* r[uü]ckgabe\pL* rücksend\pL+ rend(re|u) renvoy\pL+ retour\pL* devol\pL+ devuelv\pL+`)},
	{"problem", words(`damaged broken broke smashed cracked ripped faulty defective wrong_(item|size|one|colour|color|product) missing stopped_working does(n't|_not)_work torn leak(s|ing|ed)? beschädigt kaputt defekt falsch\pL* fehlt cass[ée]\pL* abîm\pL* défectueu\pL+ manque roto\pL* rota\pL* dañad\pL+ defectuos\pL+ falta`)},
	{"rule", words(`policy policies polic[ií]a pol[ií]tica politique richtlinie\pL* how_long how_many_days do_you_(ship|deliver|match|offer|have_a_(shop|store)) can_(i|you|we)_(pay|repair|deliver|ship) warranty guarantee opening_hours open contact repair price_match privacy
		versand\pL* lieferzeit\pL* liefer(n|t|ung) garantie gewährleistung öffnungszeiten kontakt livraison d[eé]lai\pL* horaires garant[ií]a env[ií]o\pL* plazo horario`)},
	{"topic", words(`shipping delivery postage phone telephone e-?mail`)},
	{"status", words(`where_.* status track(ing)? on_(its|the|their)_way shipped sent arriv\pL+ (my|the|an|our)_(\pL+_)?(order|orders|parcel|package|delivery|refund|payment) orders? delivered bestellung\pL* paket sendung lieferung wo_(ist|bleibt) commandes? colis où pedidos? paquete d[oó]nde`)},
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
	{words(`kontakt telefon\pL* erreich\pL+ contact\pL* joindre téléphone teléfono`), "contact"},
	{words(`broke broken smashed cracked ripped faulty beschädigt kaputt defekt ab[iî]m\pL* cass[ée]\pL* défectueu\pL+ roto\pL* rota\pL* dañad\pL+ defectuos\pL+`), "damaged broken faulty guarantee"},
	{words(`stornier\pL* annul\pL+ cancel\pL+`), "cancel"},
	{words(`bezahl\pL* zahl(en|ung)\pL* pay(er|ement)\pL* pag(ar|o)\pL*`), "pay"},
}

// is reports whether a text has the words of an intent.
func is(name, s string) bool {
	for _, i := range intents {
		if i.name == name {
			return i.words.MatchString(s)
		}
	}
	return false
}

// wanted is the first of names that a text asks for, "" for none.
func wanted(s string, names ...string) string {
	for _, i := range intents {
		for _, name := range names {
			if i.name == name && i.words.MatchString(s) {
				return name
			}
		}
	}
	return ""
}

// sayings are the sentences of the model's own, by language. A verb such as %s stands for what tools returned. What tools word in
// English is left out in other languages.
var sayings = map[string]map[string]string{
	"en": {
		"help":     "I can help with our products, your cart, offers, orders and the store's rules. What would you like to know?",
		"hello":    "Hello!",
		"thanks":   "You are welcome! I am glad to help if there is anything else.",
		"offtopic": "I cannot answer that. I can help with our products, your cart, offers, orders and the store's rules.",
		"fit":      "Yes, %s fit. The best of them:", "fitAll": "Yes, %s fit:", "fitOne": "Yes, this one fits:", "count": "We have %s. Some of them:",
		"unordered": "I cannot put them in that order. What we have:",
		"near":      "Nothing fits all of that. The nearest:", "none": "Sorry, I found nothing for “%s”.", "noneLanguage": "The catalog is in %s; what is it called there?",
		"what": "What kind of product are you looking for?", "inStock": "%s in stock", "soldOut": "sold out", "from": "from %s", "was": "was %s", "more": "and %s more",
		"order": "Order %s: %s.", "holds": "It holds %s.", "tracking": "Tracking: %s.", "expected": "Expected by %s.", "placed": "placed on %s, total %s", "others": "Other orders: %s.", "noOrder": "I found no order of yours here.", "noSuch": "I cannot find the order %s among yours.",
		"signIn": "I cannot see that order here. Please sign in, or give the order number with its e-mail address or postal code.",
		"cart":   "In your cart: %s.", "subtotal": "It comes to %s.", "emptyCart": "Your cart is empty.", "noChange": "I cannot change your cart myself, but the shop can.", "wouldBe": "With that it would hold: %s.",
		"unseenCart": "Your cart cannot be seen here.",
		"goes":       "These may suit:", "noneFits": "I found nothing that suits.", "best": "Use the code %s: %s. It saves you %s.", "until": "Valid until %s.", "together": "Together, %s save you %s.",
		"applies": "%s applies: %s. It saves you %s.", "offer": "%s: %s", "noOffer": "No offer applies to your cart at the moment.", "saves": "saves %s", "noCode": "I know no code %s.", "offers": "The store's offers:", "refused": "%s does not apply.",
		"from policy": "From “%s”: %s", "sorry": "I am sorry to hear that.", "unknown": "I do not know that: none of the store's documents answers it.",
		"failed": "I am sorry, I cannot look that up now.", "person": "A person of the store can take over. You can confirm it below; nobody has taken over yet.",
	},
	"de": {
		"help":     "Ich helfe bei Produkten, Warenkorb, Angeboten, Bestellungen und den Regeln des Shops. Was möchten Sie wissen?",
		"hello":    "Hallo!",
		"thanks":   "Gern geschehen! Ich helfe gern weiter.",
		"offtopic": "Das kann ich nicht beantworten. Ich helfe bei Produkten, Warenkorb, Angeboten, Bestellungen und den Regeln des Shops.",
		"fit":      "Ja, %s passen. Die besten davon:", "fitAll": "Ja, %s passen:", "fitOne": "Ja, dieses passt:", "count": "Wir haben %s. Einige davon:",
		"unordered": "In diese Reihenfolge kann ich sie nicht bringen. Das haben wir:",
		"near":      "Nichts erfüllt alles davon. Am nächsten kommen:", "none": "Leider habe ich nichts zu „%s“ gefunden.", "noneLanguage": "Der Katalog ist auf Englisch (%s); wie heißt es dort?",
		"what": "Was für ein Produkt suchen Sie?", "inStock": "%s vorrätig", "soldOut": "ausverkauft", "from": "ab %s", "was": "vorher %s", "more": "und %s weitere",
		"order": "Bestellung %s: %s.", "holds": "Sie enthält %s.", "tracking": "Sendungsverfolgung: %s.", "expected": "Erwartet bis %s.", "placed": "bestellt am %s, Summe %s", "others": "Weitere Bestellungen: %s.", "noOrder": "Ich habe hier keine Bestellung von Ihnen gefunden.", "noSuch": "Ich finde die Bestellung %s nicht unter Ihren.",
		"signIn": "Ich kann die Bestellung hier nicht sehen. Bitte melden Sie sich an, oder nennen Sie die Bestellnummer mit E-Mail-Adresse oder Postleitzahl.",
		"cart":   "In Ihrem Warenkorb: %s.", "subtotal": "Zusammen %s.", "emptyCart": "Ihr Warenkorb ist leer.", "noChange": "Ich kann Ihren Warenkorb nicht selbst ändern, der Shop schon.", "wouldBe": "Damit enthielte er: %s.",
		"unseenCart": "Ihren Warenkorb kann ich hier nicht sehen.",
		"goes":       "Das könnte passen:", "noneFits": "Ich habe nichts Passendes gefunden.", "best": "Nehmen Sie den Code %[1]s. Damit sparen Sie %[3]s.", "until": "Gültig bis %s.", "together": "Zusammen sparen %s Ihnen %s.",
		"applies": "%[1]s gilt. Damit sparen Sie %[3]s.", "offer": "%s: %s", "noOffer": "Zurzeit gilt kein Angebot für Ihren Warenkorb.", "saves": "spart %s", "noCode": "Ich kenne keinen Code %s.", "offers": "Die Angebote des Shops:", "refused": "%s gilt nicht.",
		"from policy": "Aus „%s“: %s", "sorry": "Das tut mir leid.", "unknown": "Das weiß ich nicht: Kein Dokument des Shops beantwortet es.",
		"possible": "Das geht noch. Sie können es unten bestätigen.", "notHere": "Das lässt sich hier nicht auslösen.",
		"failed": "Das kann ich gerade leider nicht nachsehen.", "person": "Ein Mensch kann übernehmen. Sie können es unten bestätigen; noch hat niemand übernommen.",
	},
	"fr": {
		"help":     "Je peux vous aider pour nos produits, votre panier, les offres, les commandes et les règles du magasin. Que souhaitez-vous savoir ?",
		"hello":    "Bonjour !",
		"thanks":   "Je vous en prie ! Je reste à votre disposition.",
		"offtopic": "Je ne peux pas répondre à cela. Je peux vous aider pour nos produits, votre panier, les offres, les commandes et les règles du magasin.",
		"fit":      "Oui, %s conviennent. Les meilleurs :", "fitAll": "Oui, %s conviennent :", "fitOne": "Oui, celui-ci convient :", "count": "Nous en avons %s. En voici :",
		"unordered": "Je ne peux pas les classer ainsi. Voici ce que nous avons :",
		"near":      "Rien ne convient en tout. Le plus proche :", "none": "Désolé, je n'ai rien trouvé pour « %s ».", "noneLanguage": "Le catalogue est en anglais (%s) ; quel est le nom du produit ?",
		"what": "Quel genre de produit cherchez-vous ?", "inStock": "%s en stock", "soldOut": "épuisé", "from": "à partir de %s", "was": "avant %s", "more": "et %s autres",
		"order": "Commande %s : %s.", "holds": "Elle contient %s.", "tracking": "Suivi : %s.", "expected": "Prévue pour le %s.", "placed": "passée le %s, total %s", "others": "Autres commandes : %s.", "noOrder": "Je ne trouve ici aucune commande de vous.", "noSuch": "Je ne trouve pas la commande %s parmi les vôtres.",
		"signIn": "Je ne peux pas voir cette commande ici. Connectez-vous, ou donnez le numéro de commande avec l'adresse e-mail ou le code postal.",
		"cart":   "Dans votre panier : %s.", "subtotal": "En tout %s.", "emptyCart": "Votre panier est vide.", "noChange": "Je ne peux pas modifier votre panier moi-même, le magasin si.", "wouldBe": "Il contiendrait alors : %s.",
		"unseenCart": "Je ne peux pas voir votre panier ici.",
		"goes":       "Ceci peut convenir :", "noneFits": "Je n'ai rien trouvé qui convienne.", "best": "Utilisez le code %[1]s. Il vous fait économiser %[3]s.", "until": "Valable jusqu'au %s.", "together": "Ensemble, %s vous font économiser %s.",
		"applies": "%[1]s s'applique. Vous économisez %[3]s.", "offer": "%s : %s", "noOffer": "Aucune offre ne s'applique à votre panier pour le moment.", "saves": "économie de %s", "noCode": "Je ne connais pas de code %s.", "offers": "Les offres du magasin :", "refused": "%s ne s'applique pas.",
		"from policy": "D'après « %s » : %s", "sorry": "J'en suis désolé.", "unknown": "Je ne sais pas : aucun document du magasin n'y répond.",
		"possible": "C'est encore possible. Vous pouvez le confirmer ci-dessous.", "notHere": "Cela ne peut pas se faire d'ici.",
		"failed": "Désolé, je ne peux pas le vérifier pour le moment.", "person": "Une personne peut prendre le relais. Vous pouvez le confirmer ci-dessous ; personne ne l'a encore fait.",
	},
	"es": {
		"help":     "Puedo ayudarte con los productos, el carrito, las ofertas, los pedidos y las normas de la tienda. ¿Qué quieres saber?",
		"hello":    "¡Hola!",
		"thanks":   "¡De nada! Aquí estoy para lo que necesites.",
		"offtopic": "No puedo responder a eso. Puedo ayudarte con los productos, el carrito, las ofertas, los pedidos y las normas de la tienda.",
		"fit":      "Sí, %s encajan. Los mejores:", "fitAll": "Sí, %s encajan:", "fitOne": "Sí, este encaja:", "count": "Tenemos %s. Algunos:",
		"unordered": "No puedo ordenarlos así. Esto es lo que tenemos:",
		"near":      "Nada cumple todo eso. Lo más parecido:", "none": "Lo siento, no he encontrado nada para «%s».", "noneLanguage": "El catálogo está en inglés (%s); ¿cómo se llama ahí?",
		"what": "¿Qué tipo de producto buscas?", "inStock": "%s en stock", "soldOut": "agotado", "from": "desde %s", "was": "antes %s", "more": "y %s más",
		"order": "Pedido %s: %s.", "holds": "Contiene %s.", "tracking": "Seguimiento: %s.", "expected": "Llega antes del %s.", "placed": "realizado el %s, total %s", "others": "Otros pedidos: %s.", "noOrder": "No encuentro aquí ningún pedido tuyo.", "noSuch": "No encuentro el pedido %s entre los tuyos.",
		"signIn": "Aquí no puedo ver ese pedido. Inicia sesión, o indica el número del pedido con el correo electrónico o el código postal.",
		"cart":   "En tu carrito: %s.", "subtotal": "En total %s.", "emptyCart": "Tu carrito está vacío.", "noChange": "No puedo cambiar tu carrito, pero la tienda sí.", "wouldBe": "Con eso tendría: %s.",
		"unseenCart": "Aquí no puedo ver tu carrito.",
		"goes":       "Esto puede encajar:", "noneFits": "No he encontrado nada que encaje.", "best": "Usa el código %[1]s. Te ahorra %[3]s.", "until": "Válido hasta el %s.", "together": "Juntos, %s te ahorran %s.",
		"applies": "%[1]s se aplica. Te ahorra %[3]s.", "offer": "%s: %s", "noOffer": "Ahora ninguna oferta se aplica a tu carrito.", "saves": "ahorra %s", "noCode": "No conozco ningún código %s.", "offers": "Las ofertas de la tienda:", "refused": "%s no se aplica.",
		"from policy": "De «%s»: %s", "sorry": "Lo siento.", "unknown": "No lo sé: ningún documento de la tienda lo responde.",
		"possible": "Todavía es posible. Puedes confirmarlo abajo.", "notHere": "Eso no se puede hacer desde aquí.",
		"failed": "Lo siento, ahora no puedo consultarlo.", "person": "Una persona de la tienda puede ocuparse. Puedes confirmarlo abajo; todavía no lo ha hecho nadie.",
	},
}

// months are the names of the months where the tools' own are not the language's.
var months = map[string]string{
	"de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
	"fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
	"es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}

func offersHelp(s string) bool {
	for _, say := range sayings {
		if strings.HasSuffix(strings.TrimSpace(s), say["help"]) {
			return true
		}
	}
	return false
}
