// Package publicdata reads public test cases and recordings, which are too large to keep beside the code. QUARTET_DATA names
// their folder; the default is shared/data beside the repository. The package is for tests only.
package publicdata

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Open opens a file, such as "toolcalls/ollama.jsonl", until the test ends. If the file does not exist, the test is skipped, or
// fails if CI is set.
func Open(t testing.TB, name string) *os.File {
	t.Helper()
	dir := os.Getenv("QUARTET_DATA")
	if dir == "" {
		_, here, _, _ := runtime.Caller(0) // in pkg/agentloop/internal/publicdata
		dir = filepath.Join(filepath.Dir(here), "..", "..", "..", "..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skipf("set QUARTET_DATA to the folder that holds %s", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Lines reads a file of JSON values. Fields that do not fit T are left out.
func Lines[T any](t testing.TB, name string) []T {
	t.Helper()
	var all []T
	for dec := json.NewDecoder(Open(t, name)); ; {
		var v T
		switch err := dec.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil && !errors.As(err, new(*json.UnmarshalTypeError)):
			t.Fatal(err)
		}
		all = append(all, v)
	}
}
