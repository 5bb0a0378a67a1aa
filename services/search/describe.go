package search

import (
	"context"
	_ "embed" // the prompt
	"fmt"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

//go:embed prompt.md
var prompt string

// definition is the search specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name: "search",
		Purpose: "Finds products in the store's catalog: what the store sells, prices, sizes, colours, stock, the cheapest or " +
			"dearest of a kind, how many there are, and facts about a product.",
		Examples: []string{
			"Do you have trail running shoes in size 42 under 120 euros?",
			"What is your cheapest two-person tent?",
			"Is the rain jacket in stock in blue?",
			"¿Tenéis mochilas de 30 litros?",
		},
		Keywords: speaksFor,
		Prompt:   prompt,
		Tools:    s.tools,
		Unavailable: func(ctx context.Context, sc scope.Scope) (string, error) {
			var reason string
			err := s.catalog.read(ctx, sc.StoreID, func(v *view) error {
				if len(v.entries) == 0 {
					reason = "This store has no product catalog here yet."
				}
				return nil
			})
			if err != nil {
				return "", fmt.Errorf("read catalog: %w", err)
			}
			return reason, nil
		},
	}
}

// speaksFor lists the words that speak for this specialist, by weight.
var speaksFor = map[float64][]string{
	3: {
		"do you have", "do you sell", "looking for", "in stock", "cheapest", "most expensive", "how many", "tenéis",
		"tienen", "vendéis", "busco", "haben sie", "habt ihr", "ich suche", "avez-vous", "vendez-vous", "je cherche",
	},
	2: {
		"find", "search", "show me", "i need", "i want", "available", "sell", "size", "sizes", "colour", "color",
		"under", "price", "how much", "cheap", "brand", "waterproof", "need a", "in size", "out of stock",
		"sold out", "talla", "barato", "precio", "quiero", "necesito", "cuánto cuesta", "größe", "preis",
		"günstig", "brauche", "wie viel kostet", "taille", "prix", "pas cher", "besoin", "combien coûte",
	},
	1: {
		"buy", "shoes", "boots", "jacket", "tent", "backpack", "sleeping bag", "bottle", "headlamp", "socks",
		"trousers", "product", "products", "catalog", "zapatillas", "mochila", "tienda de campaña", "schuhe",
		"rucksack", "zelt", "chaussures", "sac à dos", "tente",
	},
	-2: {
		"return policy", "refund", "my order", "tracking", "coupon", "promo code", "discount code", "my cart",
		"goes with", "reembolso", "mi pedido", "rückgabe", "meine bestellung", "remboursement", "ma commande",
	},
}
