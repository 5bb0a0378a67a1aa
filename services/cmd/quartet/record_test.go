package main

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
	"github.com/quartet-commerce/quartet/services/suite"
)

func TestRecordFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "turns")
	for _, c := range []struct {
		args   []string
		parsed bool
		keeps  bool
		fault  bool
	}{
		{nil, true, false, false},
		{[]string{"--record", "all", "--record-dir", dir}, true, true, false},
		{[]string{"--record", "shop=failures", "--record-dir", dir}, true, true, false},
		{[]string{"--record", "all"}, true, true, false}, // in Redis
		{[]string{"--record-dir", dir}, true, false, true},
		{[]string{"--record", "all", "--record-dir", dir, "--record-ttl", "0s"}, true, false, true},
		{[]string{"--record", "some"}, false, false, false},
		{[]string{"--record", "=all"}, false, false, false},
	} {
		fs := newFlags("up", "", "", environment{get: func(string) string { return "" }})
		f := addRecordFlags(fs)
		if err := fs.Parse(c.args); (err == nil) != c.parsed {
			t.Errorf("%v: %v", c.args, err)
			continue
		} else if err != nil {
			continue
		}
		cfg := suite.Config{}
		if err := f.apply(&cfg); (err != nil) != c.fault || (cfg.Tape != nil) != c.keeps {
			t.Errorf("%v: tape %v, error %v", c.args, cfg.Tape, err)
		}
	}
}

// The commands record a turn of the demo and replay it, and tell when the reply was another one.
func TestReplayCommand(t *testing.T) {
	dir := t.TempDir()
	env := environment{get: func(string) string { return "" }, in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	l, err := openLocal(t.Context(), localConfig{
		models: &modelFlags{}, logger: newLogger(env, 12), demo: true, record: &recordFlags{dir: dir, keep: bundle.All, ttl: bundle.DefaultTTL},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	reply := askLocal(t, l, "waterproof hiking boots under 150")
	askLocal(t, l, "can I return boots?")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runWith(t, "", "replay", dir); code != 0 || out != "0 of 2 turns differ\n" {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	file := filepath.Join(dir, "store-demo", reply.GetTurnId()+".jsonl")
	out, errs, code := runWith(t, "", "replay", file)
	if code != 0 || !strings.Contains(out, "the same reply and spans") || !strings.Contains(out, reply.GetText()) {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	pages := [][]string{{file}, {"--recorded", "--record-dir", dir, reply.GetTurnId()}}
	for _, args := range pages {
		page := filepath.Join(t.TempDir(), "turn.html")
		if out, errs, code := runWith(t, "", append([]string{"show", "--html", page}, args...)...); code != 0 {
			t.Errorf("show %v: code %d, %s%s", args, code, out, errs)
		}
		if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "product search specialist.") || !strings.Contains(string(html), "<dt>result</dt>") {
			t.Errorf("show %v: the page lacks the prompt or the result, error %v", args, err)
		}
	}
	if _, errs, code := runWith(t, "", "replay", file, "--set", "prompt=serach@"+file); code != 2 || !strings.Contains(errs, `no model as "serach"`) {
		t.Errorf("code %d, %s", code, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(raw), `"Reply":{`, `"Reply":{"unrecorded":true,`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := runWith(t, "", "replay", file); code == 0 || !strings.Contains(out, "first difference: reply.unrecorded") {
		t.Errorf("code %d, %s", code, out)
	}
	if out, _, code := runWith(t, "", "replay", dir); code == 0 || !strings.HasPrefix(out, file+"\n") || !strings.HasSuffix(out, "1 of 2 turns differ\n") {
		t.Errorf("code %d, %s", code, out)
	}
	for _, args := range [][]string{{"replay"}, {"replay", t.TempDir()}, {"replay", "no-such-file"}, {"replay", "--set", "router=other", file}} {
		if _, errs, code := runWith(t, "", args...); code == 0 || errs == "" {
			t.Errorf("%v: code %d, %s", args, code, errs)
		}
	}
}

// --shrink leaves out what a turn does not need for its check to fail; what is left replays as it is.
func TestCaptureShrinks(t *testing.T) {
	dir := t.TempDir()
	env := environment{get: func(string) string { return "" }, in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	l, err := openLocal(t.Context(), localConfig{
		models: &modelFlags{}, logger: newLogger(env, 12), demo: true, record: &recordFlags{dir: dir, keep: bundle.All, ttl: bundle.DefaultTTL},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	reply := askLocal(t, l, "waterproof hiking boots under 150")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	products := reply.GetResults()[0].GetAnswer().GetProducts()
	if len(products) < 2 {
		t.Fatalf("%d products", len(products))
	}
	last := products[len(products)-1].GetProductId()
	name := filepath.Join(dir, "store-demo", reply.GetTurnId()+".jsonl")
	small, errs, code := runWith(t, "", "capture", name, "--shrink", "! grep -q "+last)
	if code != 0 || !strings.Contains(errs, "parts left out") {
		t.Fatalf("code %d, %s", code, errs)
	}
	whole, errs, code := runWith(t, "", "capture", name)
	if code != 0 {
		t.Fatalf("code %d, %s", code, errs)
	}
	if 3*len(small) > len(whole) || !strings.Contains(small, last) || strings.Contains(small, products[0].GetProductId()) {
		t.Errorf("%d of %d bytes are left:\n%s", len(small), len(whole), small)
	}
	file := filepath.Join(t.TempDir(), "small.json")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runWith(t, "", "replay", file); code != 0 {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	if _, errs, code := runWith(t, "", "capture", name, "--shrink", "grep -q "+last); code == 0 || !strings.Contains(errs, "the check does not fail") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// While turns are replayed, nothing connects to a host by name or over HTTP.
func TestReplaysRefuseConnections(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	restore := refuseConnections()
	_, err := http.Get(server.URL)
	_, lookup := net.DefaultResolver.LookupHost(t.Context(), "quartet.invalid")
	restore()
	if !errors.Is(err, errNoNetwork) || lookup == nil || !strings.Contains(lookup.Error(), errNoNetwork.Error()) {
		t.Errorf("errors %v, %v", err, lookup)
	}
	if resp, err := http.Get(server.URL); err != nil {
		t.Errorf("after the replay: %v", err)
	} else {
		resp.Body.Close()
	}
}

// askLocal asks the demo store of services in this process.
func askLocal(t *testing.T, l *local, message string) *gatewayv1.AskResponse {
	t.Helper()
	conn, err := suite.Dial(suite.Gateway, l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := gatewayv1.NewGatewayServiceClient(conn).Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// With --state-keys, no line of a bundle is readable, and only the keys open it.
func TestEncryptedBundles(t *testing.T) {
	dir, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys.json")
	if _, err := seal.AddKey(keys, seal.AnyStore, time.Time{}); err != nil {
		t.Fatal(err)
	}
	env := environment{get: func(string) string { return "" }, in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	l, err := openLocal(t.Context(), localConfig{
		models: &modelFlags{}, logger: newLogger(env, 12), demo: true, seal: &sealFlags{file: keys},
		record: &recordFlags{dir: dir, keep: bundle.All, ttl: bundle.DefaultTTL},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	reply := askLocal(t, l, "waterproof hiking boots under 150")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "store-demo", reply.GetTurnId()+".jsonl")
	raw, err := os.ReadFile(file)
	if err != nil || len(raw) == 0 || strings.Contains(string(raw), "waterproof") || strings.Contains(string(raw), "{") {
		t.Errorf("readable: %v, %.200s", err, raw)
	}
	if out, errs, code := runWith(t, "", "replay", "--state-keys", keys, file); code != 0 {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	captured, errs, code := runWith(t, "", "capture", "--state-keys", keys, "--record-dir", dir, reply.GetTurnId())
	if code != 0 || !strings.Contains(captured, "waterproof") {
		t.Errorf("code %d, %s%s", code, captured, errs)
	}
	name := filepath.Join(t.TempDir(), "case.json")
	if err := os.WriteFile(name, []byte(captured), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runWith(t, "", "replay", name); code != 0 {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	if out, _, code := runWith(t, "", "replay", file); code == 0 {
		t.Errorf("replayed without keys: %s", out)
	}
}

// A newcomer without a key can try models of stores, with recorded turns, too.
func TestStoresMayChooseTheOfflineModels(t *testing.T) {
	env := environment{get: func(string) string { return "" }, in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	l, err := openLocal(t.Context(), localConfig{
		models: &modelFlags{}, logger: newLogger(env, 12), demo: true, gateway: gateway.Settings{StoreModels: []string{offline.ModelFast}},
		record: &recordFlags{dir: t.TempDir(), keep: bundle.All, ttl: bundle.DefaultTTL},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.close() })
	conn, err := suite.Dial(suite.Gateway, l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stores := gatewayv1.NewStoreServiceClient(conn)
	got, err := stores.GetStore(t.Context(), &gatewayv1.GetStoreRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	store := got.GetStore()
	store.Models = map[string]string{suite.Search: offline.ModelFast}
	if _, err := stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: store}); err != nil {
		t.Fatal(err)
	}
	reply, err := gatewayv1.NewGatewayServiceClient(conn).Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "do you have tents?"})
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.GetResults()[0].GetAnswer().GetModel(); got != offline.ModelFast {
		t.Errorf("model %q answered", got)
	}
}
