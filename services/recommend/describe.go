package recommend

import (
	"context"
	_ "embed" // the prompt
	"fmt"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

//go:embed prompt.md
var prompt string

// definition is the recommend specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name: "recommend",
		Purpose: "Knows the shopper's cart and recommends: what goes with the cart or with a product, alternatives to a " +
			"product, gift ideas. Also answers what is in the cart and what it comes to.",
		Examples: []string{
			"What would go well with what I have in my cart?",
			"Is there something similar to the Lea 2 tent, but cheaper?",
			"Any gift ideas for a hiker under 50 euros?",
			"Was passt zu meinen Wanderschuhen?",
		},
		Keywords:    vocabulary,
		Prompt:      prompt,
		Tools:       s.tools,
		Unavailable: s.unavailable,
	}
}

// unavailable says whether the store has anything to recommend.
func (s *Service) unavailable(ctx context.Context, sc scope.Scope) (string, error) {
	resp, err := s.catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: sc.StoreID, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("read catalog: %w", err)
	}
	if resp.GetTotalCount() == 0 {
		return "This store has no product catalog here yet, so there is nothing to recommend.", nil
	}
	return "", nil
}

// vocabulary lists the words that speak for this specialist, by weight.
var vocabulary = map[float64][]string{
	3: {
		"goes with", "go with", "go well with", "goes well with", "my cart", "my basket", "in my cart", "recommend",
		"recommendation", "similar to", "alternative to", "mi carrito", "mi cesta", "mi carro", "recomienda",
		"recomiéndame", "combina con", "warenkorb", "passt zu", "empfehlen", "empfehlung", "mon panier",
		"recommander", "recommandez", "va avec", "va bien avec",
	},
	2: {
		"cart", "basket", "alternative", "alternatives", "similar", "suggest", "suggestion", "gift", "gifts",
		"gift idea", "present for", "match", "matches", "pair with", "complete", "accessories", "instead of",
		"like this one", "parecido", "parecida", "regalo", "alternativa", "sugieres", "geschenk", "ähnlich",
		"ähnliche", "dazu", "cadeau", "semblable", "similaire", "à la place",
	},
	1: {
		"else", "also need", "idea", "ideas", "subtotal", "together", "set", "forgot", "missing", "idee", "ideen",
		"idées",
	},
	-2: {
		"order", "tracking", "refund", "return", "coupon", "promo code", "discount", "shipping", "pedido",
		"bestellung", "commande",
	},
}
