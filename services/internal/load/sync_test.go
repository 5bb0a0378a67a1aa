package load

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

// pages answers with one item for each page: the token of a page is the id of the item before it.
type pages []string

func (p pages) at(token string) (id, next string) {
	i := slices.Index(p, token) + 1
	if i < len(p)-1 {
		next = p[i]
	}
	return p[i], next
}

type pagedPromotions struct {
	promotionv1.PromotionServiceClient
	pages
}

func (p pagedPromotions) ListPromotions(
	_ context.Context, req *promotionv1.ListPromotionsRequest, _ ...grpc.CallOption,
) (*promotionv1.ListPromotionsResponse, error) {
	id, next := p.at(req.GetPageToken())
	return &promotionv1.ListPromotionsResponse{Promotions: []*promotionv1.Promotion{{Code: id}}, NextPageToken: next}, nil
}

type pagedPolicies struct {
	policyv1.PolicyServiceClient
	pages
}

func (p pagedPolicies) ListPolicies(_ context.Context, req *policyv1.ListPoliciesRequest, _ ...grpc.CallOption) (*policyv1.ListPoliciesResponse, error) {
	id, next := p.at(req.GetPageToken())
	return &policyv1.ListPoliciesResponse{Policies: []*policyv1.Policy{{PolicyId: id}}, NextPageToken: next}, nil
}

func TestSyncSeesAllPages(t *testing.T) {
	items := pages{"A", "B", "C"}
	for _, kind := range []string{"promotions", "policies"} {
		clients := Clients{Promotions: pagedPromotions{pages: items}, Policies: pagedPolicies{pages: items}}
		l := &Load{Clients: clients, StoreID: "s", DryRun: true}
		l.read = map[string]map[string]bool{kind: {"A": true}}
		if gone, err := l.Sync(t.Context(), kind); err != nil || !slices.Equal(gone, []string{"B", "C"}) {
			t.Errorf("%s: %v, %v; want B and C", kind, gone, err)
		}
	}
}
