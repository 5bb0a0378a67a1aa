package router

import (
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// published is what a specialist says of itself.
type published struct {
	name, purpose string
	examples      []string
	terms         map[float64]string
}

// four are the suite's specialists with the words that they publish. They are copied, since this package must not
// import another service.
var four = []published{
	{
		name:    "search",
		purpose: "Finds products in the store's catalog: what the store sells, prices, sizes, colours, stock, the cheapest or dearest of a kind, how many there are, and facts about a product.",
		examples: []string{
			"Do you have trail running shoes in size 42 under 120 euros?",
			"What is your cheapest two-person tent?",
			"Is the rain jacket in stock in blue?",
			"¿Tenéis mochilas de 30 litros?",
		},
		terms: map[float64]string{
			3: "do you have, do you sell, looking for, in stock, cheapest, most expensive, how many, tenéis, tienen, " +
				"vendéis, busco, haben sie, habt ihr, ich suche, avez-vous, vendez-vous, je cherche",
			2: "find, search, show me, i need, i want, available, sell, size, sizes, colour, color, under, price, " +
				"how much, cheap, brand, waterproof, need a, in size, out of stock, sold out, talla, barato, precio, " +
				"quiero, necesito, cuánto cuesta, größe, preis, günstig, brauche, wie viel kostet, taille, prix, " +
				"pas cher, besoin, combien coûte",
			1: "buy, shoes, boots, jacket, tent, backpack, sleeping bag, bottle, headlamp, socks, trousers, product, " +
				"products, catalog, zapatillas, mochila, tienda de campaña, schuhe, rucksack, zelt, chaussures, " +
				"sac à dos, tente",
			-2: "return policy, refund, my order, tracking, coupon, promo code, discount code, my cart, goes with, " +
				"reembolso, mi pedido, rückgabe, meine bestellung, remboursement, ma commande",
		},
	},
	{
		name:    "recommend",
		purpose: "Knows the shopper's cart and recommends: what goes with the cart or with a product, alternatives to a product, gift ideas. Also answers what is in the cart and what it comes to.",
		examples: []string{
			"What would go well with what I have in my cart?",
			"Is there something similar to the Lea 2 tent, but cheaper?",
			"Any gift ideas for a hiker under 50 euros?",
			"Was passt zu meinen Wanderschuhen?",
		},
		terms: map[float64]string{
			3: "goes with, go with, go well with, goes well with, my cart, my basket, in my cart, recommend, " +
				"recommendation, similar to, alternative to, mi carrito, mi cesta, mi carro, recomienda, recomiéndame, " +
				"combina con, warenkorb, passt zu, empfehlen, empfehlung, mon panier, recommander, recommandez, va avec, " +
				"va bien avec",
			2: "cart, basket, alternative, alternatives, similar, suggest, suggestion, gift, gifts, gift idea, " +
				"present for, match, matches, pair with, complete, accessories, instead of, like this one, parecido, " +
				"parecida, regalo, alternativa, sugieres, geschenk, ähnlich, ähnliche, dazu, cadeau, semblable, " +
				"similaire, à la place",
			1:  "else, also need, idea, ideas, subtotal, together, set, forgot, missing, idee, ideen, idées",
			-2: "order, tracking, refund, return, coupon, promo code, discount, shipping, pedido, bestellung, commande",
		},
	},
	{
		name:    "promotions",
		purpose: "Answers questions about promotions, discounts, coupon and voucher codes, deals and free shipping offers, and finds the one that saves the shopper most on their cart. Not for product prices, refunds or shipping times.",
		examples: []string{
			"do you have any discount codes?",
			"why does RAINY15 not work on my cart?",
			"which offer saves me the most right now?",
			"how much more do I need for free shipping?",
		},
		terms: map[float64]string{
			3: "promo, promo code, promotion, promotions, discount, discounts, discount code, coupon, coupons, " +
				"coupon code, voucher, voucher code, special offer, special offers, money off, percent off, " +
				"free shipping offer, código promocional, descuento, descuentos, cupón, cupones, promoción, promociones, " +
				"rabatt, rabatte, rabattcode, gutschein, gutscheincode, aktionscode, réduction, réductions, code promo, " +
				"promotionnel, remise, bon de réduction",
			2: "offer, offers, deal, deals, sale, on sale, bargain, save money, saving, savings, free shipping, bundle, " +
				"buy one get one, code, oferta, ofertas, rebaja, rebajas, ahorrar, envío gratis, angebot, angebote, " +
				"aktion, sonderangebot, sparen, versandkostenfrei, offre, offres, soldes, économiser, livraison gratuite, " +
				"en promo",
			1:  "save, cheaper, reduced, student, newsletter, loyalty, free, gratis, billiger, moins cher",
			-1: "refund, return, track, tracking, invoice, warranty",
		},
	},
	{
		name:    "support",
		purpose: "Answers questions about the shopper's own orders (status, tracking, delivery) and about the store's rules (returns, refunds, shipping, warranty, payment, contact). Also takes greetings, thanks, complaints, requests for a human, and anything else that no other specialist is for.",
		examples: []string{
			"where is my order?",
			"what is your return policy?",
			"my parcel arrived damaged",
			"how long does delivery take?",
			"can I talk to a person?",
			"thanks, that was all",
			"hello",
		},
		terms: map[float64]string{
			3: "my order, order status, track my order, tracking number, where is my order, where is my parcel, " +
				"return policy, refund, warranty, my parcel, my package, shipping policy, mi pedido, seguimiento, " +
				"reembolso, devolver, meine bestellung, sendungsverfolgung, rückgabe, erstattung, ma commande, suivi, " +
				"remboursement, mon colis",
			2: "return, returns, send back, exchange, delivery, shipping, shipped, tracking, parcel, package, policy, " +
				"guarantee, broken, damaged, defective, cancel, invoice, complaint, human, agent, speak to someone, " +
				"opening hours, privacy, payment methods, thanks, thank you, hello, hi, pedido, envío, entrega, garantía, " +
				"devolución, gracias, hola, bestellung, lieferung, versand, umtausch, danke, hallo, commande, livraison, " +
				"retour, garantie, merci, bonjour",
			1:  "order, late, help, contact, account, payment, ayuda, hilfe, aide",
			-1: "recommend, discount, coupon, promo code",
		},
	},
}

// specialists returns the four as a request carries them.
func specialists() []*specialistv1.Specialist {
	var out []*specialistv1.Specialist
	for _, p := range four {
		s := &specialistv1.Specialist{Name: p.name, Purpose: p.purpose, Examples: p.examples, Available: true}
		for weight, list := range p.terms {
			for term := range strings.SplitSeq(list, ", ") {
				s.Keywords = append(s.Keywords, &specialistv1.Keyword{Term: term, Weight: weight})
			}
		}
		out = append(out, s)
	}
	return out
}

// routes writes a ruling as lines "specialist: sub-query".
func routes(l *lexicon, r ruling) []string {
	var out []string
	for _, d := range r.drafts {
		out = append(out, l.names[d.specialist]+": "+d.text)
	}
	return out
}

func testLexicon(t testing.TB) *lexicon {
	t.Helper()
	return newLexicon(specialists())
}
