package offline

import "strings"

// phrasebook is what the rules say of their own; all facts come from tool results. %s is filled in order.
type phrasebook struct {
	found, foundPlain, forSubject    string
	cheapest, dearest, others        string
	none, nonePlain, failed, unknown string
	hello, helloStore, welcome, bye  string
	who, cannot, missing             string
	passage, passagePlain, total     string
	useCode, saves, saving, until    string
	noOffer, noOffers, notNow        string
	yes, no, not, inStock, soldOut   string
	yesOne, yesAll, yesMany          string
	closest, fitsCart, more          string
	inCart, totalAll                 string
	from, upTo                       string
	orderIs, orderWith, orderDue     string
	orderCame, orderHas, orderPlaced string
	orderFollow, stopped             string
	asked, told                      string
	labels                           map[string]string
}

var phrases = [languages]*phrasebook{
	english: {
		found: "Here is what I found for %s:", foundPlain: "Here is what I found:", forSubject: "Going by %s, these may fit:",
		cheapest: "The cheapest is %s", dearest: "The most expensive is %s", others: "The next ones:",
		none: "I could not find anything for %s.", nonePlain: "I could not find anything for that.", failed: "I am sorry, I could not look that up: %s",
		unknown: "I am sorry, I do not know that: nothing I can look up here answers it.",
		hello:   "Hello! How can I help you?", helloStore: "Hello, and welcome to %s! How can I help you?", welcome: "You are welcome! Tell me if there is anything else.", bye: "Goodbye, and thank you for your visit!",
		who:     "I am quartet-offline: I follow rules and am not a language model. I answer from what the tools here can look up. How can I help you?",
		cannot:  "I am quartet-offline, which follows rules and is not a language model. Without a tool that can look this up I cannot answer it.",
		missing: "For that I need to know: %s.",
		passage: "From \"%s\": %s", passagePlain: "This is what is written about it: %s", total: "%d in all, for example:",
		useCode: "Use the code %s for %s", saves: "it saves you %s", noOffer: "%s does not apply: %s", notNow: "Not now: %s", noOffers: "None of the offers applies at the moment.",
		yes: "yes", no: "no", inStock: "in stock",
		yesOne: "Yes, one fits:", yesAll: "Yes, %d fit:", yesMany: "Yes, %d fit. The best of them:", closest: "These come closest:", inCart: "In your cart:", totalAll: "%d in all:", fitsCart: "This goes with what is in your cart:", more: "and %d more",
		saving: "saves %s", until: "It is valid until %s.", not: "not %s", soldOut: "sold out", from: "from %s", upTo: "%s to %s",
		orderIs: "Your order %s is %s", orderWith: " with %s", orderDue: "; it should arrive by %s", orderCame: "; it arrived on %s", orderHas: "It has %s", orderPlaced: "placed on %s", orderFollow: "Follow it at %s.",
		stopped: "That is not all: I had to stop before I could look up the rest.",
		asked:   "The shopper asked: \"%s\".", told: "The answer: %s",
		labels: map[string]string{"tracking number": "tracking", "return in progress": "being returned"},
	},
	spanish: {
		found: "Esto es lo que he encontrado para %s:", foundPlain: "Esto es lo que he encontrado:", forSubject: "Según %s, esto puede encajar:",
		cheapest: "Lo más barato es %s", dearest: "Lo más caro es %s", others: "Los siguientes:",
		none: "No he encontrado nada para %s.", nonePlain: "No he encontrado nada sobre eso.", failed: "Lo siento, no he podido consultarlo: %s",
		unknown: "Lo siento, no lo sé: nada de lo que puedo consultar aquí lo responde.",
		hello:   "¡Hola! ¿En qué puedo ayudarte?", helloStore: "¡Hola, te damos la bienvenida a %s! ¿En qué puedo ayudarte?", welcome: "¡De nada! Dime si necesitas algo más.", bye: "¡Hasta luego y gracias por tu visita!",
		who:     "Soy quartet-offline: sigo reglas y no soy un modelo de lenguaje. Respondo con lo que las herramientas pueden consultar. ¿En qué puedo ayudarte?",
		cannot:  "Soy quartet-offline, que sigue reglas y no es un modelo de lenguaje. Sin una herramienta que lo consulte no puedo responder.",
		missing: "Para eso necesito saber: %s.",
		passage: "De \"%s\": %s", passagePlain: "Esto es lo que está escrito: %s", total: "%d en total, por ejemplo:",
		useCode: "Usa el código %s para %s", saves: "ahorras %s", noOffer: "%s no se aplica: %s", notNow: "Ahora no: %s", noOffers: "Ahora mismo no se aplica ninguna oferta.",
		yes: "sí", no: "no", inStock: "en stock",
		yesOne: "Sí, hay uno:", yesAll: "Sí, hay %d:", yesMany: "Sí, hay %d. Los mejores:", closest: "Lo más parecido:", inCart: "En tu carrito:", totalAll: "%d en total:", fitsCart: "Esto va bien con lo que hay en tu carrito:", more: "y %d más",
		saving: "ahorra %s", until: "Es válido hasta el %s.", not: "no %s", soldOut: "agotado", from: "desde %s", upTo: "%s a %s",
		orderIs: "Tu pedido %s está: %s", orderWith: " con %s", orderDue: "; debería llegar antes del %s", orderCame: "; llegó el %s", orderHas: "Contiene %s", orderPlaced: "realizado el %s", orderFollow: "Puedes seguirlo en %s.",
		stopped: "No es todo: tuve que parar antes de consultar el resto.",
		asked:   "Se preguntó: \"%s\".", told: "La respuesta: %s",
		labels: map[string]string{
			"sizes": "tallas", "colours": "colores", "ends": "hasta", "placed": "fecha", "other orders": "otros pedidos", "subtotal": "subtotal", "price range": "precios", "quantity": "cantidad", "waterproof": "impermeable", "weight": "peso", "on its way": "en camino", "delivered": "entregado", "cancelled": "cancelado", "being prepared": "en preparación", "waiting for payment": "pendiente de pago", "return in progress": "en devolución", "returned and refunded": "devuelto y reembolsado", "partly on its way": "parcialmente en camino",
			"order": "pedido", "status": "estado", "total": "total", "items": "artículos", "tracking": "seguimiento", "tracking number": "número de seguimiento", "carrier": "transportista", "stock": "existencias", "price": "precio", "rating": "valoración", "next step": "siguiente paso", "order id": "número de pedido", "size": "talla", "colour": "color"},
	},
	german: {
		found: "Das habe ich zu %s gefunden:", foundPlain: "Das habe ich gefunden:", forSubject: "Passend zu %s:",
		cheapest: "Am günstigsten ist %s", dearest: "Am teuersten ist %s", others: "Die nächsten:",
		none: "Zu %s habe ich nichts gefunden.", nonePlain: "Dazu habe ich nichts gefunden.", failed: "Das konnte ich leider nicht nachsehen: %s",
		unknown: "Das weiß ich leider nicht: nichts, was ich hier nachsehen kann, beantwortet es.",
		hello:   "Hallo! Wie kann ich helfen?", helloStore: "Hallo und willkommen bei %s! Wie kann ich helfen?", welcome: "Gern geschehen! Sag Bescheid, wenn noch etwas ist.", bye: "Auf Wiedersehen und danke für den Besuch!",
		who:     "Ich bin quartet-offline: Ich folge Regeln und bin kein Sprachmodell. Ich antworte mit dem, was die Werkzeuge hier nachsehen können. Wie kann ich helfen?",
		cannot:  "Ich bin quartet-offline, folge Regeln und bin kein Sprachmodell. Ohne ein Werkzeug, das es nachsehen kann, kann ich das nicht beantworten.",
		missing: "Dafür brauche ich noch: %s.",
		passage: "Aus \"%s\": %s", passagePlain: "Dazu steht geschrieben: %s", total: "Insgesamt %d, zum Beispiel:",
		useCode: "Mit dem Code %s gilt %s", saves: "das spart %s", noOffer: "%s gilt nicht: %s", notNow: "Jetzt nicht: %s", noOffers: "Im Moment gilt keines der Angebote.",
		yes: "ja", no: "nein", inStock: "auf Lager",
		yesOne: "Ja, eines passt:", yesAll: "Ja, %d passen:", yesMany: "Ja, %d passen. Die besten davon:", closest: "Am nächsten kommen:", inCart: "In deinem Warenkorb:", totalAll: "Insgesamt %d:", fitsCart: "Das passt zu deinem Warenkorb:", more: "und %d weitere",
		saving: "spart %s", until: "Er gilt bis %s.", not: "nicht %s", soldOut: "ausverkauft", from: "ab %s", upTo: "%s bis %s",
		orderIs: "Deine Bestellung %s ist %s", orderWith: " mit %s", orderDue: "; sie sollte bis %s ankommen", orderCame: "; sie kam am %s an", orderHas: "Darin: %s", orderPlaced: "bestellt am %s", orderFollow: "Hier lässt sie sich verfolgen: %s",
		stopped: "Das ist nicht alles: Ich musste aufhören, bevor ich den Rest nachsehen konnte.",
		asked:   "Gefragt wurde: \"%s\".", told: "Die Antwort: %s",
		labels: map[string]string{
			"sizes": "Größen", "colours": "Farben", "ends": "bis", "placed": "bestellt", "other orders": "weitere Bestellungen", "subtotal": "Zwischensumme", "price range": "Preise", "quantity": "Menge", "waterproof": "wasserdicht", "weight": "Gewicht", "on its way": "unterwegs", "delivered": "zugestellt", "cancelled": "storniert", "being prepared": "in Vorbereitung", "waiting for payment": "noch nicht bezahlt", "return in progress": "auf dem Rückweg", "returned and refunded": "zurückgegeben und erstattet", "partly on its way": "zum Teil unterwegs",
			"order": "Bestellung", "status": "Status", "total": "Gesamt", "items": "Artikel", "tracking": "Sendungsverfolgung", "tracking number": "Sendungsnummer", "carrier": "Versanddienst", "stock": "Bestand", "price": "Preis", "rating": "Bewertung", "next step": "nächster Schritt", "order id": "Bestellnummer", "size": "Größe", "colour": "Farbe"},
	},
	french: {
		found: "Voici ce que j'ai trouvé pour %s :", foundPlain: "Voici ce que j'ai trouvé :", forSubject: "D'après %s, ceci peut convenir :",
		cheapest: "Le moins cher : %s", dearest: "Le plus cher : %s", others: "Les suivants :",
		none: "Je n'ai rien trouvé pour %s.", nonePlain: "Je n'ai rien trouvé à ce sujet.", failed: "Désolé, je n'ai pas pu le consulter : %s",
		unknown: "Désolé, je ne le sais pas : rien de ce que je peux consulter ici n'y répond.",
		hello:   "Bonjour ! Comment puis-je vous aider ?", helloStore: "Bonjour et bienvenue chez %s ! Comment puis-je vous aider ?", welcome: "Je vous en prie ! Dites-moi s'il vous faut autre chose.", bye: "Au revoir et merci de votre visite !",
		who:     "Je suis quartet-offline : je suis des règles et ne suis pas un modèle de langage. Je réponds avec ce que les outils peuvent consulter. Comment puis-je vous aider ?",
		cannot:  "Je suis quartet-offline : je suis des règles et ne suis pas un modèle de langage. Sans outil pour le consulter, je ne peux pas répondre.",
		missing: "Pour cela, il me faut : %s.",
		passage: "Extrait de « %s » : %s", passagePlain: "Voici ce qui est écrit : %s", total: "%d en tout, par exemple :",
		useCode: "Utilisez le code %s pour %s", saves: "vous économisez %s", noOffer: "%s ne s'applique pas : %s", notNow: "Pas maintenant : %s", noOffers: "Aucune offre ne s'applique pour le moment.",
		yes: "oui", no: "non", inStock: "en stock",
		yesOne: "Oui, il y en a un :", yesAll: "Oui, il y en a %d :", yesMany: "Oui, il y en a %d. Les meilleurs :", closest: "Ce qui s'en approche le plus :", inCart: "Dans votre panier :", totalAll: "%d en tout :", fitsCart: "Ceci va avec ce qu'il y a dans votre panier :", more: "et %d de plus",
		saving: "économise %s", until: "Valable jusqu'au %s.", not: "non %s", soldOut: "épuisé", from: "à partir de %s", upTo: "%s à %s",
		orderIs: "Votre commande %s est %s", orderWith: " avec %s", orderDue: " ; elle devrait arriver avant le %s", orderCame: " ; elle est arrivée le %s", orderHas: "Elle contient %s", orderPlaced: "passée le %s", orderFollow: "Suivi : %s",
		stopped: "Ce n'est pas tout : j'ai dû m'arrêter avant de consulter le reste.",
		asked:   "Question posée : \"%s\".", told: "La réponse : %s",
		labels: map[string]string{
			"sizes": "tailles", "colours": "couleurs", "ends": "fin", "placed": "passée", "other orders": "autres commandes", "subtotal": "sous-total", "price range": "prix", "quantity": "quantité", "waterproof": "imperméable", "weight": "poids", "on its way": "en route", "delivered": "livrée", "cancelled": "annulée", "being prepared": "en préparation", "waiting for payment": "en attente de paiement", "return in progress": "en cours de retour", "returned and refunded": "retournée et remboursée", "partly on its way": "en partie en route",
			"order": "commande", "status": "statut", "total": "total", "items": "articles", "tracking": "suivi", "tracking number": "numéro de suivi", "carrier": "transporteur", "stock": "stock", "price": "prix", "rating": "note", "next step": "prochaine étape", "order id": "numéro de commande", "size": "taille", "colour": "couleur"},
	},
}

func (p *phrasebook) label(key string) string {
	name := humanise(key)
	if l, ok := p.labels[name]; ok {
		return l
	}
	return name
}

// plural is the label of several values.
func (p *phrasebook) plural(key string) string {
	name := humanise(key)
	if l, ok := p.labels[name+"s"]; ok {
		return l
	}
	if p.labels["order"] != "" || strings.HasSuffix(name, "s") {
		return p.label(key)
	}
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		return stem + "ies"
	}
	return name + "s"
}
