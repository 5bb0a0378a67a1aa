package search

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/load"
)

// maxPassages is how many passages the service returns at most.
const maxPassages = 20

// Documents loads documents, JSON Lines of quartet.policy.v1.Policy, and returns the figures of the search of their passages by
// words. In the report, a product is a document, and the id of a hit is that of the document, "#" and the section. A refused document
// is a *LinesError.
func Documents(ctx context.Context, client policyv1.PolicyServiceClient, documents io.Reader, queries []Query) (*Report, error) {
	begun := time.Now()
	loaded, err := load.File(ctx, load.Clients{Policies: client}, StoreID, "policies", documents)
	if err != nil {
		return nil, err
	}
	if err := refused(loaded, "documents as in docs/data.md"); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	all := Ranked{Name: "lexical"}
	for _, q := range queries {
		begun := time.Now()
		resp, err := client.SearchPolicies(ctx, &policyv1.SearchPoliciesRequest{StoreId: StoreID, Query: q.Text, Limit: maxPassages})
		if err != nil {
			return nil, fmt.Errorf("question %q: %w", q.Text, cmp.Or(ctx.Err(), err))
		}
		o := Outcome{Query: q, Legs: strings.Join(resp.GetLegs(), "+"), Durations: []time.Duration{time.Since(begun)}}
		for _, p := range resp.GetPassages() {
			o.Uncertain = p.GetNearInMeaning()
			h := Hit{ProductID: p.GetPolicyId() + "#" + p.GetSection(), Title: p.GetText()}
			if !slices.ContainsFunc(o.Hits, func(other Hit) bool { return other.ProductID == h.ProductID }) {
				o.Hits = append(o.Hits, h)
			}
		}
		all.Outcomes = append(all.Outcomes, o)
	}
	r := Measure([]Ranked{all})
	r.Products, r.LoadMillis = loaded.Taken, millis(took)
	return r, nil
}
