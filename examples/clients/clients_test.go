// Package clients runs the example clients against the real program.
package clients

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	finds(t, at, "a folding sled", "SLED-001")
}

// finds asks for a product, which the reply must have.
func finds(t *testing.T, at map[string]string, product, id string) {
	t.Helper()
	reply, err := http.Post("http://"+at["http"]+"/v1/stores/demo/ask", "application/json", strings.NewReader(`{"message":"Do you have `+product+`?"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || !strings.Contains(string(text), id) {
		t.Errorf("the product is not found: %v\n%s", err, text)
	}
}

// TestPythonUploads needs the packages grpcio and protobuf, which Debian has for its own Python.
func TestPythonUploads(t *testing.T) {
	var python string
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if python == "" && exec.Command(p, "-c", "import grpc, google.protobuf").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("pip install grpcio protobuf")
	}
	at := quartettest.Start(t)
	if out, err := exec.Command(python, "python/upload.py", at["gateway"]).CombinedOutput(); err != nil || !strings.Contains(string(out), "1 products written, 0 refused") {
		t.Fatalf("%v\n%s", err, out)
	}
	finds(t, at, "a folding tarp", "TARP-001")

	var lines strings.Builder
	for i := range 150 { // more than one message
		fmt.Fprintf(&lines, `{"product_id":"B%d","title":"Board","category_path":["Boards"],"variants":[{"variant_id":"v","price":{"amount_minor":100,"currency_code":"EUR"}}]}`+"\n", i)
	}
	lines.WriteString("{\"product_id\":3}\n" + `{"product_id":"FREE","title":"Board"}` + "\n")
	path := filepath.Join(t.TempDir(), "products.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "python/upload.py", at["gateway"], path).CombinedOutput()
	for _, want := range []string{"150 products written, 2 refused", "line 151: ", "FREE: category_path"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, no %q in:\n%s", err, want, out)
		}
	}
	if out, err := exec.Command(python, "python/upload.py", "127.0.0.1:1").CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "UNAVAILABLE: ") {
		t.Errorf("nobody there: %v\n%s", err, out)
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
