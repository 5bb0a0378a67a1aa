package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// clientSaid collects what the Redis client logs.
var clientSaid lockedBuffer

func TestMain(m *testing.M) {
	state.LogTo(slog.New(slog.NewTextHandler(&clientSaid, &slog.HandlerOptions{Level: slog.LevelDebug})))
	goleak.VerifyTestMain(m)
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestKey(t *testing.T) {
	tests := []struct {
		store string
		parts []string
		want  string
	}{
		{"demo", []string{"cart", "c-1"}, "quartet:{demo}:cart:c-1"},
		{"demo", nil, "quartet:{demo}"},
		{"demo", []string{"cart", "a:b"}, "quartet:{demo}:cart:a%3Ab"},
		{"demo}:x:{", []string{"100%"}, "quartet:{demo%7D%3Ax%3A%7B}:100%25"},
		{"demo", []string{"", ""}, "quartet:{demo}::"},
	}
	for _, tt := range tests {
		if got := state.Key(tt.store, tt.parts...); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestDifferentPartsGiveDifferentKeys(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a:b"}, {"a", "b"}, {"a%3Ab"}, {"a", "", "b"}, {"a::b"}} {
		key := state.Key("s", parts...)
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q share the key %q", parts, other, key)
		}
		seen[key] = parts
	}
}

func TestError(t *testing.T) {
	tests := map[string]struct {
		err         error
		unavailable bool
	}{
		"a missing key":               {redis.Nil, false},
		"a lost race":                 {redis.TxFailedErr, false},
		"a wrong type":                {errors.New("WRONGTYPE Operation against a key"), false},
		"a cancelled caller":          {context.Canceled, false},
		"a deadline":                  {fmt.Errorf("dial: %w", context.DeadlineExceeded), false},
		"a refused connection":        {&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		"a broken connection":         {io.EOF, true},
		"a connection broken midway":  {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), true},
		"a busy pool":                 {redis.ErrPoolTimeout, true},
		"a closed client":             {redis.ErrClosed, true},
		"sentinels that are all gone": {errors.New("redis: all sentinels specified in configuration are unreachable"), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := state.Error("load cart", tt.err)
			if !errors.Is(err, tt.err) || !strings.HasPrefix(err.Error(), "load cart: ") {
				t.Errorf("got %v", err)
			}
			wantUnavailable(t, err, tt.unavailable)
		})
	}
	if err := state.Error("load cart", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func wantUnavailable(t *testing.T, err error, want bool) {
	t.Helper()
	var u *fault.Unavailable
	if got := errors.As(err, &u); got != want {
		t.Errorf("unavailable: %v, want %v (%v)", got, want, err)
	}
	if u != nil && u.Reason != commonv1.ErrorReason_ERROR_REASON_STATE_UNAVAILABLE {
		t.Errorf("reason %v", u.Reason)
	}
}

func TestOpenRefusesBadURLs(t *testing.T) {
	tests := map[string]struct{ url, want string }{
		"nothing":                     {"", "must be of the form"},
		"no scheme":                   {"localhost:6379", "must be of the form"},
		"another scheme":              {"http://:hunter2@h", "must be of the form"},
		"another mode":                {"redis+ring://:hunter2@h", "must be of the form"},
		"a bad escape in a password":  {"redis://:hunter2%zz@h", "must be of the form"},
		"no host":                     {"redis://:hunter2@/0", "is not a host"},
		"a bad port":                  {"redis://:hunter2@h:port/0", "is not a host"},
		"a bad database":              {"redis://:hunter2@h/cart", `"cart" is not a database number`},
		"a negative database":         {"redis://:hunter2@h/-1", "is not a database number"},
		"several hosts of one server": {"redis://:hunter2@a,b/0", "several hosts need"},
		"an unknown option":           {"redis://:hunter2@h/0?db=7", `unknown option "db"`},
		"no connections":              {"redis://:hunter2@h/0?pool=0", "want 1 to 10000"},
		"sentinels without master":    {"redis+sentinel://:hunter2@a,b/0", "master=NAME"},
		"a master without sentinels":  {"redis://:hunter2@a/0?master=m", "redis+sentinel only"},
		"a database of a cluster":     {"redis+cluster://:hunter2@a,b/2", "database 0 only"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := state.Open(t.Context(), tt.url)
			wantLine(t, err, tt.want)
		})
	}
}

// wantLine fails unless err is one line that contains want and does not tell the password.
func wantLine(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Error("no error")
	case !strings.Contains(err.Error(), want):
		t.Errorf("got %q, want it to contain %q", err, want)
	case strings.Contains(err.Error(), "hunter2"), strings.Contains(err.Error(), "\n"):
		t.Errorf("%q tells the password or has several lines", err)
	}
}

func TestOpenSaysWhereNobodyAnswers(t *testing.T) {
	addr := redistest.FreeAddr(t)
	for name, tt := range map[string]struct{ url, where string }{
		"a server":  {"redis://:hunter2@" + addr + "/0", "redis at " + addr + " cannot be used"},
		"sentinels": {"redis+sentinel://:hunter2@" + addr + "/0?master=m", "redis at sentinels " + addr + " (master m)"},
		"a cluster": {"redis+cluster://:hunter2@" + addr, "redis at cluster " + addr},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := state.Open(t.Context(), tt.url)
			wantLine(t, err, tt.where)
			wantLine(t, err, "start Redis there, or set the state URL")
		})
	}
	if said := clientSaid.String(); !strings.Contains(said, "level=DEBUG") || !strings.Contains(said, addr) {
		t.Errorf("the client's own words are not in the log: %q", said)
	}
}

func TestOpenWhenUpWaitsForRedis(t *testing.T) {
	address := redistest.FreeAddr(t)
	server := miniredis.NewMiniRedis()
	defer server.Close()
	start := sync.OnceFunc(func() {
		if err := server.StartAddr(address); err != nil {
			t.Error(err)
		}
	})
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { start(); return log.Write(p) }), nil))
	client, err := state.OpenWhenUp(t.Context(), "redis://"+address, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !strings.Contains(log.String(), "waiting for Redis") || !strings.Contains(log.String(), address) {
		t.Errorf("log: %s", log.String())
	}
}

// Waiting does not mend a wrong password.
func TestOpenWhenUpDoesNotWaitForAnotherPassword(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("right")
	_, err := state.OpenWhenUp(t.Context(), "redis://:wrong@"+server.Addr(), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("error %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestOpenGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := state.Open(ctx, "redis://"+redistest.FreeAddr(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestEmbedded(t *testing.T) {
	s, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := open(t, s.URL())
	ctx := t.Context()
	key := state.Key("demo", "k")
	if err := client.Set(ctx, key, "v", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(ctx, key).Result(); got != "v" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := client.Get(ctx, "other").Result(); !errors.Is(state.Error("get", err), redis.Nil) {
		t.Errorf("a missing key: %v", err)
	}
	_, host, _ := strings.Cut(s.URL(), "@")
	if _, err := state.Open(ctx, "redis://:hunter2@"+host); err == nil || !strings.Contains(err.Error(), "right user and password") {
		t.Errorf("with another password: %v", err)
	}
	s.Close()
	_, err = client.Get(ctx, key).Result()
	wantUnavailable(t, state.Error("get", err), true)
}

func TestEmbeddedKeysExpireByTheClock(t *testing.T) {
	s, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := open(t, s.URL())
	if err := client.Set(t.Context(), "k", "v", 20*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, func() error {
		if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			return fmt.Errorf("the key has not expired: %v", err)
		}
		return nil
	})
}

func open(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	client, err := state.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestErrorsDoNotRepeatArguments(t *testing.T) {
	withEach(t, func(t *testing.T, client redis.UniversalClient) {
		_, errPipe := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Get(t.Context(), "k")
			p.Do(t.Context(), "NOSUCH", "heliotrope")
			return nil
		})
		for name, err := range map[string]error{"one command": client.Do(t.Context(), "NOSUCH", "heliotrope").Err(), "a pipeline": errPipe} {
			if err == nil || strings.Contains(err.Error(), "heliotrope") {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error { p.Do(t.Context(), "NOSUCH", "heliotrope"); return nil })
		if err == nil || strings.Contains(err.Error(), "heliotrope") || !strings.Contains(err.Error(), "unknown command") {
			t.Errorf("a pipeline of one: %v", err)
		}
	})
}
