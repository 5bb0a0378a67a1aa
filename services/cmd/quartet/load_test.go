package main

import (
	"context"
	"net"
	"strings"
	"testing"
)

// What single items do not show: each mistake names file, line, field and what to do, and the good lines are loaded.
func TestLoadRefusesWhatDoesNotFitTheStore(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	env := upWithoutDemo(t, ctx, stop)
	price := func(minor, code string) string {
		return `{"amount_minor":` + minor + `,"currency_code":"` + code + `"}`
	}
	product := func(id, code string) string {
		return `{"product_id":"` + id + `","title":"Kite","category_path":["Kites"],"variants":[{"variant_id":"std","price":` + price("2450", code) + `,"stock":7}]}` + "\n"
	}
	order := func(id, created, subtotal, total string) string {
		return `{"order_id":"` + id + `","customer_id":"bo","status":"ORDER_STATUS_DELIVERED","create_time":"` + created + `","items":[{"product_id":"K1","title":"Kite","quantity":2,"unit_price":` +
			price("2450", "EUR") + `}],"subtotal":` + price(subtotal, "EUR") + `,"total":` + price(total, "EUR") + "}\n"
	}
	dir := writeFiles(t, map[string]string{
		"stores.jsonl":     `{"store_id":"kites","name":"Kite Corner","currency_code":"EUR"}` + "\n",
		"products.jsonl":   product("K1", "EUR") + product("K2", "USD") + product("K1", "EUR"),
		"promotions.jsonl": `{"code":"TEN","title":"Ten off","percent_off":{"basis_points":10},"scope":{"product_ids":["K1","K9"]}}` + "\n",
		"orders.jsonl": order("O1", "2024-05-01T10:00:00Z", "4900", "5400") + order("O2", "2024-05-01T10:00:00Z", "4000", "4000") +
			order("O3", "2024-05-01T10:00:00Z", "4900", "4800") + order("O4", "2999-05-01T10:00:00Z", "4900", "4900"),
	})
	// First only to check: promotions name products of the same load, and nothing is written.
	code, stdout, stderr := quartet(ctx, env, "load", "--store", "kites", "--dry-run", dir)
	if code != 1 || !strings.Contains(stdout, "products.jsonl: 1 products good, 2 refused") || !strings.Contains(stdout, "orders.jsonl: 1 orders good, 3 refused") ||
		strings.Contains(stdout, `"K1"; load it first`) || !strings.Contains(stdout, `no product "K9"`) {
		t.Errorf("dry run: exit code %d, stderr %s\n%s", code, stderr, stdout)
	}
	if code, _, stderr := quartet(ctx, env, "load", "--store", "kites", dir+"/products.jsonl"); code != 1 || !strings.Contains(stderr, "there is no store") {
		t.Errorf("a dry run has written the store: exit code %d, stderr %s", code, stderr)
	}
	code, stdout, stderr = quartet(ctx, env, "load", "--store", "kites", dir)
	if code != 1 {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	for _, says := range []string{
		"products.jsonl: 1 products loaded, 2 refused",
		"line 2: K2: variants[0].price.currency_code: is USD, must be EUR, the store's currency",
		"line 3: K1: product_id: is that of line 1; keep one of the two",
		`line 1: TEN: scope.product_ids: the catalog has no product "K9"; load it first, or leave it out`,
		"orders.jsonl: 1 orders loaded, 3 refused",
		"line 2: O2: subtotal: is 40.00 EUR, must be 49.00 EUR, the sum of the items",
		"line 3: O3: total: is 48.00 EUR, must be 49.00 EUR or more: subtotal less discount, plus shipping",
		"line 4: O4: create_time: is 2999-05-01T10:00:00Z, must not be in the future",
	} {
		if !strings.Contains(stdout, says) {
			t.Errorf("load does not say %q:\n%s", says, stdout)
		}
	}
	code, _, stderr = quartet(ctx, env, "load", "--store", "kitse", dir+"/products.jsonl")
	if code != 1 || !strings.Contains(stderr, `there is no store "kitse": load its stores.jsonl first, or correct the id`) {
		t.Errorf("a store that does not exist: code %d, %s", code, stderr)
	}
}

// A dry run refuses what a load would refuse, of all kinds. A product that can do without another one is taken with a note.
func TestADryRunRefusesWhatALoadRefuses(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	env := upWithoutDemo(t, ctx, stop)
	product := func(id, complements string) string {
		return `{"product_id":"` + id + `","title":"Kite","category_path":["Kites"],"complement_ids":[` + complements +
			`],"variants":[{"variant_id":"std","price":{"amount_minor":2450,"currency_code":"EUR"},"stock":7}]}` + "\n"
	}
	cart := func(id, product, quantity string) string {
		return `{"cart_id":"` + id + `","items":[{"product_id":"` + product + `","variant_id":"std","quantity":` + quantity + "}]}\n"
	}
	dir := writeFiles(t, map[string]string{
		"stores.jsonl":         `{"store_id":"kites","name":"Kite Corner","currency_code":"EUR"}` + "\n" + `{"store_id":"lamps","name":"","currency_code":"EUR"}` + "\n",
		"products.jsonl":       product("K1", `"K2","K9"`) + product("K2", `"K1"`),
		"carts.jsonl":          cart("a", "K1", "1") + cart("b", "K9", "1") + cart("c", "K1", "0"),
		"order_settings.jsonl": `{"return_window_days":-1}` + "\n",
		"orders.jsonl": `{"order_id":"O1","customer_id":"bo","status":"ORDER_STATUS_DELIVERED","create_time":"2024-05-01T10:00:00Z",` +
			`"items":[{"product_id":"K8","title":"Kite","quantity":1,"unit_price":{"amount_minor":2450,"currency_code":"EUR"}}],` +
			`"subtotal":{"amount_minor":2450,"currency_code":"EUR"},"total":{"amount_minor":2450,"currency_code":"EUR"}}` + "\n",
	})
	updates := writeFiles(t, map[string]string{"variant_updates.jsonl": `{"product_id":"K1","variant_id":"std","stock":3}` + "\n" + `{"product_id":"K9","variant_id":"std","stock":3}` + "\n"})
	for _, dry := range []bool{true, false} {
		args, done := []string{"load", "--store", "kites", dir}, "loaded"
		if dry {
			args, done = append(args, "--dry-run"), "good"
		}
		code, stdout, stderr := quartet(ctx, env, args...)
		if code != 1 {
			t.Errorf("dry %v: exit code %d, stderr %s", dry, code, stderr)
		}
		for _, says := range []string{
			"stores.jsonl: 1 stores " + done + ", 1 refused", "store.name: is required", "carts.jsonl: 1 carts " + done + ", 2 refused", `product "K9"`,
			"items[0].quantity: is 0", "order_settings.jsonl: 0 order_settings " + done + ", 1 refused", "products.jsonl: 2 products " + done + ", 0 refused",
			`line 1: note: K1: complement_ids: the catalog has no product "K9"`, "orders.jsonl: 1 orders " + done + ", 0 refused",
			`line 1: note: O1: items[0].product_id: the catalog has no product "K8"`,
		} {
			if !strings.Contains(stdout, says) {
				t.Errorf("dry %v: load does not say %q:\n%s", dry, says, stdout)
			}
		}
		if strings.Contains(stdout, `no product "K1"`) || strings.Contains(stdout, `no product "K2"`) {
			t.Errorf("dry %v: products of the same load are unknown:\n%s", dry, stdout)
		}
	}
	for _, args := range [][]string{{"--dry-run"}, {}} {
		code, stdout, _ := quartet(ctx, env, append([]string{"load", "--store", "kites", updates}, args...)...)
		if code != 1 || !strings.Contains(stdout, "1 refused") || !strings.Contains(stdout, `no product "K9"`) {
			t.Errorf("updates %v: exit code %d\n%s", args, code, stdout)
		}
	}
}

// upWithoutDemo runs 'quartet up' without stores, as up does, and returns the environment that leads to its gateway.
func upWithoutDemo(t *testing.T, ctx context.Context, stop context.CancelFunc) map[string]string {
	t.Helper()
	return map[string]string{"QUARTET_ADDR": up(t, ctx, stop, "--demo=false")["gateway"]}
}

func TestUpSaysHowToMoveFromPortsThatAreTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	if code, _, stderr := quartet(t.Context(), nil, "up", "--port", port); code != exitFailure || !strings.Contains(stderr, "--port moves") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// up runs 'quartet up' until stop, or the test, ends, and returns the addresses of its services.
func up(t *testing.T, ctx context.Context, stop context.CancelFunc, args ...string) map[string]string {
	t.Helper()
	var out, errOut output
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"up", "--port", "0", "--log-level", "ERROR"}, args...), environment{get: func(string) string { return "" }, out: &out, err: &errOut})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 {
			t.Errorf("up ended with %d:\n%s", code, errOut.String())
		}
	})
	return addresses(t, &out, &errOut)
}
