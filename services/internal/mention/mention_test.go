package mention

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/demo"
)

func TestWhatATextNames(t *testing.T) {
	shoes := []Product{
		{"P1", "Korvane Gully 2 trail running shoe", "Korvane"}, {"P2", "Korvane Gully 3 trail running shoe", "Korvane"},
		{"P3", "Korvane Gully 3 GT waterproof trail shoe", "Korvane"}, {"P4", "Running sock", ""},
		{"P5", "Korvane Ash aluminium poles, pair", "Korvane"}, {"P6", "Hestrel Fallow rain jacket", "Hestrel"},
		{"P7", "Hestrel Fallow Women's rain jacket", "Hestrel"}, {"42", "Dunmarrow Path ankle sock", "Dunmarrow"},
		{"P9", "Skelvane chalk bag with belt", "Skelvane"}, {"P10", "Glass teapot with basket", ""},
	}
	for text, want := range map[string]string{
		"The Korvane Gully 3 GT is waterproof, the **Gully 3** is not.":       "P3 P2",
		"the Korvane Gully 3 or the gully 2":                                  "P2",
		"We have the Gully in two versions.":                                  "", // which one?
		"The Gully 4 is sold out.":                                            "",
		"Korvane Ash aluminium poles, 69.95 EUR":                              "P5",
		"Your Korvane Ash poles have ashes on them.":                          "P5",
		"Hestrel Fallow Women's rain jackets and Hestrel Fallow rain jackets": "P7 P6",
		"The Fallow keeps rain out.":                                          "", // whose?
		"Soles that have met a path count as used; ankle socks do not.":       "",
		"The Path is a thin sock.":                                            "42",
		"In size 42 we have no chalk bag. P1 is a trail shoe.":                "P1",
		"Ask for P10 or p9, not for P100.":                                    "P10 P9",
		"Our **Running sock** costs 9 EUR, the Dunmarrow Path ankle sock 14.": "P4 42",
		"We have no running socks in 42.":                                     "",
		"Der Fallow Women's ist leichter als die Gully 3 GT.":                 "P7 P3",
	} {
		var got []string
		for _, m := range Products(text, shoes) {
			got = append(got, shoes[m.Product].ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\nnames %v, want %s", text, got, want)
		}
	}
	two := []Product{{"A", "Merino sock", ""}, {"B", "Merino sock", ""}}
	if got := Products("Our Merino sock.", two); len(got) != 2 || got[0].At != got[1].At {
		t.Errorf("of two products with one title: %v", got)
	}
}

func TestCodesAndIDs(t *testing.T) {
	for _, c := range []struct {
		text, code string
		want       int
	}{
		{"Use SAVE20 now", "SAVE20", 4}, {"use save20", "SAVE20", 4}, {"SAVE200", "SAVE20", -1},
		{"order QT-10021 is late", "QT-10021", 6}, {"order qt 10021", "QT-10021", 6}, {"QT-100210", "QT-10021", -1},
		{"you are welcome", "WELCOME", -1}, {"with WELCOME", "WELCOME", 5}, {"size 42", "42", -1}, {"order 1001", "1001", 6}, {"x", "", -1},
	} {
		if got := Index(c.text, c.code); got != c.want {
			t.Errorf("%q in %q: %d, want %d", c.code, c.text, got, c.want)
		}
	}
}

// labelled is the text of a reply and the ids of the products that it names for a reader, in order. The texts are from language
// models.
type labelled struct {
	Source   string
	Text     string
	Found    []string // ids of the products that the tools of the turn found
	Products []Product
	Named    []string
}

// Replies of a strong and a weak model are looked at with the products that the turn had found, and with all of the stores. Answers
// of a third set, in four languages, were written apart from those and for other products.
func TestRecordedReplies(t *testing.T) {
	stores, err := demo.Load(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var all []Product
	for _, s := range stores {
		for _, p := range s.Products {
			all = append(all, Product{p.GetProductId(), p.GetTitle(), p.GetBrand()})
		}
	}
	file, err := os.Open("testdata/replies.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	counts := map[string]*count{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l labelled
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if len(l.Products) > 0 {
			counts[l.Source] = counts[l.Source].add(t, l, l.Products)
			continue
		}
		found := slices.DeleteFunc(slices.Clone(all), func(p Product) bool { return !slices.Contains(l.Found, p.ID) })
		counts[l.Source+", found products"] = counts[l.Source+", found products"].add(t, l, found)
		counts[l.Source+", all products"] = counts[l.Source+", all products"].add(t, l, all)
	}
	if err := lines.Err(); err != nil || len(counts) != 5 {
		t.Fatalf("%d sets, %v", len(counts), err)
	}
	for name, c := range counts {
		t.Logf("%s: %d texts, %d products named, %d of them found, %d found that are not named, %d texts in another order",
			name, c.texts, c.named, c.hit, c.wrong, c.disordered)
		if c.wrong > 0 || c.disordered > 0 || float64(c.hit) < 0.95*float64(c.named) {
			t.Errorf("%s: too many mistakes", name)
		}
	}
}

type count struct{ texts, named, hit, wrong, disordered int }

func (c *count) add(t *testing.T, l labelled, products []Product) *count {
	if c == nil {
		c = &count{}
	}
	known := func(id string) bool { return slices.ContainsFunc(products, func(p Product) bool { return p.ID == id }) }
	want := slices.DeleteFunc(slices.Clone(l.Named), func(id string) bool { return !known(id) })
	var got []string
	for _, m := range Products(l.Text, products) {
		got = append(got, products[m.Product].ID)
	}
	hits := slices.DeleteFunc(slices.Clone(got), func(id string) bool { return !slices.Contains(want, id) })
	c.texts, c.named, c.hit, c.wrong = c.texts+1, c.named+len(want), c.hit+len(hits), c.wrong+len(got)-len(hits)
	if !slices.Equal(hits, slices.DeleteFunc(slices.Clone(want), func(id string) bool { return !slices.Contains(hits, id) })) {
		c.disordered++
	}
	if !slices.Equal(got, want) {
		t.Logf("%s\n%s\nfound %v, want %v", l.Source, l.Text, got, want)
	}
	return c
}

func BenchmarkProducts(b *testing.B) {
	stores, err := demo.Load(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	var products []Product
	for _, p := range stores[0].Products[:40] {
		products = append(products, Product{p.GetProductId(), p.GetTitle(), p.GetBrand()})
	}
	text := strings.Repeat("For wet trails, the **Korvane Gully 3 GT waterproof trail shoe** at 149.95 EUR is a good choice. ", 10)
	b.ReportAllocs()
	for b.Loop() {
		Products(text, products)
	}
}
