package search

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	loading "github.com/quartet-commerce/quartet/services/internal/load"
)

// productLine is a good line of products.jsonl, changed at a path such as "variants.0.price": nil takes away what is there.
func productLine(t *testing.T, id, path string, value any) string {
	t.Helper()
	p := map[string]any{
		"product_id": id, "title": "Lamp " + id, "category_path": []any{"Lamps"},
		"attributes": []any{map[string]any{"name": "weight", "number": 300, "unit": "g"}, map[string]any{"name": "shade", "text": "linen"}},
		"variants":   []any{variantLine("a", 1000, "S"), variantLine("b", 1200, "M")},
	}
	if path != "" {
		putAt(p, strings.Split(path, "."), value)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func variantLine(id string, price int, size string) map[string]any {
	return map[string]any{
		"variant_id": id, "price": map[string]any{"amount_minor": price, "currency_code": "EUR"}, "stock": 3,
		"options": map[string]any{"size": size},
	}
}

func putAt(at any, path []string, value any) {
	step := path[0]
	switch at := at.(type) {
	case map[string]any:
		if len(path) > 1 {
			putAt(at[step], path[1:], value)
		} else if value == nil {
			delete(at, step)
		} else {
			at[step] = value
		}
	case []any:
		i, _ := strconv.Atoi(step)
		if len(path) > 1 {
			putAt(at[i], path[1:], value)
		} else {
			at[i] = value
		}
	}
}

func several(n int, one func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = one(i)
	}
	return out
}

func pathOf(n int) []any { return several(n, func(i int) any { return fmt.Sprint("Level ", i) }) }

// broken is a line that must be refused, with what the refusal says.
type broken struct {
	name, path string
	value      any
	want       string
}

// brokenFields are good lines with one value that cannot be.
var brokenFields = []broken{
	{"no id", "product_id", nil, "product_id: is required"},
	{"an empty id", "product_id", "", "product_id: is required"},
	{"an id of spaces", "product_id", "   ", "product_id: must be 1 to 64 characters"},
	{"an id with a space", "product_id", "A 1", "product_id: must be"},
	{"an id with a space around", "product_id", " A1 ", "product_id: must be"},
	{"an id with a slash", "product_id", "A/1", "product_id: must be"},
	{"an id with a line feed", "product_id", "A\n1", "product_id: must be"},
	{"an id with NUL", "product_id", "A\x001", "product_id: must be"},
	{"an id with a zero-width space", "product_id", "A\u200b1", "product_id: must be"},
	{"an id with letters that only look right", "product_id", "А1", "product_id: must be"},
	{"an id of 65 characters", "product_id", strings.Repeat("A", 65), "product_id: must be"},
	{"an id of a million characters", "product_id", strings.Repeat("A", 1_000_000), "product_id: must be"},
	{"an id that is a number", "product_id", 7, "invalid value for string field productId: 7"},
	{"an id that is a list", "product_id", []any{"A"}, "product_id"},
	{"no title", "title", nil, "title: is required"},
	{"an empty title", "title", "", "title: is required"},
	{"a title of spaces", "title", " \t\n ", "title: is required"},
	{"a title that nobody sees", "title", "\u200b\u202e\ufeff", "title: is required"},
	{"a title with NUL", "title", "La\x00mp", "title: must not contain the NUL character"},
	{"a title of 301 characters", "title", strings.Repeat("ä", 301), "title: has 301 characters, must have at most 300"},
	{"a title that is a number", "title", 5, "invalid value for string field title: 5"},
	{"a title that is an object", "title", map[string]any{"en": "Lamp"}, "title"},
	{"a description with NUL", "description", "\x00", "description: must not contain the NUL character"},
	{"a description of 20,001 characters", "description", strings.Repeat("a", 20_001), "description: has 20001 characters"},
	{"a description of 3 MB", "description", strings.Repeat("a", 3_000_000), "description: has 3000000 characters, must have at most 20000"},
	{"a description that is a list", "description", []any{"a"}, "description"},
	{"a brand of 201 characters", "brand", strings.Repeat("b", 201), "brand: has 201 characters"},
	{"a brand with NUL", "brand", "b\x00", "brand: must not contain the NUL character"},
	{"a brand that is yes", "brand", true, "invalid value for string field brand: true"},
	{"no category", "category_path", nil, "category_path: must have at least one name"},
	{"an empty category path", "category_path", []any{}, "category_path: must have at least one name"},
	{"a category without a name", "category_path", []any{"Lamps", ""}, "category_path[1]: is required"},
	{"a category of spaces", "category_path", []any{"  "}, "category_path[0]: is required"},
	{"a category path of 11 levels", "category_path", pathOf(11), "category_path: has 11 entries, must have at most 10"},
	{"a category path of 10,000 levels", "category_path", pathOf(10_000), "category_path: has 10000 entries"},
	{"a category of a long name", "category_path", []any{strings.Repeat("c", 201)}, "category_path[0]: has 201 characters"},
	{"a category path that is a text", "category_path", "Lamps > Desk", "unexpected token"},
	{"a category that is null", "category_path", []any{nil}, "null"},
	{"51 tags", "tags", pathOf(51), "tags: has 51 entries, must have at most 50"},
	{"10,000 tags", "tags", pathOf(10_000), "tags: has 10000 entries"},
	{"an empty tag", "tags", []any{"gift", ""}, "tags[1]: is required"},
	{"a tag with NUL", "tags", []any{"\x00"}, "tags[0]: must not contain the NUL character"},
	{"a long tag", "tags", []any{strings.Repeat("t", 201)}, "tags[0]: has 201 characters"},
	{"tags that are a text", "tags", "gift,new", "unexpected token"},
	{"a tag that is a number", "tags", []any{1}, "tags"},
	{"attributes that are an object", "attributes", map[string]any{"weight": 3}, "unexpected token"},
	{"10,000 attributes", "attributes", several(10_000, func(i int) any { return map[string]any{"name": fmt.Sprint("n", i), "flag": true} }), "attributes: has 10000 entries, must have at most 100"},
	{"an attribute without a name", "attributes.0.name", nil, "attributes[0].name: is required"},
	{"an attribute of spaces", "attributes.0.name", "  ", "attributes[0].name: must have no spaces around it"},
	{"an attribute of signs", "attributes.0.name", "!!!", "attributes[0].name: must have a letter or a digit"},
	{"an attribute with a hidden character", "attributes.0.name", "wei\u200bght", "attributes[0].name: must have no spaces"},
	{"an attribute in upper case", "attributes.0.name", "Weight", "attributes[0].name: must be in lower case"},
	{"an attribute of a long name", "attributes.0.name", strings.Repeat("n", 201), "attributes[0].name: has 201 characters"},
	{"an attribute twice", "attributes.1.name", "weight", "attributes[1].name: is there twice"},
	{"an attribute in two spellings", "attributes.1.name", "weight.", "attributes[1].name: is there twice, spelling aside"},
	{"an attribute without a value", "attributes.0.number", nil, "attributes[0]: needs one of text, number and flag"},
	{"an attribute of an empty text", "attributes.1.text", " ", "attributes[1].text: is required"},
	{"an attribute of a long text", "attributes.1.text", strings.Repeat("v", 201), "attributes[1].text: has 201 characters"},
	{"an attribute of two values", "attributes.0.flag", true, "oneof"},
	{"a number that is none", "attributes.0.number", "NaN", "attributes[0].number: is NaN, must be from -1e+15 to 1e+15"},
	{"an infinite number", "attributes.0.number", "Infinity", "attributes[0].number: is +Inf"},
	{"a number infinitely low", "attributes.0.number", "-Infinity", "attributes[0].number: is -Inf"},
	{"a number beyond measure", "attributes.0.number", 1e300, "attributes[0].number: is 1e+300"},
	{"a number that is a text", "attributes.0.number", "300 g", "invalid value for double field number: \"300 g\""},
	{"a flag that is a text", "attributes.0", map[string]any{"name": "new", "flag": "yes"}, "invalid value for bool field flag: \"yes\""},
	{"a unit without a number", "attributes.1.unit", "g", "attributes[1].unit: must be empty"},
	{"a long unit", "attributes.0.unit", strings.Repeat("g", 201), "attributes[0].unit: has 201 characters"},
	{"no variant", "variants", nil, "variants: must have at least one variant"},
	{"no variant in the list", "variants", []any{}, "variants: must have at least one variant"},
	{"10,000 variants", "variants", several(10_000, func(i int) any { return variantLine(fmt.Sprint("v", i), 1, "S") }), "variants: has 10000 entries, must have at most 1000"},
	{"variants that are an object", "variants", variantLine("a", 1, "S"), "unexpected token"},
	{"a variant that is null", "variants.1", nil, "null"},
	{"a variant without an id", "variants.0.variant_id", nil, "variants[0].variant_id: is required"},
	{"a variant id with a space", "variants.0.variant_id", "a b", "variants[0].variant_id: must be"},
	{"a variant twice", "variants.1.variant_id", "a", "variants[1].variant_id: is there twice"},
	{"a variant twice, case aside", "variants.1.variant_id", "A", "variants[1].variant_id: is there twice, case aside"},
	{"options that are a list", "variants.0.options", []any{"S"}, "unexpected token"},
	{"an option that is a number", "variants.0.options.size", 42, "invalid value for string"},
	{"an option without a name", "variants.0.options", map[string]any{"": "S"}, "variants[0].options[0].name: is required"},
	{"an option in upper case", "variants.0.options", map[string]any{"Size": "S"}, "variants[0].options[0].name: must be in lower case"},
	{"an option twice, case aside", "variants.0.options", map[string]any{"Size": "S", "size": "S"}, "variants[0].options[0].name: must be in lower case"},
	{"an option in two spellings", "variants.0.options", map[string]any{"color": "red", "colour": "red"}, "variants[0].options[1].name: is there twice, spelling aside"},
	{"an option of spaces", "variants.0.options", map[string]any{" ": "S"}, "variants[0].options[0].name: must have no spaces around it"},
	{"an option without a value", "variants.0.options.size", "", "variants[0].options[0].value: is required"},
	{"an option of a value of spaces", "variants.0.options.size", " \u00a0", "variants[0].options[0].value: is required"},
	{"an option of a long value", "variants.0.options.size", strings.Repeat("S", 201), "variants[0].options[0].value: has 201 characters"},
	{"an option of a long name", "variants.0.options", map[string]any{strings.Repeat("s", 1_000_000): "S"}, "variants[0].options[0].name: has 1000000 characters"},
	{"10,000 options", "variants.0.options", maps.Collect(func(yield func(string, any) bool) {
		for i := range 10_000 {
			yield(fmt.Sprint("o", i), "S")
		}
	}), "variants[0].options: has 10000 entries, must have at most 20"},
	{"no price", "variants.0.price", nil, "variants[0].price: is required"},
	{"a negative price", "variants.0.price.amount_minor", -1, "variants[0].price.amount_minor: is -1, must be zero or more"},
	{"the lowest of all numbers as a price", "variants.0.price.amount_minor", "-9223372036854775808", "variants[0].price.amount_minor: is -9223372036854775808"},
	{"a price beyond all", "variants.0.price.amount_minor", "9223372036854775807", "variants[0].price.amount_minor: is 9223372036854775807, must be at most 1000000000000"},
	{"a price that overflows", "variants.0.price.amount_minor", "9223372036854775808", "invalid value for int64 field amountMinor"},
	{"a price with cents", "variants.0.price.amount_minor", 12.5, "invalid value for int64 field amountMinor: 12.5"},
	{"a price in words", "variants.0.price.amount_minor", "12 EUR", "invalid value for int64 field amountMinor: \"12 EUR\""},
	{"a price that is a number", "variants.0.price", 1200, "unexpected token 1200"},
	{"a price without a currency", "variants.0.price.currency_code", nil, "variants[0].price.currency_code: must be an ISO 4217 code"},
	{"a currency in lower case", "variants.0.price.currency_code", "eur", "variants[0].price.currency_code: must be an ISO 4217 code"},
	{"a sign as a currency", "variants.0.price.currency_code", "€", "variants[0].price.currency_code: must be an ISO 4217 code"},
	{"two currencies", "variants.1.price.currency_code", "USD", "variants[1].price.currency_code: must be that of the first"},
	{"a markdown upwards", "variants.0.list_price", map[string]any{"amount_minor": 900, "currency_code": "EUR"}, "variants[0].list_price.amount_minor: must be above the price"},
	{"a markdown of nothing", "variants.0.list_price", map[string]any{"amount_minor": 1000, "currency_code": "EUR"}, "variants[0].list_price.amount_minor: must be above the price"},
	{"a markdown from another currency", "variants.0.list_price", map[string]any{"amount_minor": 9000, "currency_code": "USD"}, "variants[0].list_price.currency_code: must be the price's currency"},
	{"a markdown from beyond", "variants.0.list_price", map[string]any{"amount_minor": "9223372036854775807", "currency_code": "EUR"}, "variants[0].list_price.amount_minor: is 9223372036854775807, must be at most"},
	{"negative stock", "variants.0.stock", -1, "variants[0].stock: is -1, must be from 0"},
	{"stock that overflows", "variants.0.stock", 3_000_000_000, "invalid value for int32 field stock: 3000000000"},
	{"half a unit in stock", "variants.0.stock", 0.5, "invalid value for int32 field stock: 0.5"},
	{"stock in words", "variants.0.stock", "many", "invalid value for int32 field stock: \"many\""},
	{"a relative page", "url", "/p/1", "url: must be an absolute http or https URL"},
	{"a page that is a script", "url", "javascript://shop.example/%0aalert(1)", "url: must be an absolute http or https URL"},
	{"a page in a file", "url", "file:///etc/passwd", "url: must be an absolute http or https URL"},
	{"a page without an address", "url", "https://", "url: must be an absolute http or https URL"},
	{"a page that is no address", "url", "http://[", "url: must be an absolute http or https URL"},
	{"a long address", "url", "https://shop.example/" + strings.Repeat("x", 2_000), "url: has 2021 characters, must have at most 2000"},
	{"a relative picture", "image_urls", []any{"https://shop.example/1.png", "2.png"}, "image_urls[1]: must be an absolute http or https URL"},
	{"10,000 pictures", "image_urls", pathOf(10_000), "image_urls: has 10000 entries, must have at most 50"},
	{"a complement that is no id", "complement_ids", []any{"OK", "not ok"}, "complement_ids[1]: must be"},
	{"10,000 complements", "complement_ids", pathOf(10_000), "complement_ids: has 10000 entries, must have at most 100"},
	{"an unknown field", "prize", 12, `unknown field "prize"`},
	{"an unknown field deep down", "variants.0.price.amount", 12, `unknown field "amount"`},
	{"a date that is none", "update_time", "yesterday", "update_time"},
}

// brokenLines are no messages at all.
func brokenLines(t *testing.T) map[string][2]string {
	good := productLine(t, "RAW", "", nil)
	return map[string][2]string{
		"a line cut short":            {good[:len(good)-1], "the line ends before its message does"},
		"a line cut in a text":        {good[:strings.Index(good, "Lamp")+2], "the line ends before its message does"},
		"invalid UTF-8":               {strings.Replace(good, "Lamp", "La\xffmp", 1), "invalid UTF-8"},
		"half a character":            {strings.Replace(good, "Lamp", "La\xc3", 1), "invalid UTF-8"},
		"half of a surrogate":         {strings.Replace(good, "Lamp", `\ud800`, 1), "column"},
		"a number that JSON lacks":    {strings.Replace(good, "300", "NaN", 1), "column"},
		"a comment":                   {"// " + good, "column 1"},
		"a comma too many":            {strings.Replace(good, "}]}", "}],}", 1), "column"},
		"single quotes":               {strings.ReplaceAll(good, `"`, "'"), "column 2"},
		"a field twice":               {strings.Replace(good, "{", `{"title":"Lamp",`, 1), "title"},
		"two products":                {good + good, "column"},
		"a list of products":          {"[" + good + "]", "column 1: a list; write one object a line"},
		"null":                        {"null", "column 1"},
		"a text":                      {`"lamp"`, "column 1"},
		"a table's row":               {"RAW;Lamp;1000;EUR", "column 1"},
		"a byte order mark inside":    {"\ufeff" + good, "column 1"},
		"NUL beside the message":      {good + "\x00", "column"},
		"a text that never ends":      {`{"title":"` + strings.Repeat("x", 100_000), "line ends before"},
		"a line beyond 16 MiB":        {`{"title":"` + strings.Repeat("x", 17<<20) + `"}`, "the line is too long"},
		"an item beyond 4 MiB":        {productLine(t, "RAW", "description", strings.Repeat("x", 4<<20)), "must have at most 4190208"},
		"brackets without end":        {`{"tags":` + strings.Repeat("[", 100_000), "column"},
		"a control character in JSON": {strings.Replace(good, "Lamp", "La\x01mp", 1), "column"},
	}
}

// Every broken line is refused by its number with what is wrong with it, and the good ones around it are taken.
func TestBrokenLines(t *testing.T) {
	var file strings.Builder
	type expected struct{ name, want string }
	refused := make(map[int]expected)
	lines, goods := 0, 0
	add := func(line string) {
		file.WriteString(line + []string{"\n", "\r\n"}[lines%2])
		lines++
	}
	file.WriteString("\ufeff")
	addBroken := func(name, line, want string) {
		add(productLine(t, fmt.Sprint("GOOD-", goods), "", nil))
		goods++
		add(line)
		refused[lines] = expected{name, want}
		if lines%10 == 0 {
			add("") // blank lines count
		}
	}
	for i, b := range brokenFields {
		addBroken(b.name, productLine(t, fmt.Sprint("BAD-", i), b.path, b.value), b.want)
	}
	for name, l := range brokenLines(t) {
		addBroken(name, l[0], l[1])
	}
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	report, err := loading.File(t.Context(), loading.Clients{Catalog: c}, "s1", "products", strings.NewReader(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	if report.Taken != goods || report.Refused != len(refused) {
		t.Errorf("%d taken and %d refused, want %d and %d", report.Taken, report.Refused, goods, len(refused))
	}
	for _, r := range report.Refusals {
		want, ok := refused[r.Line]
		delete(refused, r.Line)
		if said := strings.ReplaceAll(r.What, "\u00a0", " "); !ok || !strings.Contains(said, want.want) || len(said) > 2_000 {
			t.Errorf("line %d, %s: %.300q does not say %q", r.Line, want.name, said, want.want)
		}
	}
	for line, e := range refused {
		t.Errorf("line %d was not refused: %s", line, e.name)
	}
	resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1"})
	if err != nil || int(resp.GetTotalCount()) != goods {
		t.Errorf("%d products in the catalog, %v; want the %d good ones", resp.GetTotalCount(), err, goods)
	}
	t.Logf("%d kinds of broken lines", len(brokenFields)+len(brokenLines(t)))
}

// What nobody sees is taken out and not held against the product.
func TestTextsAreTidied(t *testing.T) {
	line := productLine(t, "P-1", "title", "\ufeff  Tr\u200bail\u202e lamp\u00ad\x07 \n")
	line = strings.Replace(line, `"text":"linen"`, `"text":" li\u2060nen "`, 1)
	line = strings.Replace(line, `"size":"S"`, `"size":"\u200eS "`, 1)
	line = strings.Replace(line, `"Lamps"`, `" Lamps\u200b"`, 1)
	line = strings.TrimSuffix(line, "}") + `,"tags":["gi\u200bft "],"brand":"\tKestrel ","description":"One.\r\n\r\nTwo \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645."}`
	c := catalogv1.NewCatalogServiceClient(dial(t, scripted.New()))
	report, err := loading.File(t.Context(), loading.Clients{Catalog: c}, "s1", "products", strings.NewReader(line))
	if err != nil || report.Taken != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	resp, err := c.SearchProducts(t.Context(), &catalogv1.SearchProductsRequest{StoreId: "s1", Query: "tra\u200bil \u202elamp"})
	if err != nil || len(resp.GetHits()) != 1 {
		t.Fatalf("%v, %v", resp, err)
	}
	p := resp.GetHits()[0].GetProduct()
	got := []string{
		p.GetTitle(), p.GetBrand(), p.GetDescription(), p.GetTags()[0], p.GetCategoryPath()[0], p.GetAttributes()[1].GetText(),
		p.GetVariants()[0].GetOptions()["size"],
	}
	want := []string{"Trail lamp", "Kestrel", "One.\r\n\r\nTwo می\u200cخواهم.", "gift", "Lamps", "linen", "S"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
