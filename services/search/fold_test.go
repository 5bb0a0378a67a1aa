package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"Trail-Running shoes!":   {"trail", "running", "shoes"},
		"a 30L pack":             {"a", "30", "l", "pack"},
		"women's, or women’s":    {"women", "or", "women"},
		"0.7 l and 42,5":         {"0.7", "l", "and", "42.5"},
		"Größe ñandú":            {"größe", "ñandú"},
		"  ":                     nil,
		"2-person tent (kids')":  {"2", "person", "tent", "kids"},
		"version 3. Next, 4,":    {"version", "3", "next", "4"},
		"'quoted' \"words\" b2b": {"quoted", "words", "b2b"},
	} {
		if diff := cmp.Diff(want, words(in)); diff != "" {
			t.Errorf("words(%q) (-want +got):\n%s", in, diff)
		}
	}
}

func TestFoldedFormsAreEqual(t *testing.T) {
	for name, pair := range map[string][2]string{
		"plural category":    {nameKey("Tents"), nameKey("tent")},
		"plural in -ies":     {nameKey("Accessories"), nameKey("accessory")},
		"separator":          {nameKey("trail-running shoe"), nameKey("Trail running shoes")},
		"spelling of colour": {fold("Color"), fold("colour")},
		"spelling of grey":   {fold("Gray"), fold("grey")},
		"EU size":            {foldValue("size", "EU 42"), foldValue("size", "42")},
		"size with its name": {foldValue("size", "Size 42"), foldValue("size", "42")},
		"decimal comma":      {foldValue("size", "42,5"), foldValue("size", "42.5")},
		"letter size":        {foldValue("size", "Medium"), foldValue("size", "m")},
		"id in brackets":     {idKey("[SHOE-1]"), idKey("shoe-1")},
		"id with hash":       {idKey(" #\"SHOE-1\" "), idKey("SHOE-1")},
	} {
		if pair[0] != pair[1] || pair[0] == "" {
			t.Errorf("%s: %q and %q differ", name, pair[0], pair[1])
		}
	}
	if nameKey("Tents") == nameKey("Tent spares") {
		t.Error("different categories fold to one")
	}
}

func TestPrices(t *testing.T) {
	for want, m := range map[string]*commonv1.Money{
		"129.95 EUR": {AmountMinor: 12995, CurrencyCode: "EUR"},
		"0.05 EUR":   {AmountMinor: 5, CurrencyCode: "EUR"},
		"500 JPY":    {AmountMinor: 500, CurrencyCode: "JPY"},
		"1.250 KWD":  {AmountMinor: 1250, CurrencyCode: "KWD"},
		"":           nil,
	} {
		if got := priceText(m); got != want {
			t.Errorf("priceText(%v) = %q, want %q", m, got, want)
		}
	}
	amount := 19.99
	if got := moneyOf(&amount, "EUR").GetAmountMinor(); got != 1999 {
		t.Errorf("19.99 EUR are %d minor units, want 1999", got)
	}
	if got := moneyOf(&amount, "JPY").GetAmountMinor(); got != 20 {
		t.Errorf("19.99 JPY are %d minor units, want 20", got)
	}
}
