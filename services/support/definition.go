package support

import (
	_ "embed"
	"log/slog"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

//go:embed prompt.md
var prompt string

// desk is the support specialist's view of the service.
type desk struct {
	orders   orderStore
	policies *policyStore
	now      func() time.Time
	logger   *slog.Logger
}

// definition is the support specialist.
func (d *desk) definition() specialist.Definition {
	return specialist.Definition{
		Name: "support",
		Purpose: "Answers questions about the shopper's own orders (status, tracking, delivery) and about the store's rules " +
			"(returns, refunds, shipping, warranty, payment, contact). Also takes greetings, thanks, complaints, requests for a " +
			"human, and anything else that no other specialist is for.",
		Examples: []string{
			"where is my order?",
			"what is your return policy?",
			"my parcel arrived damaged",
			"how long does delivery take?",
			"can I talk to a person?",
			"thanks, that was all",
			"hello",
		},
		Keywords: vocabulary,
		Prompt:   prompt,
		Tools:    d.tools,
	}
}

// vocabulary lists the words that speak for the specialist, by weight.
var vocabulary = map[float64][]string{
	3: {
		"my order", "order status", "track my order", "tracking number", "where is my order", "where is my parcel",
		"return policy", "refund", "warranty", "my parcel", "my package", "shipping policy", "mi pedido", "seguimiento",
		"reembolso", "devolver", "meine bestellung", "sendungsverfolgung", "rückgabe", "erstattung", "ma commande",
		"suivi", "remboursement", "mon colis",
	},
	2: {
		"return", "returns", "send back", "exchange", "delivery", "shipping", "shipped", "tracking", "parcel", "package",
		"policy", "guarantee", "broken", "damaged", "defective", "cancel", "invoice", "complaint", "human", "agent",
		"speak to someone", "opening hours", "privacy", "payment methods", "thanks", "thank you", "hello", "hi",
		"pedido", "envío", "entrega", "garantía", "devolución", "gracias", "hola", "bestellung", "lieferung", "versand",
		"umtausch", "danke", "hallo", "commande", "livraison", "retour", "garantie", "merci", "bonjour",
	},
	1:  {"order", "late", "help", "contact", "account", "payment", "ayuda", "hilfe", "aide"},
	-1: {"recommend", "discount", "coupon", "promo code"},
}
