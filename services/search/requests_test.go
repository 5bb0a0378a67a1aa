package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
)

func many(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint("N-", i))
	}
	return out
}

func manyPairs(n int) map[string]string {
	out := make(map[string]string)
	for _, name := range many(n) {
		out[name] = "x"
	}
	return out
}

const million = 1_000_000

// brokenFilters are refused in every search. The fields are those of the violations.
var brokenFilters = map[string]struct {
	filter *catalogv1.Filter
	fields []string
}{
	"a negative price":                {&catalogv1.Filter{MinPrice: catalogtest.Eur(-1)}, []string{"filter.min_price.amount_minor"}},
	"a price without a currency":      {&catalogv1.Filter{MaxPrice: &commonv1.Money{AmountMinor: 5}}, []string{"filter.max_price.currency_code"}},
	"a currency in lower case":        {&catalogv1.Filter{MaxPrice: &commonv1.Money{CurrencyCode: "eur"}}, []string{"filter.max_price.currency_code"}},
	"prices swapped":                  {&catalogv1.Filter{MinPrice: catalogtest.Eur(2), MaxPrice: catalogtest.Eur(1)}, []string{"filter.max_price.amount_minor"}},
	"prices of two currencies":        {&catalogv1.Filter{MinPrice: catalogtest.Eur(1), MaxPrice: catalogtest.Usd(2)}, []string{"filter.max_price.currency_code"}},
	"a currency the store has not":    {&catalogv1.Filter{MaxPrice: catalogtest.Usd(2)}, []string{"filter.max_price.currency_code"}},
	"both prices in such":             {&catalogv1.Filter{MinPrice: catalogtest.Usd(1), MaxPrice: catalogtest.Usd(2)}, []string{"filter.min_price.currency_code", "filter.max_price.currency_code"}},
	"an empty category":               {&catalogv1.Filter{Categories: []string{"Tents", ""}}, []string{"filter.categories[1]"}},
	"a category of spaces":            {&catalogv1.Filter{Categories: []string{" \u200b"}}, []string{"filter.categories[0]"}},
	"a category of signs":             {&catalogv1.Filter{Categories: []string{">>>"}}, []string{"filter.categories[0]"}},
	"a category with NUL":             {&catalogv1.Filter{Categories: []string{"a\x00"}}, []string{"filter.categories[0]"}},
	"a category of a million letters": {&catalogv1.Filter{Categories: []string{strings.Repeat("a", million)}}, []string{"filter.categories[0]"}},
	"10,000 categories":               {&catalogv1.Filter{Categories: many(10_000)}, []string{"filter.categories"}},
	"an empty brand":                  {&catalogv1.Filter{Brands: []string{""}}, []string{"filter.brands[0]"}},
	"a brand of signs":                {&catalogv1.Filter{Brands: []string{"-"}}, []string{"filter.brands[0]"}},
	"10,000 brands":                   {&catalogv1.Filter{Brands: many(10_000)}, []string{"filter.brands"}},
	"an option without a name":        {&catalogv1.Filter{Options: map[string]string{"": "42"}}, []string{"filter.options[0].name"}},
	"an option without a value":       {&catalogv1.Filter{Options: map[string]string{"size": ""}}, []string{"filter.options[0].value"}},
	"an option with NUL":              {&catalogv1.Filter{Options: map[string]string{"size": "\x00"}}, []string{"filter.options[0].value"}},
	"an option of a long name":        {&catalogv1.Filter{Options: map[string]string{strings.Repeat("a", million): "1"}}, []string{"filter.options[0].name"}},
	"an option of a long value":       {&catalogv1.Filter{Options: map[string]string{"size": strings.Repeat("a", million)}}, []string{"filter.options[0].value"}},
	"10,000 options":                  {&catalogv1.Filter{Options: manyPairs(10_000)}, []string{"filter.options"}},
	"an attribute of signs":           {&catalogv1.Filter{Attributes: map[string]string{"?": "true"}}, []string{"filter.attributes[0].name"}},
	"an attribute without a value":    {&catalogv1.Filter{Attributes: map[string]string{"waterproof": ""}}, []string{"filter.attributes[0].value"}},
	"10,000 attributes":               {&catalogv1.Filter{Attributes: manyPairs(10_000)}, []string{"filter.attributes"}},
	"10,000 ids to leave out":         {&catalogv1.Filter{ExcludeProductIds: many(10_000)}, []string{"filter.exclude_product_ids"}},
}

func TestBrokenRequests(t *testing.T) {
	c := load(t, dial(t, scripted.New()), "s1")
	search := func(req *catalogv1.SearchProductsRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.SearchProducts(ctx, req); return err }
	}
	similar := func(req *catalogv1.FindSimilarProductsRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.FindSimilarProducts(ctx, req); return err }
	}
	get := func(storeID, id string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.GetProduct(ctx, &catalogv1.GetProductRequest{StoreId: storeID, ProductId: id})
			return err
		}
	}
	anchor := []string{"SHOE-1"}
	calls := map[string]struct {
		call   func(context.Context) error
		fields []string
	}{
		"search without a store":       {search(&catalogv1.SearchProductsRequest{}), []string{"store_id"}},
		"search in a store of spaces":  {search(&catalogv1.SearchProductsRequest{StoreId: "  "}), []string{"store_id"}},
		"search in a store of slashes": {search(&catalogv1.SearchProductsRequest{StoreId: "../s1"}), []string{"store_id"}},
		"a query of a million letters": {search(&catalogv1.SearchProductsRequest{StoreId: "s1", Query: strings.Repeat("ä", million)}), []string{"query"}},
		"a query of a million words":   {search(&catalogv1.SearchProductsRequest{StoreId: "s1", Query: strings.Repeat("a ", million)}), []string{"query"}},
		"a query with NUL":             {search(&catalogv1.SearchProductsRequest{StoreId: "s1", Query: "a\x00"}), []string{"query"}},
		"a negative limit":             {search(&catalogv1.SearchProductsRequest{StoreId: "s1", Limit: -1}), []string{"limit"}},
		"a limit beyond":               {search(&catalogv1.SearchProductsRequest{StoreId: "s1", Limit: 1<<31 - 1}), []string{"limit"}},
		"an order that there is not":   {search(&catalogv1.SearchProductsRequest{StoreId: "s1", Sort: 99}), []string{"sort"}},
		"all of it at once":            {search(&catalogv1.SearchProductsRequest{Query: "\x00", Sort: -1, Limit: 101}), []string{"store_id", "query", "sort", "limit"}},

		"similar to nothing":            {similar(&catalogv1.FindSimilarProductsRequest{StoreId: "s1"}), []string{"product_ids"}},
		"similar to 10,000":             {similar(&catalogv1.FindSimilarProductsRequest{StoreId: "s1", ProductIds: many(10_000)}), []string{"product_ids"}},
		"similar in a negative number":  {similar(&catalogv1.FindSimilarProductsRequest{StoreId: "s1", ProductIds: anchor, Limit: -1}), []string{"limit"}},
		"similar in an unknown way":     {similar(&catalogv1.FindSimilarProductsRequest{StoreId: "s1", ProductIds: anchor, Relation: 9}), []string{"relation"}},
		"similar, with a million words": {similar(&catalogv1.FindSimilarProductsRequest{StoreId: "s1", ProductIds: anchor, Query: strings.Repeat("a ", million)}), []string{"query"}},

		"get without an id":           {get("s1", ""), []string{"product_id"}},
		"get of spaces":               {get("s1", " \t "), []string{"product_id"}},
		"get of brackets":             {get("s1", "[[#]]"), []string{"product_id"}},
		"get of two words":            {get("s1", "SHOE 1"), []string{"product_id"}},
		"get of a NUL":                {get("s1", "SHOE\x001"), []string{"product_id"}},
		"get of a million letters":    {get("s1", strings.Repeat("A", million)), []string{"product_id"}},
		"get in a store of a million": {get(strings.Repeat("A", million), "SHOE-1"), []string{"store_id"}},
		"10,000 products at once": {func(ctx context.Context) error {
			_, err := c.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: "s1", ProductIds: many(10_000)})
			return err
		}, []string{"product_ids"}},
		"delete by an id in brackets": {func(ctx context.Context) error {
			_, err := c.DeleteProduct(ctx, &catalogv1.DeleteProductRequest{StoreId: "s1", ProductId: "[SHOE-1]"})
			return err
		}, []string{"product_id"}},
		"10,000 products in a message": {func(context.Context) error {
			_, err := servicetest.Upsert(t, c.UpsertProducts, &catalogv1.UpsertProductsRequest{StoreId: "s1", Products: make([]*catalogv1.Product, 10_000)})
			return err
		}, []string{"products"}},
		"10,000 updates in a message": {func(context.Context) error {
			_, err := servicetest.Upsert(t, c.UpdateVariants, &catalogv1.UpdateVariantsRequest{StoreId: "s1", Updates: make([]*catalogv1.VariantUpdate, 10_000)})
			return err
		}, []string{"updates"}},
		"updates of nothing": {func(context.Context) error {
			_, err := servicetest.Upsert(t, c.UpdateVariants)
			return err
		}, []string{"store_id"}},
	}
	for name, b := range brokenFilters {
		calls["search: "+name] = struct {
			call   func(context.Context) error
			fields []string
		}{search(&catalogv1.SearchProductsRequest{StoreId: "s1", Query: "tent", Filter: b.filter}), b.fields}
		calls["similar: "+name] = struct {
			call   func(context.Context) error
			fields []string
		}{similar(&catalogv1.FindSimilarProductsRequest{StoreId: "s1", ProductIds: anchor, Filter: b.filter}), b.fields}
	}
	for name, tc := range calls {
		err := tc.call(t.Context())
		if status.Code(err) != codes.InvalidArgument || !slices.Equal(servicetest.Violated(err), tc.fields) {
			t.Errorf("%s: %.300v, want a violation of %v", name, err, tc.fields)
		}
		if n := len(fmt.Sprint(err)); n > 1_000 {
			t.Errorf("%s: an error of %d bytes", name, n)
		}
	}
}

// What is odd but harmless is served.
func TestOddRequestsAreServed(t *testing.T) {
	c := load(t, dial(t, scripted.New()), "s1")
	for name, req := range map[string]*catalogv1.SearchProductsRequest{
		"spaces around":                {Query: " \t\r\n trail running shoes\u00a0"},
		"hidden characters":            {Query: "\ufefftrail\u200b \u202erunning\u202c sho\u00ades"},
		"a filter in odd spelling":     {Query: "trail running shoes", Filter: &catalogv1.Filter{Options: map[string]string{" SIZE ": " eu 40 "}}},
		"2,000 ids to leave out":       {Query: "trail running shoes", Filter: &catalogv1.Filter{ExcludeProductIds: many(2_000)}},
		"ids to leave out that are no": {Query: "trail running shoes", Filter: &catalogv1.Filter{ExcludeProductIds: []string{"", " ", "\u202e", strings.Repeat("x", million)}}},
	} {
		req.StoreId = "s1"
		resp, err := c.SearchProducts(t.Context(), req)
		if err != nil || resp.GetTotalCount() != 2 {
			t.Errorf("%s: %d products, %v; want the 2 shoes", name, resp.GetTotalCount(), err)
		}
	}
	for _, query := range []string{"!!!", "🏔️👟", "<script>alert(1)</script>", "' OR 1=1 --", "a* AND b?", "\\", strings.Repeat("(", 1_000), strings.Repeat("tent ", 200)} {
		if _, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: query}); err != nil {
			t.Errorf("%q: %v", query, err)
		}
	}
}

func TestSearchToolArguments(t *testing.T) {
	long := strings.Repeat("a", 201)
	for arguments, advice := range map[string]string{
		`{"query":"` + strings.Repeat("tent ", million/5) + `"}`:       "query is too long, 999999 characters; use a few words",
		`{"query":"tents","category":"` + long + `"}`:                  "category is too long",
		`{"query":"tents","brand":"` + long + `"}`:                     "brand is too long",
		`{"query":"tents","limit":-1}`:                                 "use 1 to 20",
		`{"query":"tents","options":{"size":["M","L"]}}`:               `options: "size" is not one text or number; give one value a call`,
		`{"query":"tents","options":{"size":{"eu":42}}}`:               `options: "size" is not one text or number`,
		`{"query":"tents","options":{"size":"` + long + `"}}`:          `options: "size" is too long`,
		`{"query":"tents","attributes":{"` + long + `":true}}`:         `is too long; give a name and a value of at most 200`,
		`{"query":"tents","attributes":{` + manyMembers(10_000) + `}}`: "attributes has 10000 entries; give at most 20",
	} {
		if _, err := callTool(t, arguments); err == nil || !strings.Contains(err.Error(), advice) || len(err.Error()) > 300 {
			t.Errorf("%.60s: %.300v does not say %q", arguments, err, advice)
		}
	}
	for name, arguments := range map[string]string{
		"null, an empty text and an empty list": `{"query":"tents","options":{"size":null,"colour":" ","":"x"},"attributes":{"season":[],"":""},"brand":" ","category":"\u200b"}`,
		"a list of one":                         `{"query":"tents","attributes":{"persons":[2]},"options":{"colour":["green"]}}`,
		"a number":                              `{"query":"tents","attributes":{"persons":2.0},"max_price":1e300}`,
		"hidden characters":                     `{"query":"\u202eten\u200bts\u0000"}`,
		"null everywhere":                       `{"query":"tents","options":null,"attributes":null,"min_price":null,"max_price":null,"in_stock":null}`,
	} {
		got, err := callTool(t, arguments)
		if err != nil || len(got.Products) == 0 || got.Note != "" {
			t.Errorf("%s: %d products, note %q, %v", name, len(got.Products), got.Note, err)
		}
	}
}

func manyMembers(n int) string {
	var members []string
	for _, name := range many(n) {
		members = append(members, `"`+name+`":1`)
	}
	return strings.Join(members, ",")
}
