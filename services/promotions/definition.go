package promotions

import (
	"context"
	_ "embed" // the prompt and the examples
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

//go:embed prompt.md
var prompt string

// examples are requests that are this specialist's, one a line, the most telling first. They were invented for this: they
// are no shopper's, and none is of the sets that the router is measured with.
//
//go:embed examples.txt
var examples string

// definition is the promotions specialist.
func (s *server) definition() specialist.Definition {
	return specialist.Definition{
		Name: "promotions",
		Purpose: "Answers questions about promotions, discounts, coupon and voucher codes, deals and free shipping offers, and " +
			"finds the one that saves the shopper most on their cart. Not for product prices, refunds or shipping times.",
		Examples:    strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:    vocabulary,
		Prompt:      prompt,
		Tools:       s.tools,
		Unavailable: s.unavailable,
		ReadsCart:   true,
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
		"promo", "promos", "promo code", "promotion", "promotions", "discount", "discounts", "discount code", "coupon",
		"coupons", "coupon code", "voucher", "vouchers", "voucher code", "special offer", "special offers", "money off",
		"percent off", "percentage off", "10% off", "free shipping offer", "código promocional", "código de descuento",
		"descuento", "descuentos", "cupón", "cupones", "promoción", "promociones", "rabatt", "rabatte", "rabattcode",
		"gutschein", "gutscheine", "gutscheincode", "aktionscode", "nachlass", "prozente", "ermäßigung",
		"sonderangebot", "réduction", "réductions", "code promo", "remise", "remises", "rabais", "bon de réduction",
		"rebaja", "rebajas", "soldes",
	},
	2: {
		"offer", "offers", "deal", "deals", "sale", "on sale", "sales", "bargain", "code", "codes", "save money",
		"saving", "savings", "free shipping", "free delivery", "buy one get one", "black friday", "clearance",
		"reduced", "bundle deal", "loyalty points", "better price", "i save", "stack", "combine codes",
		"combine two codes", "combine vouchers", "knocked off", "lower price if", "cheaper rate", "spend more",
		"spend enough", "negotiable", "free gift", "freebies", "refer a friend", "loyal customers", "birthday discount",
		"seasonal offer", "intro offer", "promotional", "mid season", "code work", "codes work", "code apply",
		"code valid", "code expire", "offer expire", "anything for teachers", "anything for nurses",
		"anything for students", "anything for seniors", "get cheaper", "cheaper in bulk", "by the dozen", "chollo",
		"chollos", "bundle price", "group price", "group rate", "group discount", "prix de groupe", "precio de grupo",
		"hacen precio", "taken off", "deducted", "voucher worth", "bogof", "two for", "for the price of", "markdown",
		"marked down", "discounted price", "cheaper if", "cheaper together", "in the sale", "half off", "cashback",
		"staff discount", "nhs", "member price", "members price", "welcome offer", "first order discount", "outlet",
		"special price", "flash sale", "cyber monday", "price reduction", "rabattaktion", "rabattiert", "preisnachlass",
		"herabgesetzt", "mengenrabatt", "studentenrabatt", "vergünstigung", "im sale", "schlussverkauf", "einlösen",
		"sparaktion", "gutscheincodes", "en oferta", "código descuento", "liquidación", "2x1", "3x2", "descontado",
		"canjear", "precio especial", "bon plan", "promotionnelle", "en solde", "code de réduction",
		"bons de réduction", "prix réduit", "frais de port offerts", "offerts", "déstockage", "bulk pricing",
		"es gratis", "kostenlosen", "made cheaper", "quantity price", "quantity prices", "half price", "3 for 2",
		"two for one", "ausverkauf", "rebajado", "rebajados", "gelten", "kostenlos", "gratuit", "gratuite",
		"shipping free", "delivery free", "shipping is free", "delivery is free", "postage is free", "postage free",
		"envío es gratis", "versand kostenlos", "lieferung kostenlos", "lieferung gratis", "livraison est gratuite",
		"livraison est elle gratuite", "código", "oferta", "ofertas", "ahorrar", "envío gratis",
		"gastos de envío gratis", "angebot", "angebote", "aktion", "aktionen", "sparen", "reduziert",
		"versandkostenfrei", "kostenloser versand", "offre", "offres", "économiser", "livraison gratuite", "en promo",
		"loyalty", "sconto", "sconti", "cupom", "desconto", "descontos", "korting", "aanbieding",
	},
	1: {
		"save", "students", "student", "pensioners", "bundle", "discounted", "minimum spend", "anything off", "gratis",
		"pensioner", "seniors", "senior", "teachers", "minimum", "members", "include", "apply", "accepted", "rejected",
		"redeem", "valid", "bit cheaper", "be cheaper", "is it cheaper", "estudiantes", "studenten", "étudiants",
		"puntos", "punkte", "gilt", "billiger wenn",
	},
	-2: {
		"zip code", "pin code", "postal code", "post code", "código postal", "code postal", "bar code", "qr code", "dress code", "code of", "do you offer",
	},
}
