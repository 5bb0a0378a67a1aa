package catalog

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
)

func TestCheckProduct(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(p *catalogv1.Product)
		want  []string // fields
	}{
		"a good product":           {func(*catalogv1.Product) {}, nil},
		"no id":                    {func(p *catalogv1.Product) { p.ProductId = "" }, []string{"product_id"}},
		"id with a space":          {func(p *catalogv1.Product) { p.ProductId = "a b" }, []string{"product_id"}},
		"no title":                 {func(p *catalogv1.Product) { p.Title = "" }, []string{"title"}},
		"title too long":           {func(p *catalogv1.Product) { p.Title = strings.Repeat("ä", 301) }, []string{"title"}},
		"longest title":            {func(p *catalogv1.Product) { p.Title = strings.Repeat("ä", 300) }, nil},
		"description too long":     {func(p *catalogv1.Product) { p.Description = strings.Repeat("a", 20_001) }, []string{"description"}},
		"no category":              {func(p *catalogv1.Product) { p.CategoryPath = nil }, []string{"category_path"}},
		"empty category":           {func(p *catalogv1.Product) { p.CategoryPath = []string{"A", ""} }, []string{"category_path[1]"}},
		"too many tags":            {func(p *catalogv1.Product) { p.Tags = strings.Split(strings.Repeat("x,", 50)+"x", ",") }, []string{"tags"}},
		"attribute without value":  {func(p *catalogv1.Product) { p.Attributes[0].Value = nil }, []string{"attributes[0]"}},
		"attribute twice":          {func(p *catalogv1.Product) { p.Attributes = append(p.Attributes, p.Attributes[0]) }, []string{"attributes[1].name"}},
		"attribute in upper case":  {func(p *catalogv1.Product) { p.Attributes[0].Name = "Weight" }, []string{"attributes[0].name"}},
		"unit without number":      {func(p *catalogv1.Product) { p.Attributes[0].Unit = "g" }, []string{"attributes[0].unit"}},
		"no variant":               {func(p *catalogv1.Product) { p.Variants = nil }, []string{"variants"}},
		"variant twice":            {func(p *catalogv1.Product) { p.Variants[1].VariantId = "A" }, []string{"variants[1].variant_id"}},
		"no price":                 {func(p *catalogv1.Product) { p.Variants[1].Price = nil }, []string{"variants[1].price"}},
		"bad currency":             {func(p *catalogv1.Product) { p.Variants[1].Price.CurrencyCode = "euro" }, []string{"variants[1].price.currency_code", "variants[1].price.currency_code"}},
		"two currencies":           {func(p *catalogv1.Product) { p.Variants[1].Price.CurrencyCode = "USD" }, []string{"variants[1].price.currency_code"}},
		"negative price":           {func(p *catalogv1.Product) { p.Variants[0].Price.AmountMinor = -1 }, []string{"variants[0].price.amount_minor"}},
		"markdown that is none":    {func(p *catalogv1.Product) { p.Variants[0].ListPrice = catalogtest.Eur(1000) }, []string{"variants[0].list_price.amount_minor"}},
		"markdown":                 {func(p *catalogv1.Product) { p.Variants[0].ListPrice = catalogtest.Eur(1001) }, nil},
		"negative stock":           {func(p *catalogv1.Product) { p.Variants[0].Stock = -1 }, []string{"variants[0].stock"}},
		"option in upper case":     {func(p *catalogv1.Product) { p.Variants[0].Options = map[string]string{"Size": "1"} }, []string{"variants[0].options[0].name"}},
		"relative url":             {func(p *catalogv1.Product) { p.Url = "/p/1" }, []string{"url"}},
		"relative picture":         {func(p *catalogv1.Product) { p.ImageUrls = []string{"https://a.example/1.png", "x"} }, []string{"image_urls[1]"}},
		"bad complement":           {func(p *catalogv1.Product) { p.ComplementIds = []string{"OK", "not ok"} }, []string{"complement_ids[1]"}},
		"best rating":              {func(p *catalogv1.Product) { p.Rating = &catalogv1.Rating{Average: 5, Count: 1} }, nil},
		"rating above the best":    {func(p *catalogv1.Product) { p.Rating = &catalogv1.Rating{Average: 5.1, Count: 1} }, []string{"rating.average"}},
		"rating that is no number": {func(p *catalogv1.Product) { p.Rating = &catalogv1.Rating{Average: math.NaN(), Count: 1} }, []string{"rating.average"}},
		"rating by nobody":         {func(p *catalogv1.Product) { p.Rating = &catalogv1.Rating{Average: 4} }, []string{"rating.count"}},
		"unknown age":              {func(p *catalogv1.Product) { p.AgeGroup = 77 }, []string{"age_group"}},
		"translation": {func(p *catalogv1.Product) {
			p.Translations = []*catalogv1.LocalizedText{{Language: "de", Title: "Ding"}, {Language: "de-AT", Title: "Ding"}}
		}, nil},
		"translation without language": {func(p *catalogv1.Product) { p.Translations = []*catalogv1.LocalizedText{{Title: "Ding"}} }, []string{"translations[0].language"}},
		"translation without title":    {func(p *catalogv1.Product) { p.Translations = []*catalogv1.LocalizedText{{Language: "de"}} }, []string{"translations[0].title"}},
		"two translations into one language": {func(p *catalogv1.Product) {
			p.Translations = []*catalogv1.LocalizedText{{Language: "de", Title: "Ding"}, {Language: "DE", Title: "Ding"}}
		}, []string{"translations[1].language"}},
		"all violations are named": {func(p *catalogv1.Product) { p.Title, p.Variants = "", nil }, []string{"title", "variants"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &catalogv1.Product{
				ProductId: "P-1", Title: "Thing", CategoryPath: []string{"Things"},
				Attributes: []*catalogv1.Attribute{catalogtest.Text("material", "wool")},
				Variants: []*catalogv1.Variant{
					{VariantId: "a", Price: &commonv1.Money{AmountMinor: 1000, CurrencyCode: "EUR"}, Stock: 1},
					{VariantId: "b", Price: &commonv1.Money{AmountMinor: 2000, CurrencyCode: "EUR"}},
				},
			}
			c.spoil(p)
			var got []string
			var invalid *fault.Invalid
			if errors.As(checkProduct(p), &invalid) {
				for _, v := range invalid.Violations {
					got = append(got, v.Field)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
