// Package services_test checks which package may import which, and where the process is touched.
package services_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "github.com/quartet-commerce/quartet/"

// wiring may import the services. Only wiring imports wiring. Tests outside import replaytest.
var wiring = []string{root + "services/suite", root + "services/cmd/quartet", root + "services/e2e", root + "services/replaytest"}

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

// within lists the packages of the same service that a subpackage may import, under services/. One that is not listed may
// import all but the service's own package, which would be a circle.
var within = map[string][]string{
	"gateway/threads":       {},
	"gateway/merge":         {},
	"gateway/registry":      {},
	"gateway/output":        {},
	"gateway/fanout":        {"gateway/output", "gateway/registry"},
	"search/catalog":        {},
	"search/index":          {"search/catalog"},
	"search/index/memory":   {"search/catalog", "search/index"},
	"search/index/weaviate": {"search/catalog", "search/index"},
	"promotions/engine":     {},
	"router/classifier":     {},
}

// borrowed is what may be imported of a service elsewhere: code without state that must decide the same when the service cannot
// be reached, or when the offline model is asked instead; and what trains or measures that code.
var borrowed = map[string]string{
	root + "services/gateway":          root + "services/router/classifier",
	root + "services/internal/offline": root + "services/router/classifier",

	root + "services/cmd/trainclassifier":     root + "services/router/classifier",
	root + "services/internal/eval/grounding": root + "services/gateway/merge",
}

// public are the packages that programs outside the repository import. Packages of Quartet do not: they have what is inside.
var public = []string{root + "services/specialist"}

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
	case slices.Contains(public, imported) && strings.HasPrefix(pkg, root+"services/") && !isWiring(pkg):
		return "what is public is for programs outside"
	case service(imported) != "" && service(pkg) == "" && !isWiring(pkg) && borrowed[pkg] != imported:
		return "only the wiring imports services"
	case service(imported) != "" && service(imported) != service(pkg) && !isWiring(pkg) && borrowed[pkg] != imported:
		return "services meet through generated clients only"
	case isWiring(pkg) && service(imported) != "" && imported != root+"services/"+service(imported):
		return "only a service imports its subpackages"
	case service(imported) != "" && imported != pkg && within[under(pkg)] != nil && !slices.Contains(within[under(pkg)], under(imported)):
		return "arrows within a service point one way"
	case isWiring(imported) && !isWiring(pkg):
		return "nothing imports the wiring"
	}
	return ""
}

// under returns the path of a package under services/.
func under(pkg string) string { return strings.TrimPrefix(pkg, root+"services/") }

// service returns the name of the service that a package belongs to, or "".
func service(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, root+"services/")
	name, _, _ := strings.Cut(rest, "/")
	if !ok || name == "internal" || name == "specialist" || isWiring(root+"services/"+name) || name == "cmd" {
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

func TestForbiddenImports(t *testing.T) {
	for _, c := range []struct {
		pkg, imported string
		allowed       bool
	}{
		{"services/internal/bench", "services/gateway", false},
		{"services/internal/offline", "services/router/classifier", true},
		{"services/internal/eval/search", "services/search/catalog", false},
		{"services/internal/eval/grounding", "services/gateway/merge", true},
		{"services/gateway", "services/router", false},
		{"services/gateway", "services/router/classifier", true},
		{"services/search", "services/router/classifier", false},
		{"services/recommend", "services/search/catalog", false},
		{"services/suite", "services/search/catalog", false},
		{"services/suite", "services/search", true},
		{"services/gateway/threads", "services/gateway/merge", false},
		{"services/gateway/fanout", "services/gateway/registry", true},
		{"services/gateway/registry", "services/gateway/fanout", false},
		{"services/search/index", "services/search/index/weaviate", false},
		{"services/search/index/memory", "services/search/index", true},
		{"services/search", "services/search/index/memory", true},
		{"services/gateway", "services/suite", false},
		{"services/search", "services/specialist", false},
		{"services/e2e", "services/specialist", true},
		{"services/specialist", "services/search", false},
		{"examples/workshops", "services/specialist", true},
		{"examples/workshops", "services/search", false},
		{"services/cmd/quartet", "services/suite", true},
		{"pkg/agentloop/openai", "services/internal/rpc", false},
		{"proto/gen/quartet/cart/v1", "services/internal/rpc", false},
	} {
		if why := forbidden(root+c.pkg, root+c.imported); (why == "") != c.allowed {
			t.Errorf("%s imports %s: %q", c.pkg, c.imported, why)
		}
	}
}

// ofProcess are the functions and variables of package os that only a command uses.
var ofProcess = []string{"Exit", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Args", "Stdin", "Stdout", "Stderr"}

// Packages whose name ends in "test", and publicdata, serve tests: they look for servers and data where the environment says.
func TestOnlyCommandsReadFlagsAndTheEnvironment(t *testing.T) {
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		dir := filepath.Base(filepath.Dir(path))
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "cmd"+string(filepath.Separator)) || strings.HasSuffix(dir, "test") || dir == "publicdata" {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, imported := range file.Imports {
			if name, _ := strconv.Unquote(imported.Path.Value); name == "flag" {
				t.Errorf("%s imports flag", files.Position(imported.Pos()))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" && slices.Contains(ofProcess, sel.Sel.Name) {
					t.Errorf("%s uses os.%s", files.Position(n.Pos()), sel.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
