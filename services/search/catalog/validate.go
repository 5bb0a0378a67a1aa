package catalog

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Limits of a product and of a search; docs/data.md lists them. Lengths are in characters.
const (
	maxTitle       = 300
	maxDescription = 20_000
	MaxName        = 200 // of a name: brands, categories, tags, options, attributes
	maxTags        = 50
	maxAttributes  = 100
	maxCategories  = 10
	maxVariants    = 1_000
	MaxOptions     = 20 // of a variant, or in a filter
	maxImages      = 50
	maxComplements = 100
	maxLanguages   = 20
	maxRating      = 5
	maxStock       = 1<<31 - 1
	maxPrice       = 1_000_000_000_000     // minor units: a cart of them still adds up
	maxNumber      = 1_000_000_000_000_000 // of an attribute; beyond, float64 has no fractions to tell apart
)

// Validate tidies a product that was sent and checks what is left of it.
func Validate(p *catalogv1.Product) error {
	normalize(p)
	return checkProduct(p)
}

// checkProduct returns nil, or an *fault.Invalid with a path for each violation.
func checkProduct(p *catalogv1.Product) error {
	var c fault.Checker
	c.ID("product_id", p.GetProductId())
	c.Text("title", p.GetTitle(), 1, maxTitle)
	c.Text("description", p.GetDescription(), 0, maxDescription)
	c.Text("brand", p.GetBrand(), 0, MaxName)
	if len(p.GetCategoryPath()) == 0 {
		c.Addf("category_path", "must have at least one name")
	}
	CheckTexts(&c, "category_path", p.GetCategoryPath(), maxCategories)
	CheckTexts(&c, "tags", p.GetTags(), maxTags)
	checkAttributes(&c, p.GetAttributes())
	checkVariants(&c, p.GetVariants())
	c.URL("url", p.GetUrl())
	if c.Count("image_urls", len(p.GetImageUrls()), maxImages) {
		for i, u := range p.GetImageUrls() {
			field := fault.At("image_urls", i)
			if c.URL(field, u); u == "" {
				c.Addf(field, "must not be empty")
			}
		}
	}
	if c.Count("complement_ids", len(p.GetComplementIds()), maxComplements) {
		for i, id := range p.GetComplementIds() {
			c.ID(fmt.Sprintf("complement_ids[%d]", i), id)
		}
	}
	c.Text("audience", p.GetAudience(), 0, MaxName)
	if catalogv1.AgeGroup_name[int32(p.GetAgeGroup())] == "" {
		c.Addf("age_group", "is not a known age group")
	}
	if r := p.GetRating(); r != nil {
		CheckRating(&c, "rating.average", r.GetAverage())
		c.Range("rating.count", int64(r.GetCount()), 1, math.MaxInt32)
	}
	checkTranslations(&c, p.GetTranslations())
	return c.Err()
}

// CheckRating checks an average of ratings.
func CheckRating(c *fault.Checker, field string, average float64) {
	if !(average >= 0 && average <= maxRating) { // nor NaN
		c.Addf(field, "is %g, must be from 0 to %d", average, maxRating)
	}
}

func checkTranslations(c *fault.Checker, translations []*catalogv1.LocalizedText) {
	if !c.Count("translations", len(translations), maxLanguages) {
		return
	}
	seen := make(map[language.Tag]bool)
	for i, t := range translations {
		path := fmt.Sprintf("translations[%d]", i)
		tag, err := language.Parse(t.GetLanguage())
		switch {
		case err != nil || t.GetLanguage() == "":
			c.Addf(path+".language", "must be a BCP 47 tag, such as \"de\" or \"pt-BR\"")
		case seen[tag]:
			c.Addf(path+".language", "is there twice; languages must be unique in the product")
		}
		seen[tag] = true
		c.Text(path+".title", t.GetTitle(), 1, maxTitle)
		c.Text(path+".description", t.GetDescription(), 0, maxDescription)
	}
}

// CheckTexts adds a violation for each text of a list that is empty or longer than MaxName. If the list is too long, it adds that
// instead and returns false.
func CheckTexts(c *fault.Checker, field string, values []string, atMost int) bool {
	if !c.Count(field, len(values), atMost) {
		return false
	}
	for i, v := range values {
		c.Text(fault.At(field, i), v, 1, MaxName)
	}
	return true
}

func checkAttributes(c *fault.Checker, attributes []*catalogv1.Attribute) {
	if !c.Count("attributes", len(attributes), maxAttributes) {
		return
	}
	seen := make(map[string]bool)
	for i, a := range attributes {
		path := fmt.Sprintf("attributes[%d]", i)
		checkName(c, path+".name", a.GetName(), seen)
		c.Text(path+".unit", a.GetUnit(), 0, MaxName)
		switch v := a.GetValue().(type) {
		case nil:
			c.Addf(path, "needs one of text, number and flag")
		case *catalogv1.Attribute_Text:
			c.Text(path+".text", v.Text, 1, MaxName)
		case *catalogv1.Attribute_Number:
			if !(math.Abs(v.Number) <= maxNumber) { // nor NaN
				c.Addf(path+".number", "is %g, must be from -%g to %g", v.Number, float64(maxNumber), float64(maxNumber))
			}
		}
		if _, number := a.GetValue().(*catalogv1.Attribute_Number); !number && a.GetUnit() != "" {
			c.Addf(path+".unit", "must be empty: only a number has a unit")
		}
	}
}

func checkVariants(c *fault.Checker, variants []*catalogv1.Variant) {
	if len(variants) == 0 {
		c.Addf("variants", "must have at least one variant")
	}
	if !c.Count("variants", len(variants), maxVariants) {
		return
	}
	seen := make(map[string]bool)
	for i, v := range variants {
		path := fmt.Sprintf("variants[%d]", i)
		c.ID(path+".variant_id", v.GetVariantId())
		if key := strings.ToLower(v.GetVariantId()); fault.ValidID(key) {
			if seen[key] {
				c.Addf(path+".variant_id", "is there twice, case aside; ids must be unique in the product")
			}
			seen[key] = true
		}
		checkOptions(c, path+".options", v.GetOptions())
		c.Range(path+".stock", int64(v.GetStock()), 0, maxStock)
		checkPrices(c, path, v, variants[0].GetPrice().GetCurrencyCode())
	}
}

func checkOptions(c *fault.Checker, path string, options map[string]string) {
	if !c.Count(path, len(options), MaxOptions) {
		return
	}
	seen := make(map[string]bool)
	for i, name := range slices.Sorted(maps.Keys(options)) { // a path has the position of a name, since the name is a text
		checkName(c, fault.At(path, i)+".name", name, seen)
		c.Text(fault.At(path, i)+".value", options[name], 1, MaxName)
	}
}

// checkPrices checks a variant's prices. All variants of a product are priced in the currency of the first.
func checkPrices(c *fault.Checker, path string, v *catalogv1.Variant, code string) {
	c.Money(path+".price", v.GetPrice(), true)
	checkAmount(c, path+".price", v.GetPrice())
	if v.GetPrice() != nil && v.GetPrice().GetCurrencyCode() != code {
		c.Addf(path+".price.currency_code", "must be that of the first variant")
	}
	if v.GetListPrice() == nil {
		return
	}
	c.Money(path+".list_price", v.GetListPrice(), true)
	checkAmount(c, path+".list_price", v.GetListPrice())
	if v.GetListPrice().GetCurrencyCode() != v.GetPrice().GetCurrencyCode() {
		c.Addf(path+".list_price.currency_code", "must be the price's currency")
	}
	if v.GetListPrice().GetAmountMinor() <= v.GetPrice().GetAmountMinor() {
		c.Addf(path+".list_price.amount_minor", "must be above the price; leave list_price out when there is no markdown")
	}
}

// checkAmount refuses a price that is a slip of a finger.
func checkAmount(c *fault.Checker, field string, m *commonv1.Money) {
	if m.GetAmountMinor() > maxPrice {
		c.Addf(field+".amount_minor", "is %d, must be at most %d", m.GetAmountMinor(), int64(maxPrice))
	}
}

// checkName checks the name of an option or an attribute, which no other in seen may have, spelling aside.
func checkName(c *fault.Checker, field, name string, seen map[string]bool) {
	c.Text(field, name, 1, MaxName)
	key := NameKey(name)
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxName: // said already
		return
	case name != strings.ToLower(name):
		c.Addf(field, "must be in lower case")
	case name != Clean(name):
		c.Addf(field, "must have no spaces around it and no hidden characters")
	case key == "":
		c.Addf(field, "must have a letter or a digit")
	case seen[key]:
		c.Addf(field, "is there twice, spelling aside; names must be unique")
	}
	seen[key] = true
}

// ValidateUpdate checks an update by itself, before its product is read.
func ValidateUpdate(u *catalogv1.VariantUpdate) error {
	var c fault.Checker
	c.ID("product_id", u.GetProductId())
	c.ID("variant_id", u.GetVariantId())
	c.Money("price", u.GetPrice(), false)
	checkAmount(&c, "price", u.GetPrice())
	c.Money("list_price", u.GetListPrice(), false)
	checkAmount(&c, "list_price", u.GetListPrice())
	c.Range("stock", int64(u.GetStock()), 0, maxStock)
	if u.GetListPrice() != nil && u.GetClearListPrice() {
		c.Addf("clear_list_price", "must not be beside list_price")
	}
	if u.GetPrice() == nil && u.GetListPrice() == nil && u.Stock == nil && !u.GetClearListPrice() {
		c.Addf("price", "is not set and nothing else is; set price, list_price, stock or clear_list_price")
	}
	return c.Err()
}
