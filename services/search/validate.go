package search

import (
	"fmt"
	"net/url"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Limits of a product. Lengths are in characters.
const (
	maxTitle       = 300
	maxDescription = 20_000
	maxName        = 200
	maxTags        = 50
	maxAttributes  = 100
	maxCategories  = 10
	maxVariants    = 1_000
	maxURL         = 2_000
	maxQuery       = 1_000
	maxStock       = 1<<31 - 1
)

// checkProduct returns nil, or an *fault.Invalid with a path for each violation.
func checkProduct(p *catalogv1.Product) error {
	var c fault.Checker
	c.ID("product_id", p.GetProductId())
	c.Text("title", p.GetTitle(), 1, maxTitle)
	c.Text("description", p.GetDescription(), 0, maxDescription)
	c.Text("brand", p.GetBrand(), 0, maxName)
	if len(p.GetCategoryPath()) == 0 {
		c.Addf("category_path", "must have at least one name")
	}
	texts(&c, "category_path", p.GetCategoryPath(), maxCategories)
	texts(&c, "tags", p.GetTags(), maxTags)
	checkAttributes(&c, p.GetAttributes())
	checkVariants(&c, p.GetVariants())
	if p.GetUrl() != "" {
		checkURL(&c, "url", p.GetUrl())
	}
	for i, u := range p.GetImageUrls() {
		checkURL(&c, fmt.Sprintf("image_urls[%d]", i), u)
	}
	for i, id := range p.GetComplementIds() {
		c.ID(fmt.Sprintf("complement_ids[%d]", i), id)
	}
	return c.Err()
}

func texts(c *fault.Checker, field string, values []string, atMost int) {
	if len(values) > atMost {
		c.Addf(field, "has %d entries, must have at most %d", len(values), atMost)
	}
	for i, v := range values {
		c.Text(fmt.Sprintf("%s[%d]", field, i), v, 1, maxName)
	}
}

func checkAttributes(c *fault.Checker, attributes []*catalogv1.Attribute) {
	if len(attributes) > maxAttributes {
		c.Addf("attributes", "has %d entries, must have at most %d", len(attributes), maxAttributes)
	}
	seen := make(map[string]bool)
	for i, a := range attributes {
		path := fmt.Sprintf("attributes[%d]", i)
		checkName(c, path+".name", a.GetName())
		if seen[a.GetName()] {
			c.Addf(path+".name", "%q is there twice; names must be unique", a.GetName())
		}
		seen[a.GetName()] = true
		switch v := a.GetValue().(type) {
		case nil:
			c.Addf(path, "needs one of text, number and flag")
		case *catalogv1.Attribute_Text:
			c.Text(path+".text", v.Text, 1, maxName)
		}
		if _, number := a.GetValue().(*catalogv1.Attribute_Number); !number && a.GetUnit() != "" {
			c.Addf(path+".unit", "must be empty: only a number has a unit")
		}
	}
}

func checkVariants(c *fault.Checker, variants []*catalogv1.Variant) {
	switch n := len(variants); {
	case n == 0:
		c.Addf("variants", "must have at least one variant")
	case n > maxVariants:
		c.Addf("variants", "has %d entries, must have at most %d", n, maxVariants)
	}
	seen := make(map[string]bool)
	for i, v := range variants {
		path := fmt.Sprintf("variants[%d]", i)
		c.ID(path+".variant_id", v.GetVariantId())
		if seen[idKey(v.GetVariantId())] {
			c.Addf(path+".variant_id", "%q is there twice; ids must be unique in the product", v.GetVariantId())
		}
		seen[idKey(v.GetVariantId())] = true
		for name, value := range v.GetOptions() {
			checkName(c, path+".options", name)
			c.Text(path+".options."+name, value, 1, maxName)
		}
		c.Range(path+".stock", int64(v.GetStock()), 0, maxStock)
		checkPrices(c, path, v, variants[0].GetPrice().GetCurrencyCode())
	}
}

// checkPrices checks a variant's prices. All variants of a product are priced in the currency of the first.
func checkPrices(c *fault.Checker, path string, v *catalogv1.Variant, code string) {
	c.Money(path+".price", v.GetPrice(), true)
	if v.GetPrice() != nil && v.GetPrice().GetCurrencyCode() != code {
		c.Addf(path+".price.currency_code", "is %q, must be %q like the first variant's", v.GetPrice().GetCurrencyCode(), code)
	}
	if v.GetListPrice() == nil {
		return
	}
	c.Money(path+".list_price", v.GetListPrice(), true)
	if v.GetListPrice().GetCurrencyCode() != v.GetPrice().GetCurrencyCode() {
		c.Addf(path+".list_price.currency_code", "must be the price's currency")
	}
	if v.GetListPrice().GetAmountMinor() <= v.GetPrice().GetAmountMinor() {
		c.Addf(path+".list_price.amount_minor", "must be above the price; leave list_price out when there is no markdown")
	}
}

func checkName(c *fault.Checker, field, name string) {
	c.Text(field, name, 1, maxName)
	if name != strings.ToLower(name) {
		c.Addf(field, "%q must be in lower case", name)
	}
}

func checkURL(c *fault.Checker, field, value string) {
	c.Text(field, value, 1, maxURL)
	u, err := url.Parse(value)
	if err != nil || !u.IsAbs() || u.Host == "" {
		c.Addf(field, "must be an absolute URL")
	}
}

// checkUpdate checks an update by itself, before its product is read.
func checkUpdate(u *catalogv1.VariantUpdate) error {
	var c fault.Checker
	c.ID("product_id", u.GetProductId())
	c.ID("variant_id", u.GetVariantId())
	c.Money("price", u.GetPrice(), false)
	c.Money("list_price", u.GetListPrice(), false)
	c.Range("stock", int64(u.GetStock()), 0, maxStock)
	if u.GetListPrice() != nil && u.GetClearListPrice() {
		c.Addf("clear_list_price", "must not be beside list_price")
	}
	if u.GetPrice() == nil && u.GetListPrice() == nil && u.Stock == nil && !u.GetClearListPrice() {
		c.Addf("price", "is not set and nothing else is; set price, list_price, stock or clear_list_price")
	}
	return c.Err()
}

// checkFilter checks a filter as callers send it.
func checkFilter(c *fault.Checker, f *catalogv1.Filter) {
	c.Money("filter.min_price", f.GetMinPrice(), false)
	c.Money("filter.max_price", f.GetMaxPrice(), false)
	low, high := f.GetMinPrice(), f.GetMaxPrice()
	if low != nil && high != nil && low.GetCurrencyCode() != high.GetCurrencyCode() {
		c.Addf("filter.max_price.currency_code", "must be the currency of min_price")
	}
	if low != nil && high != nil && low.GetAmountMinor() > high.GetAmountMinor() {
		c.Addf("filter.max_price.amount_minor", "must not be below min_price")
	}
}
