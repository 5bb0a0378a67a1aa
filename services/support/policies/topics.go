package policies

import (
	"slices"
	"strings"
)

// topic is a group of words that ask for the same thing, in the languages that shoppers write.
type topic struct {
	// asked is true for what a store writes documents about. A document whose title names such a topic answers a question
	// that names it, whatever else the question says.
	asked          bool
	en, de, es, fr string
}

var topics = []topic{
	{true, "return returns returnable refund", "rückgabe retoure rücksendung zurückgeben zurücksenden zurückschicken erstattung",
		"devolución devoluciones devolver reembolso", "retour retours retourner renvoyer remboursement rembourser"},
	{true, "refund refunded money", "erstattung geld", "reembolso dinero", "remboursement rembourser argent"},
	{true, "exchange swap", "umtausch umtauschen", "cambio cambiar", "échange échanger"},
	{true, "shipping ship shipped delivery deliver post postage dispatch courier", "versand versandkosten versendet verschickt lieferung liefern liefert lieferzeit zustellung",
		"envío envíos enviar entrega", "livraison livrer expédition"},
	{true, "warranty guarantee", "garantie gewährleistung", "garantía", "garantie"},
	{true, "faulty fault broken breakage defect defective damaged damage", "defekt kaputt beschädigt mangel",
		"defectuoso roto dañado", "défectueux cassé abîmé"},
	{true, "repair mend fix", "reparatur reparieren", "reparar reparación", "réparation réparer"},
	{true, "pay payment paying instalments", "zahlung bezahlen zahlen zahlungsarten", "pago pagar pagos", "paiement payer"},
	{true, "cancel cancellation", "stornieren stornierung", "cancelar cancelación anular", "annuler annulation"},
	{true, "privacy gdpr data", "datenschutz daten", "privacidad datos", "confidentialité données"},
	{true, "giftcard", "geschenkgutschein geschenkkarte", "tarjeta-regalo", "carte-cadeau"},
	{true, "contact phone telephone email e-mail", "kontakt telefon", "contacto teléfono", "contact téléphone"},
	{true, "openinghours", "öffnungszeiten", "horario", "horaires"},
	{true, "invoice receipt", "rechnung", "factura", "facture"},
	{true, "customs duty duties tax vat", "zoll", "aduana", "douane"},
	{true, "international abroad overseas foreign", "ausland international", "extranjero internacional", "étranger international"},
	{true, "pickup collect collection", "abholen abholung", "recoger recogida", "retrait"},
	{true, "member members membership loyalty club", "mitglied mitgliedschaft", "socio socios", "membre membres fidélité"},
	{false, "opened used unpacked unsealed worn wore", "geöffnet benutzt gebraucht getragen", "abierto usado", "ouvert utilisé porté"},
	{false, "sealed unopened unused", "ungeöffnet unbenutzt", "precintado", "scellé"},
	{false, "cost fee price charge", "kosten kostet gebühr preis", "coste cuesta cuestan precio gastos", "coût coûte coûtent frais prix"},
	{false, "late delay delayed", "verspätet verspätung", "retraso", "retard"},
	{false, "lost missing", "verloren", "perdido", "perdu"},
}

// fillers are words that nearly every question has, beside the stop words of its language.
const fillers = `
	can could would should will may might must shall cannot how long much many soon often far get got getting want wanted need
	needed like know tell told please help find explain say said about take takes taking go goes going let make happen happens
	policy policies rule rules information info question questions terms thing things something anything someone anyone stuff
	shop store hi hello hey thanks thank you i'm i've i'd i'll don't doesn't didn't can't won't isn't it's that's what's there's
	also just really any some more still ever yet one ones allowed possible there here have has item items product products
	bitte hallo gibt möchte kann können muss lange dauert dauern tarda tardan dura dure durée puedo puede quiero cómo cuánto cuándo hola puis-je peux peut combien comment bonjour`

// The words that turns of phrase are made of.
var (
	sends    = []string{"send", "sending", "sent", "bring", "give", "take", "hand", "ship", "post", "mail"}
	openings = []string{"opening", "business", "office", "store", "shop"}
	hours    = []string{"hours", "times", "hour"}
	cards    = []string{"card", "cards", "voucher", "vouchers", "certificate", "certificates"}
	minds    = []string{"my", "your", "their", "his", "her"}
)

// rephrase replaces turns of phrase whose words mean something else one by one: "send it back" is a return, and
// "opening hours" are not about what was opened.
func rephrase(words []string) []string {
	out := make([]string, 0, len(words))
	for i := 0; i < len(words); {
		word, n := phraseAt(words[i:])
		out = append(out, word)
		i += n
	}
	return out
}

// phraseAt returns the word that stands for the start of words, and how many of them it stands for.
func phraseAt(words []string) (string, int) {
	at := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch first := words[0]; {
	case slices.Contains(sends, first) && at(1) == "back":
		return "return", 2
	case slices.Contains(sends, first) && at(2) == "back":
		return "return", 3
	case slices.Contains(sends, first) && at(3) == "back":
		return "return", 4
	case first == "money" && at(1) == "back":
		return "refund", 2
	case first == "pick" && at(1) == "up":
		return "pickup", 2
	case first == "pick" && at(2) == "up":
		return "pickup", 3
	case first == "united" && at(1) == "kingdom", first == "great" && at(1) == "britain":
		return "uk", 2
	case first == "united" && at(1) == "states":
		return "usa", 2
	case first == "gift" && slices.Contains(cards, at(1)):
		return "giftcard", 2
	case slices.Contains(openings, first) && slices.Contains(hours, at(1)):
		return "openinghours", 2
	case (first == "change" || first == "changed") && slices.Contains(minds, at(1)) && at(2) == "mind":
		return "return", 3
	}
	return words[0], 1
}

// negations are words that negate those after them, and contrasts words after which a negation no longer counts.
var (
	negations = strings.Fields("not never without havent hasnt wasnt werent didnt nicht nie niemals ohne kein keine keinen no nunca jamás sin ni pas jamais sans")
	contrasts = strings.Fields("but and only though aber sondern und nur pero sino y solo mais et seulement que")
)

// usedGoods is the place of the topic that goods were used or opened.
var usedGoods = slices.IndexFunc(topics, func(t topic) bool { return slices.Contains(strings.Fields(t.en), "used") })
