package show

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"duration": duration, "place": place}).Parse(pageHTML))

// HTML writes a turn as one page that needs nothing else: no script, no style sheet, no picture. With what was inside, which may be nil,
// the page has each prompt and answer of a model, and whole results of tools.
func HTML(w io.Writer, t *gatewayv1.Turn, inside *bundle.Inside) error {
	return page.Execute(w, struct {
		Turn   *gatewayv1.Turn
		Facts  []string
		Steps  []step
		Claims []claim
		Total  time.Duration
	}{t, facts(t), steps(t, inside), claims(t.GetReply()), t.GetReply().GetDuration().AsDuration()})
}

// place is the style that puts a step's bar at its place in the turn.
func place(s step, total time.Duration) template.CSS {
	if total <= 0 {
		return "width:0"
	}
	left := min(99.5, 100*float64(s.Start)/float64(total))
	width := min(100-left, max(0.5, 100*float64(s.Took)/float64(total)))
	return template.CSS(fmt.Sprintf("margin-left:%.2f%%;width:%.2f%%", left, width)) // numbers alone
}
