package recommend

import (
	"context"
	_ "embed" // the prompt and the examples
	"fmt"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

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

// definition is the recommend specialist.
func (s *Service) definition() specialist.Definition {
	return specialist.Definition{
		Name: "recommend",
		Purpose: "Knows the shopper's cart and recommends: what goes with the cart or with a product, alternatives to a " +
			"product, gift ideas. Also answers what is in the cart and what it comes to.",
		Examples:    strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:    vocabulary,
		Prompt:      prompt,
		Tools:       s.tools,
		Unavailable: s.unavailable,
		Lacks:       s.lacks,
		ReadsCart:   true,
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
		"goes with", "go with", "going with", "go well with", "goes well with", "pair with", "pairs with",
		"recommendation", "recommendations", "what else", "alternative to", "similar to", "gift idea", "gift ideas",
		"combina con", "combinan con", "queda bien con", "passt zu", "passt zum", "passt zur", "passen zu",
		"passt dazu", "was passt", "geschenkidee", "recomendaciones", "va avec", "va bien avec", "aller avec",
		"irait bien avec", "idée cadeau", "le va bien", "le iría bien", "am i forgetting", "am i missing",
		"complete the look", "sonst noch",
	},
	2: {
		"my cart", "my basket", "the cart", "the basket", "mi carrito", "el carrito", "mi cesta", "mi carro",
		"warenkorb", "mon panier", "le panier", "recommend", "recomendar", "recomendación", "recomienda",
		"recomiéndame", "empfehlen", "empfehlung", "recommander", "recommandez", "conseillez", "alternative",
		"alternatives", "similar", "something like the", "something like it", "something like this",
		"anything like the", "anything like it", "something for my", "something for a", "etwas für meine",
		"etwas für meinen", "algo para mi", "quelque chose pour mon", "quelque chose pour ma", "go along with",
		"what to pair", "finishing touch", "finishing touches", "what do i need besides", "same series",
		"same collection", "matching set", "companion", "looks like the", "resembles", "in the vein of", "substitute",
		"equivalent", "second best", "someone who", "somebody who", "who likes", "who loves", "who collects",
		"who enjoys", "for a beginner who", "he likes", "she likes", "loves to", "to wear with", "wear with",
		"worn with", "combine with", "combined with", "bought with", "buy with", "used with", "use with it",
		"needed for", "need for it", "do i need for", "will i need", "would i need", "else do i need", "else would",
		"else should", "anything else", "any other ideas", "other ideas", "suggest something", "recommend something",
		"surprise me", "stocking filler", "secret santa", "christening", "housewarming", "retirement present",
		"anniversary present", "christmas present", "birthday present", "leaving present", "thank you present",
		"what to buy for", "what to get", "should i get", "should i buy", "would you recommend", "would you choose",
		"would you pick", "do you suggest", "do you recommend with", "look good with", "looks good with",
		"along the lines of", "instead of the", "schenkt", "verschenken", "irait", "iraient", "was brauche ich noch",
		"brauche ich noch", "noch etwas zu", "detalle para", "bundled with", "accompany", "to accompany", "style with",
		"round off", "complete my", "complete the set", "ideal companion", "other customers", "people also buy",
		"customers buy", "inspiration", "inspire me", "present idea", "present ideas", "geburtstagsgeschenk",
		"hochzeitsgeschenk", "mitbringsel", "zusammen mit", "kombinieren", "dazu nehmen", "passende", "passendes",
		"passend", "ergänzen", "vorschlagen", "vorschlag", "vorschläge", "alternativen", "sugerencia", "sugerencias",
		"sugerir", "acompañar", "conjunto", "a juego", "idea de regalo", "ideas de regalo", "un regalo para",
		"idées cadeaux", "assortir", "assorti", "accompagner", "suggérer", "suggestions", "proposez vous avec",
		"équivalent", "équivalente", "comparable", "vergleichbares", "pega con", "replacement for", "same style",
		"fehlt noch", "fehlt mir noch", "closest thing", "suggest", "suggestion", "gift", "gift for", "present for",
		"match my", "match the", "to match", "a similar", "something similar", "an alternative", "get her", "get him",
		"get them", "suits these", "suit these", "suits this", "suits the", "suit the", "suits my", "suit my",
		"would suit", "suit it", "complement", "accessories", "like this one", "bought together", "should i add",
		"would you add", "should i wear", "should i give", "could i give", "other things", "they like", "to give",
		"we missing", "still missing", "something nice", "would you give", "would you pair", "noch zum", "noch zur",
		"parecido", "parecida", "similares", "regalo", "regalar", "alternativa", "sugieres", "aconsejas", "qué más",
		"hace falta", "geschenk", "ähnlich", "ähnliche", "ähnliches", "schenken", "noch dazu", "cadeau", "offrir",
		"semblable", "similaire", "prendre avec", "à la place", "accessoires", "accesorios", "zubehör", "carrello",
		"regalare", "carrinho", "winkelwagen",
	},
	1: {
		"cart", "basket", "carrito", "panier", "else", "idea", "ideas", "subtotal", "together", "pair", "suit", "dazu",
		"idee", "ideen", "idées", "matching", "work with", "wear",
	},
	-2: {
		"a cart", "a basket", "pair of", "gift card", "gift cards", "gift wrap", "gift receipt", "gift voucher",
		"gift set",
	},
}
