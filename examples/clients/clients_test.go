// Package clients runs the example clients against the real program.
package clients

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/examples/internal/quartettest"
)

// TestNodeUploads needs the packages of node/package.json.
func TestNodeUploads(t *testing.T) {
	if _, err := os.Stat("node/node_modules"); err != nil {
		t.Skip("npm install --prefix examples/clients/node")
	}
	at := quartettest.Start(t)
	for range 2 { // a product that is there is replaced
		out, err := exec.Command("node", "node/upload.mjs", at["gateway"]).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "1 product written, 0 refused") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	reply, err := http.Post("http://"+at["http"]+"/v1/stores/demo/ask", "application/json", strings.NewReader(`{"message":"Do you have a folding sled?"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || !strings.Contains(string(text), "SLED-001") {
		t.Errorf("the product is not found: %v\n%s", err, text)
	}
}

func TestClients(t *testing.T) {
	at := quartettest.Start(t)
	for name, c := range map[string]struct {
		command []string
		prints  []string
	}{
		"go":     {[]string{"go", "run", "./go", "-addr", at["gateway"]}, []string{"1 product written", "Folding kayak", "899.00"}},
		"node":   {[]string{"node", "node/client.mjs", "http://" + at["http"]}, []string{"QT-"}},
		"python": {[]string{"python3", "python/client.py", "http://" + at["http"]}, []string{"QT-"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.command[0]); err != nil {
				t.Skip(err) // a runtime that is not here
			}
			cmd := exec.Command(c.command[0], c.command[1:]...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range append(c.prints, "[support works]", "30 days", "4 messages") {
				if !strings.Contains(string(out), want) {
					t.Errorf("prints no %q:\n%s", want, out)
				}
			}
		})
	}
}
