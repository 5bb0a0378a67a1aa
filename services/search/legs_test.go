package search

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/rerank"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// modelServer stands for an endpoint of embeddings and of rerankings. Its vectors tell which words a text has, with "bivvy" as
// another word for "tent"; it prefers the shortest texts.
type modelServer struct {
	embeddings, reranks atomic.Int64 // requests
	refuse              atomic.Bool
	url                 string
}

func newModelServer(t *testing.T) *modelServer {
	t.Helper()
	m := new(modelServer)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Input, Documents []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || m.refuse.Load() {
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	if r.URL.Path == "/rerank" {
		m.reranks.Add(1)
		var results []string
		for i, text := range in.Documents {
			results = append(results, fmt.Sprintf(`{"index":%d,"relevance_score":%d}`, i, -len(text)))
		}
		fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
		return
	}
	m.embeddings.Add(1)
	var data []string
	for i, text := range in.Input {
		vector, _ := json.Marshal(hashed(text))
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, vector))
	}
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
}

func hashed(text string) []float32 {
	out := make([]float32, 509)
	out[0] = 0.01 // no text is without a direction
	for _, word := range catalog.Words(text) {
		if word = index.English.Stem(word); word == index.English.Stem("bivvy") {
			word = index.English.Stem("tent")
		}
		h := fnv.New32a()
		h.Write([]byte(word))
		out[1+h.Sum32()%508]++
	}
	return out
}

// service returns a search service over outdoor products as store "s1", which uses m for what is named.
func (m *modelServer) service(t *testing.T, legs ...string) *Service {
	t.Helper()
	return backendUnderTest{}.hybrid(t, m, legs...)
}

func (ix backendUnderTest) hybrid(t *testing.T, m *modelServer, legs ...string) *Service {
	t.Helper()
	cfg := Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}}
	if slices.Contains(legs, index.LegVector) {
		c, err := embed.New(embed.Config{URL: m.url, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		cfg.Embedder = c
	}
	if slices.Contains(legs, index.LegRerank) {
		c, err := rerank.New(rerank.Config{URL: m.url + "/rerank", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		cfg.Reranker = c
	}
	s := ix.service(t, cfg)
	indextest.Put(t, s.store, "s1", catalogtest.Outdoor()...)
	return s
}

func ask(t *testing.T, s *Service, req *catalogv1.SearchProductsRequest) *catalogv1.SearchProductsResponse {
	t.Helper()
	req.StoreId = "s1"
	resp, err := (&server{Service: s}).SearchProducts(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// await searches until fn is content with the answer.
func await(t *testing.T, s *Service, query string, fn func(*catalogv1.SearchProductsResponse) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var resp *catalogv1.SearchProductsResponse
	for ctx.Err() == nil {
		if resp = ask(t, s, &catalogv1.SearchProductsRequest{Query: query}); fn(resp) {
			return
		}
	}
	t.Fatalf("the last answer is %v", resp)
}

func hasLeg(leg string) func(*catalogv1.SearchProductsResponse) bool {
	return func(r *catalogv1.SearchProductsResponse) bool { return slices.Contains(r.GetLegs(), leg) }
}

func hitIDs(r *catalogv1.SearchProductsResponse) []string {
	var out []string
	for _, h := range r.GetHits() {
		out = append(out, h.GetProduct().GetProductId())
	}
	return out
}

func (ix backendUnderTest) testLegsThatTookPartAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		legs, want []string
		query      string
		sort       catalogv1.Sort
	}{
		"by words":     {nil, []string{"lexical"}, "tents", 0},
		"by both":      {[]string{"vector"}, []string{"lexical", "vector"}, "tents", 0},
		"reranked":     {[]string{"vector", "rerank"}, []string{"lexical", "vector", "rerank"}, "tents", 0},
		"words ranked": {[]string{"rerank"}, []string{"lexical", "rerank"}, "tents", 0},
		"by price":     {[]string{"vector", "rerank"}, []string{"lexical"}, "tents", catalogv1.Sort_SORT_PRICE_ASCENDING},
		"everything":   {[]string{"vector", "rerank"}, []string{"lexical"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := ix.hybrid(t, newModelServer(t), c.legs...)
			if slices.Contains(c.legs, index.LegVector) {
				if got := ask(t, s, &catalogv1.SearchProductsRequest{Query: "tents"}).GetLegs()[1]; got != "vector:building" {
					t.Errorf("the first search has the leg %q", got)
				}
				await(t, s, "tents", hasLeg(index.LegVector))
			}
			got := ask(t, s, &catalogv1.SearchProductsRequest{Query: c.query, Sort: c.sort}).GetLegs()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("legs (-want +got):\n%s", diff)
			}
		})
	}
}

func (ix backendUnderTest) testMeaningAddsOnlyWhereWordsAreUnsure(t *testing.T) {
	s := ix.hybrid(t, newModelServer(t), index.LegVector)
	await(t, s, "tents", hasLeg(index.LegVector))

	sure := ask(t, s, &catalogv1.SearchProductsRequest{Query: "tents"})
	for i, h := range sure.GetHits() {
		if h.GetPartial() != (i >= 2) || sure.GetTotalCount() != 2 {
			t.Errorf("tents are %v, %d in total; want both, and then what only has the word", hitIDs(sure), sure.GetTotalCount())
		}
	}
	near := ask(t, s, &catalogv1.SearchProductsRequest{Query: "bivvy", Limit: 3})
	got := hitIDs(near)
	if slices.Sort(got); !slices.Equal(got, []string{"PEG-1", "TENT-1", "TENT-2"}) || near.GetHits()[0].GetReason() != "near in meaning" {
		t.Errorf("near a bivvy are %v", near.GetHits())
	}
	if near.GetTotalCount() != 0 || near.GetMinPrice() != nil || len(near.GetFacets()) > 0 {
		t.Errorf("what no word has found is counted: %v", near)
	}
	for _, h := range ask(t, s, &catalogv1.SearchProductsRequest{Query: "bivvy", Filter: &catalogv1.Filter{MaxPrice: catalogtest.Eur(30000)}}).GetHits() {
		if h.GetProduct().GetProductId() == "TENT-2" {
			t.Error("a product near in meaning does not pass the filter")
		}
	}
	if hits := ask(t, s, &catalogv1.SearchProductsRequest{Query: "bivvy", Sort: catalogv1.Sort_SORT_PRICE_ASCENDING}).GetHits(); len(hits) > 0 {
		t.Errorf("the cheapest bivvy is %v", hits[0])
	}
	excluded := ask(t, s, &catalogv1.SearchProductsRequest{Query: "tents", Filter: &catalogv1.Filter{MaxPrice: catalogtest.Eur(100)}})
	if len(excluded.GetHits()) > 0 || excluded.GetExcludedMostBy() != "max_price" {
		t.Errorf("tents for one euro: %v", excluded)
	}
}

func (ix backendUnderTest) testVectorsFollowTheProducts(t *testing.T) {
	s := ix.hybrid(t, newModelServer(t), index.LegVector)
	await(t, s, "bivvy", func(r *catalogv1.SearchProductsResponse) bool { return len(r.GetHits()) > 0 })
	kite := catalogtest.Thing("KITE-1", "Tent tent tent tent tent tent") // nearer than any
	indextest.Put(t, s.store, "s1", kite)
	await(t, s, "bivvy", func(r *catalogv1.SearchProductsResponse) bool { return hitIDs(r)[0] == "KITE-1" })
	kite = catalogtest.Thing("KITE-1", "Kite")
	indextest.Put(t, s.store, "s1", kite)
	await(t, s, "bivvy", func(r *catalogv1.SearchProductsResponse) bool { return hitIDs(r)[0] != "KITE-1" })
	if _, err := s.store.Remove(t.Context(), "s1", "KITE-1"); err != nil {
		t.Fatal(err)
	}
	await(t, s, "bivvy", func(r *catalogv1.SearchProductsResponse) bool {
		if slices.Contains(hitIDs(r), "KITE-1") {
			t.Error("a deleted product is found")
		}
		return true
	})
}

func (ix backendUnderTest) testSearchGoesOnWithoutLegsThatFail(t *testing.T) {
	m := newModelServer(t)
	s := ix.hybrid(t, m, index.LegVector, index.LegRerank)
	await(t, s, "tents", hasLeg(index.LegVector))
	lexical := ask(t, ix.hybrid(t, newModelServer(t)), &catalogv1.SearchProductsRequest{Query: "trail running"})
	embeddings, reranks := m.embeddings.Load(), m.reranks.Load()
	m.refuse.Store(true)
	got := ask(t, s, &catalogv1.SearchProductsRequest{Query: "trail running"})
	if diff := cmp.Diff([]string{"lexical", "vector:failed", "rerank:failed"}, got.GetLegs()); diff != "" {
		t.Errorf("legs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hitIDs(lexical), hitIDs(got)); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	m.refuse.Store(false) // it is not asked for a while
	if got := ask(t, s, &catalogv1.SearchProductsRequest{Query: "trail running"}).GetLegs(); got[1] != "vector:failed" {
		t.Errorf("legs are %v", got)
	}
	if m.embeddings.Load() != embeddings || m.reranks.Load() != reranks {
		t.Error("an endpoint that has just failed was asked again")
	}
}

func TestTheLegReportsFailedEmbeddings(t *testing.T) {
	m := newModelServer(t)
	m.refuse.Store(true)
	s := m.service(t, index.LegVector)
	await(t, s, "tents", hasLeg("vector:failed"))
}

func TestRerankerHasTheLastWord(t *testing.T) {
	s := newModelServer(t).service(t, index.LegRerank)
	resp := ask(t, s, &catalogv1.SearchProductsRequest{Query: "trail running"})
	lengths := make([]int, len(resp.GetHits()))
	for i, h := range resp.GetHits() {
		lengths[i] = len(index.Text(h.GetProduct()))
		if i > 0 && h.GetScore() > resp.GetHits()[i-1].GetScore() {
			t.Errorf("scores rise: %v", resp.GetHits())
		}
	}
	if len(lengths) < 3 || !slices.IsSorted(lengths) {
		t.Errorf("texts have the lengths %v", lengths)
	}
}

func (ix backendUnderTest) testSearchToolSaysWhatIsMerelyNear(t *testing.T) {
	s := ix.hybrid(t, newModelServer(t), index.LegVector, index.LegRerank)
	await(t, s, "bivvy", func(r *catalogv1.SearchProductsResponse) bool { return len(r.GetHits()) >= 2 }) // a batch of vectors may lack some
	turn := &specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}}
	tool := s.tools(turn)[0]
	value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"bivvy","limit":2}`})
	if err != nil {
		t.Fatal(err)
	}
	got := value.(searchResult)
	if got.Total != 0 || len(got.Products) != 2 || !strings.Contains(got.Note, "Nothing in the catalog") || !strings.Contains(got.Note, nearNote) {
		t.Errorf("result %+v", got)
	}
}
