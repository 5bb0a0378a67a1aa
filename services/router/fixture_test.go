package router

import (
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// published is what a specialist says of itself, as the four of the suite would.
type published struct {
	name, purpose string
	examples      []string
	terms         map[float64]string
}

var four = []published{
	{
		name: "search", purpose: "Finds products in the store's catalog.",
		examples: []string{"Do you have rain jackets in size M under 90 euros?", "What is your cheapest two-person tent?"},
		terms: map[float64]string{
			3:  "do you have, do you sell, looking for, in stock, cheapest, most expensive, how many, tenéis, tienen, vendéis, busco, haben sie, habt ihr, ich suche, avez-vous, vendez-vous, je cherche",
			2:  "find, search, show me, i need, i want, available, sell, size, sizes, colour, color, under, price, how much, cheap, brand, waterproof, out of stock, talla, barato, precio, quiero, necesito, cuánto cuesta, größe, preis, günstig, brauche, taille, prix, besoin, combien coûte",
			1:  "buy, shoes, boots, jacket, tent, backpack, sleeping bag, bottle, headlamp, socks, product, zapatillas, mochila, tienda de campaña, schuhe, rucksack, zelt, chaussures, sac à dos, tente",
			-2: "return policy, refund, my order, tracking, coupon, promo code, discount code, my cart, goes with",
		},
	},
	{
		name: "recommend", purpose: "Suggests what goes with the cart, and alternatives.",
		examples: []string{"what goes well with the things in my cart?", "something similar to these boots"},
		terms: map[float64]string{
			3: "go with, goes with, recommend, recommendation, similar to, in my cart, my cart, recomiendas, empfehlen, passt zu, va bien con, va avec, recommandez, mi carrito, warenkorb, mon panier",
			2: "suggest, similar, alternative, match, pair with, complete, accessories, what else, goes well, anything else for, gift idea, recomendar, empfiehl, ähnlich, alternativas, accesorios, zubehör, accessoires, conseillez",
			1: "like this, ideas, complement, combine, cart",
		},
	},
	{
		name: "promotions", purpose: "Knows discounts, codes and offers.",
		examples: []string{"do you have any discount codes?", "which offer saves me the most right now?"},
		terms: map[float64]string{
			3:  "promo, promo code, promotion, discount, discount code, coupon, coupon code, voucher, special offer, money off, percent off, código promocional, descuento, cupón, promoción, rabatt, rabattcode, gutschein, réduction, code promo, remise",
			2:  "offer, deal, deals, sale, on sale, bargain, save money, savings, free shipping, bundle, code, oferta, rebajas, ahorrar, envío gratis, angebot, aktion, sparen, offre, soldes, livraison gratuite",
			1:  "save, cheaper, reduced, student, newsletter, free, gratis",
			-1: "refund, return, track, tracking, invoice, warranty",
		},
	},
	{
		name: "support", purpose: "Answers questions about orders, returns, shipping and anything else.",
		examples: []string{"where is my order?", "what is your return policy?", "how long does delivery take?"},
		terms: map[float64]string{
			3:  "my order, order status, track my order, tracking number, where is my order, return policy, refund, warranty, my parcel, my package, mi pedido, seguimiento, reembolso, devolver, meine bestellung, sendungsverfolgung, rückgabe, erstattung, ma commande, suivi, remboursement, mon colis",
			2:  "return, returns, send back, exchange, delivery, shipping, shipped, tracking, parcel, package, policy, guarantee, broken, damaged, defective, cancel, invoice, complaint, human, agent, opening hours, payment methods, thanks, hello, hi, pedido, envío, entrega, garantía, devolución, gracias, hola, bestellung, lieferung, versand, umtausch, zurückgeben, danke, hallo, commande, livraison, retour, retourner, garantie, merci, bonjour",
			1:  "order, late, help, contact, account, payment, card, ayuda, hilfe, aide",
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
