package indextest

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	evalsearch "github.com/quartet-commerce/quartet/services/internal/eval/search"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// PublicProducts are 19,406 products of a public collection, as 'quartet eval search' maps them.
func PublicProducts(t testing.TB) []*catalogv1.Product {
	t.Helper()
	var out []*catalogv1.Product
	for line, err := range evalsearch.Products(publicdata.Open(t, "chorus/products.jsonl.gz")) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Item)
	}
	return out
}

// PublicQueries are the queries that were judged for those products.
func PublicQueries(t testing.TB) []string {
	t.Helper()
	rows, err := csv.NewReader(publicdata.Open(t, "chorus/judgments.csv")).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	seen := make(map[string]bool)
	for _, row := range rows[1:] {
		if !seen[row[0]] {
			seen[row[0]] = true
			out = append(out, row[0])
		}
	}
	return out
}

// Grown makes n products of those: copies with identifiers and model numbers of their own, so that the dictionary grows as
// that of a larger store would.
func Grown(products []*catalogv1.Product, n int) []*catalogv1.Product {
	out := make([]*catalogv1.Product, 0, n)
	for i := range n {
		out = append(out, GrownAt(products, i))
	}
	return out
}

// GrownAt is the i-th of the products that Grown makes.
func GrownAt(products []*catalogv1.Product, i int) *catalogv1.Product {
	p, copied := products[i%len(products)], i/len(products)
	if copied == 0 {
		return p
	}
	p = proto.CloneOf(p)
	p.ProductId = fmt.Sprintf("%s-%d", p.GetProductId(), copied)
	ws := strings.Fields(p.GetTitle())
	for j, w := range ws {
		if strings.ContainsAny(w, "0123456789") && len(w) > 4 {
			ws[j] = w + strconv.Itoa(copied)
		}
	}
	p.Title = strings.Join(ws, " ")
	return p
}
