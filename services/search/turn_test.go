package search

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

func TestAsID(t *testing.T) {
	for text, want := range map[string]string{
		"SHOE-1":                   "SHOE-1",
		" [shoe-1] ":               "shoe-1",
		"#SHOE-1?":                 "SHOE-1",
		"product id: SHOE-1":       "SHOE-1",
		"the product [[SHOE-1]].":  "SHOE-1",
		"SKU=SHOE-1":               "SHOE-1",
		"- SHOE-1":                 "SHOE-1",
		"item no. **SHOE\u20111**": "SHOE-1",
		"«SHOE_1.b»":               "SHOE_1.b",
		"trail shoes":              "",
		"tents":                    "",
		"42":                       "",
		"size 42":                  "",
		"product":                  "",
		"no tents":                 "",
		"SHOE-1 or SHOE-2":         "",
		"SHÖE-1":                   "",
		"":                         "",
		strings.Repeat("a1", 33):   "",
	} {
		if got := asID(text); got != want {
			t.Errorf("asID(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestUnknownProductsGetSimilarIDs(t *testing.T) {
	c := load(t, dial(t, scripted.New()), "s1")
	for id, want := range map[string]string{
		"[shoe-3]": `product "shoe-3" not found; the nearest ids are SHOE-1, SHOE-2`,
		"PAKC-1":   `product "PAKC-1" not found; the nearest id is PACK-1`,
		"XQ-7701":  `product "XQ-7701" not found; no id is near it; search by what the product is called`,
	} {
		_, err := c.GetProduct(t.Context(), &catalogv1.GetProductRequest{StoreId: "s1", ProductId: id})
		if got := status.Convert(err); got.Code() != codes.NotFound || got.Message() != want {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	for _, id := range []string{"(SHOE-1)", "shoe-1.", "**`SHOE-1`**", "SHOE\u20131", "\u200bSHOE-1\ufeff", "„SHOE-1“!"} {
		if _, err := c.GetProduct(t.Context(), &catalogv1.GetProductRequest{StoreId: "s1", ProductId: id}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestSearchToolOnIDs(t *testing.T) {
	for query, want := range map[string]struct {
		id, note string // of the first product, and the beginning of the note
	}{
		"product id: [shoe-1].": {"SHOE-1", ""},
		"SKU “TENT\u20111”":     {"TENT-1", ""},
		"SHOE-9":                {"SHOE-", `No product has the id "SHOE-9"; the nearest ids are SHOE-1, SHOE-2. `},
		"XQ-7701":               {"", `No product has the id "XQ-7701"; no id is near it; search by what the product is called. Nothing in the catalog`},
		"glowworm 300":          {"", "Sold out: Glowworm 300 headlamp."}, // no id at all
	} {
		got, err := callTool(t, `{"query":"`+query+`"}`)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if !strings.HasPrefix(got.Note, want.note) || want.note == "" && got.Note != "" {
			t.Errorf("%s: note %q, want %q", query, got.Note, want.note)
		}
		if want.id != "" && (len(got.Products) == 0 || !strings.HasPrefix(got.Products[0].ProductID, want.id)) {
			t.Errorf("%s: products %v, want %s", query, got.Products, want.id)
		}
	}
}

func TestSearchToolOnTheIDOfAVariant(t *testing.T) {
	service := backendUnderTest{}.service(t, Config{Deps: specialist.Deps{Redis: servicetest.Redis(t), Model: scripted.New()}})
	kettle := catalogtest.Thing("KR-100", "kettle")
	kettle.Variants = []*catalogv1.Variant{
		catalogtest.Variant("KR-100-B", 3900, 1, "colour", "blue"), catalogtest.Variant("KR-100-R", 4900, 1, "colour", "red"),
	}
	indextest.Put(t, service.store, "s1", kettle)
	tool := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}})[0]
	value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"SKU: kr-100-r"}`})
	if err != nil {
		t.Fatal(err)
	}
	got := value.(searchResult)
	if len(got.Products) != 1 || got.Products[0].ProductID != "KR-100" || got.PriceRange != "49.00 EUR" || got.Note != "" {
		t.Errorf("%+v, want the red kettle alone", got)
	}
}

// commands counts what Redis is asked.
type commands struct{ n atomic.Int64 }

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAnAssignmentSeesWhatWasWrittenBeforeItBegan(t *testing.T) {
	rdb := servicetest.Redis(t)
	asked := new(commands)
	rdb.AddHook(asked)
	service := backendUnderTest{}.service(t, Config{Deps: specialist.Deps{Redis: rdb, Model: scripted.New()}})

	begin := func() func(want ...string) {
		tool := service.tools(&specialist.Turn{Scope: scope.Scope{StoreID: "s1"}, Findings: &specialist.Findings{}})[0]
		return func(want ...string) {
			t.Helper()
			value, err := tool.Run(t.Context(), agentloop.ToolCall{Name: tool.Name, Arguments: `{"query":"lamp"}`})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range value.(searchResult).Products {
				got = append(got, p.ProductID)
			}
			slices.Sort(got)
			indextest.Expect(t, "lamps", got, want...)
		}
	}
	begin()()
	indextest.Put(t, service.store, "s1", catalogtest.Thing("P-1", "green lamp"))
	first := begin()
	first("P-1")
	indextest.Put(t, service.store, "s1", catalogtest.Thing("P-2", "red lamp"))
	before := asked.n.Load()
	first("P-1") // it has asked, and does not ask again
	if n := asked.n.Load() - before; n != 0 {
		t.Errorf("%d commands for the second look of an assignment", n)
	}
	second := begin()
	second("P-1", "P-2")
	first("P-1", "P-2") // what another has read is there for all
}
