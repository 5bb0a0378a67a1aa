package promptleak

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// collect returns the strings of the texts that models wrote, anywhere in a JSON value.
func collect(value any) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			s, ok := inner.(string)
			switch {
			case !ok:
				out = append(out, collect(inner)...)
			case key == "text" || key == "content" || key == "honest" || key == "merged" || key == "reason":
				out = append(out, s)
			}
		}
	case []any:
		for _, inner := range v {
			out = append(out, collect(inner)...)
		}
	}
	return out
}

// No honest text quotes a prompt of the services, and each prompt is found whole.
func TestPublicTextsQuoteNoPrompt(t *testing.T) {
	var prompts []string
	for _, pattern := range []string{"../../*/prompt.md", "../../gateway/merge/*.md", "../../gateway/threads/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			prompts = append(prompts, string(raw))
		}
	}
	if len(prompts) != 7 {
		t.Fatalf("%d prompts, want 7", len(prompts))
	}
	p := New(prompts...)
	for _, text := range prompts {
		if f := p.NewFilter(); f.Write(text)+f.Rest() != "" {
			t.Errorf("%.40q is not found whole", text)
		}
	}
	all := 0
	for _, name := range []string{"llm/strong/replies.jsonl", "llm/weak/replies.jsonl", "grounding/answers.jsonl", "grounding/honest.jsonl", "grounding/corrupted.jsonl"} {
		lines := bufio.NewScanner(publicdata.Open(t, name))
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			var value any
			if err := json.Unmarshal(lines.Bytes(), &value); err != nil {
				t.Fatal(err)
			}
			for _, s := range collect(value) {
				if all++; p.Repeats(s) {
					t.Errorf("%s: %q", name, s)
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if all < 1000 {
		t.Errorf("only %d texts", all)
	}
}
