package promotions

import (
	"strings"
	"testing"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func TestUsesOfCodesSpreadOverACluster(t *testing.T) {
	tag := func(key string) string { return key[:strings.Index(key, "}")] }
	if tag(usageKey("one", "SAVE10")) == tag(usageKey("one", "SAVE20")) {
		t.Errorf("two codes have the tag %s", tag(usageKey("one", "SAVE10")))
	}
	if usageKey("one", "save10") != usageKey("one", "SAVE10") {
		t.Error("a code in lower case has another key")
	}
}

func TestUsesInARealCluster(t *testing.T) {
	client, err := state.Open(t.Context(), redistest.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	r := repository{client}
	all := promos(promo("A", percent(100), limits(5, 0)), promo("B", percent(100), limits(5, 0)), promo("C", percent(100), limits(5, 0)))
	if err := r.put(t.Context(), "one", all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} { // the second time is a repetition
		usages, err := r.count(t.Context(), recordScript, "one", []string{"A", "B", "C"}, "o1", "ada")
		if err != nil || len(usages) != 3 {
			t.Fatalf("%v, %v", usages, err)
		}
		for _, u := range usages {
			if u.GetChanged() != want || u.GetUsedCount() != 1 {
				t.Errorf("%v, want changed %v and one use", u, want)
			}
		}
	}
	if deleted, err := r.delete(t.Context(), "one", "B"); err != nil || !deleted {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	used, err := r.used(t.Context(), "one", "ada", []*promotionv1.Promotion{all[0], all[1]})
	if err != nil || used["A"].Own != 1 || used["B"].All != 0 {
		t.Errorf("uses %v, %v; want one of A, and none of B, which was deleted", used, err)
	}
}
