package agentloop_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// The program in the documentation is Example_program, which the compiler checks.
func TestProgramOfTheDocsCompiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/agentloop.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the module is used outside its repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_program_test.go")
	if err != nil {
		t.Fatal(err)
	}
	program := strings.NewReplacer("package agentloop_test", "package main", "func Example_program()", "func main()").Replace(string(source))
	if !strings.Contains(string(page), "```go\n"+program+"```\n") {
		t.Errorf("docs/agentloop.md does not hold this program:\n%s", program)
	}
}
