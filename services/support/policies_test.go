package support

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/support/policies/policiestest"
)

func TestPoliciesAreWrittenListedAndDeleted(t *testing.T) {
	c := serve(t, silent())
	ctx := t.Context()
	resp, err := servicetest.Upsert(t, c.policies.UpsertPolicies,
		&policyv1.UpsertPoliciesRequest{StoreId: "one", Policies: []*policyv1.Policy{{PolicyId: "b", Title: "B", Body: "Old."}, {PolicyId: "bad", Title: "Bad"}}},
		&policyv1.UpsertPoliciesRequest{Policies: []*policyv1.Policy{{PolicyId: "a", Title: "A", Body: "Text."}, {PolicyId: "b", Title: "B", Body: "New."}}})
	if err != nil || resp.GetUpsertedCount() != 3 || resp.GetErrorCount() != 1 || resp.GetErrors()[0].GetField() != "body" || resp.GetErrors()[0].GetIndex() != 1 {
		t.Fatalf("upsert: %v, %v", resp, err)
	}
	list, err := c.policies.ListPolicies(ctx, &policyv1.ListPoliciesRequest{StoreId: "one"})
	if err != nil {
		t.Fatal(err)
	}
	written := timestamppb.New(noon)
	want := []*policyv1.Policy{{PolicyId: "a", Title: "A", Body: "Text.", UpdateTime: written}, {PolicyId: "b", Title: "B", Body: "New.", UpdateTime: written}}
	if diff := cmp.Diff(want, list.GetPolicies(), protocmp.Transform()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, wantDeleted := range []bool{true, false} {
		got, err := c.policies.DeletePolicy(ctx, &policyv1.DeletePolicyRequest{StoreId: "one", PolicyId: "a"})
		if err != nil || got.GetDeleted() != wantDeleted {
			t.Errorf("delete: %v, %v, want deleted %v", got, err, wantDeleted)
		}
	}
}

func TestPoliciesPageByPage(t *testing.T) {
	c := serve(t, silent())
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("p%02d", i))
		c.havePolicies(t, "one", &policyv1.Policy{PolicyId: want[i], Title: "T", Body: strings.Repeat("a", 99_000) + strings.Repeat("ä", i)})
	}
	for limit, pages := range map[int32]int{0: 1, 1: 12, 5: 3, 12: 1} {
		var got []string
		read := 0
		err := pagetoken.Each(func(token string) (string, error) {
			resp, err := c.policies.ListPolicies(t.Context(), &policyv1.ListPoliciesRequest{StoreId: "one", Limit: limit, PageToken: token})
			for _, p := range resp.GetPolicies() {
				got = append(got, p.GetPolicyId())
			}
			read++
			return resp.GetNextPageToken(), err
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" || read != pages {
			t.Errorf("limit %d: %v, %d pages, want %d (-want +got):\n%s", limit, err, read, pages, diff)
		}
	}
}

func search(t *testing.T, c clients, storeID, query, language string) []*policyv1.Passage {
	t.Helper()
	resp, err := c.policies.SearchPolicies(t.Context(), &policyv1.SearchPoliciesRequest{StoreId: storeID, Query: query, Language: language})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetPassages()
}

func TestSearchSeesEveryWriteAndOneStore(t *testing.T) {
	c := serve(t, silent())
	if got := search(t, c, "one", "warranty", ""); len(got) != 0 {
		t.Errorf("a store without documents has an answer: %v", got)
	}
	c.havePolicies(t, "one", policiestest.Handbook()...)
	first := search(t, c, "one", "what about the warranty?", "")
	if len(first) == 0 || first[0].GetText() != "Everything is covered for 2 years against faults in material." || first[0].GetScore() <= 0 {
		t.Fatalf("after the first write: %v", first)
	}
	if got := search(t, c, "two", "warranty", ""); len(got) != 0 {
		t.Errorf("another store's documents: %v", got)
	}
	c.havePolicies(t, "one", &policyv1.Policy{PolicyId: "warranty", Title: "Warranty", Body: "None at all."})
	if got := search(t, c, "one", "warranty", ""); len(got) == 0 || got[0].GetText() != "None at all." {
		t.Errorf("after a change: %v", got)
	}
	if _, err := c.policies.DeletePolicy(t.Context(), &policyv1.DeletePolicyRequest{StoreId: "one", PolicyId: "warranty"}); err != nil {
		t.Fatal(err)
	}
	if got := search(t, c, "one", "warranty", ""); slices.ContainsFunc(got, func(p *policyv1.Passage) bool { return !p.GetNearInMeaning() }) {
		t.Errorf("after a deletion: %v", got)
	}
}

func TestAnAssignmentSeesWhatWasWrittenBeforeItBegan(t *testing.T) {
	c := serve(t, silent())
	c.havePolicies(t, "one", policiestest.Handbook()...)
	begin := func() (looks func(certain bool)) {
		tools := toolsFor(c, "")
		return func(certain bool) {
			t.Helper()
			got, err := servicetest.Run[searchResult](t.Context(), t, tools, "search_policies", `{"query":"engraving"}`)
			if err != nil || (got.Instruction == "") != certain {
				t.Errorf("%v, %v; want an answer: %v", got, err, certain)
			}
		}
	}
	engraving := &policyv1.Policy{PolicyId: "engraving", Title: "Engraving", Body: "Engraving takes a day."}
	first := begin()
	first(false)
	c.havePolicies(t, "one", engraving)
	first(false) // it has asked, and does not ask again
	second := begin()
	second(true)
	first(true) // what it saw is not kept any more
	if _, err := c.policies.DeletePolicy(t.Context(), &policyv1.DeletePolicyRequest{StoreId: "one", PolicyId: "engraving"}); err != nil {
		t.Fatal(err)
	}
	begin()(false)
}

func TestPolicyRequestsAreChecked(t *testing.T) {
	c := serve(t, silent())
	ctx := t.Context()
	tests := []struct {
		name   string
		call   func() error
		fields []string
	}{
		{"search nothing", func() error {
			_, err := c.policies.SearchPolicies(ctx, &policyv1.SearchPoliciesRequest{Limit: 21, Language: "english please"})
			return err
		}, []string{"store_id", "query", "language", "limit"}},
		{"search for a novel", func() error {
			_, err := c.policies.SearchPolicies(ctx, &policyv1.SearchPoliciesRequest{StoreId: "one", Query: strings.Repeat("ä", 1001)})
			return err
		}, []string{"query"}},
		{"list without a store, a page that is none", func() error {
			_, err := c.policies.ListPolicies(ctx, &policyv1.ListPoliciesRequest{PageToken: "!"})
			return err
		}, []string{"store_id", "page_token"}},
		{"delete nothing", func() error {
			_, err := c.policies.DeletePolicy(ctx, &policyv1.DeletePolicyRequest{StoreId: "one"})
			return err
		}, []string{"policy_id"}},
		{"upsert of too many", func() error {
			_, err := servicetest.Upsert(t, c.policies.UpsertPolicies, &policyv1.UpsertPoliciesRequest{StoreId: "one", Policies: make([]*policyv1.Policy, 101)})
			return err
		}, []string{"policies"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call()
			if status.Code(err) != codes.InvalidArgument {
				t.Fatalf("error = %v, want INVALID_ARGUMENT", err)
			}
			if diff := cmp.Diff(tt.fields, servicetest.Violated(err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
