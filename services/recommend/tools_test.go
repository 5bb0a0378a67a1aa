package recommend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// toolbox makes the tools of one turn for a shopper whose cart "c1" holds the items.
func toolbox(t *testing.T, sc scope.Scope, items ...*cartv1.CartItem) (call func(name, arguments string) (any, error), catalog *fakeCatalog) {
	t.Helper()
	catalog = newFakeCatalog()
	service := newService(t, catalog, scripted.New())
	if len(items) > 0 {
		if _, err := service.carts.Set(t.Context(), &cartv1.SetCartRequest{StoreId: "s1", CartId: "c1", Items: items}); err != nil {
			t.Fatal(err)
		}
	}
	sc.StoreID, sc.Reads = "s1", scope.Reads()
	tools := service.tools(&specialist.Turn{Scope: sc, Findings: &specialist.Findings{}})
	return func(name, arguments string) (any, error) {
		for _, tool := range tools {
			if tool.Name == name {
				return tool.Run(t.Context(), agentloop.ToolCall{Name: name, Arguments: arguments})
			}
		}
		t.Fatalf("no tool %q", name)
		return nil, nil
	}, catalog
}

func TestCartContext(t *testing.T) {
	boots := carttool.Item{ProductID: "BOOT-1", VariantID: "s42", Title: "Fell boot", Quantity: 1, Price: "169.95 EUR",
		Category: "Boots", Options: map[string]string{"size": "42"}}
	full := carttool.Result{Items: []carttool.Item{boots}, Subtotal: "169.95 EUR"}
	inCart := []*cartv1.CartItem{item("BOOT-1", "s42", 1)}
	for name, c := range map[string]struct {
		scope scope.Scope
		items []*cartv1.CartItem
		want  carttool.Result
	}{
		"the cart of the scope":  {scope.Scope{CartID: "c1"}, inCart, full},
		"the cart goes first":    {scope.Scope{CartID: "c2", CustomerID: "c1"}, inCart, carttool.Result{Items: []carttool.Item{}, Note: "The cart is empty."}},
		"an empty cart":          {scope.Scope{CartID: "c1"}, nil, carttool.Result{Items: []carttool.Item{}, Note: "The cart is empty."}},
		"a guest without a cart": {scope.Scope{}, inCart, carttool.Result{Items: []carttool.Item{}, Note: "The shopper's cart is not known here."}},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := toolbox(t, c.scope, c.items...)
			got, err := call("get_cart_context", "{}")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCartContextWithChanges(t *testing.T) {
	inCart := []*cartv1.CartItem{item("BOOT-1", "s42", 1), item("SOCK-1", "", 1)}
	for name, c := range map[string]struct {
		changes string
		want    []string
		sub     string
		err     string
	}{
		"more of an item, by title":      {`[{"product":"fell boot","add":1}]`, []string{"2 BOOT-1/s42", "1 SOCK-1/std"}, "354.85 EUR", ""},
		"in another number":              {`[{"product":"fell boots"}]`, []string{"2 BOOT-1/s42", "1 SOCK-1/std"}, "354.85 EUR", ""},
		"one unit without a number":      {`[{"product":"SOCK-1"}]`, []string{"1 BOOT-1/s42", "2 SOCK-1/std"}, "199.85 EUR", ""},
		"a number in all":                {`[{"product":"SOCK-1","quantity":3}]`, []string{"1 BOOT-1/s42", "3 SOCK-1/std"}, "214.80 EUR", ""},
		"an item less":                   {`[{"product":"BOOT-1","quantity":0}]`, []string{"1 SOCK-1/std"}, "14.95 EUR", ""},
		"another variant":                {`[{"product":"BOOT-1","options":{"size":41}}]`, []string{"1 BOOT-1/s42", "1 SOCK-1/std", "1 BOOT-1/s41"}, "344.85 EUR", ""},
		"a variant that there is not":    {`[{"product":"BOOT-1","options":{"size":"60"}}]`, nil, "", "Fell boot has no variant with size 60; it has: size 41; size 42"},
		"options of several variants":    {`[{"product":"TENT-1","options":{"size":"2"}}]`, nil, "", "Ridge tent has several variants with size 2: colour green, size 2; colour red, size 2; give all options, and ask the shopper for those that are not known"},
		"options of one variant":         {`[{"product":"TENT-1","options":{"size":"2","colour":"red"}}]`, []string{"1 BOOT-1/s42", "1 SOCK-1/std", "1 TENT-1/2-red"}, "484.90 EUR", ""},
		"no product":                     {`[{"product":" ","add":1}]`, nil, "", "product is empty; give the product_id or the exact title"},
		"a product that there is not":    {`[{"product":"moon boot"}]`, nil, "", `the store has no product "moon boot"; give the product_id or the exact title`},
		"both add and quantity":          {`[{"product":"BOOT-1","add":1,"quantity":2}]`, nil, "", `both add and quantity are given for "BOOT-1"; give one`},
		"removing what is not in it":     {`[{"product":"GAITER-1","quantity":0}]`, nil, "", `the cart has no "GAITER-1"; remove only what get_cart_context lists`},
		"fewer units by a number to add": {`[{"product":"SOCK-1","add":-1}]`, nil, "", `add is -1 for "SOCK-1"; use quantity for how many there are in all, 0 to remove it`},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := toolbox(t, scope.Scope{CartID: "c1"}, inCart...)
			got, err := call("get_cart_context", `{"changes":`+c.changes+`}`)
			if c.err != "" || err != nil {
				if err == nil || err.Error() != c.err {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			result := got.(carttool.Result)
			var items []string
			for _, i := range result.Items {
				items = append(items, fmt.Sprintf("%d %s/%s", i.Quantity, i.ProductID, i.VariantID))
			}
			if diff := cmp.Diff(c.want, items); diff != "" || result.Subtotal != c.sub || !strings.HasPrefix(result.Note, "This is the cart with the changes.") {
				t.Errorf("subtotal %q, note %q; items (-want +got):\n%s", result.Subtotal, result.Note, diff)
			}
			after, err := call("get_cart_context", "{}")
			if err != nil || len(after.(carttool.Result).Items) != 2 {
				t.Errorf("the cart itself has changed: %v, %v", after, err)
			}
		})
	}
}

func TestACatalogThatFailsIsNotAskedForANameInstead(t *testing.T) {
	call, catalog := toolbox(t, scope.Scope{CartID: "c1"})
	catalog.err = errors.New("away")
	_, err := call("get_cart_context", `{"changes":[{"product":"SOCK-1"}]}`)
	if err == nil || err.Error() != "the catalog cannot be read now; say so, and name no total" || len(catalog.searches) > 0 {
		t.Errorf("%v after %d searches", err, len(catalog.searches))
	}
}

func TestANameOfSeveralProductsChangesNoCart(t *testing.T) {
	for name, c := range map[string]struct {
		items []*cartv1.CartItem
		want  string
	}{
		"in the cart":    {[]*cartv1.CartItem{item("BOOT-1", "s41", 1), item("BOOT-1", "s42", 1)}, `"boot" means several: BOOT-1 size 41; BOOT-1 size 42; give the product_id, and the options`},
		"in the catalog": {nil, `"boot" means several: BOOT-1 Fell boot; WAX-1 Boot wax; give the product_id, and the options`},
	} {
		call, _ := toolbox(t, scope.Scope{CartID: "c1"}, c.items...)
		if got, err := call("get_cart_context", `{"changes":[{"product":"boot"}]}`); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestSimilarProducts(t *testing.T) {
	inCart := []*cartv1.CartItem{item("BOOT-1", "s42", 1), item("SOCK-1", "", 1)}
	for name, c := range map[string]struct {
		items     []*cartv1.CartItem
		arguments string
		want      []string
		note      string
		similar   *catalogv1.FindSimilarProductsRequest
	}{
		"the cart is where it starts, and is left out": {
			inCart, `{"relation":"complement","query":"rain","limit":1}`, []string{"WAX-1"}, `The store has nothing for "rain"; this goes`,
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"BOOT-1", "SOCK-1"}, Relation: catalogv1.Relation_RELATION_COMPLEMENT, Query: "rain",
				Filter: &catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"BOOT-1", "SOCK-1"}}, Limit: 1, Language: "en",
			},
		},
		"a named product, the cart is left out": {
			inCart, `{"product_ids":["wax-1"],"relation":"alternative","max_price":12.5}`, []string{"MUG-1"}, "",
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"WAX-1"}, Relation: catalogv1.Relation_RELATION_ALTERNATIVE,
				Filter: &catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"BOOT-1", "SOCK-1"}, MaxPrice: eur(1250)}, Limit: 4, Language: "en",
			},
		},
		"a product named by its title": {
			nil, `{"product_ids":["Boot wax"],"limit":1}`, []string{"BOOT-1"}, "",
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"WAX-1"}, Filter: &catalogv1.Filter{InStock: true}, Limit: 1, Language: "en",
			},
		},
		"what goes with a product that the query names": {
			nil, `{"query":"fell boot","relation":"complement","limit":1}`, []string{"SOCK-1"}, "",
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"BOOT-1"}, Relation: catalogv1.Relation_RELATION_COMPLEMENT,
				Filter: &catalogv1.Filter{InStock: true}, Limit: 1, Language: "en",
			},
		},
		"what goes with a product that the query names, whatever is in the cart": {
			inCart, `{"query":"boot wax","relation":"complement","limit":1}`, []string{"MUG-1"}, "",
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"WAX-1"}, Relation: catalogv1.Relation_RELATION_COMPLEMENT,
				Filter: &catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"BOOT-1", "SOCK-1"}}, Limit: 1, Language: "en",
			},
		},
		"what could replace a product that the query names": {
			inCart, `{"query":"boot wax","relation":"alternative","limit":1}`, []string{"MUG-1"}, "",
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"WAX-1"}, Relation: catalogv1.Relation_RELATION_ALTERNATIVE,
				Filter: &catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"BOOT-1", "SOCK-1"}}, Limit: 1, Language: "en",
			},
		},
		"what goes with what the store does not have": {
			inCart, `{"query":"teapot","relation":"complement","limit":1}`, []string{"WAX-1"}, `The store has nothing for "teapot"; this goes with what is in the cart.`,
			&catalogv1.FindSimilarProductsRequest{
				StoreId: "s1", ProductIds: []string{"BOOT-1", "SOCK-1"}, Relation: catalogv1.Relation_RELATION_COMPLEMENT, Query: "teapot",
				Filter: &catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"BOOT-1", "SOCK-1"}}, Limit: 1, Language: "en",
			},
		},
		"a gift has nothing to do with the cart":        {inCart, `{"query":"gift"}`, []string{"MUG-1"}, "", nil},
		"a gift that is like nothing in the cart":       {inCart, `{"query":"gift","relation":"alternative"}`, []string{"MUG-1"}, "", nil},
		"a query that only is part of a title finds it": {nil, `{"query":"fell boot"}`, []string{"BOOT-1"}, "", nil},
		"a product that does not exist":                 {inCart, `{"product_ids":["Kayak"]}`, nil, "The store has no product called Kayak.", nil},
		"an empty cart and a wish":                      {nil, `{"query":"gift","max_price":20}`, []string{"MUG-1"}, "", nil},
		"an empty cart and no wish":                     {nil, `{}`, nil, "The cart is empty. No product was named.", nil},
		"nothing for the wish":                          {nil, `{"query":"kayak","max_price":5}`, nil, "Nothing suitable is in stock at or below 5.00 EUR.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			call, catalog := toolbox(t, scope.Scope{CartID: "c1"}, c.items...)
			value, err := call("similar_products", c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			result := value.(similarResult)
			var got []string
			for _, p := range result.Products {
				got = append(got, p.ProductID)
				if (p.Reason == "") != (c.similar == nil) || p.Price == "" { // a search's reason repeats the query
					t.Errorf("%s lacks a reason or a price: %+v", p.ProductID, p)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("products (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(result.Note, c.note) || c.note == "" && result.Note != "" {
				t.Errorf("note %q, want %q", result.Note, c.note)
			}
			var want []*catalogv1.FindSimilarProductsRequest
			if c.similar != nil {
				want = append(want, c.similar)
			}
			if diff := cmp.Diff(want, catalog.similar, protocmp.Transform()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCartIsReadOncePerTurn(t *testing.T) {
	call, catalog := toolbox(t, scope.Scope{CartID: "c1"}, item("BOOT-1", "s42", 1))
	before := catalog.batches
	for _, name := range []string{"get_cart_context", "get_cart_context", "similar_products"} {
		if _, err := call(name, "{}"); err != nil {
			t.Fatal(err)
		}
	}
	if n := catalog.batches - before; n != 1 {
		t.Errorf("the cart was read %d times", n)
	}
}

func TestTheCartOfTheAssignmentServesInPlaceOfTheStoredOne(t *testing.T) {
	catalog := newFakeCatalog()
	service := newService(t, catalog, scripted.New())
	for name, sc := range map[string]scope.Scope{
		"of a shopper": {StoreID: "s1", CartID: "c1"}, "of a guest whose cart nobody named": {StoreID: "s1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc.Reads = scope.Reads()
			tools := service.tools(&specialist.Turn{Scope: sc, Findings: &specialist.Findings{}, Cart: &cartv1.Cart{
				Items: []*cartv1.CartItem{{ProductId: "SOCK-1", VariantId: "std", Title: "Trail sock", Quantity: 3, UnitPrice: eur(1495), Available: true}},
			}})
			before := catalog.batches
			got, err := servicetest.Run[carttool.Result](t.Context(), t, tools, "get_cart_context", "{}")
			if err != nil || len(got.Items) != 1 || got.Items[0].Quantity != 3 || got.Note != "" || catalog.batches != before {
				t.Errorf("cart %+v, %v after %d reads of the catalog", got, err, catalog.batches-before)
			}
			if _, err := servicetest.Run[similarResult](t.Context(), t, tools, "similar_products", "{}"); err != nil {
				t.Fatal(err)
			}
			last := catalog.similar[len(catalog.similar)-1]
			if diff := cmp.Diff([]string{"SOCK-1"}, last.GetProductIds()); diff != "" {
				t.Errorf("started from (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSimilarRefusesWithAdvice(t *testing.T) {
	call, _ := toolbox(t, scope.Scope{})
	for arguments, advice := range map[string]string{
		`{"relation":"upsell"}`: "use complement or alternative",
		`{"limit":21}`:          "use 1 to 20",
		`{"max_price":-1}`:      "zero or more",
	} {
		if _, err := call("similar_products", arguments); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("%s: error %v does not say %q", arguments, err, advice)
		}
	}
}

func TestAnswer(t *testing.T) {
	catalog := newFakeCatalog()
	service := newService(t, catalog, scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "similar_products", Arguments: `{"relation":"complement"}`}}},
		scripted.Step{Text: "Boot wax (9.95 EUR) goes with your boots."},
	))
	conn := servicetest.Serve(t, "recommend", service.Register)
	add(t, cartv1.NewCartServiceClient(conn), "c1", item("BOOT-1", "s42", 1))
	answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1", CartID: "c1"}, "what goes with my cart?")
	want := []*specialistv1.ProductChoice{{
		ProductId: "WAX-1", Title: "Boot wax", VariantId: "std", Price: eur(995), Stock: 30, Reason: "goes with BOOT-1",
		Url: "https://shop.example/WAX-1",
	}}
	if diff := cmp.Diff(want, answer.GetProducts(), protocmp.Transform()); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

// The model reads English; the shopper does not.
func TestNoEnglishReasonsInALanguageThatCodeDoesNotWrite(t *testing.T) {
	for locale, want := range map[string]string{"it": "", "nl-BE": "", "en-GB": "goes with BOOT-1", "de": "goes with BOOT-1"} { // the catalog of this test speaks English alone
		catalog := newFakeCatalog()
		model := scripted.New(
			scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: "similar_products", Arguments: `{"relation":"complement"}`}}},
			scripted.Step{Text: "Boot wax, 9.95 EUR."},
		)
		conn := servicetest.Serve(t, "recommend", newService(t, catalog, model).Register)
		add(t, cartv1.NewCartServiceClient(conn), "c1", item("BOOT-1", "s42", 1))
		answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1", CartID: "c1", Locale: locale}, "what goes with my cart?")
		if got := answer.GetProducts()[0].GetReason(); got != want {
			t.Errorf("%s: reason %q, want %q", locale, got, want)
		}
		if asked, _ := text.Written(locale); catalog.similar[0].GetLanguage() != asked {
			t.Errorf("%s: reasons in %q, want %q", locale, catalog.similar[0].GetLanguage(), asked)
		}
		if messages := model.Requests()[1].Messages; !strings.Contains(messages[len(messages)-1].Text, "goes with BOOT-1") {
			t.Errorf("%s: the model does not read why", locale)
		}
	}
}

func TestDescribe(t *testing.T) {
	conn := servicetest.Serve(t, "recommend", newService(t, newFakeCatalog(), scripted.New()).Register)
	client := specialistv1.NewSpecialistServiceClient(conn)
	for store, available := range map[string]bool{"s1": true, "s2": false} {
		ctx := servicetest.Context(t, conn, scope.Scope{StoreID: store})
		resp, err := client.Describe(ctx, &specialistv1.DescribeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		s := resp.GetSpecialist()
		if s.GetName() != "recommend" || s.GetAvailable() != available || len(s.GetTools()) != 3 || !s.GetReadsCart() {
			t.Errorf("store %s: %s, available %v, %d tools", store, s.GetName(), s.GetAvailable(), len(s.GetTools()))
		}
		if n := len(s.GetKeywords()); n < 40 || n > 400 {
			t.Errorf("%d keywords", n)
		}
	}
}

func TestAsksForCompany(t *testing.T) {
	for text, want := range map[string]bool{
		"what goes with a stoneware teapot?":          true,
		"Something warm to go with what's in my cart": true,
		"was passt zu meinen Schuhen?":                true,
		"¿qué combina con mis botas?":                 true,
		"a jacket with a hood":                        false,
		"something similar to this backpack":          false,
		"I go camping with friends":                   false,
	} {
		if got := asksForComplement(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestAskingForAGiftStartsFromNoCart(t *testing.T) {
	for _, text := range []string{"gift ideas, please", "any presents?", "ein Geschenk?", "un regalo"} {
		catalog := newFakeCatalog()
		service := newService(t, catalog, scripted.New())
		tools := service.tools(&specialist.Turn{
			Scope: scope.Scope{StoreID: "s1", Reads: scope.Reads()}, SubQuery: text, Findings: &specialist.Findings{},
			Cart: &cartv1.Cart{Items: []*cartv1.CartItem{{ProductId: "SOCK-1", Quantity: 1}}},
		})
		got, err := servicetest.Run[similarResult](t.Context(), t, tools, "similar_products", `{"relation":"complement"}`)
		if err != nil || len(got.Products) != 1 || got.Products[0].ProductID != "MUG-1" || len(catalog.similar) > 0 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"my gifted son needs boots", "what goes with my cart?", "what goes with the gift in my cart?"} {
		if (&turn{Turn: &specialist.Turn{SubQuery: text}}).seeksGift() {
			t.Errorf("a gift is read into %q", text)
		}
	}
}

func TestTitled(t *testing.T) {
	for _, c := range []struct {
		title, query string
		want         bool
	}{
		{"Round stoneware teapot", "a stoneware teapot", true},
		{"Round stoneware teapot", "Stoneware teapots", true},
		{"Round stoneware teapot", "glass teapot", false},
		{"Round stoneware teapot", "stone", false},
		{"Round stoneware teapot", "the", false},
		{"Round stoneware teapot", "", false},
	} {
		if got := namedByTitle(c.title, c.query); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.title, c.query, got, c.want)
		}
	}
}

func TestSearchCatalog(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		want      []string // ids; a plus says that it is in the cart
		note      string
	}{
		"what is in the cart is said to be there": {`{"query":"sock"}`, []string{"SOCK-1+"}, ""},
		"what is not": {`{"query":"mug","max_price":50,"sort":"rating"}`, []string{"MUG-1"}, ""},
		"nothing":     {`{"query":"kayak"}`, nil, "Nothing in stock matches."},
		"sold out":    {`{"query":"tent"}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			call, _ := toolbox(t, scope.Scope{CartID: "c1"}, item("SOCK-1", "std", 1))
			value, err := call("search_catalog", c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			got := value.(similarResult)
			var found []string
			for _, p := range got.Products {
				id := p.ProductID
				if p.InCart {
					id += "+"
				}
				found = append(found, id)
			}
			if !slices.Equal(found, c.want) || got.Note != c.note {
				t.Errorf("found %v, note %q; want %v, %q", found, got.Note, c.want, c.note)
			}
		})
	}
	call, _ := toolbox(t, scope.Scope{})
	for arguments, advice := range map[string]string{
		`{"query":"a","sort":"best"}`:                "use relevance",
		`{"query":"a","limit":21}`:                   "use 1 to 20",
		`{"query":"a","min_price":2,"max_price":1}`:  "swap them",
		`{"query":"a","min_price":-2,"max_price":1}`: "zero or more",
	} {
		if _, err := call("search_catalog", arguments); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("%s: error %v does not say %q", arguments, err, advice)
		}
	}
}

// TestAQueryBesideProductsCounts gives similar_products words beside products to start from.
func TestAQueryBesideProductsCounts(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		first     string
		notes     []string
	}{
		"a related product matches":          {`{"product_ids":["BOOT-1"],"query":"wax"}`, "WAX-1", nil},
		"no product matches":                 {`{"product_ids":["BOOT-1"],"query":"kayak"}`, "WAX-1", []string{`Nothing in stock matches "kayak"; these go by the products alone.`}},
		"what matches is in the cart":        {`{"product_ids":["BOOT-1"],"query":"socks"}`, "WAX-1", []string{"In the cart already: Trail sock."}},
		"the query names what to start from": {`{"product_ids":["BOOT-1"],"query":"boots"}`, "WAX-1", nil},
		"the cart is what to start from":     {`{"product_ids":["cart"],"query":"mug"}`, "MUG-1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			call, catalog := toolbox(t, scope.Scope{CartID: "c1"}, item("SOCK-1", "std", 1))
			value, err := call("similar_products", c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			got := value.(similarResult)
			if len(got.Products) == 0 || got.Products[0].ProductID != c.first {
				t.Errorf("%+v, want %s first", got, c.first)
			}
			for _, note := range c.notes {
				if !strings.Contains(got.Note, note) {
					t.Errorf("note %q does not say %q", got.Note, note)
				}
			}
			if c.notes == nil && got.Note != "" {
				t.Errorf("note %q, want none", got.Note)
			}
			if len(catalog.similar) != 1 {
				t.Errorf("%d requests for related products", len(catalog.similar))
			}
		})
	}
}

// TestCheaperAlternatives bounds the price by that of the product that the shopper has named.
func TestCheaperAlternatives(t *testing.T) {
	for arguments, want := range map[string]int64{
		`{"product_ids":["BOOT-1"],"cheaper":true}`:                 15994,
		`{"product_ids":["BOOT-1"],"cheaper":true,"max_price":100}`: 10000,
		`{"product_ids":["BOOT-1"],"cheaper":true,"max_price":500}`: 15994,
		`{"product_ids":["BOOT-1"],"relation":"alternative"}`:       0,
	} {
		call, catalog := toolbox(t, scope.Scope{})
		if _, err := call("similar_products", arguments); err != nil {
			t.Fatal(err)
		}
		got := catalog.similar[0]
		if got.GetFilter().GetMaxPrice().GetAmountMinor() != want || got.GetRelation() != catalogv1.Relation_RELATION_ALTERNATIVE {
			t.Errorf("%s: %v, want at most %d", arguments, got, want)
		}
	}
}
