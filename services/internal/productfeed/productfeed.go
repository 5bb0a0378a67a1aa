// Package productfeed reads products from the files that shops have already: CSV and TSV with a header, and product feeds for
// merchants in RSS or Atom. All have the attributes of Google's product data specification, of which a row is one variant.
//
// Rows with the same item_group_id become the variants of one product. Columns beyond the specification are tags, rating,
// rating_count, complement_ids, "option NAME" and "attribute NAME". The package imports no service.
package productfeed

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

// Extensions are the endings of the names of files that Read reads.
func Extensions() []string { return []string{".csv", ".tsv", ".xml"} }

// Config says how to read a file.
type Config struct {
	// Extension is one of Extensions. Required.
	Extension string
	// Currency is that of prices without one, an ISO 4217 code. Empty: such prices are refused.
	Currency string
	// Now decides which sales run. Required.
	Now time.Time
}

// row is one item of a file: values by attribute.
type row struct {
	line   int
	values map[string]string
}

func (r row) get(name string) string { return strings.TrimSpace(r.values[name]) }

// Read yields the products of a file in the order of their first rows, with the lines of those. A bad row is yielded as a
// *jsonl.LineError, and its product has the other rows. An unreadable file yields any other error, as the last thing. The whole file
// is read before the first product, because rows of one product may stand anywhere.
func Read(in io.Reader, cfg Config) iter.Seq2[jsonl.Line[*catalogv1.Product], error] {
	return func(yield func(jsonl.Line[*catalogv1.Product], error) bool) {
		rows, failed := read(in, cfg)
		var products []*item
		byID := make(map[string]*item)
		var refusals []*jsonl.LineError
		for _, r := range rows {
			variant, err := variantOf(r, cfg)
			if notUTF8(slices.Collect(maps.Values(r.values))) {
				err = errNotUTF8
			}
			if err != nil {
				refusals = append(refusals, &jsonl.LineError{Line: r.line, Err: err})
				continue
			}
			id := r.get("item_group_id")
			if id == "" {
				id = r.get("id")
			}
			if byID[id] == nil {
				byID[id] = &item{first: r, id: id}
				products = append(products, byID[id])
			}
			byID[id].rows, byID[id].variants = append(byID[id].rows, r), append(byID[id].variants, variant)
		}
		for _, refusal := range refusals {
			if !yield(jsonl.Line[*catalogv1.Product]{Number: refusal.Line}, refusal) {
				return
			}
		}
		for _, p := range products {
			product, err := p.product()
			line := jsonl.Line[*catalogv1.Product]{Number: p.first.line, Item: product}
			if err != nil {
				err = &jsonl.LineError{Line: p.first.line, Err: err}
			}
			if !yield(line, err) {
				return
			}
		}
		if failed != nil {
			yield(jsonl.Line[*catalogv1.Product]{}, failed)
		}
	}
}

func read(in io.Reader, cfg Config) ([]row, error) {
	switch cfg.Extension {
	case ".csv":
		return readTable(in, ',')
	case ".tsv":
		return readTable(in, '\t')
	case ".xml":
		return readXML(in)
	}
	return nil, fmt.Errorf("unknown format %q; the formats are %v", cfg.Extension, Extensions())
}

// item is a product whose rows are being collected.
type item struct {
	id       string
	first    row
	rows     []row
	variants []*catalogv1.Variant
}

// product returns the product of the rows. What holds for all variants is of the first row.
func (p *item) product() (*catalogv1.Product, error) {
	r := p.first
	out := &catalogv1.Product{
		ProductId: p.id, Title: r.get("title"), Description: plain(r.get("description")), Brand: r.get("brand"),
		CategoryPath: categories(r), Tags: list(r.get("tags")), Url: r.get("link"), Variants: p.variants,
		ComplementIds: list(r.get("complement_ids")), Audience: audiences[strings.ToLower(r.get("gender"))],
		AgeGroup: ageGroups[strings.ToLower(r.get("age_group"))],
	}
	for _, r := range p.rows { // a variant may have images of its own
		for _, url := range append(list(r.get("image_link")), list(r.get("additional_image_link"))...) {
			if !slices.Contains(out.ImageUrls, url) && len(out.ImageUrls) < maxImages {
				out.ImageUrls = append(out.ImageUrls, url)
			}
		}
	}
	if len(out.CategoryPath) == 0 {
		return nil, fmt.Errorf("%s: product_type: is missing; give a path such as %q", p.id, "Kites > Stunt kites")
	}
	p.addOptions(out)
	var err error
	if out.Rating, err = rating(r); err != nil {
		return nil, fmt.Errorf("%s: %w", p.id, err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if name, ok := strings.CutPrefix(name, "attribute_"); ok && r.get("attribute_"+name) != "" {
			out.Attributes = append(out.Attributes, attribute(strings.ReplaceAll(name, "_", " "), r.get("attribute_"+name)))
		}
	}
	if weight := r.get("product_weight"); weight != "" {
		out.Attributes = append(out.Attributes, attribute("weight", weight))
	}
	return out, nil
}

// maxImages is how many images a product of the catalog has at most.
const maxImages = 50

// audiences and ageGroups are the catalog's words for those of the specification.
var (
	audiences = map[string]string{"male": "men", "female": "women"}
	ageGroups = map[string]catalogv1.AgeGroup{
		"newborn": catalogv1.AgeGroup_AGE_GROUP_NEWBORN, "infant": catalogv1.AgeGroup_AGE_GROUP_INFANT,
		"toddler": catalogv1.AgeGroup_AGE_GROUP_TODDLER, "kids": catalogv1.AgeGroup_AGE_GROUP_KIDS,
		"adult": catalogv1.AgeGroup_AGE_GROUP_ADULT,
	}
)

// addOptions gives variants their options. Materials and patterns are options only if they differ between variants, and attributes
// of the product else.
func (p *item) addOptions(out *catalogv1.Product) {
	for i, r := range p.rows {
		options := make(map[string]string)
		for name := range r.values {
			if option, ok := strings.CutPrefix(name, "option_"); ok && r.get(name) != "" {
				options[strings.ReplaceAll(option, "_", " ")] = r.get(name)
			}
		}
		for _, name := range []string{"color", "size"} {
			if v := r.get(name); v != "" {
				options[name] = v
			}
		}
		p.variants[i].Options = options
	}
	for _, name := range []string{"material", "pattern"} {
		if p.differ(name) {
			for i, r := range p.rows {
				if v := r.get(name); v != "" {
					p.variants[i].Options[name] = v
				}
			}
		} else if v := p.first.get(name); v != "" {
			out.Attributes = append(out.Attributes, &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Text{Text: v}})
		}
	}
}

// differ reports whether rows have different values of an attribute.
func (p *item) differ(name string) bool {
	return slices.ContainsFunc(p.rows, func(r row) bool { return r.get(name) != p.first.get(name) })
}

// variantOf returns the variant of a row without its options.
func variantOf(r row, cfg Config) (*catalogv1.Variant, error) {
	id := r.get("id")
	if id == "" {
		return nil, errors.New("id: is missing")
	}
	fail := func(field string, err error) (*catalogv1.Variant, error) {
		return nil, fmt.Errorf("%s: %s: %w", id, field, err)
	}
	if r.get("title") == "" {
		return fail("title", errors.New("is missing"))
	}
	out := &catalogv1.Variant{VariantId: id}
	if r.get("item_group_id") == "" {
		out.VariantId = "std"
	}
	var err error
	if out.Price, err = price(r.get("price"), cfg.Currency); err != nil {
		return fail("price", err)
	}
	if sale := r.get("sale_price"); sale != "" {
		reduced, err := price(sale, cfg.Currency)
		if err != nil {
			return fail("sale_price", err)
		}
		running, err := runs(r.get("sale_price_effective_date"), cfg.Now)
		if err != nil {
			return fail("sale_price_effective_date", err)
		}
		if running && lower(reduced, out.Price) {
			out.Price, out.ListPrice = reduced, out.Price
		}
	}
	if out.Stock, err = stock(r); err != nil {
		return fail("availability", err)
	}
	return out, nil
}

func lower(a, b *commonv1.Money) bool {
	return a.GetCurrencyCode() == b.GetCurrencyCode() && a.GetAmountMinor() < b.GetAmountMinor()
}
