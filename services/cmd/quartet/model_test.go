package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/offline/hostile"
)

func TestMisbehavioursAreListed(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "model", "--hostile", "list")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	for _, m := range hostile.Modes() {
		if !strings.Contains(out, "\n"+m.Name+" ") && !strings.HasPrefix(out, m.Name+" ") {
			t.Errorf("the list lacks %s", m.Name)
		}
	}
}

func TestAnUnknownMisbehaviourIsAMistake(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "model", "--hostile", "crlf,garbage")
	if code != exitUsage || out != "" || !strings.Contains(stderr, `"garbage"`) || !strings.Contains(stderr, "list") {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, out, stderr)
	}
}

func TestTheModelMisbehavesAsToldAndStops(t *testing.T) {
	tests := []struct {
		name    string
		hostile string
		model   string
		says    string
		status  int
	}{
		{"not at all", "", "quartet-offline", "Hello!", http.StatusOK},
		{"by the flag", "garbage-event", "quartet-offline", "data: {\"choices\":[{\"del\n", http.StatusOK},
		{"by the model's name", "none", "quartet-hostile+error-401", "incorrect API key", http.StatusUnauthorized},
		{"only when asked", "none", "quartet-hostile", "Hello!", http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := startModel(t, "--hostile", tt.hostile)
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Post(url+"/chat/completions", "application/json",
				strings.NewReader(`{"model":"`+tt.model+`","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
			if err != nil || resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) {
				t.Errorf("status %d, error %v, body:\n%s\nwant %d and %q", resp.StatusCode, err, body, tt.status, tt.says)
			}
		})
	}
}

// startModel runs 'quartet model' until the test ends and returns its URL.
func startModel(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var out, errOut output
	done := make(chan int, 1)
	go func() {
		env := environment{get: func(string) string { return "" }, out: &out, err: &errOut}
		done <- run(ctx, append([]string{"model", "--listen", "127.0.0.1:0", "--log-level", "ERROR"}, args...), env)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 || errOut.String() != "" {
			t.Errorf("the model ended with %d:\n%s", code, errOut.String())
		}
	})
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	url := regexp.MustCompile(`http://\S+/v1`)
	for {
		if found := url.FindString(out.String()); found != "" {
			return found
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("the model did not print its address:\n%s\n%s", &out, &errOut)
		}
	}
}
