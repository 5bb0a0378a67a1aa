package e2e

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// usedKeys notes the keys of all commands. It implements redis.Hook.
type usedKeys struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (u *usedKeys) note(cmd redis.Cmder) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, arg := range cmd.Args() {
		if key, ok := arg.(string); ok && strings.HasPrefix(key, "quartet:") {
			u.keys[key] = true
		}
	}
}

func (u *usedKeys) DialHook(next redis.DialHook) redis.DialHook { return next }

func (u *usedKeys) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		u.note(cmd)
		return next(ctx, cmd)
	}
}

func (u *usedKeys) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			u.note(cmd)
		}
		return next(ctx, cmds)
	}
}

// keyRow is a row of the table of keys.
type keyRow struct {
	pattern     string
	key         *regexp.Regexp
	persists    bool
	used, found int
	bytes       int64
}

// keyTable reads the table of keys.
func keyTable(t *testing.T) (rows []*keyRow) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/redis/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(quartet:[^`]+)` \\|[^|]*\\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		key := regexp.MustCompile(`[A-Z]+`).ReplaceAllString(regexp.QuoteMeta(m[1]), `[^:{}]*`)
		rows = append(rows, &keyRow{pattern: m[1], key: regexp.MustCompile("^" + key + "$"), persists: m[2] == "until deleted"})
	}
	return rows
}

// The table of deploy/redis/README.md has every key that the services use, and says which of them expire.
func TestAllKeysAreDocumented(t *testing.T) {
	addr := redistest.FreeAddr(t)
	redistest.Start(t, addr, redistest.InMemory...)
	used := &usedKeys{keys: make(map[string]bool)}
	h := newSystemWith(t, "redis://"+addr, newBrain(t), func(cfg *suite.Config) {
		cfg.Redis.AddHook(used)
		cfg.Tape = bundle.NewRecorder(bundle.Config{Storage: bundle.NewRedis(cfg.Redis, bundle.DefaultTTL), Keep: bundle.All, Logger: cfg.Logger})
		cfg.Gateway.WebhookSecrets, cfg.Gateway.WebhookInsecure = []string{strings.Repeat("s", 32)}, true
	})
	if err := state.CheckSchema(t.Context(), h.cfg.Redis); err != nil {
		t.Fatal(err)
	}
	h.useAll(t)
	rows := keyTable(t)
	used.mu.Lock()
	keys := slices.Collect(maps.Keys(used.keys))
	used.mu.Unlock()
	for _, key := range keys {
		i := slices.IndexFunc(rows, func(r *keyRow) bool { return r.key.MatchString(key) })
		if i < 0 {
			t.Errorf("no row has the key %s", key)
			continue
		}
		rows[i].used++
		ttl, err := h.cfg.Redis.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		const none = -2 // there is no such key
		if ttl == none {
			continue
		}
		if persists := ttl < 0; persists != rows[i].persists && !strings.Contains(key, "@webhooks") {
			t.Errorf("%s has a time to live of %v, other than its row says", key, ttl)
		}
		size, err := h.cfg.Redis.MemoryUsage(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		rows[i].found++
		rows[i].bytes += size
	}
	// These need other servers, or wait for a second attempt.
	elsewhere := regexp.MustCompile(`:index:|:embedding:|@webhooks}:attempts`)
	for _, r := range rows {
		switch {
		case r.found > 0:
			t.Logf("%5d bytes, %d keys: %s", r.bytes/int64(r.found), r.found, r.pattern)
		case r.used == 0 && !elsewhere.MatchString(r.pattern):
			t.Errorf("no key was used of %s", r.pattern)
		}
	}
}
