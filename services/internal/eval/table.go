// Package eval prints what the evaluations of its subpackages have in common. Of Quartet it imports package text only.
package eval

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// shownText is the number of characters of a text that Start keeps.
const shownText = 90

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
