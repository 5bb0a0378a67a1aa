// Package publicdata opens the public collections that tests are measured against: messages, products with judged queries,
// orders. They are the work of others and too large for this repository. Only tests import it, and it imports no package of
// Quartet.
package publicdata

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns where a file is, such as "chorus/judgments.csv": in the folder that QUARTET_DATA names, else in shared/data
// beside the checkout. Without the file the test is skipped, or fails where CI is set.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("QUARTET_DATA")
	if dir == "" {
		_, here, _, _ := runtime.Caller(0) // in services/internal/publicdata
		dir = filepath.Join(filepath.Dir(here), "..", "..", "..", "..", "shared", "data")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skipf("no public data: set QUARTET_DATA to the folder that holds %s", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Open opens a file as Path finds it, and closes it when the test ends.
func Open(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // it was only read
	return f
}
