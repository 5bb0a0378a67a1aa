package search

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval"
	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

const (
	// maxGrade is the highest grade.
	maxGrade = 10
	// maxQuery is the longest query that the catalog takes, in characters.
	maxQuery = 1000
)

// Query is a query and the products that people have judged for it.
type Query struct {
	// Text is what a shopper types, 1 to 1,000 characters.
	Text string
	// Grades are the grades of the judged products by product id: 0 not relevant, 10 at most.
	Grades map[string]int
}

// wantedJudgments are the names of the columns.
var wantedJudgments = []string{"query", "docid", "rating"}

// Judgments returns the queries of a CSV file, plain or gzip, in the order in which they come first. Its first line names
// the columns: query, docid (a product id) and rating (a grade); further ones are passed over. A file with a wrong line, or
// without a judgment, is a *LinesError; any other error comes from r.
func Judgments(r io.Reader) ([]Query, error) {
	in, err := plain(r)
	if err != nil {
		return nil, err
	}
	rows := csv.NewReader(in)
	rows.FieldsPerRecord = -1 // told by the number of the line
	bad := &LinesError{Wanted: "the columns query,docid,rating, such as: bluetooth speaker,1993197,3"}
	var syntax *csv.ParseError
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, bad
	}
	if err != nil && !errors.As(err, &syntax) {
		return nil, err
	}
	columns, ok := columnsOf(header)
	if err != nil || !ok {
		bad.Problems = append(bad.Problems, "line 1: must name the columns query, docid and rating")
		return nil, bad
	}
	s := set{places: make(map[string]int)}
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			if len(bad.Problems) > 0 || len(s.queries) == 0 {
				return nil, bad
			}
			return s.queries, nil
		case errors.As(err, &syntax):
			bad.Problems = append(bad.Problems, fmt.Sprintf("line %d: %v", syntax.Line, syntax.Err))
			continue
		case err != nil:
			return nil, err
		}
		if wrong := s.add(row, columns); wrong != "" {
			line, _ := rows.FieldPos(0)
			bad.Problems = append(bad.Problems, fmt.Sprintf("line %d: %s", line, wrong))
		}
	}
}

// columnsOf finds the columns in the first row.
func columnsOf(header []string) (columns [3]int, ok bool) {
	for i, name := range wantedJudgments {
		if columns[i] = slices.Index(header, name); columns[i] < 0 {
			return columns, false
		}
	}
	return columns, true
}

// set are the queries read so far.
type set struct {
	queries []Query
	places  map[string]int // of the queries by text
}

// add takes one row, or says what is wrong with it.
func (s *set) add(row []string, columns [3]int) string {
	if n := slices.Max(columns[:]); n >= len(row) {
		return fmt.Sprintf("has %d columns, must have %d", len(row), n+1)
	}
	text, id := row[columns[0]], row[columns[1]]
	grade, err := strconv.Atoi(row[columns[2]])
	switch n := len([]rune(text)); {
	case n == 0 || n > maxQuery:
		return fmt.Sprintf("query has %d characters, must have 1 to %d", n, maxQuery)
	case id == "":
		return "docid is empty"
	case err != nil || grade < 0 || grade > maxGrade:
		return fmt.Sprintf("rating is %q, must be a whole number from 0 to %d", row[columns[2]], maxGrade)
	}
	at, seen := s.places[text]
	if !seen {
		at = len(s.queries)
		s.places[text] = at
		s.queries = append(s.queries, Query{Text: text, Grades: make(map[string]int)})
	}
	if _, twice := s.queries[at].Grades[id]; twice {
		return fmt.Sprintf("%q is judged for %q twice", id, text)
	}
	s.queries[at].Grades[id] = grade
	return ""
}

// LinesError says which lines of a file are wrong.
type LinesError struct {
	// Problems are the wrong lines in their order, each with its number, what is wrong and what is wanted. Empty: there is
	// no line at all.
	Problems []string
	// Wanted says what a line looks like.
	Wanted string
}

// Error returns the first 20 problems, one a line, and how many more there are.
func (e *LinesError) Error() string {
	if len(e.Problems) == 0 {
		return "there is no line to measure; want " + e.Wanted
	}
	return eval.WrongLines(e.Problems, e.Wanted)
}

// plain returns what r holds, decompressed if it is gzip.
func plain(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, peeked)
	if start, _ := in.Peek(2); string(start) != "\x1f\x8b" {
		return in, nil // also when it is too short, which the reader of it reports
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return bufio.NewReaderSize(z, peeked), nil
}

// peeked is how far into the first line is looked to tell what it is.
const peeked = 64 << 10

// Products yields the products of JSON Lines, plain or gzip: lines of quartet.catalog.v1.Product as 'quartet load' takes
// them, or data sheets, as docs/evaluation.md maps them. The first line tells which. A line that cannot be read is
// yielded as a *jsonl.LineError and reading goes on; any other error is the last.
func Products(r io.Reader) iter.Seq2[jsonl.Line[*catalogv1.Product], error] {
	return func(yield func(jsonl.Line[*catalogv1.Product], error) bool) {
		in, err := plain(r)
		if err != nil {
			yield(jsonl.Line[*catalogv1.Product]{}, err)
			return
		}
		start, _ := in.Peek(peeked)
		first, _, _ := bytes.Cut(bytes.TrimSpace(start), []byte("\n"))
		if bytes.Contains(first, []byte(`"product_id"`)) || bytes.Contains(first, []byte(`"productId"`)) {
			jsonl.Read(in, func() *catalogv1.Product { return new(catalogv1.Product) }, jsonl.Config{})(yield)
			return
		}
		for line, err := range jsonl.Read(in, func() *structpb.Struct { return new(structpb.Struct) }, jsonl.Config{}) {
			out := jsonl.Line[*catalogv1.Product]{Number: line.Number}
			if err == nil {
				out.Item = sheet(line.Item.GetFields()).product()
			}
			if !yield(out, err) {
				return
			}
		}
	}
}

// sheet is a line of a public collection of data sheets: id, title, supplier, short_description, price, and facts named
// attr_t_* (text), attr_n_* (number) and attr_b_* (yes or no).
type sheet map[string]*structpb.Value

const (
	// sheetAttributes and sheetText are the catalog's limits for attributes and for the characters of their texts.
	sheetAttributes, sheetText = 100, 200
	// sheetCategory is the category of all sheets, which name none.
	sheetCategory = "Products"
	// sheetCurrency is the currency of all prices, which name none.
	sheetCurrency = "USD"
	// sheetStock is the stock of all products, which sheets do not name.
	sheetStock = 1
)

// product maps the sheet. What the catalog needs and the sheet lacks stays empty, for the catalog to say so.
func (s sheet) product() *catalogv1.Product {
	return &catalogv1.Product{
		ProductId:    s["id"].GetStringValue(),
		Title:        s["title"].GetStringValue(),
		Brand:        s["supplier"].GetStringValue(),
		Description:  s["short_description"].GetStringValue(),
		CategoryPath: []string{sheetCategory},
		Attributes:   s.attributes(),
		Variants: []*catalogv1.Variant{{
			VariantId: "std", Stock: sheetStock,
			Price: &commonv1.Money{AmountMinor: int64(math.Round(s["price"].GetNumberValue())), CurrencyCode: sheetCurrency},
		}},
	}
}

// attributes are the facts, texts before numbers before flags and each by name, as many as the catalog takes.
func (s sheet) attributes() []*catalogv1.Attribute {
	var out []*catalogv1.Attribute
	seen := make(map[string]bool)
	for _, kind := range []string{"attr_t_", "attr_n_", "attr_b_"} {
		for _, key := range slices.Sorted(maps.Keys(s)) {
			rest, ok := strings.CutPrefix(key, kind)
			name := strings.ToLower(strings.Join(strings.FieldsFunc(rest, func(r rune) bool { return r == '_' }), " "))
			if !ok || seen[name] || len(out) == sheetAttributes {
				continue
			}
			if a := attribute(name, s[key]); a != nil {
				seen[name] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// attribute is one fact. Nil: the value is of no kind that a catalog has, or empty.
func attribute(name string, value *structpb.Value) *catalogv1.Attribute {
	a := &catalogv1.Attribute{Name: name}
	switch v := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		text := []rune(strings.TrimSpace(v.StringValue))
		if len(text) == 0 {
			return nil
		}
		a.Value = &catalogv1.Attribute_Text{Text: strings.TrimSpace(string(text[:min(sheetText, len(text))]))}
	case *structpb.Value_NumberValue:
		a.Value = &catalogv1.Attribute_Number{Number: v.NumberValue}
	case *structpb.Value_BoolValue:
		a.Value = &catalogv1.Attribute_Flag{Flag: v.BoolValue}
	default:
		return nil
	}
	return a
}
