package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
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

func TestNearestIDs(t *testing.T) {
	v := newView(noIndex{})
	for _, id := range []string{"TR-SHOE-001", "TR-SHOE-002", "TR-SHOE-012", "TENT-1", "A1", "A2", "KETTLE-77-RED"} {
		v.take([]*catalogv1.Product{thing(id, "thing")}, nil)
	}
	for id, want := range map[string][]string{
		"TR-SHOE-1":     {"TR-SHOE-001"},
		"trshoe012":     {"TR-SHOE-012"},
		"shoe-12":       {"TR-SHOE-012"},
		"TR-SHOE-4":     {"TR-SHOE-001", "TR-SHOE-002"},
		"TNET-1":        {"TENT-1"},
		"KETLE-77-RED":  {"KETTLE-77-RED"},
		"KETTLE-77-":    nil,
		"A3":            nil, // every short id is near every other
		"XQ-7701-GREEN": nil,
	} {
		if diff := cmp.Diff(want, v.nearestIDs(id)); diff != "" {
			t.Errorf("near %s (-want +got):\n%s", id, diff)
		}
	}
}

func TestUnknownProductsAreMetWithTheNearest(t *testing.T) {
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

func TestExactIDsComeFirst(t *testing.T) {
	v := newView(noIndex{})
	v.take([]*catalogv1.Product{thing("A.1.", "dot"), thing("a.1", "lower"), thing("A.1", "upper")}, nil)
	for id, want := range map[string]string{"A.1.": "dot", "a.1": "lower", "A.1": "upper", "[A.1]": "upper"} {
		if got := v.find(id).product.GetTitle(); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
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
