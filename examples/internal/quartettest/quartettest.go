// Package quartettest runs the real program for the tests of examples.
package quartettest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Start starts all services with the demo stores and the JSON API, until the test ends. It returns their addresses by role, such as
// "gateway"; that of the API is "http". Further arguments are those of 'quartet up'.
func Start(t *testing.T, args ...string) map[string]string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "quartet")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/quartet-commerce/quartet/services/cmd/quartet").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(program, append([]string{"up", "--port", "0", "--http-listen", "127.0.0.1:0", "--log-level", "ERROR"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("quartet: %v", err)
		}
	})
	addresses := make(map[string]string)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if role, address, ok := strings.Cut(strings.TrimSpace(lines.Text()), " "); ok {
			addresses[role] = strings.TrimSpace(address)
		}
		if addresses["http"] != "" {
			return addresses
		}
	}
	t.Fatal("quartet names no address of its HTTP API")
	return nil
}
