package weaviate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// A product is one row of the cluster: the stems of its words and the keys of its facts, each cut by our own code, so that
// the cluster finds by whole words what the index in memory finds. A row is never changed: a product that is written again gets
// a new one, and the old one goes.

// clusterSchema numbers the layout of a row, and with it the collection. Raise it with every change to rowProperties, to tokens,
// or to what words and keys are made of; the next start then fills a new collection while searches go on in the old one.
const clusterSchema = 2

// Properties of a row.
const (
	rowProduct  = "product"  // product id
	rowVersion  = "version"  // of the catalog when the row was made
	rowWords    = "words"    // tokens of all searched fields
	rowStrong   = "strong"   // tokens of the strong ones
	rowKeys     = "keys"     // facts that filters ask for
	rowLow      = "low"      // lowest price, in minor units of any currency
	rowHigh     = "high"     // highest price
	rowStock    = "stock"    // whether any variant is in stock
	rowBucket   = "bucket"   // 0 to buckets-1, by the product id
	rowEmbedded = "embedded" // whether it has a vector
)

// buckets cut a store into parts, for queries that find more than one answer may hold.
const buckets = 4096

// rowProperties are those of the collection.
func rowProperties() []weaviate.Property {
	text := func(name string) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"text"}, Tokenization: "field", Filterable: true}
	}
	tokens := func(name string) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"text"}, Tokenization: "whitespace", Filterable: true}
	}
	number := func(name string) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"number"}, Filterable: true, Ranged: true}
	}
	flag := func(name string) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"boolean"}, Filterable: true}
	}
	version := text(rowVersion)
	version.Filterable = false
	return []weaviate.Property{
		text(rowProduct), version, tokens(rowWords), tokens(rowStrong), tokens(rowKeys), number(rowLow), number(rowHigh), flag(rowStock),
		number(rowBucket), flag(rowEmbedded),
	}
}

// rowSpace is where the names of rows come from.
var rowSpace = uuid.MustParse("5e7b7cf6-6f4f-4d43-9a53-9f2c1b9b7d10")

// row is the row of a product as of a version of its store's catalog.
func (c *Backend) row(storeID string, e *index.Entry, ps index.FieldTerms, version int64) weaviate.Object {
	low, high, stock := int64(0), int64(0), false
	for i, v := range e.Product.GetVariants() {
		amount := v.GetPrice().GetAmountMinor()
		if i == 0 {
			low, high = amount, amount
		}
		low, high, stock = min(low, amount), max(high, amount), stock || v.GetStock() > 0
	}
	all, strong := c.tokens(ps)
	return weaviate.Object{ID: rowID(storeID, e.ID(), version), Properties: map[string]any{
		rowProduct: e.ID(), rowVersion: strconv.FormatInt(version, 10),
		rowWords: strings.Join(all, " "), rowStrong: strings.Join(strong, " "), rowKeys: strings.Join(keysOf(e), " "),
		rowLow: low, rowHigh: high, rowStock: stock, rowBucket: bucket(e.ID()), rowEmbedded: false,
	}}
}

// rowID names the row: the same product as of the same version is the same row, whoever writes it.
func rowID(storeID, productID string, version int64) string {
	return uuid.NewSHA1(rowSpace, []byte(storeID+"/"+productID+"/"+strconv.FormatInt(version, 10))).String()
}

func bucket(productID string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(productID)) // never fails
	return int(h.Sum32() % buckets)
}

// tokens are what words of queries are compared with. Beside the stems of the fields that are searched, they are the neighbours
// that a compound may mean, and the phrases that are synonyms.
func (c *Backend) tokens(ps index.FieldTerms) (all, strong []string) {
	every, sure := make(map[string]bool), make(map[string]bool)
	add := func(token string, isStrong bool) {
		every[token] = true
		if isStrong {
			sure[token] = true
		}
	}
	for i, f := range index.Fields {
		if f.Weight == 0 {
			continue
		}
		for _, s := range ps[i] {
			add(s, f.Strong)
		}
		for _, stems := range c.phrases.in(ps[i]) {
			add(phraseToken(stems), f.Strong)
		}
	}
	for _, s := range ps[index.PairsField] {
		add(joinedToken(s), true)
	}
	return sorted(every), sorted(sure)
}

// Tokens that are no stem begin with a mark that no stem has.
func joinedToken(stem string) string    { return "+" + stem }
func phraseToken(stems []string) string { return "~" + strings.Join(stems, "~") }

// Keys of facts, each with a letter for its kind. They are tokens too: one word each.
func categoryKey(name string) string      { return factKey("c:", name) }
func narrowestKey(name string) string     { return factKey("n:", name) }
func brandKey(name string) string         { return factKey("b:", name) }
func tagKey(name string) string           { return factKey("t:", name) }
func currencyKey(code string) string      { return factKey("u:", code) }
func idFactKey(id string) string          { return factKey("i:", catalog.IDKey(id)) }
func attributeKey(name, v string) string  { return factKey("a:", name+"="+v) }
func optionKey(name, value string) string { return factKey("o:", name+"="+value) }

// categoryKeyIn is the key of a category by the language's plurals. For English it is the key that all products have.
func categoryKeyIn(l *index.Language, name string) string {
	if l == index.English {
		return categoryKey(index.CategoryKey(name))
	}
	return factKey("c-"+l.Tag+":", l.CategoryKey(name))
}

func factKey(kind, text string) string { return kind + strings.ReplaceAll(text, " ", "_") }

// keysOf are the facts of a product that filters ask for.
func keysOf(e *index.Entry) []string {
	out := map[string]bool{idFactKey(e.ID()): true, narrowestKey(e.Category()): true, brandKey(e.Brand): true}
	for i, name := range e.Categories {
		out[categoryKey(name)] = true
		out[categoryKeyIn(e.Language, e.Product.GetCategoryPath()[i])] = true
	}
	for tag := range e.Tags {
		out[tagKey(tag)] = true
	}
	for name, a := range e.Attributes {
		for _, value := range attributeValues(a) {
			out[attributeKey(name, value)] = true
		}
	}
	for i, v := range e.Product.GetVariants() {
		out[currencyKey(v.GetPrice().GetCurrencyCode())] = true
		for name, value := range e.Options[i] {
			out[optionKey(name, value)] = true
			if name == "colour" {
				for _, part := range runs(value) {
					out[optionKey(name, part)] = true
				}
			}
		}
	}
	return sorted(out)
}

// attributeValues are those by which attributeIs admits an attribute, but for the units of numbers.
func attributeValues(a *catalogv1.Attribute) []string {
	switch v := a.GetValue().(type) {
	case *catalogv1.Attribute_Text:
		return runs(catalog.NameKey(v.Text))
	case *catalogv1.Attribute_Number:
		return []string{numberText(v.Number)}
	case *catalogv1.Attribute_Flag:
		return []string{strconv.FormatBool(v.Flag)}
	}
	return nil
}

func numberText(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

// longestRun bounds the words of a run that is a key.
const longestRun = 1

// runs are the short runs of whole words of a folded text.
func runs(text string) []string {
	ws := strings.Fields(text)
	var out []string
	for i := range ws {
		for n := 1; n <= longestRun && i+n <= len(ws); n++ {
			out = append(out, strings.Join(ws[i:i+n], " "))
		}
	}
	return out
}

// newRecord is what the manifest says of a product.
func newRecord(rowID string, e *index.Entry, ps index.FieldTerms) (record, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.Product)
	if err != nil {
		return record{}, fmt.Errorf("product %q: %w", e.ID(), err)
	}
	sums, err := json.Marshal(statisticsOf(e, ps)) // in the order of the keys
	if err != nil {
		return record{}, fmt.Errorf("product %q: %w", e.ID(), err)
	}
	return record{
		Row: rowID, Hash: uuid.NewSHA1(rowSpace, raw).String(), Text: uuid.NewSHA1(rowSpace, []byte(index.Text(e.Product))).String(),
		Sums: string(sums),
	}, nil
}

// firstRun is the beginning of a text that is a key of all texts in which it stands.
func firstRun(text string) string {
	ws := strings.Fields(text)
	return strings.Join(ws[:min(longestRun, len(ws))], " ")
}

func sorted(set map[string]bool) []string {
	return slices.Sorted(maps.Keys(set))
}
