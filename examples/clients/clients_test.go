// Package clients runs the example clients against the real program.
package clients

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/examples/internal/quartettest"
)

func TestClients(t *testing.T) {
	at := quartettest.Start(t)
	for name, c := range map[string]struct {
		command []string
		prints  []string
	}{
		"go":     {[]string{"go", "run", "./go", "-gateway", at["gateway"], "-search", at["search"]}, []string{"1 product written", "Folding kayak", "899.00"}},
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
