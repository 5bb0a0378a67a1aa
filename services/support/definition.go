package support

import (
	"context"
	_ "embed" // the prompt and the examples
	"log/slog"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

//go:embed prompt.md
var prompt string

// examples are requests that are this specialist's, one a line, the most telling first. They were invented for this: they
// are no shopper's, and none is of the sets that the router is measured with.
//
//go:embed examples.txt
var examples string

// desk is the support specialist's view of the service.
type desk struct {
	orders   *orderBook
	policies *policies.Repository
	logger   *slog.Logger
}

// definition is the support specialist.
func (d *desk) definition() specialist.Definition {
	return specialist.Definition{
		Name: "support",
		Purpose: "Answers questions about the shopper's own orders (status, tracking, delivery) and about the store's rules " +
			"(returns, refunds, shipping, warranty, payment, contact). Also takes greetings, thanks, complaints, requests for a " +
			"human, and anything else that no other specialist is for.",
		Examples: strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords: vocabulary,
		Prompt:   prompt,
		Tools:    d.tools,
		Lacks:    d.lacks,
	}
}

// lacks switches off what a store without an order system does not have.
func (d *desk) lacks(ctx context.Context, s scope.Scope) (map[string]string, error) {
	settings, err := d.orders.store.ofTurn(ctx, s.StoreID)
	if err != nil || !settings.GetNoOrderSystem() {
		return nil, err
	}
	return map[string]string{
		lookupOrder: "Orders can not be looked up here: this store has no order system connected. Asked about an order, say so, and " +
			"search its documents for how to reach it.",
	}, nil
}

// vocabulary lists the words that speak for the specialist, by weight.
var vocabulary = map[float64][]string{
	3: {
		"my order", "my orders", "last order", "order status", "order number", "track my order", "tracking number",
		"tracking link", "where is my order", "where is my parcel", "return policy", "refund", "refunds", "money back",
		"warranty", "my parcel", "my package", "my delivery", "shipping policy", "customer service", "opening hours",
		"charged twice", "price match", "match prices", "find it cheaper", "mi pedido", "mis pedidos", "reembolso",
		"devolver", "devolución", "atención al cliente", "meine bestellung", "sendungsverfolgung", "rückgabe",
		"rückgaberecht", "erstattung", "erstatten", "geld zurück", "mein geld", "stornieren", "zurückgeben",
		"zurückschicken", "zurücksenden", "kundenservice", "umtauschen", "öffnungszeiten", "ma commande",
		"mes commandes", "mon colis", "remboursement", "rembourser", "remboursé", "renvoyer", "service client",
		"devuelven el dinero",
	},
	2: {
		"return", "returns", "send back", "sent back", "bring back", "exchange", "swap", "delivery", "deliver",
		"deliveries", "delivered", "shipping", "ship", "shipped", "dispatch", "dispatched", "courier", "tracking",
		"track my", "parcel", "policy", "policies", "guarantee", "broken", "broke", "damaged", "defective", "faulty",
		"torn", "ripped", "wrong size", "wrong item", "cancel", "cancellation", "invoice", "invoices", "receipt",
		"complaint", "complain", "was charged", "been charged", "charged me", "billed", "payment", "payments", "pay",
		"pay with", "pay in instalments", "credit card", "human", "agent", "real person", "talk to", "speak to",
		"privacy", "password", "my account", "account", "customs duties", "repair", "repairs", "parts missing",
		"missing parts", "empty box", "stuck in customs", "never came", "wrong address", "locker", "proof of delivery",
		"return label", "return slip", "without a receipt", "cooling off", "store credit", "credit note",
		"partial refund", "overcharged", "declined", "pay later", "company invoice", "locked out", "does not load",
		"live chat", "cut to size", "custom made", "personalise", "personalised", "handed over", "let me know when",
		"notify me", "tell me when", "email me when", "remind me", "price drop", "dropped in price", "got cheaper",
		"warranty claim", "old appliance", "take away the old", "haul away", "take back", "replace it", "send it again",
		"compensation", "lost in the post", "signature", "dispatch note", "pick up point", "collection point",
		"click and collect", "home delivery", "next day delivery", "express", "deliver to", "delivery time", "postage",
		"import duty", "payment failed", "card declined", "direct debit", "bank transfer", "cash on delivery",
		"invoice address", "vat", "log in", "login", "sign in", "reset my password", "close my account",
		"delete my account", "cookies", "gdpr", "newsletter off", "spare parts", "installation", "install it",
		"assemble", "engrave", "gift wrapped", "wrap it", "hold it for me", "reserve", "call me back", "phone number",
		"email address", "contact you", "reach you", "complaints", "leave feedback", "leave a review", "careers",
		"postal code", "post code", "postcode", "zip code", "código postal", "postleitzahl", "code postal",
		"wheelchair", "branches", "replacement", "address", "gift wrap", "gift receipt", "card balance", "refunded",
		"still waiting", "not arrived", "never arrived", "hasnt arrived", "has not arrived", "turned up",
		"pick up in store", "pick it up", "opening", "my data", "store hours", "i ordered", "pedido", "pedidos",
		"envío", "envíos", "enviar", "enviáis", "entrega", "entregar", "seguimiento", "garantía", "devuelvo",
		"cambiarlo", "cambiarla", "roto", "rota", "dañado", "defectuoso", "cancelar", "anular", "no funciona",
		"factura", "pago", "pagos", "pagar", "cobrado", "paquete", "queja", "reclamación", "cuenta", "contraseña",
		"horario", "horarios", "plazos", "a plazos", "transferencia", "recoger", "recogida", "montáis", "montaje",
		"mensajero", "repartidor", "retraso", "retrasado", "extraviado", "número de pedido", "cobraron", "cobrasteis",
		"tarjeta", "contra reembolso", "abierto", "abrís", "cerráis", "teléfono", "correo", "contactar",
		"darme de baja", "privacidad", "mis datos", "tienda física", "cambiarlos", "cambiarlas", "equivocado",
		"equivocada", "rotos", "rotas", "dirección", "hablar con", "bestellung", "bestellungen", "lieferung", "liefern",
		"liefert", "lieferzeit", "lieferadresse", "versand", "versandkosten", "versenden", "umtausch", "retoure",
		"rücksendung", "garantie", "gewährleistung", "kaputt", "defekt", "beschädigt", "rechnung", "zahlung",
		"bezahlen", "zahlen", "abgebucht", "paket", "sendung", "beschwerde", "reklamation", "reklamieren", "konto",
		"passwort", "mitarbeiter", "auf rechnung", "raten", "ratenzahlung", "lastschrift", "nachnahme", "abholen",
		"abholung", "aufbauen", "montieren", "anliefern", "zugestellt", "zustellung", "zusteller", "bote", "fahrer",
		"rückversand", "rückporto", "ersatzteil", "reparatur", "reparieren", "umgetauscht", "geld wiederbekommen",
		"mahnung", "doppelt abgebucht", "kundennummer", "anmelden", "einloggen", "abmelden", "datenschutz",
		"ansprechpartner", "telefonnummer", "erreichen", "filialen", "geöffnet", "parkplätze", "lieferung nach",
		"liefert ihr", "falsche", "falscher", "falsches", "fehlt ein", "verloren gegangen", "sendungsnummer",
		"bestellnummer", "storno", "zurückgeschickt", "zurückgegeben", "commande", "livraison", "livrer", "livrez",
		"colis", "retour", "retours", "retourner", "échanger", "échange", "cassé", "cassée", "abîmé", "endommagé",
		"défectueux", "annuler", "livreur", "transporteur", "point relais", "retrait", "retirer", "virement",
		"en plusieurs fois", "carte bancaire", "bon de livraison", "numéro de commande", "numéro de suivi", "retard",
		"perdu", "cassés", "abîmée", "mauvaise taille", "erreur", "réclamer", "joindre", "téléphone", "vous contacter",
		"service après vente", "sav", "pièces détachées", "réparation", "réparez", "monter", "ouvert", "fermé",
		"parking", "mes données", "me désabonner", "connecter", "facture", "payer", "paiement", "débité", "horaires",
		"réclamation", "mot de passe", "réparer", "reparar", "rimborso", "ordine", "spedizione", "consegna", "reso",
		"bestelling", "verzendkosten", "bezorging", "retourneren", "encomenda", "entregam", "comprei",
	},
	1: {
		"order", "orders", "package", "late", "help", "contact", "email", "phone", "open", "shop", "store", "pick up",
		"collect", "change", "wrong", "is missing", "waiting", "unsubscribe", "how soon", "how quickly", "get here",
		"be here", "get to me", "come on", "come by", "come before", "match a price", "assembly", "in pieces",
		"snapped", "scratched", "dented", "leaks", "leaking", "stained", "cracked", "smashed", "shattered",
		"fell apart", "came apart", "came off", "dead on arrival", "turn on", "switch on", "not working",
		"stops working", "incomplete", "delayed", "not here", "nothing here", "no sign of", "left outside", "neighbour",
		"driver", "reschedule", "redirect", "withdraw", "deposit", "spam", "hotline", "manager", "rude", "apology",
		"staff", "internship", "sponsor", "directions", "fitting room", "workshop", "sharpen", "embroider", "closed",
		"holiday", "holidays", "opened", "worn", "unopened", "unused", "bus stop", "train station", "cafe", "wifi",
		"accessible", "dogs allowed", "by card", "carrier", "vacancies", "jobs", "hiring", "toilet", "branch",
		"filiale", "magasin", "website", "app", "cash", "instalments", "covered", "cambiar", "cambio", "llega",
		"llegar", "llegado", "llegará", "tarda", "tardan", "traer", "ayuda", "vuestra tienda", "kommt an", "ankommen",
		"angekommen", "geliefert", "hilfe", "kontakt", "arriver", "arrivé", "arrivera", "livré", "compte", "suivi",
		"aide", "contacter", "does not work", "doesnt work", "stopped working", "arrive", "arrived", "thanks",
		"thank you", "hello", "hi", "gracias", "hola", "danke", "hallo", "merci", "bonjour", "adresse", "montage",
		"ouverts",
	},
	-2: {
		"order of", "package of", "pack of", "in order to", "tienda de campaña",
	},
}
