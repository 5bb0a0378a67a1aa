package search

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

const compareTool = "compare_products"

const compareDescription = `Compares 2 to 5 products, differences first.`

const (
	minCompared = 2
	maxCompared = 5
)

// compareArgs are the arguments of compare_products.
type compareArgs struct {
	ProductIDs []string `json:"product_ids" jsonschema:"ids or titles"`
}

// comparedFacts is what compare_products returns.
type comparedFacts struct {
	Products []comparedProduct `json:"products"`
	Same     string            `json:"same_for_all,omitempty"`
	Note     string            `json:"note,omitempty"`
}

// comparedProduct is a product with the facts in which it differs from the others, in an order that is the same for all.
type comparedProduct struct {
	ProductID string `json:"product_id"`
	Title     string `json:"title"`
	Price     string `json:"price"`
	Stock     int32  `json:"stock"`
	Details   string `json:"details,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r comparedFacts) Summary() string { return fmt.Sprintf("%d products", len(r.Products)) }

// compare runs compare_products and leaves the comparison in the turn's findings.
func (s *Service) compare(ctx context.Context, t *specialist.Turn, version index.VersionFunc, in compareArgs) (comparedFacts, error) {
	if n := len(in.ProductIDs); n < minCompared || n > maxCompared {
		return comparedFacts{}, fmt.Errorf("product_ids has %d entries; name %d to %d products", n, minCompared, maxCompared)
	}
	var items []productview.Item
	var unknown []string
	err := s.backend.Read(ctx, t.Scope.StoreID, version, func(v *index.View) error {
		items, unknown = nil, nil
		seen := make(map[string]bool)
		found, err := v.Index.Products(ctx, in.ProductIDs)
		if err != nil {
			return err
		}
		for i, e := range found {
			name := catalog.Clean(in.ProductIDs[i])
			if e == nil {
				if e, err = s.titled(ctx, v, t.Scope.StoreID, name); err != nil {
					return err
				}
			}
			switch {
			case e == nil:
				unknown = append(unknown, text.Cut(name, maxShown))
			case !seen[e.ID()]:
				seen[e.ID()] = true
				p := productview.Localized(e.Product, t.Language)
				items = append(items, productview.Item{Product: p, Variants: p.GetVariants()})
			}
		}
		return nil
	})
	if err != nil {
		return comparedFacts{}, fmt.Errorf("compare products: %w", err)
	}
	if len(items) < minCompared {
		return comparedFacts{}, fmt.Errorf("%d of the products are known, not %s; find them with %s first", len(items), strings.Join(unknown, ", "), catalogTool)
	}
	c := productview.Compare(items)
	t.SetComparison(c)
	t.Found(len(items))
	var out comparedFacts
	var same []string
	for i, p := range c.GetProducts() {
		var own []string
		for _, f := range c.GetFacts() {
			switch {
			case f.GetName() == "price":
			case f.GetDiffers():
				own = append(own, f.GetName()+" "+cmp.Or(f.GetValues()[i], "not recorded"))
			case i == 0:
				same = append(same, f.GetName()+" "+f.GetValues()[0])
			}
		}
		out.Products = append(out.Products, comparedProduct{
			p.GetProductId(), p.GetTitle(), money.Text(p.GetPrice()), p.GetStock(), strings.Join(own, "; "),
		})
		t.AddProducts(p)
	}
	out.Same = strings.Join(same, "; ")
	if len(unknown) > 0 {
		out.Note = "The store has no product called " + strings.Join(unknown, ", ") + "."
	}
	return out, nil
}

// titled returns the product that a search for its title finds first. Nil: there is none that is certain.
func (s *Service) titled(ctx context.Context, v *index.View, storeID, title string) (*index.Entry, error) {
	if title == "" {
		return nil, nil
	}
	f, err := v.Search(ctx, v.Query(s.vocabulary.Of(storeID), text.Head(title, maxQuery)), index.NewFilter(nil), sorts[""])
	if err != nil || len(f.Hits) == 0 || !f.Certain() {
		return nil, err
	}
	return f.Hits[0].Entry, nil
}
