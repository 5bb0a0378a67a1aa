package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/templates"
)

// Every template loads without a refusal into a store of any id, and answers.
func TestTemplatesLoad(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	env := upWithoutDemo(t, ctx, stop)
	for _, template := range templates.All() {
		dir := filepath.Join(t.TempDir(), "shop")
		if code, _, stderr := quartet(ctx, env, "init", "--template", template.Name, "--out", dir, "corner."+template.Name); code != 0 {
			t.Fatalf("init: %s", stderr)
		}
		if code, stdout, stderr := quartet(ctx, env, "load", "--store", "corner."+template.Name, "--sync", dir); code != 0 || strings.Count(stdout, " 0 refused") != 7 {
			t.Errorf("%s: exit code %d\n%s%s", template.Name, code, stdout, stderr)
		}
		if code, stdout, stderr := quartet(ctx, env, "ask", "--json", "--store", "corner."+template.Name, "--customer", "ava", "what goes with my cart?"); code != 0 || !strings.Contains(stdout, `"products"`) {
			t.Errorf("%s recommends nothing: exit code %d\n%s%s", template.Name, code, stdout, stderr)
		}
		code, _, stderr := quartet(ctx, env, "init", "--template", template.Name, "--out", dir, "other")
		if code != 1 || !strings.Contains(stderr, "exists") {
			t.Errorf("files were replaced: exit code %d: %s", code, stderr)
		}
	}
	code, stdout, stderr := quartet(ctx, env, "ask", "--addr", env["QUARTET_ADDR"], "--store", "corner.books", "a crime novel in paperback")
	if code != 0 || !strings.Contains(stdout, "Ledger, paperback 12.50 EUR") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

func TestSyncDeletesWhatTheFilesLack(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	env := upWithoutDemo(t, ctx, stop)
	dir := writeFiles(t, map[string]string{
		"stores.jsonl":     `{"store_id":"mugs","name":"Mugs","currency_code":"EUR"}` + "\n",
		"products.csv":     "id,title,price,quantity,product_type\nA,Mug,12.00,4,Mugs\nB,Cup,9.00,4,Cups\n",
		"promotions.jsonl": `{"code":"ten","title":"Ten off","percent_off":{"basis_points":1000}}` + "\n" + `{"code":"OLD","title":"Old","percent_off":{"basis_points":500}}` + "\n",
		"policies.jsonl":   `{"policy_id":"returns","title":"Returns","body":"Within 14 days."}` + "\n",
	})
	load := func(want int, says string, args ...string) {
		t.Helper()
		code, stdout, stderr := quartet(ctx, env, append([]string{"load", "--store", "mugs"}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("load %v: exit code %d, want %d and %q\n%s%s", args, code, want, says, stdout, stderr)
		}
	}
	replace := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load(0, "2 products loaded", "--sync", dir)
	replace("products.csv", "id,title,price,quantity,product_type\nA,Mug,12.00,4,Mugs\nC,Jug,,4,Jugs\n")
	replace("promotions.jsonl", `{"code":"ten","title":"Ten off","percent_off":{"basis_points":1000}}`+"\n")
	load(1, "1 refused, so nothing was deleted", "--sync", dir)
	replace("products.csv", "id,title,price,quantity,product_type\nA,Mug,12.00,4,Mugs\n")
	replace("policies.jsonl", "")
	load(0, "1 products to delete: B", "--sync", "--dry-run", dir)
	load(0, "1 products deleted: B\n1 promotions deleted: OLD\n", "--sync", dir)
	load(0, "1 products loaded", "--sync", dir+"/products.csv")
	for _, c := range []struct{ method, want string }{
		{"quartet.catalog.v1.CatalogService/ListProducts", `"A"`},
		{"quartet.promotion.v1.PromotionService/ListPromotions", `"TEN"`},
		{"quartet.policy.v1.PolicyService/ListPolicies", `"returns"`},
	} {
		code, stdout, stderr := quartet(ctx, env, "call", c.method, `{"store_id":"mugs"}`)
		if code != 0 || !strings.Contains(strings.ToUpper(stdout), strings.ToUpper(c.want)) || strings.Contains(stdout, `"B"`) || strings.Contains(stdout, "OLD") {
			t.Errorf("%s: %s%s", c.method, stdout, stderr)
		}
	}
}
