package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runWith runs a command with an input.
func runWith(t *testing.T, in string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, environment{get: func(string) string { return "" }, in: strings.NewReader(in), out: &o, err: &e})
	return o.String(), e.String(), code
}

// What other commands print of a turn is shown.
func TestShowReadsFiles(t *testing.T) {
	reply := `{"turn_id":"turn_1","text":"Here.","routing":{"assignments":[{"specialist":"search","sub_query":"a lamp"}]}}`
	for name, raw := range map[string]string{
		"of ask": reply, "listed": `{"message":"a lamp","reply":` + reply + `}`, "exported": `{"turn":{"message":"a lamp","reply":` + reply + `}}`,
		"of GetTurn": `{"turn":` + reply + `,"message":"a lamp"}`,
	} {
		out, errs, code := runWith(t, raw, "show", "-")
		if code != 0 || !strings.Contains(out, "turn_1") || !strings.Contains(out, "Here.") {
			t.Errorf("%s: code %d, %s%s", name, code, out, errs)
		}
		if wants := name != "of ask"; wants != strings.Contains(out, "> a lamp") {
			t.Errorf("%s: %s", name, out)
		}
	}
	page := filepath.Join(t.TempDir(), "turn.html")
	if out, errs, code := runWith(t, reply, "show", "--html", page, "-"); code != 0 || out != "" {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	if raw, err := os.ReadFile(page); err != nil || !strings.Contains(string(raw), "turn_1") {
		t.Errorf("page: %v", err)
	}
	if _, errs, code := runWith(t, "{}", "show", "-"); code == 0 || !strings.Contains(errs, "is no turn") {
		t.Errorf("an empty object: code %d, %s", code, errs)
	}
	for _, args := range [][]string{{"show"}, {"show", "no-such-file"}, {"show", "-"}} {
		if _, errs, code := runWith(t, "no JSON", args...); code == 0 || errs == "" {
			t.Errorf("%v: code %d, %s", args, code, errs)
		}
	}
}
