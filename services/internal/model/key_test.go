package model

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

func TestARefusedKeyIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		refusal := scripted.Step{Err: &endpoint.StatusError{StatusCode: http.StatusUnauthorized}}
		key := &keyWatch{
			Model: scripted.New(refusal, refusal, refusal, refusal, scripted.Step{Text: "Hello."}),
			cfg:   Config{KeySetting: "environment variable SHOP_KEY", Name: "m", Logger: slog.New(slog.NewTextHandler(&log, nil))},
		}
		var told []bool
		(&Traced{Model: key, key: key}).WatchKey(func(refused bool) { told = append(told, refused) })
		call := func() {
			for range key.Generate(t.Context(), &agentloop.Request{}) {
			}
		}
		want := func(after string, states ...bool) {
			t.Helper()
			key.mu.Lock() // it is held while a watcher is told
			defer key.mu.Unlock()
			if !slices.Equal(told, states) {
				t.Errorf("after %s: told %v, want %v", after, told, states)
			}
			told = nil
		}
		for range 3 {
			call()
		}
		want("three refusals", true)
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "SHOP_KEY") {
			t.Errorf("want one line that names the setting:\n%s", log.String())
		}
		time.Sleep(2 * keyRetry)
		synctest.Wait()
		want("a while without calls", false)
		call()
		want("another refusal", true)
		call()
		want("an answer", false)
	})
}
