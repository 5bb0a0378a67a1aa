package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/suite"
)

// descriptionsFile holds what the four specialists publish. The router's tests read it, because the router must not
// import another service.
const descriptionsFile = "../router/testdata/specialists.json"

// TestRouterTestsUseThePublishedDescriptions keeps descriptionsFile equal to what Describe returns. Run it with
// -args -update after you change a specialist's purpose, examples or keywords.
func TestRouterTestsUseThePublishedDescriptions(t *testing.T) {
	h := newSystem(t)
	var all []json.RawMessage
	for _, role := range suite.Roles() {
		if !slices.Contains([]string{suite.Search, suite.Recommend, suite.Promotions, suite.Support}, role) {
			continue
		}
		sc, err := suite.Narrow(role, scope.Scope{StoreID: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		ctx := scopetest.Context(t.Context(), t, sc)
		conn, err := suite.Dial(role, h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := specialistv1.NewSpecialistServiceClient(conn).Describe(ctx, &specialistv1.DescribeRequest{})
		_ = conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		s := resp.GetSpecialist()
		raw, err := protojson.Marshal(&specialistv1.Specialist{
			Name: s.GetName(), Purpose: s.GetPurpose(), Examples: s.GetExamples(), Keywords: s.GetKeywords(), Available: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	// protojson varies its white space; encoding/json does not.
	got, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(descriptionsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(descriptionsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the specialists publish; run this test with -args -update", descriptionsFile)
	}
}
