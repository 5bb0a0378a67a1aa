package e2e

import (
	"strings"
	"testing"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
)

// putStore makes a store with products.
func (h *system) putStore(t *testing.T, storeID, locale string, products ...*catalogv1.Product) {
	t.Helper()
	_, err := h.data.Stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: storeID, Name: storeID, CurrencyCode: "EUR", DefaultLocale: locale,
	}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := h.data.Catalog.UpsertProducts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&catalogv1.UpsertProductsRequest{StoreId: storeID, Products: products}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.CloseAndRecv()
	if err != nil || resp.GetErrorCount() > 0 {
		t.Fatalf("%v %v", err, resp.GetErrors())
	}
}

// TestStoresAreAskedInTheirLanguage asks in a German store and in one that sells in German and English.
func TestStoresAreAskedInTheirLanguage(t *testing.T) {
	h := newSystem(t)
	german := catalogtest.German()
	for _, p := range german {
		p.ProductId += "-1" // words are no ids
	}
	h.putStore(t, "laden", "de", german...)
	coat := catalogtest.Described("COAT", "Dotterel coat", "A warm layer of wool for the coldest of days.", "Coats")
	mug := catalogtest.Described("MUG", "Enamel mug", "The mug is light and it does not break when you drop it.", "Mugs")
	h.putStore(t, "mixed", "de", append(german, coat, mug)...)
	boot := catalogtest.Described("BOOT", "Avocet hiking boot", "It holds on wet rock and it is light on the foot.", "Boots")
	boot.Translations = []*catalogv1.LocalizedText{
		{Language: "de", Title: "Avocet Wanderstiefel", Description: "Hält auf nassem Fels und ist leicht am Fuß."},
		{Language: "es", Title: "Bota de senderismo Avocet"},
	}
	tent := catalogtest.Described("TENT", "Avocet tent", "The tent stands in a storm and it is quick to put up.", "Tents")
	h.putStore(t, "translated", "en", boot, tent)
	for _, c := range []struct {
		store, locale, message string
		want                   []string
		text                   string // of the reply
	}{
		{"laden", "", "Habt ihr einen Mantel?", []string{"MANTEL-1"}, "Kiebitz Mantel"},
		{"laden", "", "Ich suche Wanderschuhe", []string{"SCHUH-1"}, "Eisvogel Wanderschuhe"},
		{"laden", "", "Was kostet die Stirnlampe?", []string{"LAMPE-1"}, "Eisvogel Stirnlampe"},
		{"mixed", "", "Habt ihr einen Mantel?", []string{"MANTEL-1"}, "Kiebitz Mantel"},
		{"mixed", "", "Do you have a mug?", []string{"MUG"}, "Enamel mug"},
		{"translated", "de", "Habt ihr Wanderstiefel?", []string{"BOOT"}, "Avocet Wanderstiefel"},
		{"translated", "es-MX", "¿Tienen botas de senderismo?", []string{"BOOT"}, "Bota de senderismo Avocet"},
		{"translated", "en", "Do you have hiking boots?", []string{"BOOT"}, "Avocet hiking boot"},
	} {
		t.Run(c.store+" "+c.message, func(t *testing.T) {
			reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: c.store, Message: c.message, Locale: c.locale})
			if err != nil {
				t.Fatal(err)
			}
			calls := reply.GetResults()[0].GetAnswer().GetToolCalls()
			for _, id := range c.want {
				if len(calls) == 0 || !strings.Contains(calls[0].GetResultPreview(), `"product_id":"`+id+`"`) {
					t.Errorf("%s is not found: %v", id, calls)
				}
			}
			if len(reply.GetProducts()) == 0 || !strings.Contains(reply.GetText(), c.text) {
				t.Errorf("%d products, want %q: %s", len(reply.GetProducts()), c.text, reply.GetText())
			}
		})
	}
}

// TestSuperlativesAreOrdersOfNumbers asks the demo store for what is the most or the least of something other than its price.
func TestSuperlativesAreOrdersOfNumbers(t *testing.T) {
	h := newSystem(t)
	for message, order := range map[string]string{
		"What is the lightest tent under 300?": "weight_low_to_high",
		"which sleeping bag is the warmest?":   "comfort_temperature_low_to_high",
		"which is the best rated backpack?":    "rating",
	} {
		reply := h.ask(t, message)
		calls := reply.GetResults()[0].GetAnswer().GetToolCalls()
		if len(calls) == 0 || !strings.Contains(calls[0].GetArgumentsJson(), `"sort":"`+order+`"`) || len(reply.GetProducts()) == 0 {
			t.Errorf("%s: %v", message, calls)
		}
	}
	if reply := h.ask(t, "compare the Lea 2 and the Gazeway"); len(reply.GetComparison().GetProducts()) != 2 {
		t.Errorf("the reply has no comparison: %v", reply)
	}
}
