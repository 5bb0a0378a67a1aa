package weaviate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
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

// A product is one object of the cluster, named by store and product id: the stems of its words, cut by our own code, which the
// cluster ranks by, and the keys of its filters.

// clusterSchema numbers the layout of a object, and with it the collection. Raise it with every change to properties, to tokens,
// or to what words and keys are made of; the next start then fills a new collection while searches go on in the old one.
const clusterSchema = 9

// Properties of an object.
const (
	propWords    = "words"    // tokens of all searched fields, as often as they weigh
	propStrong   = "strong"   // tokens of the strong ones
	propWeak     = "weak"     // tokens that only the others have
	propKeys     = "keys"     // names and values that filters ask for
	propLow      = "low"      // lowest price, in minor units of any currency
	propHigh     = "high"     // highest price
	propRating   = "rating"   // average
	propStock    = "stock"    // whether any variant is in stock
	propEmbedded = "embedded" // whether it has a vector
)

// rankedBy are the properties that the cluster ranks by: one whose texts repeat each token as often as it weighs. Collections before
// schema 7 have others, and are searched until this program's is filled.
func rankedBy(collection string) []string {
	switch schema := schemaOf(collection); {
	case schema < 6:
		return []string{"title^6", "category^5", "brand^3", "tags^3", "caption^3", "pairs"}
	case schema < 7:
		return []string{"name", "head", propWords}
	}
	return []string{propWords}
}

// weakIn is the property of the tokens that strong fields lack. Collections before schema 8 have it together with the strong ones.
func weakIn(collection string) string {
	if schemaOf(collection) < 8 {
		return propWords
	}
	return propWeak
}

// Properties of objects before schema 7, which say which product an object is. Now the manifest does, since the server decodes the whole
// object for one property.
const (
	oldPropProduct = "product"
	oldPropHash    = "hash"
)

// identifiedBy are the properties that say which product an object is. None: the manifest says it.
func identifiedBy(collection string) []string {
	if schemaOf(collection) < 7 {
		return []string{oldPropProduct, oldPropHash}
	}
	return nil
}

// properties are those of the collection.
func properties() []weaviate.Property {
	text := func(name, tokenization string) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"text"}, Tokenization: tokenization, Filterable: true}
	}
	number := func(name string, ranged bool) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"number"}, Filterable: true, Ranged: ranged}
	}
	flag := func(name string) weaviate.Property {
		return weaviate.Property{Name: name, DataType: []string{"boolean"}, Filterable: true}
	}
	words := text(propWords, "whitespace")
	words.Searchable, words.Filterable = true, false // filters look into the next two
	return []weaviate.Property{
		words, text(propStrong, "whitespace"), text(propWeak, "whitespace"), text(propKeys, "whitespace"),
		number(propLow, true), number(propHigh, true), number(propRating, false), flag(propStock), flag(propEmbedded),
	}
}

// objectNamespace is where the names of objects come from.
var objectNamespace = uuid.MustParse("5e7b7cf6-6f4f-4d43-9a53-9f2c1b9b7d10")

// newObject is the object of a product.
func newObject(storeID string, e *index.Entry, ps index.FieldTerms) weaviate.Object {
	low, high, stock := int64(0), int64(0), false
	for i, v := range e.Product.GetVariants() {
		amount := v.GetPrice().GetAmountMinor()
		if i == 0 {
			low, high = amount, amount
		}
		low, high, stock = min(low, amount), max(high, amount), stock || v.GetStock() > 0
	}
	counts, strong := tokenCounts(ps), strongTokens(ps)
	properties := map[string]any{
		propWords: repeated(counts), propStrong: strings.Join(sorted(strong), " "), propWeak: strings.Join(weakTokens(counts, strong), " "),
		propKeys: strings.Join(keysOf(e), " "),
		propLow:  low, propHigh: high, propRating: e.Product.GetRating().GetAverage(), propStock: stock, propEmbedded: false,
	}
	return weaviate.Object{ID: objectID(storeID, e.ID()).String(), Properties: properties}
}

// objectID names the object of a product. All replicas name it alike, and write it in place of the one before.
func objectID(storeID, productID string) uuid.UUID {
	return uuid.NewSHA1(objectNamespace, []byte(storeID+"/"+productID))
}

// productHash identifies what a product says.
func productHash(p *catalogv1.Product) uuid.UUID {
	raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(p) // never fails for a product that was decoded
	return uuid.NewSHA1(objectNamespace, raw)
}

// usualLengths are about how many words the fields have, by name. Only the ratios within a store matter.
var usualLengths = map[string]float64{
	"title": 12, "category": 2, "brand": 1, "tags": 4, "attributes": 40, "caption": 15, "section": 4, "description": 60,
}

// joinedTimes is how often a text has neighbours that may be one word. Such words are rare, and count much for that.
const joinedTimes = 2

// tokenCounts are how often the text of an object has each token: the root of its weight by BM25F. The cluster then ranks by one text
// about as the index in memory does by all fields. It skips products whose count of a frequent word is too low to be among the best; with
// equal counts it would read them all.
func tokenCounts(ps index.FieldTerms) map[string]int {
	weights := make(map[string]float64)
	for i, f := range index.Fields {
		length := float64(len(ps[i])) / max(1, usualLengths[f.Name])
		for _, s := range ps[i] {
			if f.Weight > 0 {
				weights[s] += f.TermWeight(1, length)
			}
		}
	}
	out := make(map[string]int, len(weights))
	for s, w := range weights {
		out[s] = max(1, int(math.Round(math.Sqrt(w))))
	}
	for _, s := range ps[index.PairsField] {
		out[joinedToken(s)] = joinedTimes
	}
	for _, s := range ps[index.HeadField] {
		out[headToken(s)] = 1
	}
	return out
}

// repeated is a text that has each token as often as is said.
func repeated(counts map[string]int) string {
	var out []string
	for token, n := range counts {
		out = append(out, slices.Repeat([]string{token}, n)...)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// strongTokens are the stems of the strong fields, and the neighbours that a compound may mean.
func strongTokens(ps index.FieldTerms) map[string]bool {
	out := make(map[string]bool)
	for i, f := range index.Fields {
		for _, s := range ps[i] {
			if f.Weight > 0 && f.Strong {
				out[s] = true
			}
		}
	}
	for _, s := range ps[index.PairsField] {
		out[joinedToken(s)] = true
	}
	return out
}

// weakTokens are the stems of a text that are not strong, in order.
func weakTokens(counts map[string]int, strong map[string]bool) []string {
	var out []string
	for token := range counts {
		if !strong[token] && !marked(token) {
			out = append(out, token)
		}
	}
	slices.Sort(out)
	return out
}

// marked reports whether a token is no stem.
func marked(token string) bool { return token[0] == '=' || token[0] == '+' }

// headToken begins with a mark that no stem has.
func headToken(stem string) string { return "=" + stem }

// joinedToken begins with a mark that no stem has.
func joinedToken(stem string) string { return "+" + stem }

// Keys of statistics, each with a letter for its kind. They are tokens too: one word each.
func categoryKey(name string) string      { return factKey("c:", name) }
func narrowestKey(name string) string     { return factKey("n:", name) }
func brandKey(name string) string         { return factKey("b:", name) }
func tagKey(name string) string           { return factKey("t:", name) }
func currencyKey(code string) string      { return factKey("u:", code) }
func idFactKey(id string) string          { return factKey("i:", catalog.IDKey(id)) }
func variantFactKey(key string) string    { return factKey("v:", key) }
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
		if key := index.VariantKey(v.GetVariantId()); key != "" {
			out[variantFactKey(key)] = true
		}
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
func newRecord(e *index.Entry, ps index.FieldTerms) (record, error) {
	sums, err := json.Marshal(statisticsOf(e, ps)) // in the order of the keys
	if err != nil {
		return record{}, fmt.Errorf("product %q: %w", e.ID(), err)
	}
	return record{
		Hash: productHash(e.Product), Text: uuid.NewSHA1(objectNamespace, []byte(index.Text(e.Product))).String(), Sums: string(sums),
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
