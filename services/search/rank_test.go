package search

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

func (ix backing) testSearch(t *testing.T) {
	v := ix.view(t, outdoor())
	for name, c := range map[string]struct {
		query  string
		filter *catalogv1.Filter
		want   []string // in any order
	}{
		"all words, not one of them":          {"trail running shoes", nil, []string{"SHOE-1", "SHOE-2"}},
		"singular":                            {"trail running shoe", nil, []string{"SHOE-1", "SHOE-2"}},
		"chatter is no word":                  {"Do you have any trail running shoes in size 42 under 120 euros?", nil, []string{"SHOE-1", "SHOE-2"}},
		"a category is not what goes with it": {"tents", nil, []string{"TENT-1", "TENT-2"}},
		"what goes with it can be found":      {"tent pegs", nil, []string{"PEG-1"}},
		"the end of a category":               {"running shoes", nil, []string{"SHOE-1", "SHOE-2"}},
		"a category of several kinds":         {"lantern", nil, []string{"LAMP-2"}},
		"synonym of a word":                   {"rucksack", nil, []string{"PACK-1"}},
		"synonym of a phrase":                 {"sneakers", nil, []string{"SHOE-1", "SHOE-2"}},
		"phrase that is a synonym":            {"head torch", nil, []string{"LAMP-1"}},
		"typo":                                {"hedlamp", nil, []string{"LAMP-1"}},
		"number and unit":                     {"30l backpack", nil, []string{"PACK-1"}},
		"number that tells products apart":    {"2 person tent", nil, []string{"TENT-1"}},
		"people behind the thing":             {"tent 2 people", nil, []string{"TENT-1"}},
		"people in words":                     {"a two-person tent", nil, []string{"TENT-1"}},
		"people without a word for them":      {"tent for two", nil, []string{"TENT-1"}},
		"people are no thing":                 {"a tent for people", nil, []string{"TENT-1", "TENT-2"}},
		"men are not counted after a size":    {"running shoes size 42 men", nil, []string{"SHOE-1", "SHOE-2"}},
		"qualifiers behind the thing":         {"running shoes women waterproof", nil, []string{"SHOE-2"}},
		"what the store lacks":                {"gaming laptop", nil, nil},
		"one unknown word beside a known":     {"carbon tent", nil, []string{"TENT-1", "TENT-2"}},
		"brand":                               {"moorhen", nil, []string{"SHOE-2", "SOCK-1"}},
		"no words, a filter":                  {"", &catalogv1.Filter{Brands: []string{"Glowworm"}}, []string{"LAMP-1", "LAMP-2"}},
		"only chatter counts as no words":     {"anything cheap", &catalogv1.Filter{Brands: []string{"Glowworm"}}, []string{"LAMP-1", "LAMP-2"}},
		"words and a filter":                  {"trail running shoes", &catalogv1.Filter{InStock: true, Options: map[string]string{"size": "42"}}, []string{"SHOE-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(t, v, c.query, c.filter, catalogv1.Sort_SORT_UNSPECIFIED)
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func (ix backing) testModifiers(t *testing.T) {
	v := ix.view(t, wardrobe())
	for name, c := range map[string]struct {
		query string
		want  []string // in any order
	}{
		"what others have restricts":                  {"do you have down jackets?", []string{"DOWN-1"}},
		"a direction is no filling":                   {"jackets down to 20 euros", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"a filling behind the thing":                  {"jackets of down", []string{"DOWN-1", "SYN-1"}},
		"a feature may be mentioned":                  {"jackets with a hood", []string{"DOWN-1", "SYN-1"}},
		"two modifiers that one product has":          {"waterproof squall jacket", []string{"RAIN-1"}},
		"two modifiers that none has together":        {"waterproof down jacket", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"a vague word leaves none out":                {"a light jacket", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"several vague words leave none out":          {"good warm cosy jacket", []string{"DOWN-1", "RAIN-1", "SYN-1"}},
		"a vague word alone selects":                  {"something warm", []string{"SYN-1"}},
		"a light that is a thing":                     {"camping light", []string{"LAMP-1"}},
		"weather asks for what withstands it":         {"something for a rainy hike", []string{"COVER-1"}},
		"what withstands weather does not ask for it": {"waterproof", []string{"COVER-1", "RAIN-1"}},
		"a present may be anything":                   {"camping gift", []string{"LAMP-1"}},
		"nothing but a present":                       {"birthday gift ideas", []string{"COVER-1", "DOWN-1", "LAMP-1", "NOTE-1", "RAIN-1", "SYN-1"}},
		"a gift card is none":                         {"gift card", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(t, v, c.query, nil, catalogv1.Sort_SORT_UNSPECIFIED)
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func (ix backing) testMarkedPresentsComeFirst(t *testing.T) {
	products := wardrobe()
	products[3].Tags = append(products[3].Tags, "gift")
	v := ix.view(t, products)
	got := ids(t, v, "hiking gift", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if diff := cmp.Diff([]string{"COVER-1", "NOTE-1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ids(t, v, "gift", nil, catalogv1.Sort_SORT_UNSPECIFIED); !slices.Equal(got, []string{"COVER-1"}) {
		t.Errorf("gift: %v, want what is marked as one", got)
	}
}

func (ix backing) testTyposAreNearInLengthAndName(t *testing.T) {
	v := ix.view(t, []*catalogv1.Product{
		{ProductId: "TEA-1", Title: "Bergamot tea", Description: "The petals are for show.", CategoryPath: []string{"Tea"},
			Variants: []*catalogv1.Variant{variant("std", 100, 1)}},
		{ProductId: "POT-1", Title: "Stoneware teapot", Tags: []string{"shot", "packet"}, CategoryPath: []string{"Teaware"},
			Variants: []*catalogv1.Variant{variant("std", 100, 1)}},
	})
	for query, want := range map[string][]string{
		"shoes":    nil,       // "show" and "shot" are other words
		"jacket":   nil,       // spelled right, and begins otherwise
		"petels":   nil,       // a description is no place for guesses
		"bergamto": {"TEA-1"}, // two letters of eight
		"teapt":    {"POT-1"},
		"tae":      nil, // too short to tell
	} {
		if diff := cmp.Diff(want, ids(t, v, query, nil, catalogv1.Sort_SORT_UNSPECIFIED)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

func (ix backing) testOrder(t *testing.T) {
	v := ix.view(t, outdoor())
	for name, c := range map[string]struct {
		query string
		sort  catalogv1.Sort
		want  []string
	}{
		"cheapest first":             {"tents", catalogv1.Sort_SORT_PRICE_ASCENDING, []string{"TENT-1", "TENT-2"}},
		"dearest first":              {"tents", catalogv1.Sort_SORT_PRICE_DESCENDING, []string{"TENT-2", "TENT-1"}},
		"what is wished comes first": {"light trail running shoe", catalogv1.Sort_SORT_UNSPECIFIED, []string{"SHOE-2", "SHOE-1"}},
		"the brand named counts":     {"moorhen trail running shoe", catalogv1.Sort_SORT_UNSPECIFIED, []string{"SHOE-2"}},
		"without words by title":     {"", catalogv1.Sort_SORT_UNSPECIFIED, nil},
		"price over the whole store": {"", catalogv1.Sort_SORT_PRICE_ASCENDING, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(t, v, c.query, nil, c.sort)
			switch {
			case c.want != nil:
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			case len(got) != len(outdoor()):
				t.Errorf("%d products, want all %d", len(got), len(outdoor()))
			case c.sort == catalogv1.Sort_SORT_PRICE_ASCENDING && (got[0] != "PEG-1" || got[len(got)-1] != "TENT-2"):
				t.Errorf("cheapest is %s and dearest %s", got[0], got[len(got)-1])
			case c.sort == catalogv1.Sort_SORT_UNSPECIFIED && (got[0] != "LAMP-1" || got[len(got)-1] != "PEG-1"):
				t.Errorf("by title, %s is first and %s last", got[0], got[len(got)-1])
			}
		})
	}
}

func (ix backing) testMatchingAllWordsBeatsMatchingOne(t *testing.T) {
	products := []*catalogv1.Product{
		{ProductId: "ALL", Title: "Blue wool cap", CategoryPath: []string{"Things"}, Variants: []*catalogv1.Variant{variant("a", 100, 1)}},
		{ProductId: "ONE", Title: "Wool wool wool", Description: "wool", Tags: []string{"wool"}, CategoryPath: []string{"Wool"},
			Variants: []*catalogv1.Variant{variant("a", 100, 1)}},
	}
	got := ids(t, ix.view(t, products), "blue wool cap", nil, catalogv1.Sort_SORT_UNSPECIFIED)
	if diff := cmp.Diff([]string{"ALL"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The staff chose SOCK-1 and then LAMP-1 to go with SHOE-1.
func (ix backing) testWhatIsKnownToGoTogether(t *testing.T) {
	v := ix.view(t, outdoor())
	bought := func(pairs ...string) (out []*catalogv1.Companion) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, &catalogv1.Companion{ProductId: pairs[i], WithProductId: pairs[i+1], Relation: "often bought with"})
		}
		return out
	}
	title := func(id string) string { return entryOf(t, v, id).product.GetTitle() }
	for name, c := range map[string]struct {
		anchors  []string
		relation catalogv1.Relation
		query    string
		filter   *catalogv1.Filter
		known    []*catalogv1.Companion
		want     []string
		reason   string // of the first
	}{
		"it takes turns with the staff's choice": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "", nil,
			bought("PEG-1", "SHOE-1"), []string{"SOCK-1", "PEG-1", "LAMP-1"}, "goes with " + title("SHOE-1")},
		"what both say comes first": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "", nil,
			bought("lamp-1", "SHOE-1"), []string{"LAMP-1", "SOCK-1"}, "goes with and often bought with " + title("SHOE-1")},
		"of two anchors": {[]string{"SHOE-1", "TENT-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "", &catalogv1.Filter{Brands: []string{"Glowworm"}},
			bought("LAMP-1", "TENT-1"), []string{"LAMP-1", "LAMP-2"}, "goes with " + title("SHOE-1") + ", often bought with " + title("TENT-1")},
		"what the shopper adds weighs more": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "headlamp", nil,
			bought("PEG-1", "SHOE-1"), []string{"LAMP-1", "SOCK-1", "PEG-1"}, "goes with " + title("SHOE-1")},
		"not what is excluded, gone, or of something else": {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_COMPLEMENT, "",
			&catalogv1.Filter{InStock: true, ExcludeProductIds: []string{"PEG-1"}},
			bought("PEG-1", "SHOE-1", "LAMP-1", "SHOE-1", "NOPE", "SHOE-1", "SHOE-1", "SHOE-1", "TENT-1", "BOOT-1", "TENT-1", "NOPE"),
			[]string{"SOCK-1"}, "goes with " + title("SHOE-1")},
		"not in place of an anchor": {[]string{"TENT-1"}, catalogv1.Relation_RELATION_ALTERNATIVE, "", nil,
			bought("PEG-1", "TENT-1"), []string{"TENT-2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := v.similar(t.Context(), c.anchors, c.relation, testVocabulary(t).parse(c.query), newFilter(c.filter), c.known)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.id())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.reason != "" && found[0].reason != c.reason {
				t.Errorf("reason %q, want %q", found[0].reason, c.reason)
			}
		})
	}
}

func (ix backing) testFindSimilar(t *testing.T) {
	v := ix.view(t, outdoor())
	complement, alternative := catalogv1.Relation_RELATION_COMPLEMENT, catalogv1.Relation_RELATION_ALTERNATIVE
	for name, c := range map[string]struct {
		anchors  []string
		relation catalogv1.Relation
		query    string
		filter   *catalogv1.Filter
		want     []string
	}{
		"the staff's choice in its order":       {[]string{"SHOE-1"}, complement, "", nil, []string{"SOCK-1", "LAMP-1"}},
		"the filter holds for the choice":       {[]string{"SHOE-1"}, complement, "", &catalogv1.Filter{InStock: true}, []string{"SOCK-1"}},
		"what is asked for needs no shared use": {[]string{"SOCK-1"}, complement, "tent pegs", nil, []string{"PEG-1", "LAMP-1", "SHOE-1", "SHOE-2"}},
		"what the shopper adds weighs":          {[]string{"SHOE-1"}, complement, "headlamp", nil, []string{"LAMP-1", "SOCK-1"}},
		"shared use in another category":        {[]string{"TENT-1"}, complement, "", &catalogv1.Filter{Brands: []string{"Glowworm", "Kestrel"}}, []string{"LAMP-2", "BOOT-1", "LAMP-1"}},
		"the same kind":                         {[]string{"TENT-1"}, alternative, "", nil, []string{"TENT-2"}},
		"never the anchors":                     {[]string{"TENT-1", "TENT-2"}, alternative, "", nil, nil},
		"never what is excluded":                {[]string{"SHOE-1"}, complement, "", &catalogv1.Filter{ExcludeProductIds: []string{"SOCK-1"}}, []string{"LAMP-1"}},
		"unknown anchors are passed over":       {[]string{"NOPE", "[tent-1]"}, alternative, "", nil, []string{"TENT-2"}},
		"only unknown anchors":                  {[]string{"NOPE"}, alternative, "", nil, nil},
		"complements first, then alternatives":  {[]string{"SHOE-1"}, catalogv1.Relation_RELATION_UNSPECIFIED, "", nil, []string{"SOCK-1", "LAMP-1", "SHOE-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := v.similar(t.Context(), c.anchors, c.relation, testVocabulary(t).parse(c.query), newFilter(c.filter), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.id())
				if f.reason == "" {
					t.Errorf("%s has no reason", f.id())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
