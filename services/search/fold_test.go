package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		"id in punctuation":  {idKey("(SHOE-1),"), idKey("SHOE-1")},
		"id at an end":       {idKey("SHOE-1."), idKey("SHOE-1")},
		"id in markdown":     {idKey("**`SHOE-1`**"), idKey("SHOE-1")},
		"id in guillemets":   {idKey("«SHOE-1»…"), idKey("SHOE-1")},
		"id with dashes":     {idKey("SHOE\u20111\u2013a"), idKey("SHOE-1-A")},
		"id with hidden":     {idKey("\u200bSHOE\u200b-1\ufeff"), idKey("SHOE-1")},
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
