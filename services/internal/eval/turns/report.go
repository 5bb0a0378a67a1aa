package turns

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html
var reportHTML string

var report = template.Must(template.New("report").Funcs(template.FuncMap{"join": strings.Join, "percent": percent}).Parse(reportHTML))

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// Print writes the figures, and with misses each run that did not pass.
func Print(w io.Writer, runs []Run, misses bool) error {
	var b strings.Builder
	if misses {
		for _, r := range runs {
			if r.Passed() {
				continue
			}
			fmt.Fprintf(&b, "%s (%s): %s\n", r.Scenario.ID, r.Scenario.Store, strings.Join(r.Scenario.Messages, " >> "))
			if r.Err != nil {
				fmt.Fprintf(&b, "  %v\n\n", r.Err)
				continue
			}
			fmt.Fprintf(&b, "  %s\n  %s\n\n", strings.Join(r.Wrong, "; "), strings.ReplaceAll(r.Reply.GetText(), "\n", "\n  "))
		}
	}
	fmt.Fprintf(&b, "%-14s %6s %7s %7s %9s %10s %12s\n", "store", "runs", "passed", "errors", "median", "tokens", "cost")
	for _, f := range Measure(runs) {
		cost := "unknown"
		if f.Unpriced < f.Runs-f.Errors {
			cost = fmt.Sprintf("%.4f", float64(f.CostMicros)/1e6)
		}
		fmt.Fprintf(&b, "%-14s %6d %7s %7d %6d ms %10d %12s", f.Store, f.Runs, percent(f.PassRate), f.Errors, f.MedianMillis, f.InputTokens+f.OutputTokens, cost)
		if f.MeanScore > 0 {
			fmt.Fprintf(&b, "   helpful %.1f of 5", f.MeanScore)
		}
		if f.Unscored > 0 {
			fmt.Fprintf(&b, "   %d not scored", f.Unscored)
		}
		b.WriteString("\n")
	}
	if i := slices.IndexFunc(runs, func(r Run) bool { return r.Unscored != nil }); i >= 0 {
		fmt.Fprintf(&b, "the first that is not scored: %s: %v\n", runs[i].Scenario.ID, runs[i].Unscored)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// HTML writes all runs as one page that needs nothing else.
func HTML(w io.Writer, runs []Run) error {
	return report.Execute(w, struct {
		Figures []Figures
		Runs    []Run
	}{Measure(runs), runs})
}
