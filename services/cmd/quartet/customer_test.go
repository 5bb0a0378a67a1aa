package main

import (
	"context"
	"strings"
	"testing"
)

func TestCustomerIsExportedAndErased(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	at := up(t, ctx, stop, "--demo=false")
	env := map[string]string{"QUARTET_ADDR": at["gateway"]}
	dir := writeFiles(t, map[string]string{
		"stores.jsonl": `{"store_id":"kites","name":"Kite Corner","currency_code":"EUR"}` + "\n",
		"orders.jsonl": `{"order_id":"O1","customer_id":"bo","status":"ORDER_STATUS_DELIVERED","create_time":"2024-05-01T10:00:00Z","postal_code":"10115",` +
			`"items":[{"product_id":"K1","title":"Kite","quantity":1,"unit_price":{"amount_minor":2450,"currency_code":"EUR"}}],` +
			`"subtotal":{"amount_minor":2450,"currency_code":"EUR"},"total":{"amount_minor":2450,"currency_code":"EUR"}}` + "\n",
	})
	if code, stdout, stderr := quartet(ctx, env, "load", "--store", "kites", dir); code != 0 {
		t.Fatalf("load: %d, %s%s", code, stdout, stderr)
	}
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"export bo --store kites", 0, `"postal_code":"10115"`},
		{"erase bo --store kites", 0, "0 conversations, 0 carts, 0 uses of promotions, 1 orders\n"},
		{"erase bo --store kites", 0, "0 conversations, 0 carts, 0 uses of promotions, 0 orders\n"},
		{"export bo --store kiets", 1, `store "kiets" not found`},
		{"erase bo", 2, "give --store"},
		{"forget bo --store kites", 2, "give export or erase"},
		{"erase b/o --store kites", 1, "customer_id: must be 1 to 64"},
	} {
		code, stdout, stderr := quartet(ctx, env, append([]string{"customer"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", tt.args, code, tt.code, tt.says, stdout, stderr)
		}
	}
	if code, stdout, _ := quartet(ctx, env, "customer", "export", "bo", "--store", "kites"); code != 0 || stdout != "" {
		t.Errorf("after the erasure: %d, %q", code, stdout)
	}
}
