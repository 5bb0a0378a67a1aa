package search

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/searcheval"
)

// openPublic opens a file of public data. It is too large to keep beside the code: QUARTET_DATA says where it is.
func openPublic(t testing.TB, file string) *os.File {
	t.Helper()
	dir := os.Getenv("QUARTET_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skipf("no data: set QUARTET_DATA to the folder that holds %s", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// publicProducts are 19,406 products of a public collection, as 'quartet eval search' maps them.
func publicProducts(t testing.TB) []*catalogv1.Product {
	t.Helper()
	var out []*catalogv1.Product
	for line, err := range searcheval.Products(openPublic(t, "chorus/products.jsonl.gz")) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Item)
	}
	return out
}

// publicQueries are the queries that were judged for those products.
func publicQueries(t testing.TB) []string {
	t.Helper()
	rows, err := csv.NewReader(openPublic(t, "chorus/judgments.csv")).ReadAll()
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

// grown makes n products of those: copies with identifiers and model numbers of their own, so that the dictionary grows as
// that of a larger store would.
func grown(products []*catalogv1.Product, n int) []*catalogv1.Product {
	out := make([]*catalogv1.Product, 0, n)
	for i := range n {
		p := products[i%len(products)]
		if copied := i / len(products); copied > 0 {
			p = proto.CloneOf(p)
			p.ProductId = fmt.Sprintf("%s-%d", p.GetProductId(), copied)
			ws := strings.Fields(p.GetTitle())
			for j, w := range ws {
				if strings.ContainsAny(w, "0123456789") && len(w) > 4 {
					ws[j] = w + strconv.Itoa(copied)
				}
			}
			p.Title = strings.Join(ws, " ")
		}
		out = append(out, p)
	}
	return out
}
