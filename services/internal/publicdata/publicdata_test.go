package publicdata_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

func TestPathIsInTheNamedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUARTET_DATA", dir)
	if got := publicdata.Path(t, "a.csv"); got != filepath.Join(dir, "a.csv") {
		t.Errorf("the path is %s", got)
	}
}

// TestMissing runs itself in a process of its own, as a test that lacks its data.
func TestMissing(t *testing.T) {
	if os.Getenv("QUARTET_DATA_MISSING") != "" {
		publicdata.Open(t, "none.csv")
		return
	}
	for ci, want := range map[string]string{"": "--- SKIP", "true": "--- FAIL"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMissing$", "-test.v")
		cmd.Env = append(os.Environ(), "QUARTET_DATA_MISSING=1", "QUARTET_DATA="+t.TempDir(), "CI="+ci)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) || (err != nil) != (ci != "") {
			t.Errorf("with CI=%q: %v\n%s", ci, err, out)
		}
	}
}
