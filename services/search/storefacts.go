package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/search/index"
)

// storeFacts are what the definition of search_catalog says of a store, so that a model asks in the words of its catalog.
type storeFacts struct {
	languages  []string // English names of the catalog's languages, the most frequent first
	categories []string // names of categories; empty: there are too many to name
	attributes string   // names of the attributes that most products have, separated by commas; empty: none
}

const (
	// factsTTL is how long a model may read facts that a write has changed.
	factsTTL = 30 * time.Second
	// maxCategories and maxCategoryBytes bound the names of categories: about a hundred tokens.
	maxCategories, maxCategoryBytes = 40, 400
	// maxAttributes bounds the names of attributes.
	maxAttributes = 20
)

// What the schema of search_catalog says of categories and attributes where the store's are not named.
const (
	categoryText   = "of the store"
	attributesText = `such as weight: <=300 g`
)

// fitTools names the languages and the categories of a store in the definition of search_catalog. Without a catalog, or when it cannot
// be read, the definition stays as it is: the tool itself says so when it is called.
func (s *Service) fitTools(ctx context.Context, storeID string, tools []agentloop.Tool) {
	facts, err := s.facts.Get(ctx, storeID, func(ctx context.Context) (storeFacts, error) {
		var facts storeFacts
		err := s.backend.Read(ctx, storeID, nil, func(v *index.View) error {
			facts = factsOf(&v.Statistics)
			return nil
		})
		return facts, err
	})
	if err != nil {
		s.logger.WarnContext(ctx, "cannot read what the store's catalog is in", slog.String("store", storeID), slog.Any("error", err))
		return
	}
	for i := range tools {
		if tools[i].Name == catalogTool {
			facts.fit(&tools[i])
		}
	}
}

// factsOf returns the facts of a store by its statistics.
func factsOf(all *index.Statistics) storeFacts {
	var facts storeFacts
	for _, l := range all.CatalogLanguages() {
		facts.languages = append(facts.languages, display.English.Languages().Name(language.Make(l.Tag)))
	}
	facts.categories = slices.Sorted(maps.Values(all.Categories))
	if !fewNames(facts.categories) {
		facts.categories = slices.Sorted(maps.Keys(all.TopCategories))
	}
	if !fewNames(facts.categories) {
		facts.categories = nil
	}
	names := slices.SortedFunc(maps.Keys(all.Attributes), func(a, b string) int {
		return cmp.Or(cmp.Compare(all.Attributes[b], all.Attributes[a]), strings.Compare(a, b))
	})
	names = names[:min(maxAttributes, len(names))]
	slices.Sort(names) // so that a count which changes does not change what providers of models have cached
	facts.attributes = strings.Join(names, ", ")
	return facts
}

// fewNames reports whether names of categories are few enough to be told with every call.
func fewNames(names []string) bool {
	return len(names) <= maxCategories && len(strings.Join(names, "; ")) <= maxCategoryBytes
}

// fit puts the facts into a definition of search_catalog.
func (f storeFacts) fit(tool *agentloop.Tool) {
	if len(f.languages) > 0 {
		tool.Description += " The catalog is in " + strings.Join(f.languages, " and ") + "."
	}
	if len(f.languages) > 1 {
		tool.Parameters = severalLanguages
	}
	if len(f.categories) > 0 {
		replaceDescription(tool, categoryText, "enum", f.categories)
	}
	if f.attributes != "" {
		replaceDescription(tool, attributesText, "description", attributesText+"; recorded: "+f.attributes)
	}
}

// replaceDescription puts a keyword with a value in the place of a description in the schema of a tool's arguments.
func replaceDescription(tool *agentloop.Tool, description, keyword string, value any) {
	before, _ := json.Marshal(description) // texts and lists of texts always are JSON
	var after bytes.Buffer
	e := json.NewEncoder(&after)
	e.SetEscapeHTML(false) // "&" and "<" as a model reads them
	_ = e.Encode(value)
	tool.Parameters = json.RawMessage(strings.Replace(string(tool.Parameters),
		`"description":`+string(before), `"`+keyword+`":`+strings.TrimSpace(after.String()), 1))
}
