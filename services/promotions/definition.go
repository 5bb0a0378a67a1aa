package promotions

import (
	"context"
	_ "embed"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

//go:embed prompt.md
var prompt string

// definition is the promotions specialist.
func (s *server) definition() specialist.Definition {
	return specialist.Definition{
		Name: "promotions",
		Purpose: "Answers questions about promotions, discounts, coupon and voucher codes, deals and free shipping offers, and " +
			"finds the one that saves the shopper most on their cart. Not for product prices, refunds or shipping times.",
		Examples: []string{
			"do you have any discount codes?",
			"why does RAINY15 not work on my cart?",
			"which offer saves me the most right now?",
			"how much more do I need for free shipping?",
			"does the code SUMMER10 work with my cart?",
		},
		Keywords:    vocabulary,
		Prompt:      prompt,
		Tools:       s.tools,
		Unavailable: s.unavailable,
	}
}

// unavailable says why the specialist can not serve a store without promotions.
func (s *server) unavailable(ctx context.Context, sc scope.Scope) (string, error) {
	has, err := s.store.has(ctx, sc.StoreID)
	if err != nil || has {
		return "", err
	}
	return "This store has no promotions.", nil
}

// vocabulary lists the words that speak for the specialist, by weight.
var vocabulary = map[float64][]string{
	3: {
		"promo", "promo code", "promotion", "promotions", "discount", "discounts", "discount code", "coupon", "coupons",
		"coupon code", "voucher", "voucher code", "special offer", "special offers", "money off", "percent off",
		"free shipping offer", "código promocional", "descuento", "descuentos", "cupón", "cupones", "promoción",
		"promociones", "rabatt", "rabatte", "rabattcode", "gutschein", "gutscheincode", "aktionscode", "réduction",
		"réductions", "code promo", "promotionnel", "remise", "bon de réduction",
	},
	2: {
		"offer", "offers", "deal", "deals", "sale", "on sale", "bargain", "save money", "saving", "savings", "free shipping",
		"bundle", "buy one get one", "code", "oferta", "ofertas", "rebaja", "rebajas", "ahorrar", "envío gratis", "angebot",
		"angebote", "aktion", "sonderangebot", "sparen", "versandkostenfrei", "offre", "offres", "soldes", "économiser",
		"livraison gratuite", "en promo",
	},
	1:  {"save", "cheaper", "reduced", "student", "newsletter", "loyalty", "free", "gratis", "billiger", "moins cher"},
	-1: {"refund", "return", "track", "tracking", "invoice", "warranty"},
}
