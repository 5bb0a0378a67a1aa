package search

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
