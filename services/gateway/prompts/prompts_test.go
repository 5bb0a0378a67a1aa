package prompts

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// create adds a version that was created at a second.
func create(t *testing.T, s *Store, o Owner, text string, second int64) string {
	t.Helper()
	v := &gatewayv1.PromptVersion{Text: text, CreateTime: timestamppb.New(time.Unix(second, 0))}
	v.Version = VersionOf(v)
	v, err := s.Create(t.Context(), o, "search", v)
	if err != nil {
		t.Fatal(err)
	}
	return v.GetVersion()
}

func activate(t *testing.T, s *Store, o Owner, versions ...string) {
	t.Helper()
	var shares []*gatewayv1.PromptShare
	for _, v := range versions {
		shares = append(shares, &gatewayv1.PromptShare{Version: v, Percent: int32(100 / len(versions))})
	}
	if err := s.Activate(t.Context(), o, "search", shares); err != nil {
		t.Fatal(err)
	}
}

// used returns the text that a thread of a store with a variant uses.
func used(t *testing.T, s *Store, thread string) string {
	t.Helper()
	inUse, err := s.InUse(t.Context(), Owner{StoreID: "demo"}, "outdoor")
	if err != nil {
		t.Fatal(err)
	}
	return For(inUse, &gatewayv1.Store{StoreId: "demo"}, thread)["search"].GetText()
}

func TestTheNearestOwnerCounts(t *testing.T) {
	s := New(servicetest.Redis(t))
	want := ""
	check := func(step string) {
		t.Helper()
		if got := used(t, s, "t1"); got != want {
			t.Errorf("%s: the text is %q, want %q", step, got, want)
		}
	}
	check("nothing")
	for _, o := range []Owner{{}, {Variant: "outdoor"}, {StoreID: "demo"}} {
		want = "of " + o.kind().String()
		v := create(t, s, o, want, 1)
		activate(t, s, o, v)
		check(want)
	}
	other := Owner{StoreID: "other"}
	activate(t, s, other, create(t, s, other, "other", 1))
	check("another store")
	activate(t, s, Owner{StoreID: "demo"})
	want = "of PROMPT_OWNER_VARIANT"
	check("without the store's")
	activate(t, s, Owner{StoreID: "demo"}, BuiltIn)
	want = ""
	check("the built-in one")
}

func TestRollBackGoesBackAndForth(t *testing.T) {
	s, o := New(servicetest.Redis(t)), Owner{StoreID: "demo"}
	if err := s.RollBack(t.Context(), o, "search"); err == nil || !strings.Contains(err.Error(), "none was activated") {
		t.Errorf("error %v", err)
	}
	one, two := create(t, s, o, "one", 1), create(t, s, o, "two", 2)
	activate(t, s, o, one)
	activate(t, s, o, two)
	activate(t, s, o, two) // a repeated call is not a second change
	for _, want := range []string{"one", "two"} {
		if err := s.RollBack(t.Context(), o, "search"); err != nil {
			t.Fatal(err)
		}
		if got := used(t, s, "t1"); got != want {
			t.Errorf("in use is %q, want %q", got, want)
		}
	}
	if err := s.Activate(t.Context(), o, "search", []*gatewayv1.PromptShare{{Version: "none", Percent: 100}}); err == nil {
		t.Error("a version that does not exist was activated")
	}
}

func TestThreadsAreSharedOutAndKeepTheirVersion(t *testing.T) {
	s, o := New(servicetest.Redis(t)), Owner{StoreID: "demo"}
	activate(t, s, o, create(t, s, o, "one", 1), create(t, s, o, "two", 2))
	count := make(map[string]int)
	for i := range 2000 {
		thread := fmt.Sprintf("thr_%d", i)
		text := used(t, s, thread)
		if text != used(t, s, thread) {
			t.Errorf("%s changes its version", thread)
		}
		count[text]++
	}
	if count["one"] < 900 || count["two"] < 900 { // 4.5 standard deviations
		t.Errorf("the threads are shared out as %v", count)
	}
}

func TestChangesAtTheSameTimeAreAllMade(t *testing.T) {
	s := New(servicetest.Redis(t))
	o := Owner{StoreID: "demo"}
	agents := []string{"search", "support", "router", "merge"}
	var wg sync.WaitGroup
	for _, agent := range agents {
		wg.Go(func() {
			if err := s.Activate(t.Context(), o, agent, []*gatewayv1.PromptShare{{Version: BuiltIn, Percent: 100}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	inUse, err := s.InUse(t.Context(), o, "")
	if err != nil || len(inUse) != len(agents) {
		t.Errorf("in use are %v, error %v", inUse, err)
	}
}

func TestOldVersionsGoButNotThoseInUse(t *testing.T) {
	s, o := New(servicetest.Redis(t)), Owner{}
	kept := create(t, s, o, "the first", 1)
	activate(t, s, o, kept)
	dropped := create(t, s, o, "the second", 2)
	for i := range maxVersions - 1 {
		create(t, s, o, fmt.Sprintf("text %d", i), int64(10+i))
	}
	all, err := s.Versions(t.Context(), o, "search")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != maxVersions || all[len(all)-1].GetVersion() != kept || all[0].GetText() != fmt.Sprintf("text %d", maxVersions-2) {
		t.Errorf("%d versions, from %q to %q", len(all), all[0].GetText(), all[len(all)-1].GetText())
	}
	if _, err := s.Version(t.Context(), o, "search", dropped); err == nil {
		t.Error("the oldest version that is not in use is still there")
	}
	if again := create(t, s, o, "the first", 99); again != kept {
		t.Errorf("the same content is version %s and %s", kept, again)
	}
}

func TestModelsOfTheStoreStandInForThoseOfPrompts(t *testing.T) {
	version := &gatewayv1.PromptVersion{Version: "v1", Text: "You sell for {{.StoreName}}.", Model: "large"}
	inUse := map[string]Active{
		"search": {Shares: []Share{{version, 100}}},
		"router": {Shares: []Share{{&gatewayv1.PromptVersion{Version: BuiltIn}, 100}}},
	}
	store := &gatewayv1.Store{Name: "Tea\n House", Models: map[string]string{"search": "small", "support": "small"}}
	want := map[string]*specialistv1.Prompt{
		"search":  {Version: "v1", Text: "You sell for Tea House.", Model: "large"},
		"support": {Model: "small"},
	}
	if diff := cmp.Diff(want, For(inUse, store, "t1"), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadTemplatesAreRefusedWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                         "",
		"Sell {{.StoreName}}'s wares.":  "",
		"one\n{{.Shop}}":                "line 2: {{.Shop}} is not known",
		"one\ntwo\n{{.StoreName":        "line 3: unclosed action",
		"{{range .}}x{{end}}":           "line 1: {{range .}}",
		"{{printf \"%9d\" 1}}":          "line 1: {{printf",
		"{{define \"x\"}}y{{end}}z":     "must not define others",
		"{{template \"x\"}}":            "line 1:",
		"{{.StoreName.X}}":              "line 1: {{.StoreName.X}}",
		"{{$x := .StoreName}}":          "line 1:",
		"{{/* a remark */}}":            "",
		"{{.StoreName}}\n{{.TimeZone}}": "",
	} {
		err := CheckText(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
		if want == "" {
			fill(text, &gatewayv1.Store{})
		}
	}
}

func TestDiff(t *testing.T) {
	from := &gatewayv1.PromptVersion{Version: "a1", Text: "one\ntwo\n"}
	to := &gatewayv1.PromptVersion{Version: "b2", Text: "one\nthree\n", Model: "large"}
	if got := Diff(from, from); got != "" {
		t.Errorf("of equal versions: %q", got)
	}
	got := Diff(from, to)
	for _, want := range []string{"--- a1", "+++ b2", "-model: \n+model: large", "-two\n+three"} {
		if !strings.Contains(got, want) {
			t.Errorf("the difference lacks %q:\n%s", want, got)
		}
	}
}
