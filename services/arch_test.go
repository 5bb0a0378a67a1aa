// Package services_test checks who may import whom.
package services_test

import (
	"os/exec"
	"strings"
	"testing"
)

const root = "github.com/quartet-commerce/quartet/"

// wiring may import the services; nothing imports it but the program and the end-to-end tests.
var wiring = []string{root + "services/suite", root + "services/cmd/quartet", root + "services/e2e"}

// Run with -count=1 after moving packages: the test cache does not see what go list reads.
func TestPackagesKeepTheirBoundaries(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "work").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		for _, imported := range fields[1:] {
			if why := forbidden(fields[0], imported); why != "" {
				t.Errorf("%s imports %s: %s", fields[0], imported, why)
			}
		}
	}
}

// forbidden says why an import is not allowed, or "".
func forbidden(pkg, imported string) string {
	switch {
	case strings.HasPrefix(pkg, root+"proto/"):
		if strings.HasPrefix(imported, root) && !strings.HasPrefix(imported, root+"proto/") {
			return "contracts import contracts only"
		}
	case pkg == root+"pkg/agentloop":
		if strings.Contains(imported, ".") && imported != "github.com/google/jsonschema-go/jsonschema" &&
			!strings.HasPrefix(imported, pkg+"/internal/") {
			return "the loop imports the standard library and a JSON Schema package"
		}
	case strings.HasPrefix(pkg, root+"pkg/agentloop/"):
		if strings.HasPrefix(imported, root) && !strings.HasPrefix(imported, root+"pkg/agentloop") {
			return "the loop's adapters know nothing of Quartet"
		}
	case service(imported) != "" && service(imported) != service(pkg) && !isWiring(pkg):
		return "services meet through generated clients only"
	case isWiring(imported) && !isWiring(pkg):
		return "nothing imports the wiring"
	}
	return ""
}

// service returns the name of the service that a package belongs to, or "".
func service(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, root+"services/")
	name, _, _ := strings.Cut(rest, "/")
	if !ok || name == "internal" || isWiring(root+"services/"+name) || name == "cmd" {
		return ""
	}
	return name
}

func isWiring(pkg string) bool {
	for _, w := range wiring {
		if pkg == w || strings.HasPrefix(pkg, w+"/") {
			return true
		}
	}
	return false
}
