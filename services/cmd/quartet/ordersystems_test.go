package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const systemSecret = "kites-and-string-2026-03-example"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadOrderSystems(t *testing.T) {
	file := write(t, "key", systemSecret+"\n")
	path := write(t, "systems.json", `{"kites":{"url":"https://orders.kites.example/quartet","timeout":"2s",
		"keys":[{"id":"2026-04","secret_env":"KITES_KEY"},{"id":"2026-03","secret_file":"`+file+`"}]}}`)
	getenv := func(name string) string { return map[string]string{"KITES_KEY": "another " + systemSecret}[name] }
	got, err := readOrderSystems(path, getenv)
	if err != nil {
		t.Fatal(err)
	}
	kites := got["kites"]
	if kites.URL != "https://orders.kites.example/quartet" || kites.Timeout != 2*time.Second || len(kites.Keys) != 2 ||
		kites.Keys[0].ID != "2026-04" || string(kites.Keys[0].Secret) != "another "+systemSecret || string(kites.Keys[1].Secret) != systemSecret {
		t.Errorf("read %+v", kites)
	}
	if none, err := readOrderSystems("", getenv); err != nil || none != nil {
		t.Errorf("without a file: %v, %v", none, err)
	}
}

func TestBadOrderSystemsAreRefused(t *testing.T) {
	const url = `"url":"https://orders.kites.example"`
	tests := map[string]string{
		"no JSON":               `kites`,
		"an unknown field":      `{"kites":{` + url + `,"secret":"x"}}`,
		"two objects":           `{} {}`,
		"no keys":               `{"kites":{` + url + `}}`,
		"a key without secret":  `{"kites":{` + url + `,"keys":[{"id":"a"}]}}`,
		"a key with two":        `{"kites":{` + url + `,"keys":[{"id":"a","secret_env":"KITES_KEY","secret_file":"x"}]}}`,
		"a variable not set":    `{"kites":{` + url + `,"keys":[{"id":"a","secret_env":"KITES_KEY"}]}}`,
		"a file that is not":    `{"kites":{` + url + `,"keys":[{"id":"a","secret_file":"/nowhere/key"}]}}`,
		"a timeout of no unit":  `{"kites":{` + url + `,"timeout":"2"}}`,
		"an address in a clear": `{"kites":{"url":"http://orders.kites.example","keys":[{"id":"a","secret_env":"LONG"}]}}`,
	}
	getenv := func(name string) string { return map[string]string{"LONG": systemSecret}[name] }
	for name, text := range tests {
		_, err := readOrderSystems(write(t, "systems.json", text), getenv)
		if err == nil || strings.Contains(err.Error(), systemSecret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readOrderSystems("/nowhere/systems.json", getenv); err == nil {
		t.Error("a missing file was accepted")
	}
}
