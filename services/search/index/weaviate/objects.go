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

// A product is one object of the cluster: the stems of its words and the keys of its statistics, each cut by our own code, so that
// the cluster finds by whole words what the index in memory finds. A object is never changed: a product that is written again gets
// a new one, and the old one goes.

// clusterSchema numbers the layout of a object, and with it the collection. Raise it with every change to properties, to tokens,
// or to what words and keys are made of; the next start then fills a new collection while searches go on in the old one.
const clusterSchema = 3

// Properties of a object.
const (
	propProduct  = "product"  // product id
	propVersion  = "version"  // of the catalog when the object was made
	propWords    = "words"    // tokens of all searched fields
	propStrong   = "strong"   // tokens of the strong ones
	propKeys     = "keys"     // statistics that filters ask for
	propLow      = "low"      // lowest price, in minor units of any currency
	propHigh     = "high"     // highest price
	propStock    = "stock"    // whether any variant is in stock
	propBucket   = "bucket"   // 0 to buckets-1, by the product id
	propEmbedded = "embedded" // whether it has a vector
)

// buckets cut a store into parts, for queries that find more than one answer may hold.
const buckets = 4096

// properties are those of the collection.
func properties() []weaviate.Property {
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
	version := text(propVersion)
	version.Filterable = false
	return []weaviate.Property{
		text(propProduct), version, tokens(propWords), tokens(propStrong), tokens(propKeys), number(propLow), number(propHigh), flag(propStock),
		number(propBucket), flag(propEmbedded),
	}
}

// objectNamespace is where the names of objects come from.
var objectNamespace = uuid.MustParse("5e7b7cf6-6f4f-4d43-9a53-9f2c1b9b7d10")

// object is the object of a product as of a version of its store's catalog.
func (c *Backend) object(storeID string, e *index.Entry, ps index.FieldTerms, version int64) weaviate.Object {
	low, high, stock := int64(0), int64(0), false
	for i, v := range e.Product.GetVariants() {
		amount := v.GetPrice().GetAmountMinor()
		if i == 0 {
			low, high = amount, amount
		}
		low, high, stock = min(low, amount), max(high, amount), stock || v.GetStock() > 0
	}
	all, strong := c.tokens(ps)
	return weaviate.Object{ID: objectID(storeID, e.Product, version), Properties: map[string]any{
		propProduct: e.ID(), propVersion: strconv.FormatInt(version, 10),
		propWords: strings.Join(all, " "), propStrong: strings.Join(strong, " "), propKeys: strings.Join(keysOf(e), " "),
		propLow: low, propHigh: high, propStock: stock, propBucket: bucket(e.ID()), propEmbedded: false,
	}}
}

// objectID names the object of a product as of a version. All writers name the same product alike; two writers
// that read different products at one version write different objects, of which the manifest names one.
func objectID(storeID string, p *catalogv1.Product, version int64) string {
	return uuid.NewSHA1(objectNamespace, []byte(storeID+"/"+productHash(p)+"/"+strconv.FormatInt(version, 10))).String()
}

// productHash identifies what a product says.
func productHash(p *catalogv1.Product) string {
	raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(p) // never fails for a product that was decoded
	return uuid.NewSHA1(objectNamespace, raw).String()
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

// Keys of statistics, each with a letter for its kind. They are tokens too: one word each.
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

// keysOf are the statistics of a product that filters ask for.
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

// newRecord is what the manifest says of a product and its object.
func newRecord(object string, e *index.Entry, ps index.FieldTerms) (record, error) {
	sums, err := json.Marshal(statisticsOf(e, ps)) // in the order of the keys
	if err != nil {
		return record{}, fmt.Errorf("product %q: %w", e.ID(), err)
	}
	return record{
		Row: object, Hash: productHash(e.Product), Text: uuid.NewSHA1(objectNamespace, []byte(index.Text(e.Product))).String(),
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
