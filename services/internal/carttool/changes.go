package carttool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Change is a change of a cart as a model writes it.
type Change struct {
	Product  string         `json:"product" jsonschema:"id or title"`
	Options  map[string]any `json:"options,omitempty"`
	Add      int32          `json:"add,omitempty"`
	Quantity *int32         `json:"quantity,omitempty" jsonschema:"in all; 0 removes it"`
}

// maxVariants is how many variants an error names.
const maxVariants = 10

// errCatalog is what a model reads if the catalog fails.
var errCatalog = errors.New("the catalog cannot be read now; say so, and name no total")

// With returns a cart with changes, which are looked up in the catalog. What they add becomes a candidate of the turn's answer. The cart
// stays as it is and may be nil. Errors are for the model, but for those of ctx.
func With(
	ctx context.Context, catalog catalogv1.CatalogServiceClient, t *specialist.Turn, cart *cartv1.Cart, changes []Change,
) (*cartv1.Cart, error) {
	if len(changes) > cartclient.MaxChanges {
		return nil, fmt.Errorf("there are %d changes; give at most %d", len(changes), cartclient.MaxChanges)
	}
	resolved := make([]*cartv1.CartChange, len(changes))
	for i, change := range changes {
		var err error
		if resolved[i], err = resolve(ctx, catalog, t, cart, change); err != nil {
			return nil, err
		}
	}
	var check fault.Checker
	cartclient.CheckChanges(&check, "changes", resolved)
	if err := check.Err(); err != nil {
		return nil, err
	}
	changed, err := cartclient.With(ctx, catalog, t.Scope.StoreID, cart, resolved)
	var invalid *fault.Invalid
	switch {
	case err == nil || ctx.Err() != nil || errors.As(err, &invalid):
		return changed, err
	}
	return nil, errCatalog
}

// resolve finds the product and the variant that a change means.
func resolve(
	ctx context.Context, catalog catalogv1.CatalogServiceClient, t *specialist.Turn, cart *cartv1.Cart, change Change,
) (*cartv1.CartChange, error) {
	name := strings.TrimSpace(change.Product)
	if name == "" {
		return nil, errors.New("product is empty; give the product_id or the exact title")
	}
	if change.Add < 0 {
		return nil, fmt.Errorf("add is %d for %q; use quantity for how many there are in all, 0 to remove it", change.Add, name)
	}
	out := &cartv1.CartChange{Change: &cartv1.CartChange_AddQuantity{AddQuantity: max(change.Add, 1)}}
	if change.Quantity != nil && change.Add != 0 {
		return nil, fmt.Errorf("both add and quantity are given for %q; give one", name)
	}
	if change.Quantity != nil {
		out.Change = &cartv1.CartChange_SetQuantity{SetQuantity: *change.Quantity}
	}
	item, err := inCart(cart, name, change.Options)
	if err != nil {
		return nil, err
	}
	if item != nil {
		out.ProductId, out.VariantId = item.GetProductId(), item.GetVariantId()
		return out, nil
	}
	if change.Quantity != nil && *change.Quantity == 0 {
		return nil, fmt.Errorf("the cart has no %q; remove only what get_cart_context lists", name)
	}
	p, err := find(ctx, catalog, t.Scope.StoreID, name)
	if err != nil {
		return nil, err
	}
	v, err := variant(p, change.Options)
	if err != nil {
		return nil, err
	}
	out.ProductId, out.VariantId = p.GetProductId(), v
	variants := p.GetVariants()
	if v != "" {
		variants = slices.DeleteFunc(slices.Clone(variants), func(o *catalogv1.Variant) bool { return o.GetVariantId() != v })
	}
	t.AddProducts(productview.Choice(productview.Localized(p, t.Language), variants, ""))
	return out, nil
}

// inCart returns the item of the cart that a name means, by id or title. Nil: there is none. The error says that there are several.
func inCart(cart *cartv1.Cart, name string, options map[string]any) (*cartv1.CartItem, error) {
	var found []*cartv1.CartItem
	for _, item := range cart.GetItems() {
		if (item.GetProductId() == name || names(item.GetTitle(), name)) && fits(item.GetOptions(), options) {
			found = append(found, item)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	if len(found) > 1 {
		var all []string
		for _, item := range found {
			all = append(all, strings.TrimSpace(item.GetProductId()+" "+describe(item.GetOptions())))
		}
		return nil, severalError(name, all)
	}
	return found[0], nil
}

func severalError(name string, all []string) error {
	return fmt.Errorf("%q means several: %s; give the product_id, and the options", name, strings.Join(all, "; "))
}

// find returns the product that a name means: by its id, its title, or else the only one of the best hits of a search whose title has
// all words of the name.
func find(ctx context.Context, catalog catalogv1.CatalogServiceClient, storeID, name string) (*catalogv1.Product, error) {
	if fault.ValidID(name) {
		byID, err := catalog.BatchGetProducts(ctx, &catalogv1.BatchGetProductsRequest{StoreId: storeID, ProductIds: []string{name}})
		if err != nil {
			return nil, cmp.Or(ctx.Err(), errCatalog)
		}
		if len(byID.GetProducts()) == 1 {
			return byID.GetProducts()[0], nil
		}
	}
	found, err := catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{StoreId: storeID, Query: text.Cut(name, 200), Limit: 5})
	if err != nil {
		return nil, cmp.Or(ctx.Err(), errCatalog)
	}
	var meant []*catalogv1.Product
	var all []string
	for _, hit := range found.GetHits() {
		if hit.GetPartial() {
			continue
		}
		if p := hit.GetProduct(); strings.EqualFold(p.GetTitle(), name) {
			return p, nil
		} else if names(p.GetTitle(), name) {
			meant, all = append(meant, p), append(all, p.GetProductId()+" "+p.GetTitle())
		}
	}
	switch len(meant) {
	case 0:
	case 1:
		return meant[0], nil
	default:
		return nil, severalError(name, all)
	}
	return nil, fmt.Errorf("the store has no product %q; give the product_id or the exact title", name)
}

// names reports whether a name means a title: all its words are the title's, in whatever number.
func names(title, name string) bool {
	words := make(map[string]bool)
	for _, w := range text.Words(title) {
		words[text.Singular(text.Fold(w.Text))] = true
	}
	all := text.Words(name)
	return len(all) > 0 && !slices.ContainsFunc(all, func(w text.Word) bool { return !words[text.Singular(text.Fold(w.Text))] })
}

// variant returns the id of the only variant with the options, or "" if no options are given.
func variant(p *catalogv1.Product, options map[string]any) (string, error) {
	if len(options) == 0 {
		return "", nil
	}
	var have, fitting []string
	id := ""
	for _, v := range p.GetVariants() {
		if fits(v.GetOptions(), options) {
			id, fitting = v.GetVariantId(), append(fitting, describe(v.GetOptions()))
		}
		have = append(have, describe(v.GetOptions()))
	}
	have, fitting = have[:min(len(have), maxVariants)], fitting[:min(len(fitting), maxVariants)]
	switch len(fitting) {
	case 0:
	case 1:
		return id, nil
	default:
		return "", fmt.Errorf("%s has several variants with %s: %s; give all options, and ask the shopper for those that are not known",
			p.GetTitle(), describe(Texts(options)), strings.Join(fitting, "; "))
	}
	return "", fmt.Errorf("%s has no variant with %s; it has: %s", p.GetTitle(), describe(Texts(options)), strings.Join(have, "; "))
}

// fits reports whether options include those that are wanted, whatever their case.
func fits(options map[string]string, wanted map[string]any) bool {
	for name, value := range Texts(wanted) {
		fit := false
		for n, v := range options {
			fit = fit || strings.EqualFold(n, name) && strings.EqualFold(v, value)
		}
		if !fit {
			return false
		}
	}
	return true
}

// Texts returns options as texts: models write sizes as numbers too.
func Texts(options map[string]any) map[string]string {
	out := make(map[string]string, len(options))
	for name, value := range options {
		out[name] = fmt.Sprint(value)
	}
	return out
}

func describe(options map[string]string) string {
	parts := make([]string, 0, len(options))
	for _, name := range slices.Sorted(maps.Keys(options)) {
		parts = append(parts, name+" "+options[name])
	}
	return strings.Join(parts, ", ")
}
