package services_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

var (
	docLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docPath     = regexp.MustCompile(`(?:^|[\s(])\./((?:services|pkg|examples|deploy)/[\w/-]+)`)
	docTest     = regexp.MustCompile("`(Test[A-Z]\\w+)`")
	testFunc    = regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(`)
	docHeading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	docCommand  = regexp.MustCompile("(?m)^```\n(?:go|quartet|grpcurl|curl|make|kubectl|docker|export|cat|mkdir) .*")
	errorReason = regexp.MustCompile("`([A-Z_]+)`")
	slugDrop    = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestDocsPointToWhatExists checks links between pages, their anchors, the paths in commands, the names of tests, and the marks of blocks.
func TestDocsPointToWhatExists(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 5 {
		t.Fatalf("found only %d pages", len(pages))
	}
	tests := testNames(t)
	for _, page := range pages {
		text := read(t, page)
		for _, m := range docTest.FindAllStringSubmatch(text, -1) {
			if !tests[m[1]] {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
		for _, m := range docCommand.FindAllString(text, -1) {
			t.Errorf("%s: begin a block of commands with ```sh, which TestCommandsOfThePages runs, or with ```sh no-test: %s", page, m)
		}
		for _, m := range docLink.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
				continue
			}
			if anchor != "" && !anchors(read(t, path))[anchor] {
				t.Errorf("%s links to %s: the page has no such heading", page, m[1])
			}
		}
		for _, m := range docPath.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", strings.TrimSuffix(m[1], "/"))); err != nil {
				t.Errorf("%s names ./%s, which does not exist", page, m[1])
			}
		}
	}
}

// testNames returns the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, root := range []string{".", "../pkg", "../deploy"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, m := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
				names[m[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// anchors returns the anchors of a page's headings, as code forges make them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range docHeading.FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(slugDrop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// TestErrorsPageHasEveryReason compares the page with the reasons of the contract.
func TestErrorsPageHasEveryReason(t *testing.T) {
	told := make(map[string]int)
	for line := range strings.Lines(read(t, "../docs/errors.md")) {
		if names, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, "- ") {
			for _, m := range errorReason.FindAllStringSubmatch(names, -1) {
				told[m[1]]++
			}
		}
	}
	for number, name := range commonv1.ErrorReason_name {
		reason := strings.TrimPrefix(name, "ERROR_REASON_")
		if number != 0 && told[reason] != 1 {
			t.Errorf("docs/errors.md says %d times what to do about %s", told[reason], reason)
		}
		delete(told, reason)
	}
	for reason := range told {
		t.Errorf("docs/errors.md has %s, which no status has", reason)
	}
}
