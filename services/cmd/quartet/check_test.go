package main

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/offline"
)

func TestCheckModel(t *testing.T) {
	model, err := offline.New(offline.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(model)
	defer server.Close()
	out, errs, code := runWith(t, "", "check", "model", "--model-url", server.URL+"/v1", "--model", offline.Model)
	if code != 1 || !strings.Contains(out, "ok    calls a tool") || !strings.Contains(out, "FAIL  reads a long prompt") || !strings.Contains(errs, "failed") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	for _, args := range [][]string{{"check"}, {"check", "model"}, {"check", "redis", "--model", "m"}} {
		if _, errs, code := runWith(t, "", args...); code != 2 || errs == "" {
			t.Errorf("%v: code %d, %s", args, code, errs)
		}
	}
}
