package search

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

// zipped compresses text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJudgments(t *testing.T) {
	const set = "note,query,docid,rating\nx,red kite,1,3\n,\"kite, blue\",2,0\n,red kite,2,0\n"
	want := []Query{{"red kite", map[string]int{"1": 3, "2": 0}}, {"kite, blue", map[string]int{"2": 0}}}
	for name, text := range map[string]string{"plain": set, "gzip": zipped(t, set)} {
		got, err := Judgments(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWrongJudgmentsAreNamedByLine(t *testing.T) {
	const header = "query,docid,rating\n"
	for name, c := range map[string]struct{ text, says string }{
		"nothing":            {"", "there is no line to measure"},
		"only a header":      {header, "there is no line to measure"},
		"another header":     {"q,d,r\na,1,3\n", "line 1: must name the columns query, docid and rating"},
		"too few columns":    {header + "a,1,3\nb,2\n", "line 3: has 2 columns, must have 3"},
		"a grade in words":   {header + "a,1,good\n", `line 2: rating is "good", must be a whole number from 0 to 10`},
		"a grade below zero": {header + "a,1,-1\n", `line 2: rating is "-1"`},
		"no query":           {header + ",1,1\n", "line 2: query has 0 characters, must have 1 to 1000"},
		"a long query":       {header + strings.Repeat("ä", 1001) + ",1,1\n", "line 2: query has 1001 characters"},
		"no product":         {header + "a,,1\n", "line 2: docid is empty"},
		"judged twice":       {header + "a,1,1\nb,1,1\na,1,2\n", `line 4: "1" is judged for "a" twice`},
		"a quote that opens": {header + "a,1,1\nb\"c,1,1\nd,1,x\n", "line 3: bare \" in non-quoted-field\n  line 4: rating"},
	} {
		_, err := Judgments(strings.NewReader(c.text))
		var wrong *LinesError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q", name, err, c.says)
		}
	}
	if _, err := Judgments(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken reader: error %v", err)
	}
	if _, err := Judgments(strings.NewReader("\x1f\x8bnonsense")); err == nil || !strings.Contains(err.Error(), "decompress") {
		t.Errorf("broken gzip: error %v", err)
	}
}

func TestManyWrongLinesAreCounted(t *testing.T) {
	text := "query,docid,rating\n" + strings.Repeat("a,1,x\n", 23)
	_, err := Judgments(strings.NewReader(text))
	if err == nil || !strings.Contains(err.Error(), "wrong lines: 23; want the columns") || !strings.HasSuffix(err.Error(), "... and 3 more") {
		t.Errorf("error %v", err)
	}
}

// read returns the products, and what is wrong with the lines that are none.
func read(text string) (products []*catalogv1.Product, wrong []int, err error) {
	for line, err := range Products(strings.NewReader(text)) {
		var bad *jsonl.LineError
		switch {
		case errors.As(err, &bad):
			wrong = append(wrong, bad.Line)
		case err != nil:
			return nil, nil, err
		default:
			products = append(products, line.Item)
		}
	}
	return products, wrong, nil
}

func TestProductsOfACatalog(t *testing.T) {
	const set = `{"product_id":"K1","title":"Kite"}` + "\n" + `{"no":"product"}` + "\n\n" + `{"productId":"K2","title":"Kite 2"}`
	want := []*catalogv1.Product{{ProductId: "K1", Title: "Kite"}, {ProductId: "K2", Title: "Kite 2"}}
	for name, text := range map[string]string{"plain": set, "gzip": zipped(t, set)} {
		got, wrong, err := read(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]int{2}, wrong); diff != "" {
			t.Errorf("%s: wrong lines (-want +got):\n%s", name, diff)
		}
	}
}

func TestProductsOfDataSheets(t *testing.T) {
	const line = `{"id":"7","name":"K-7","title":"Kestrel K-7 kettle","ean":["1"],"supplier":"Kestrel","price":1995,` +
		`"short_description":"Kettle, 1.7 l","attr_n_water__tank":1.7,"attr_t_product_colour":" Red ","attr_t_Finish":"matt",` +
		`"attr_b_cordless":true,"attr_t_none":"","attr_n_finish":2,"attr_t_odd":[1]}`
	got, wrong, err := read(line + "\nnonsense\n")
	if err != nil || len(got) != 1 || len(wrong) != 1 || wrong[0] != 2 {
		t.Fatalf("products %v, wrong lines %v, error %v", got, wrong, err)
	}
	want := &catalogv1.Product{
		ProductId: "7", Title: "Kestrel K-7 kettle", Brand: "Kestrel", Description: "Kettle, 1.7 l", CategoryPath: []string{"Products"},
		Attributes: []*catalogv1.Attribute{
			{Name: "finish", Value: &catalogv1.Attribute_Text{Text: "matt"}},
			{Name: "product colour", Value: &catalogv1.Attribute_Text{Text: "Red"}},
			{Name: "water tank", Value: &catalogv1.Attribute_Number{Number: 1.7}},
			{Name: "cordless", Value: &catalogv1.Attribute_Flag{Flag: true}},
		},
		Variants: []*catalogv1.Variant{{VariantId: "std", Stock: 1, Price: &commonv1.Money{AmountMinor: 1995, CurrencyCode: "USD"}}},
	}
	if diff := cmp.Diff(want, got[0], protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDataSheetsAreCutToTheCatalogsLimits(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":"1","attr_t_long":%q`, strings.Repeat("ä", 201))
	for i := range 150 {
		fmt.Fprintf(&b, `,"attr_n_%d":1`, i)
	}
	got, _, err := read(b.String() + "}")
	if err != nil || len(got) != 1 {
		t.Fatalf("products %v, error %v", got, err)
	}
	if n := len(got[0].GetAttributes()); n != 100 {
		t.Errorf("%d attributes, want 100", n)
	}
	if n := len([]rune(got[0].GetAttributes()[0].GetText())); n != 200 {
		t.Errorf("the text has %d characters, want 200", n)
	}
}

func TestProductsThatCanNotBeRead(t *testing.T) {
	if _, _, err := read("\x1f\x8bnonsense"); err == nil {
		t.Error("broken gzip is read")
	}
	if got, wrong, err := read(""); got != nil || wrong != nil || err != nil {
		t.Errorf("of nothing: %v, %v, %v", got, wrong, err)
	}
}
