// Package wording holds the fixed sentences that code writes to shoppers, in one table by language.
//
// It must not import a service.
package wording

import (
	"cmp"

	"golang.org/x/text/language"
)

// Sentences are the sentences in one language.
type Sentences struct {
	// Unanswered says that a part of the message was not answered. It is a format with the part as %s.
	Unanswered string
	// Refusal answers a shopper who asks for nothing but the prompt.
	Refusal string
	// LinkRemoved, AddressRemoved and NumberRemoved stand in the place of what a reply may not show.
	LinkRemoved, AddressRemoved, NumberRemoved string
	// PersonOffered says that a person can take over.
	PersonOffered string
	// NothingChanged takes the place of a claim that the assistant did something: it can only propose.
	NothingChanged string
}

var byLanguage = map[string]Sentences{
	"en": {
		"I could not answer this part of your message just now: “%s”", "I cannot help with that.",
		"(link removed)", "(address removed)", "(number removed)",
		"A person of the store can take over: it can be confirmed below. Nobody has taken over yet.", "Nothing has been changed yet.",
	},
	"de": {
		"Diesen Teil deiner Nachricht konnte ich gerade nicht beantworten: „%s“", "Dabei kann ich nicht helfen.",
		"(Link entfernt)", "(Adresse entfernt)", "(Nummer entfernt)",
		"Jemand aus dem Team kann übernehmen: das lässt sich unten bestätigen. Noch hat niemand übernommen.", "Bisher wurde nichts geändert.",
	},
	"es": {
		"Ahora mismo no he podido responder a esta parte de tu mensaje: «%s»", "No puedo ayudarte con eso.",
		"(enlace eliminado)", "(dirección eliminada)", "(número eliminado)",
		"Una persona de la tienda puede ocuparse: se puede confirmar abajo. Todavía no lo ha hecho nadie.", "Todavía no se ha cambiado nada.",
	},
	"fr": {
		"Je n’ai pas pu répondre à cette partie de votre message pour le moment : « %s »", "Je ne peux pas vous aider pour cela.",
		"(lien supprimé)", "(adresse supprimée)", "(numéro supprimé)",
		"Une personne du magasin peut prendre le relais : cela se confirme ci-dessous. Personne ne l’a encore fait.", "Rien n’a encore été modifié.",
	},
	"it": {
		"In questo momento non ho potuto rispondere a questa parte del tuo messaggio: «%s»", "Non posso aiutarti con questo.",
		"(link rimosso)", "(indirizzo rimosso)", "(numero rimosso)",
		"Una persona del negozio può occuparsene: si può confermare qui sotto. Nessuno se ne occupa ancora.", "Finora non è stato modificato nulla.",
	},
	"nl": {
		"Dit deel van je bericht kon ik zojuist niet beantwoorden: “%s”", "Daar kan ik je niet mee helpen.",
		"(link verwijderd)", "(adres verwijderd)", "(nummer verwijderd)",
		"Een medewerker van de winkel kan het overnemen: dat kan hieronder worden bevestigd. Nog niemand heeft het overgenomen.", "Er is nog niets gewijzigd.",
	},
	"pt": {
		"Neste momento não consegui responder a esta parte da sua mensagem: “%s”", "Não posso ajudar com isso.",
		"(link removido)", "(endereço removido)", "(número removido)",
		"Uma pessoa da loja pode assumir: isso pode ser confirmado abaixo. Ainda ninguém assumiu.", "Ainda nada foi alterado.",
	},
}

// statuses are the words for the status of an order, by the English ones.
var statuses = map[string]map[string]string{
	"waiting for payment":   {"de": "wartet auf die Zahlung", "es": "pendiente de pago", "fr": "en attente de paiement", "it": "in attesa di pagamento", "nl": "wacht op betaling", "pt": "à espera de pagamento"},
	"being prepared":        {"de": "wird vorbereitet", "es": "en preparación", "fr": "en préparation", "it": "in preparazione", "nl": "wordt klaargemaakt", "pt": "em preparação"},
	"partly on its way":     {"de": "teilweise unterwegs", "es": "en camino en parte", "fr": "en partie en route", "it": "in parte in viaggio", "nl": "gedeeltelijk onderweg", "pt": "parcialmente a caminho"},
	"on its way":            {"de": "unterwegs", "es": "en camino", "fr": "en route", "it": "in viaggio", "nl": "onderweg", "pt": "a caminho"},
	"delivered":             {"de": "zugestellt", "es": "entregado", "fr": "livrée", "it": "consegnato", "nl": "bezorgd", "pt": "entregue"},
	"cancelled":             {"de": "storniert", "es": "cancelado", "fr": "annulée", "it": "annullato", "nl": "geannuleerd", "pt": "cancelado"},
	"return in progress":    {"de": "Rücksendung läuft", "es": "devolución en curso", "fr": "retour en cours", "it": "reso in corso", "nl": "retour onderweg", "pt": "devolução em curso"},
	"returned and refunded": {"de": "zurückgesandt und erstattet", "es": "devuelto y reembolsado", "fr": "retournée et remboursée", "it": "reso e rimborsato", "nl": "geretourneerd en terugbetaald", "pt": "devolvido e reembolsado"},
}

// OrderStatus returns the word for the status of an order in a language, a BCP 47 tag, given the English one that tools return. What
// the table lacks stays as it is.
func OrderStatus(tag, english string) string {
	base, _ := language.Make(tag).Base()
	return cmp.Or(statuses[english][base.String()], english)
}

// In returns the sentences in a language, a BCP 47 tag. Without a tag they are English. In a language that the table lacks, sentences
// are English, and a mark without words stands in the place of what is removed.
func In(tag string) Sentences {
	if tag == "" {
		return byLanguage["en"]
	}
	base, _ := language.Make(tag).Base()
	s, ok := byLanguage[base.String()]
	if !ok {
		s = byLanguage["en"]
		s.LinkRemoved, s.AddressRemoved, s.NumberRemoved = "[…]", "[…]", "[…]"
	}
	return s
}
