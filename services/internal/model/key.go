package model

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// keyRetry is how long a refused key counts as refused without a further call. Then a call has to find out: with nobody calling, a
// key that works again would stay unnoticed.
const keyRetry = time.Minute

// keyWatch tells of an endpoint that refuses the key, once, and of its taking it again.
type keyWatch struct {
	agentloop.Model
	cfg Config

	mu       sync.Mutex
	refused  bool
	until    *time.Timer // ends refused
	watchers []func(refused bool)
}

// Generate implements agentloop.Model.
func (k *keyWatch) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) {
		for c, err := range k.Model.Generate(ctx, req) {
			switch {
			case errors.Is(err, endpoint.ErrUnauthorized):
				k.set(ctx, true)
			case err == nil:
				k.set(ctx, false)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// set notes whether the endpoint refuses the key.
func (k *keyWatch) set(ctx context.Context, refused bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if refused {
		if k.until != nil {
			k.until.Stop()
		}
		k.until = time.AfterFunc(keyRetry, k.forget)
	}
	if refused == k.refused {
		return
	}
	log := cmp.Or(k.cfg.Logger, slog.Default())
	if refused {
		log.ErrorContext(ctx, "the model endpoint refuses the key: set a valid one and restart",
			"setting", cmp.Or(k.cfg.KeySetting, "Config.Key"), "model", k.cfg.Name, "url", cmp.Or(k.cfg.URL, "the provider's"))
	} else {
		log.InfoContext(ctx, "the model endpoint takes the key again", "model", k.cfg.Name)
	}
	k.tell(refused)
}

// forget ends refused, without a word: the next call finds out.
func (k *keyWatch) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refused {
		k.tell(false)
	}
}

// tell tells the watchers. The caller holds the lock.
func (k *keyWatch) tell(refused bool) {
	k.refused = refused
	for _, w := range k.watchers {
		w(refused)
	}
}

// WatchKey has w called with true when the endpoint refuses the model's key, and with false when it takes it, or when a minute has
// passed without a call. w must not block, and must not call the model. Models that New did not make have no key to watch.
func (t *Traced) WatchKey(w func(refused bool)) {
	if t.key == nil {
		return
	}
	t.key.mu.Lock()
	defer t.key.mu.Unlock()
	t.key.watchers = append(t.key.watchers, w)
}
