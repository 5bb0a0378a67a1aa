package services_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	metricName  = regexp.MustCompile(`(?m)^\tMetric\w+\s+= "([\w.]+)"`)
	metricRow   = regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\|")
	metricOrKey = regexp.MustCompile(`(?m)^\t(?:Metric|Key)\w+\s+= "([\w.]+)"`)
	queryName   = regexp.MustCompile(`\b(?:quartet|gen_ai)_\w+`)
	querySuffix = regexp.MustCompile(`(_seconds)?(_total|_count|_bucket|_sum)?$`)
	alertName   = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	runbook     = regexp.MustCompile(`runbook: "docs/telemetry.md#(\w+)"`)
)

// The page lists every metric that the code names, and no other.
func TestThePageListsTheMetrics(t *testing.T) {
	var named, listed []string
	for _, m := range metricName.FindAllStringSubmatch(read(t, "internal/telemetry/names.go"), -1) {
		named = append(named, m[1])
	}
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "../docs/telemetry.md"), -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(named)
	slices.Sort(listed)
	if diff := cmp.Diff(named, listed); diff != "" || len(named) < 10 {
		t.Errorf("metrics of the page (-code +page):\n%s", diff)
	}
}

// The dashboard and the alerts ask for metrics and attributes that there are, and each alert has its entry in the page.
func TestAlertsAndTheDashboardAskForMetricsThatThereAre(t *testing.T) {
	known := make(map[string]bool)
	for _, m := range metricOrKey.FindAllStringSubmatch(read(t, "internal/telemetry/names.go"), -1) {
		known[strings.ReplaceAll(m[1], ".", "_")] = true
	}
	for _, file := range []string{"../deploy/observability/alerts.yaml", "../deploy/observability/dashboard.json"} {
		found := queryName.FindAllString(read(t, file), -1)
		if len(found) < 10 {
			t.Errorf("%s: only %d names found", file, len(found))
		}
		for _, name := range found {
			if !known[name] && !known[querySuffix.ReplaceAllString(name, "")] {
				t.Errorf("%s asks for %s, which is neither a metric nor an attribute", file, name)
			}
		}
	}
	alerts := read(t, "../deploy/observability/alerts.yaml")
	entries := anchors(read(t, "../docs/telemetry.md"))
	names, books := alertName.FindAllStringSubmatch(alerts, -1), runbook.FindAllStringSubmatch(alerts, -1)
	if len(names) != len(books) || len(names) == 0 {
		t.Fatalf("%d alerts, %d entries", len(names), len(books))
	}
	for i, name := range names {
		if want := strings.ToLower(name[1]); books[i][1] != want || !entries[want] {
			t.Errorf("%s: its entry is %s, which the page has: %t", name[1], books[i][1], entries[want])
		}
	}
}
