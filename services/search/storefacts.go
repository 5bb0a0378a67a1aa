package search

import (
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
	categories string   // names of categories, separated by semicolons; empty: there are too many to name
	attributes string   // names of the attributes that most products have, separated by commas; empty: none
}

const (
	// factsTTL is how long a model may read facts that a write has changed.
	factsTTL = 30 * time.Second
	// maxCategoryBytes bounds the names of categories: about a hundred tokens.
	maxCategoryBytes = 400
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
	names := slices.Sorted(maps.Values(all.Categories))
	if facts.categories = strings.Join(names, "; "); len(facts.categories) > maxCategoryBytes {
		facts.categories = strings.Join(slices.Sorted(maps.Keys(all.TopCategories)), "; ")
	}
	if len(facts.categories) > maxCategoryBytes {
		facts.categories = ""
	}
	names = slices.SortedFunc(maps.Keys(all.Attributes), func(a, b string) int {
		return cmp.Or(cmp.Compare(all.Attributes[b], all.Attributes[a]), strings.Compare(a, b))
	})
	facts.attributes = strings.Join(names[:min(maxAttributes, len(names))], ", ")
	return facts
}

// fit puts the facts into a definition of search_catalog.
func (f storeFacts) fit(tool *agentloop.Tool) {
	if len(f.languages) > 0 {
		tool.Description += " The catalog is in " + strings.Join(f.languages, " and ") + "."
	}
	if len(f.languages) > 1 {
		tool.Parameters = severalLanguages
	}
	if f.categories != "" {
		replaceText(tool, categoryText, f.categories)
	}
	if f.attributes != "" {
		replaceText(tool, attributesText, attributesText+"; recorded: "+f.attributes)
	}
}

// replaceText puts one description in the place of another in the schema of a tool's arguments.
func replaceText(tool *agentloop.Tool, old, replacement string) {
	before, _ := json.Marshal(old) // strings always are JSON
	after, _ := json.Marshal(replacement)
	tool.Parameters = json.RawMessage(strings.Replace(string(tool.Parameters), string(before), string(after), 1))
}
