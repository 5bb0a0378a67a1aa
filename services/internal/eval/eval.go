// Package eval computes and prints what the evaluations of its subpackages have in common. Of Quartet it imports package text only.
package eval

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// shownText is the number of characters of a text that Start keeps.
	shownText = 90
	// shownProblems is the number of wrong lines that WrongLines lists.
	shownProblems = 20
)

// Table writes rows in columns after an empty line, the first column aligned left and the others right. The first row is
// the heading; no row has more cells.
func Table(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(w, "  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w)
	}
}

// Start returns the first 90 characters of a text, with an ellipsis if there are more.
func Start(s string) string { return text.Cut(s, shownText) }

// WrongLines returns a text that lists the first 20 problems of a file, one a line, and says how many more there are. Wanted
// describes a line as it should be.
func WrongLines(problems []string, wanted string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "wrong lines: %d; want %s", len(problems), wanted)
	for i, p := range problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "\n  ... and %d more", len(problems)-i)
			break
		}
		b.WriteString("\n  " + p)
	}
	return b.String()
}

// Quantile returns the q-quantile of sorted durations by the nearest-rank method. It is zero when there are none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}
