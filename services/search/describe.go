package search

import (
	"context"
	_ "embed" // the prompt and the examples
	"fmt"
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

// definition is the search specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name: "search",
		Purpose: "Finds products in the store's catalog: what the store sells, prices, sizes, colours, stock, the cheapest or " +
			"dearest of a kind, how many there are, and facts about a product.",
		Examples: strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords: speaksFor,
		Prompt:   prompt,
		Tools:    s.tools,
		Unavailable: func(ctx context.Context, sc scope.Scope) (string, error) {
			var reason string
			err := s.catalog.read(ctx, sc.StoreID, func(v *view) error {
				if v.facts.products == 0 {
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
		"in stock", "out of stock", "sold out", "cheapest", "most expensive", "en stock", "agotado", "auf lager",
		"vorrätig", "rupture de stock", "back in stock", "what else do you have", "what else have you got",
	},
	2: {
		"search", "catalog", "available", "size", "sizes", "colour", "color", "brand", "waterproof", "how much",
		"how heavy", "how big", "how tall", "how wide", "talla", "tallas", "barato", "disponible", "impermeable",
		"de qué color", "cuánto cuesta", "cuánto pesa", "medidas", "größe", "größen", "farbe", "günstig", "wie groß",
		"wie schwer", "verfügbar", "wasserdicht", "wie viel kostet", "taille", "tailles", "couleur", "pas cher",
		"imperméable", "combien coûte", "quelle taille", "lightest", "warmest", "biggest", "smallest", "largest",
		"loudest", "más barato", "más ligero", "günstigste", "billigste", "leichteste", "le plus léger",
		"le moins cher", "compatible with", "come in", "comes in", "comes with",
	},
	1.5: {
		"price", "prices", "precio", "precios", "preis", "prix", "cheap",
	},
	1: {
		"how many", "under", "below", "item in", "material", "made of", "weigh", "weight", "moins cher", "billiger",
		"cheaper", "gift set", "peso", "gewicht", "poids", "machine washable", "dimensions", "wattage", "batteries",
		"shoes", "boots", "jacket", "tent", "backpack", "sleeping bag", "bottle", "headlamp", "socks", "trousers",
		"zapatillas", "botas", "chaqueta", "mochila", "tienda de campaña", "schuhe", "jacke", "rucksack", "zelt",
		"schlafsack", "chaussures", "veste", "sac à dos", "tente",
	},
}
