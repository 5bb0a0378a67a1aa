package search

import (
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// sheet is a line of a public collection of data sheets: id, title, supplier, short_description, price, and facts named
// attr_t_* (text), attr_n_* (number) and attr_b_* (yes or no).
type sheet map[string]*structpb.Value

const (
	// sheetAttributes and sheetText are the catalog's limits for attributes and for the characters of their texts.
	sheetAttributes, sheetText = 100, 200
	// sheetCategory is that of all sheets, which name none.
	sheetCategory = "Products"
	// sheetCurrency is that of all prices, which name none.
	sheetCurrency = "USD"
	// sheetStock is that of all products: sheets tell none, and what is not sold would not be there.
	sheetStock = 1
)

// product maps the sheet. What the catalog needs and the sheet lacks stays empty, for the catalog to say so.
func (s sheet) product() *catalogv1.Product {
	return &catalogv1.Product{
		ProductId:    s["id"].GetStringValue(),
		Title:        s["title"].GetStringValue(),
		Brand:        s["supplier"].GetStringValue(),
		Description:  s["short_description"].GetStringValue(),
		CategoryPath: []string{sheetCategory},
		Attributes:   s.attributes(),
		Variants: []*catalogv1.Variant{{
			VariantId: "std", Stock: sheetStock,
			Price: &commonv1.Money{AmountMinor: int64(math.Round(s["price"].GetNumberValue())), CurrencyCode: sheetCurrency},
		}},
	}
}

// attributes are the facts, texts before numbers before flags and each by name, as many as the catalog takes.
func (s sheet) attributes() []*catalogv1.Attribute {
	var out []*catalogv1.Attribute
	seen := make(map[string]bool)
	for _, kind := range []string{"attr_t_", "attr_n_", "attr_b_"} {
		for _, key := range slices.Sorted(maps.Keys(s)) {
			rest, ok := strings.CutPrefix(key, kind)
			name := strings.ToLower(strings.Join(strings.FieldsFunc(rest, func(r rune) bool { return r == '_' }), " "))
			if !ok || seen[name] || len(out) == sheetAttributes {
				continue
			}
			if a := attribute(name, s[key]); a != nil {
				seen[name] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// attribute is one fact. Nil: the value is of no kind that a catalog has, or empty.
func attribute(name string, value *structpb.Value) *catalogv1.Attribute {
	a := &catalogv1.Attribute{Name: name}
	switch v := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		text := []rune(strings.TrimSpace(v.StringValue))
		if len(text) == 0 {
			return nil
		}
		a.Value = &catalogv1.Attribute_Text{Text: strings.TrimSpace(string(text[:min(sheetText, len(text))]))}
	case *structpb.Value_NumberValue:
		a.Value = &catalogv1.Attribute_Number{Number: v.NumberValue}
	case *structpb.Value_BoolValue:
		a.Value = &catalogv1.Attribute_Flag{Flag: v.BoolValue}
	default:
		return nil
	}
	return a
}
