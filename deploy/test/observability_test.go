package deploy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"sigs.k8s.io/yaml"
)

// The queries of alerts and of the dashboard are valid.
func TestQueriesAreValid(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	text, err := os.ReadFile("../observability/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if text, err = os.ReadFile("../observability/dashboard.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := make(map[string]string)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			queries[r.Expr] = r.Alert
		}
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries[strings.ReplaceAll(target.Expr, "$store", ".*")] = p.Title
		}
	}
	if len(queries) < 20 {
		t.Errorf("only %d queries", len(queries))
	}
	for query, of := range queries {
		if _, err := metricsql.Parse(query); err != nil {
			t.Errorf("%s: %s: %v", of, query, err)
		}
	}
}
