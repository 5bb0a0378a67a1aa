package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// fitted returns the definition of search_catalog in a store with the products, which are written in their order.
func fitted(t *testing.T, products ...*catalogv1.Product) agentloop.ToolSpec {
	t.Helper()
	service := backendUnderTest{}.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
	for _, p := range products {
		indextest.Put(t, service.store, "s1", p)
		indextest.Search(t, service.backend, "s1", "thing") // the index sees them one by one
	}
	tools := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}})
	service.fitTools(t.Context(), "s1", tools)
	return tools[0].ToolSpec
}

// categoryArgument is what a definition says of the category.
func categoryArgument(t *testing.T, spec agentloop.ToolSpec) (enum []string, description string) {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Enum        []string
			Description string
		}
	}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		t.Fatalf("%v: %s", err, spec.Parameters)
	}
	return schema.Properties["category"].Enum, schema.Properties["category"].Description
}

// inCategories are products, one in each category.
func inCategories(paths ...string) (products []*catalogv1.Product) {
	for i, path := range paths {
		p := catalogtest.Thing(fmt.Sprintf("P-%d", i+1), "thing")
		p.CategoryPath = strings.Split(path, "/")
		products = append(products, p)
	}
	return products
}

func TestTheToolOffersTheCategories(t *testing.T) {
	var many, tops, wide []string
	for i := range 60 {
		top := fmt.Sprintf("Top %d", i%3)
		many, wide = append(many, fmt.Sprintf("%s/Kind %02d", top, i)), append(wide, fmt.Sprintf("Kind %02d", i))
	}
	tops = []string{"Top 0", "Top 1", "Top 2"}
	for name, c := range map[string]struct {
		paths, want []string
	}{
		"few":                         {[]string{"Shoes/Boots & more", "Bags"}, []string{"Bags", "Boots & more", "Shoes"}},
		"many, below few":             {many, tops},
		"many at the top":             {wide, nil},
		"few with very long names":    {[]string{strings.Repeat("long ", 40) + "a", strings.Repeat("long ", 40) + "b", strings.Repeat("long ", 39)}, nil},
		"one, in several spellings":   {[]string{"shoes", "Shoes", "SHOES"}, []string{"SHOES"}},
		"products without a category": {[]string{""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			products := inCategories(c.paths...)
			if name == "products without a category" {
				products[0].CategoryPath = nil
			}
			enum, description := categoryArgument(t, fitted(t, products...))
			if !slices.Equal(enum, c.want) || (description == "") != (c.want != nil) {
				t.Errorf("enum %q, description %q; want %q", enum, description, c.want)
			}
		})
	}
}

// Providers of models cache what begins with the same bytes.
func TestTheDefinitionStaysWhileTheCategoriesDo(t *testing.T) {
	with := func(p *catalogv1.Product, attributes ...string) *catalogv1.Product {
		for _, name := range attributes {
			p.Attributes = append(p.Attributes, catalogtest.Quantity(name, 1, "kg"))
		}
		return p
	}
	products := inCategories("Shoes", "Bags", "shoes", "Care & repair")
	with(products[0], "weight", "height")
	with(products[1], "weight")
	with(products[2], "height")
	first := fitted(t, products...)
	slices.Reverse(products)
	if again := fitted(t, products...); string(again.Parameters) != string(first.Parameters) || again.Description != first.Description {
		t.Errorf("in another order:\n%s\n%s", first.Parameters, again.Parameters)
	}
	more := with(inCategories("Shoes")[0], "height")
	more.ProductId = "P-9"
	if again := fitted(t, append(products, more)...); string(again.Parameters) != string(first.Parameters) || again.Description != first.Description {
		t.Errorf("with a further product:\n%s\n%s", first.Parameters, again.Parameters)
	}
}

// A category that the enum does not have is searched for as words, and costs no step.
func TestACategoryBesideTheEnumIsTaken(t *testing.T) {
	model := scripted.New(
		scripted.Step{ToolCalls: []agentloop.ToolCall{{Name: catalogTool, Arguments: `{"query":"shoes","category":"Spaceships","limit":1}`}}},
		scripted.Step{Text: "There are no spaceships."},
	)
	conn := dial(t, model)
	load(t, conn, "s1")
	answer := servicetest.Answer(t, conn, scope.Scope{StoreID: "s1"}, "do you have spaceships?")
	if enum, _ := categoryArgument(t, model.Requests()[0].Tools[0]); len(enum) == 0 {
		t.Errorf("the model reads no categories: %s", model.Requests()[0].Tools[0].Parameters)
	}
	call := answer.GetToolCalls()[0]
	if call.GetError() != "" || !strings.Contains(call.GetResultPreview(), `no category \"Spaceships\"`) {
		t.Errorf("error %q, result %s", call.GetError(), call.GetResultPreview())
	}
}
