package router

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// definitions are the files in which the suite's specialists describe themselves. They are read, not imported: this
// package must not import another service, and a copy would grow old.
var definitions = []string{
	"../search/describe.go", "../recommend/describe.go", "../promotions/definition.go", "../support/definition.go",
}

// published is what a specialist says of itself.
type published struct {
	name, purpose string
	examples      []string
	keywords      []*specialistv1.Keyword
}

// four are the suite's specialists with the words that they publish.
var four = func() []published {
	var all []published
	for _, path := range definitions {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		examples, err := os.ReadFile(filepath.Join(filepath.Dir(path), "examples.txt"))
		if err != nil {
			panic(err)
		}
		p := published{examples: strings.Split(strings.TrimSpace(string(examples)), "\n")}
		ast.Inspect(file, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				p.read(kv)
			}
			return true
		})
		slices.SortFunc(p.keywords, func(a, b *specialistv1.Keyword) int { return cmp.Compare(a.GetTerm(), b.GetTerm()) })
		all = append(all, p)
	}
	return all
}()

// read takes over a field of a definition, or the terms of one weight.
func (p *published) read(kv *ast.KeyValueExpr) {
	switch key := kv.Key.(type) {
	case *ast.Ident:
		switch key.Name {
		case "Name":
			p.name = text(kv.Value)
		case "Purpose":
			p.purpose = text(kv.Value)
		}
	case *ast.UnaryExpr:
		p.publish(key.X, -1, kv.Value)
	default:
		p.publish(key, 1, kv.Value)
	}
}

func (p *published) publish(key ast.Expr, sign float64, terms ast.Expr) {
	lit, ok := key.(*ast.BasicLit)
	if !ok {
		return
	}
	weight, err := strconv.ParseFloat(lit.Value, 64)
	if err != nil {
		return
	}
	for _, term := range list(terms) {
		p.keywords = append(p.keywords, &specialistv1.Keyword{Term: term, Weight: sign * weight})
	}
}

// specialists returns the four as a request carries them.
func specialists() []*specialistv1.Specialist {
	var out []*specialistv1.Specialist
	for _, p := range four {
		out = append(out, &specialistv1.Specialist{
			Name: p.name, Purpose: p.purpose, Examples: p.examples, Keywords: slices.Clone(p.keywords), Available: true,
		})
	}
	return out
}

// text returns the value of a string, or of a sum of strings.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return ""
}

// list returns the strings of a composite literal.
func list(e ast.Expr) []string {
	var out []string
	if lit, ok := e.(*ast.CompositeLit); ok {
		for _, elt := range lit.Elts {
			out = append(out, text(elt))
		}
	}
	return out
}

// routes writes a ruling as lines "specialist: sub-query".
func routes(l *lexicon, r ruling) []string {
	var out []string
	for _, d := range r.drafts {
		out = append(out, l.names[d.specialist]+": "+d.text)
	}
	return out
}

func testLexicon(t testing.TB) *lexicon {
	t.Helper()
	return lexiconOf(specialists())
}

func lexiconOf(specialists []*specialistv1.Specialist) *lexicon {
	return newLexicon(specialists, learn(specialists))
}
