// Package webhook tells a store's own system of turns that recommend a human: a signed POST to the store's URL, repeated until it is
// taken, by whichever gateway comes first. It follows Standard Webhooks (standardwebhooks.com), so receivers verify with a library.
//
// The queue is in Redis and holds ids only; what is sent is read when it is sent.
package webhook

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// delay is how long a turn has for being recorded before it is told of.
	delay = 2 * time.Second
	// interval is how often a gateway looks for what is due.
	interval = time.Second
	// timeout bounds one POST. hidden exceeds it.
	timeout = 10 * time.Second
	hidden  = 30 * time.Second
	// batch is how many POSTs a gateway makes at the same time.
	batch = 16
	// firstPause is the pause after the first failure. It grows by four up to maxPause. After giveUp, a webhook is dropped.
	firstPause, maxPause = 5 * time.Second, time.Hour
	giveUp               = 24 * time.Hour
	// minSecret is the shortest secret, in bytes.
	minSecret = 32
)

// The outcomes of an attempt, the values of telemetry.KeyOutcome.
const (
	delivered = "delivered"
	failed    = "failed"
	dropped   = "dropped"
)

//go:embed claim.lua
var claimLua string

var claimScript = redis.NewScript(claimLua)

// keys of the queue, which belongs to no store: no store's id begins with '@'.
var keys = []string{state.Key("@webhooks", "due"), state.Key("@webhooks", "items"), state.Key("@webhooks", "attempts")}

// Config is what a Sender is made of.
type Config struct {
	// Redis keeps the queue. Required.
	Redis redis.UniversalClient
	// Secrets that the stores' secrets are derived from, each of 32 bytes or more. A POST is signed with all of them, so that they can be
	// changed. At least one.
	Secrets []string
	// Insecure allows http, and addresses that are not public.
	Insecure bool
	// Target returns the URL of a store, or "" if it wants no webhooks. Required.
	Target func(ctx context.Context, storeID string) (string, error)
	// Data returns what is sent of a turn. Required.
	Data func(ctx context.Context, storeID, turnID string) (any, error)
	// Meter makes the metric. Required.
	Meter metric.Meter
	// Logger gets what is dropped. Required.
	Logger *slog.Logger
}

// Sender sends webhooks. It is safe for concurrent use. New makes one.
type Sender struct {
	cfg    Config
	client *http.Client
	count  metric.Int64Counter
}

// item is what the queue keeps of a webhook, under the id of its turn.
type item struct {
	Store string `json:"store"`
	Since int64  `json:"since"` // ms
}

// New returns a Sender, or an error that says what is wrong with the configuration.
func New(cfg Config) (*Sender, error) {
	if len(cfg.Secrets) == 0 {
		return nil, errors.New("webhook: a secret is required")
	}
	for _, secret := range cfg.Secrets {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("webhook: a secret has %d bytes, must have %d or more", len(secret), minSecret)
		}
	}
	count, err := cfg.Meter.Int64Counter(telemetry.MetricWebhooks, metric.WithUnit("{attempt}"), metric.WithDescription("Attempts to tell a store of a turn, by outcome."))
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: timeout}
	if !cfg.Insecure {
		dialer.Control = publicOnly
	}
	return &Sender{cfg: cfg, count: count, client: &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, MaxIdleConnsPerHost: batch},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // to where CheckURL does not look
	}}, nil
}

// CheckURL returns an error if a URL is none that webhooks may go to. Whether its address is public is seen when it is dialled.
func CheckURL(s string, insecure bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("must be a URL such as https://shop.example/quartet, without a user and a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !insecure):
		return errors.New("must begin with https:// (the gateway's --webhook-insecure allows http)")
	}
	return nil
}

// publicOnly refuses addresses that a store has no business with: those of the machine, of its network and of its provider's metadata.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || sharedSpace.Contains(ip) {
		return fmt.Errorf("%s is not a public address (--webhook-insecure allows it)", ip)
	}
	return nil
}

// sharedSpace is that of carriers and of some providers' internal services (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// SecretOf returns the secret with which a store verifies its webhooks, as Standard Webhooks writes it.
func SecretOf(secret, storeID string) (string, error) {
	key, err := keyOf(secret, storeID)
	return "whsec_" + base64.StdEncoding.EncodeToString(key), err
}

func keyOf(secret, storeID string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret), nil, "quartet webhook "+storeID, 32)
}

// Enqueue has a turn of a store told of, once.
func (s *Sender) Enqueue(ctx context.Context, storeID, turnID string) error {
	now := time.Now()
	raw, err := json.Marshal(item{Store: storeID, Since: now.UnixMilli()})
	if err != nil {
		return err
	}
	_, err = s.cfg.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, keys[1], turnID, raw)
		p.ZAdd(ctx, keys[0], redis.Z{Score: float64(now.Add(delay).UnixMilli()), Member: turnID})
		return nil
	})
	return state.Error("queue a webhook", err)
}

// Run sends what is due until ctx ends, and waits for what it has begun.
func (s *Sender) Run(ctx context.Context) {
	for tick := time.NewTicker(interval); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			s.client.CloseIdleConnections()
			return
		case <-tick.C:
			for n := batch; n == batch && ctx.Err() == nil; {
				var err error
				if n, err = s.sendDue(ctx, time.Now()); err != nil && ctx.Err() == nil {
					s.cfg.Logger.WarnContext(ctx, "webhooks wait for Redis", "error", err)
				}
			}
		}
	}
}

// sendDue sends what is due, and returns how many there were, at most batch.
func (s *Sender) sendDue(ctx context.Context, now time.Time) (int, error) {
	rows, err := claimScript.Run(ctx, s.cfg.Redis, keys, now.UnixMilli(), now.Add(hidden).UnixMilli(), batch).Slice()
	if err != nil {
		return 0, state.Error("read the queue of webhooks", err)
	}
	var wg sync.WaitGroup
	for _, row := range rows {
		fields := row.([]any)
		wg.Go(func() { s.attempt(ctx, fields[0].(string), fields[1].(string), fields[2].(int64), now) })
	}
	wg.Wait()
	return len(rows), nil
}

// attempt sends one webhook, and takes it off the queue or says when it is due again.
func (s *Sender) attempt(ctx context.Context, turnID, raw string, attempts int64, now time.Time) {
	var it item
	err := json.Unmarshal([]byte(raw), &it)
	outcome, again := dropped, time.Time{}
	if err == nil {
		outcome, err = s.send(ctx, it, turnID, now)
	}
	if outcome == failed {
		pause := firstPause
		for range min(attempts-1, 10) {
			pause = min(4*pause, maxPause)
		}
		if again = now.Add(pause); again.After(time.UnixMilli(it.Since).Add(giveUp)) {
			outcome = dropped
		}
	}
	if ctx.Err() != nil && outcome == failed {
		return // this gateway ends; the next one to look takes it up
	}
	if outcome != delivered {
		s.cfg.Logger.WarnContext(ctx, "webhook not taken", "store", it.Store, "turn", turnID, "attempts", attempts, "outcome", outcome, "error", err)
	}
	s.count.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyOutcome, outcome)))
	_, err = s.cfg.Redis.TxPipelined(context.WithoutCancel(ctx), func(p redis.Pipeliner) error {
		if outcome == failed {
			p.ZAddXX(ctx, keys[0], redis.Z{Score: float64(again.UnixMilli()), Member: turnID})
			return nil
		}
		p.ZRem(ctx, keys[0], turnID)
		p.HDel(ctx, keys[1], turnID)
		p.HDel(ctx, keys[2], turnID)
		return nil
	})
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "a webhook may be sent again", "store", it.Store, "turn", turnID, "error", err)
	}
}

// send sends one webhook, and says how that ended.
func (s *Sender) send(ctx context.Context, it item, turnID string, now time.Time) (outcome string, err error) {
	target, err := s.cfg.Target(ctx, it.Store)
	if err != nil {
		return failed, err
	}
	if target == "" {
		return dropped, errors.New("the store has no webhook any more")
	}
	if err := CheckURL(target, s.cfg.Insecure); err != nil {
		return dropped, err
	}
	data, err := s.cfg.Data(ctx, it.Store, turnID)
	if err != nil {
		return failed, err
	}
	body, err := json.Marshal(map[string]any{"type": "handoff.recommended", "timestamp": time.UnixMilli(it.Since).UTC().Format(time.RFC3339), "data": data})
	if err != nil {
		return dropped, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(string(body)))
	if err != nil {
		return dropped, err
	}
	signatures := make([]string, len(s.cfg.Secrets))
	for i, secret := range s.cfg.Secrets {
		if signatures[i], err = sign(secret, it.Store, turnID, now, body); err != nil {
			return dropped, err
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Quartet")
	req.Header.Set(standardwebhooks.HeaderWebhookID, turnID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	resp, err := s.client.Do(req)
	if err != nil {
		return failed, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return failed, fmt.Errorf("the store's system answered %s", resp.Status)
	}
	return delivered, nil
}

func sign(secret, storeID, id string, at time.Time, body []byte) (string, error) {
	key, err := keyOf(secret, storeID)
	if err != nil {
		return "", err
	}
	hook, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return "", err
	}
	return hook.Sign(id, at, body)
}
