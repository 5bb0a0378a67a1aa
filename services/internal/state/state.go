// Package state opens Redis, Quartet's state store, explains its errors, and has what several services build on Redis: a
// queue lock and a cache with a TTL.
//
// Key and TaggedKey make all keys, so every key begins with its store. The package must not import a service: each service
// owns the contents of its keys.
package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// pingTimeout is how long Open waits for an answer.
	pingTimeout = 3 * time.Second
	// poolSize is the most connections to one server. Commands take well under a millisecond, so this is enough for
	// thousands of turns in flight. Hundreds of replicas on one server need a smaller one, by the option pool of the URL.
	poolSize = 64
	// poolTimeout is how long a command whose context has no deadline waits for a connection. A crowd waits; that is no
	// sign of a server that is down.
	poolTimeout = 30 * time.Second
	// firstPause and longestPause are how long OpenWhenUp waits between attempts; each pause is twice the one before.
	firstPause, longestPause = 250 * time.Millisecond, 5 * time.Second
)

// Open connects to the Redis at url and makes sure that it answers. The forms of url are
//
//	redis://USER:PASSWORD@HOST:PORT/DB
//	redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/DB?master=NAME
//	redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT
//
// and the same with rediss for TLS. The option pool=N bounds the connections to one server, 64 by default. User, password, port (6379, or 26379 for sentinels) and DB (0) may be left out.
// Commands honour the deadline of their context and are traced, without their arguments.
//
// The error is one line that names the hosts, never the password. The caller closes the client.
func Open(ctx context.Context, url string) (redis.UniversalClient, error) {
	client, _, err := open(ctx, url)
	return client, err
}

// OpenWhenUp is Open, but waits for a Redis that cannot be reached yet, as when all pods of a cluster start at once. It logs each
// attempt. A wrong URL or password is an error at once, and so is the end of ctx.
func OpenWhenUp(ctx context.Context, url string, log *slog.Logger) (redis.UniversalClient, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		client, mayCome, err := open(ctx, url)
		if err == nil || !mayCome {
			return client, err
		}
		log.WarnContext(ctx, "waiting for Redis", slog.String("error", err.Error()), slog.Duration("next_attempt_in", pause))
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// open is Open. If there is an error, it reports whether Redis may come up later.
func open(ctx context.Context, url string) (_ redis.UniversalClient, mayCome bool, _ error) {
	addr, err := parse(url)
	if err != nil {
		return nil, false, fmt.Errorf("state URL: %w", err)
	}
	client := addr.client()
	if err := redisotel.InstrumentTracing(client, redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false)); err != nil {
		return nil, false, errors.Join(fmt.Errorf("trace redis: %w", err), client.Close())
	}
	if err := redisotel.InstrumentMetrics(client); err != nil {
		return nil, false, errors.Join(fmt.Errorf("measure redis: %w", err), client.Close())
	}
	client.AddHook(replyHook{}) // within the tracing, which records errors
	pingCtx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := client.Ping(pingCtx).Err(); err != nil {
		client.Close() // the ping's error says more
		refused := redis.IsAuthError(err) || redis.IsPermissionError(err)
		return nil, !refused && ctx.Err() == nil, addr.explain(ctx, err)
	}
	return client, false, nil
}

// client returns a client that has not connected yet.
func (a address) client() redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs:    a.hosts,
		Username: a.user,
		Password: a.password,
		DB:       a.db,

		MasterName: a.master,
		TLSConfig:  a.tls(),

		PoolSize:              cmp.Or(a.pool, poolSize),
		PoolTimeout:           poolTimeout,
		DialTimeout:           2 * time.Second,
		DialerRetries:         1, // the client retries whole commands
		ContextTimeoutEnabled: true,
		// The Redis user needs no right to the commands of clients, and Redis before 7.2 cannot grant the one that names the library.
		DisableIdentity: true,
		// Announcements of maintenance are a feature of one hosted product.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if a.kind == kindCluster {
		c := o.Cluster()
		c.ClusterStateReloadInterval = time.Second // else turns fail for up to 10 s after a replica was promoted
		return redis.NewClusterClient(c)
	}
	return redis.NewUniversalClient(o)
}

// explain turns the error of the first ping into one line that says what to do.
func (a address) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("open redis at %s: %w", a.where(), ctx.Err())
	}
	hint := "start Redis there, or set the state URL to where it runs"
	switch {
	case redis.IsAuthError(err), redis.IsPermissionError(err):
		hint = "put the right user and password into the state URL"
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer in %v", pingTimeout)
	}
	cause := text.OneLine(err.Error())
	return fmt.Errorf("redis at %s cannot be used (%s): %s", a.where(), cause, hint)
}

// LogTo sends the Redis client's own messages, such as each failed dial, to l at debug level. By default, the client writes
// them to the standard error of the process. LogTo sets a global of the process: call it once, before Open.
func LogTo(l *slog.Logger) { redis.SetLogger(clientLog{l}) }

type clientLog struct{ log *slog.Logger }

func (c clientLog) Printf(ctx context.Context, format string, args ...any) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.DebugContext(ctx, "redis client", slog.String("text", fmt.Sprintf(format, args...)))
	}
}
