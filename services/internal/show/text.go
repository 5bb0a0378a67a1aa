package show

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Widths of the columns, in characters.
const (
	nameWidth = 24
	barWidth  = 32
	// sourceWidth is of the first source of a claim; a page has them all.
	sourceWidth = 80
)

// Text writes a turn for a terminal: its facts, a time line of its steps, the reply, and the claims of the reply.
func Text(w io.Writer, t *gatewayv1.Turn) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n> %s\n\n", strings.Join(facts(t), " · "), t.GetMessage())
	all := steps(t, nil)
	total := t.GetReply().GetDuration().AsDuration()
	for _, s := range all {
		name := strings.Repeat("  ", s.Depth) + s.Name
		pad := strings.Repeat(" ", max(1, nameWidth-utf8.RuneCountInString(name)))
		took, failed := "", ""
		if s.Timed {
			took = duration(s.Took)
		}
		if s.Failed {
			failed = "FAILED "
		}
		fmt.Fprintf(&b, "%s%s│%s│ %8s  %s%s\n", name, pad, bar(s, total), took, failed, s.Note)
	}
	fmt.Fprintf(&b, "\n%s\n", t.GetReply().GetText())
	if rows := claims(t.GetReply()); len(rows) > 0 {
		b.WriteString("\nClaims\n")
		for _, c := range rows {
			fmt.Fprintf(&b, "%-13s %s", c.Verdict, c.Text)
			if c.Subject != "" {
				fmt.Fprintf(&b, " (%s)", c.Subject)
			}
			if len(c.Sources) > 0 {
				fmt.Fprintf(&b, "  from %s", text.Head(c.Sources[0], sourceWidth))
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bar draws when a step ran, on a scale of the whole turn.
func bar(s step, total time.Duration) string {
	if !s.Timed || total <= 0 {
		return strings.Repeat(" ", barWidth)
	}
	from := min(barWidth-1, int(barWidth*s.Start/total))
	to := min(barWidth, max(from+1, int(barWidth*(s.Start+s.Took)/total)))
	return strings.Repeat(" ", from) + strings.Repeat("━", to-from) + strings.Repeat(" ", barWidth-to)
}
