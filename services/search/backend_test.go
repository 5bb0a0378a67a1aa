package search

import (
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
	weaviateclient "github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/internal/weaviatetest"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// backendUnderTest is an implementation of the index. The zero value is that in memory.
type backendUnderTest struct {
	client *weaviateclient.Client // of a cluster
}

// TestServiceInMemory and TestServiceInCluster are one suite: the service says the same whichever backend it has.
func TestServiceInMemory(t *testing.T) { backendUnderTest{}.suite(t) }

func TestServiceInCluster(t *testing.T) {
	client, err := weaviateclient.New(weaviatetest.Start(t, 1).URL(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	backendUnderTest{client: client}.suite(t)
	t.Run("the model hears that there are more", backendUnderTest{client: client}.testModelHearsThatThereAreMore)
}

func (ix backendUnderTest) testModelHearsThatThereAreMore(t *testing.T) {
	s := ix.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
	var lamps []*catalogv1.Product
	for i := range 250 {
		lamps = append(lamps, catalogtest.Thing(fmt.Sprintf("LAMP-%d", i), fmt.Sprintf("lamp %d", i)))
	}
	indextest.Put(t, s.store, "s1", lamps...)
	tool := s.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}})[0]
	value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"lamp"}`})
	if err != nil {
		t.Fatal(err)
	}
	if got := value.(searchResult); got.Total != 200 || !strings.Contains(got.Note, "More products match: total and prices are of the first 200.") {
		t.Errorf("%d products, note %q", got.Total, got.Note)
	}
}

func (ix backendUnderTest) suite(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"search tool knows the stores synonyms", ix.testSearchToolKnowsTheStoresSynonyms},
		{"search products", ix.testSearchProducts},
		{"ids come first", ix.testIDsComeFirst},
		{"nothing found", ix.testNothingFound},
		{"search tool", ix.testSearchTool},
		{"an option of some is an attribute of others", ix.testAnOptionOfSomeIsAnAttributeOfOthers},
		{"legs that took part are named", ix.testLegsThatTookPartAreNamed},
		{"meaning adds only where words are unsure", ix.testMeaningAddsOnlyWhereWordsAreUnsure},
		{"vectors follow the products", ix.testVectorsFollowTheProducts},
		{"search goes on without legs that fail", ix.testSearchGoesOnWithoutLegsThatFail},
		{"search tool says what is merely near", ix.testSearchToolSaysWhatIsMerelyNear},
	} {
		t.Run(c.name, c.test)
	}
}

// service is a service over the index.
func (ix backendUnderTest) service(t *testing.T, cfg Config) *Service {
	t.Helper()
	cfg.Cluster = ix.client
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSynonymsThatCanNotBeUsedAreRefused(t *testing.T) {
	for want, groups := range map[string][][]string{
		"group 2 has 1 phrases":       {{"a", "b"}, {"c"}},
		`"a b c" has 3 words`:         {{"a b c", "d"}},
		`"..." has 0 words`:           {{"a", "..."}},
		"group 1 has 21 phrases":      {slices.Repeat([]string{"a"}, index.MaxSynonyms+1)},
		`synonyms of store "s1": gro`: {{}},
	} {
		_, err := New(Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}, Settings: Settings{Synonyms: map[string][][]string{"s1": groups}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func (ix backendUnderTest) testSearchToolKnowsTheStoresSynonyms(t *testing.T) {
	s := ix.service(t, Config{
		Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}, Settings: Settings{Synonyms: map[string][][]string{"s1": {{"dasher", "running shoes"}}}},
	})
	for store, want := range map[string]int{"s1": 2, "s2": 0} {
		indextest.Put(t, s.store, store, catalogtest.Outdoor()...)
		turn := &specialist.Turn{Scope: scope.Scope{StoreID: store}, Findings: &specialist.Findings{}}
		tool := s.tools(turn)[0]
		value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"dasher"}`})
		if err != nil {
			t.Fatal(err)
		}
		if got := value.(searchResult).Total; got != want {
			t.Errorf("%s: %d products, want %d", store, got, want)
		}
	}
}
