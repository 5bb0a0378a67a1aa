package carttool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
)

// A model pays for every token of a result in all of its further calls.
func TestAFullCartIsShort(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{5: "", 20: "The cart has 10 items more, which are in the subtotal."} {
		cart := &cartv1.Cart{}
		for i := range n {
			cart.Items = append(cart.Items, &cartv1.CartItem{
				ProductId: fmt.Sprintf("TR-SHOE-%03d", i), VariantId: "43-graphite", Title: fmt.Sprintf("Marsh Plover %d waterproof trail running shoe", i),
				Quantity: 2, Available: true, CategoryPath: []string{"Footwear", []string{"Trail running shoes", "Socks", "Gaiters"}[i%3]},
				UnitPrice: &commonv1.Money{AmountMinor: 14995, CurrencyCode: "EUR"}, Options: map[string]string{"size": "43", "colour": "graphite"},
			})
		}
		cart.Subtotal = cartclient.Subtotal(cart.GetItems())
		r := view(cart, "", false)
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := codec.Count(string(raw))
		if err != nil || tokens > 350 || r.Note != want || len(r.Items) != min(n, maxItems) || r.Subtotal != fmt.Sprintf("%d.%02d EUR", n*29990/100, n*29990%100) {
			t.Errorf("%d items: %d tokens, %v: %s", n, tokens, err, raw)
		}
		if full := strings.Contains(string(raw), "TR-SHOE"); full != (n <= maxFull) {
			t.Errorf("%d items: %s", n, raw)
		}
	}
}
