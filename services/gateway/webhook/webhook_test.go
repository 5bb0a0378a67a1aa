package webhook

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	oldSecret = "0123456789abcdef0123456789abcdef"
	newSecret = "fedcba9876543210fedcba9876543210"
)

// shop is a store's system.
type shop struct {
	*httptest.Server
	mu     sync.Mutex
	answer int
	got    []string // ids, each with the store's name in the data
	t      *testing.T
	secret string
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, answer: http.StatusNoContent, secret: newSecret}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	secret, err := SecretOf(s.secret, "demo")
	if err != nil {
		s.t.Error(err)
	}
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		s.t.Error(err)
	}
	if err := hook.VerifyIgnoringTimestamp(body, r.Header); err != nil { // the clock of the test runs ahead
		s.t.Error(err)
	}
	var sent struct {
		Type string            `json:"type"`
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || sent.Type != "handoff.recommended" || sent.Data["turn"] != r.Header.Get("webhook-id") {
		s.t.Errorf("the body is %s, error %v", body, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, r.Header.Get("webhook-id"))
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(s.answer)
}

func (s *shop) say(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = status
}

func (s *shop) calls() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.got, " ")
}

// sender returns a sender of store demo, whose URL may change.
func sender(t *testing.T, client redis.UniversalClient, url *string) *Sender {
	t.Helper()
	s, err := New(Config{
		Redis: client, Secrets: []string{newSecret, oldSecret}, Insecure: true, Logger: slog.New(slog.DiscardHandler),
		Meter:  noop.NewMeterProvider().Meter(""),
		Target: func(context.Context, string) (string, error) { return *url, nil },
		Data: func(_ context.Context, store, turn string) (any, error) {
			return map[string]string{"store": store, "turn": turn}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// due sends what is due after a time, and returns how many that were.
func due(t *testing.T, s *Sender, after time.Duration) int {
	t.Helper()
	n, err := s.sendDue(t.Context(), time.Now().Add(after))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAWebhookIsSentOnceByOneOfSeveralGateways(t *testing.T) {
	for name, open := range map[string]func(*testing.T) redis.UniversalClient{
		"embedded": func(t *testing.T) redis.UniversalClient { return servicetest.Redis(t) },
		"cluster": func(t *testing.T) redis.UniversalClient {
			client, err := state.Open(t.Context(), redistest.Cluster(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			return client
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, shop := open(t), newShop(t)
			one, two := sender(t, client, &shop.URL), sender(t, client, &shop.URL)
			for range 2 { // a turn that is recorded again
				if err := one.Enqueue(t.Context(), "demo", "turn_a"); err != nil {
					t.Fatal(err)
				}
			}
			if n := due(t, one, 0); n != 0 {
				t.Errorf("%d are due before the turn is recorded", n)
			}
			var wg sync.WaitGroup
			for _, s := range []*Sender{one, two} {
				wg.Go(func() { due(t, s, delay+time.Second) })
			}
			wg.Wait()
			due(t, two, giveUp)
			if got := shop.calls(); got != "turn_a" {
				t.Errorf("sent are %q", got)
			}
			shop.secret = oldSecret // a store that has not changed its secret yet
			if err := two.Enqueue(t.Context(), "demo", "turn_b"); err != nil {
				t.Fatal(err)
			}
			due(t, one, delay+time.Second)
			if n := client.Exists(t.Context(), keys...).Val(); n != 0 {
				t.Errorf("%d keys are left", n)
			}
		})
	}
}

func TestAWebhookThatIsNotTakenIsRepeatedForADay(t *testing.T) {
	client, shop := servicetest.Redis(t), newShop(t)
	s := sender(t, client, &shop.URL)
	shop.say(http.StatusFound) // a redirect is not followed
	if err := s.Enqueue(t.Context(), "demo", "turn_a"); err != nil {
		t.Fatal(err)
	}
	at, tries := delay+time.Second, 0
	for ; at < giveUp+2*maxPause; at += time.Minute {
		tries += due(t, s, at)
		if tries == 3 {
			at += maxPause
		}
	}
	if calls := strings.Count(shop.calls(), "turn_a"); calls != tries || tries < 10 || tries > 40 {
		t.Errorf("%d attempts, of which %d arrived", tries, calls)
	}
	if n := client.Exists(t.Context(), keys...).Val(); n != 0 {
		t.Errorf("%d keys are left of what was given up", n)
	}
}

func TestAGatewayThatDiesLeavesItsWebhooksToOthers(t *testing.T) {
	client, shop := servicetest.Redis(t), newShop(t)
	dead, other := sender(t, client, &shop.URL), sender(t, client, &shop.URL)
	if err := dead.Enqueue(t.Context(), "demo", "turn_a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	dead.cfg.Data = func(ctx context.Context, _, _ string) (any, error) { cancel(); return nil, ctx.Err() }
	if _, err := dead.sendDue(ctx, time.Now().Add(delay)); err != nil {
		t.Fatal(err)
	}
	if n := due(t, other, delay+hidden/2); n != 0 {
		t.Errorf("%d are taken while another gateway may be at it", n)
	}
	due(t, other, delay+hidden+time.Second)
	if got := shop.calls(); got != "turn_a" {
		t.Errorf("sent are %q", got)
	}
}

func TestAStoreWithoutAWebhookGetsNone(t *testing.T) {
	client, none := servicetest.Redis(t), ""
	s := sender(t, client, &none)
	if err := s.Enqueue(t.Context(), "demo", "turn_a"); err != nil {
		t.Fatal(err)
	}
	due(t, s, delay)
	if n := client.Exists(t.Context(), keys...).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	shop := newShop(t)
	s := sender(t, servicetest.Redis(t), &shop.URL)
	s.cfg.Insecure = false
	if outcome, err := s.send(t.Context(), item{Store: "demo"}, "t", time.Now()); outcome != dropped || !strings.Contains(err.Error(), "https") {
		t.Errorf("over http: %s, %v", outcome, err)
	}
	for address, public := range map[string]bool{
		"127.0.0.1:443": false, "10.1.2.3:443": false, "192.168.1.1:443": false, "169.254.169.254:80": false, "[::1]:443": false,
		"[fd00::1]:443": false, "[::ffff:10.0.0.1]:443": false, "100.64.0.1:443": false, "0.0.0.0:443": false, "[fe80::1%eth0]:443": false,
		"203.0.113.9:443": true, "[2001:db8::1]:443": true,
	} {
		if err := publicOnly("tcp", address, nil); (err == nil) != public {
			t.Errorf("%s: error %v", address, err)
		}
	}
	for url, ok := range map[string]bool{
		"https://shop.example/hook": true, "http://shop.example": false, "https://user@shop.example": false, "shop.example": false,
		"https://": false, "ftp://shop.example": false, "https://shop.example/#a": false, "https://shop.example/%zz": false,
	} {
		if err := CheckURL(url, false); (err == nil) != ok {
			t.Errorf("%s: error %v", url, err)
		}
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	for _, secrets := range [][]string{nil, {"short"}, {newSecret, "short"}} {
		if _, err := New(Config{Secrets: secrets, Meter: noop.NewMeterProvider().Meter("")}); err == nil {
			t.Errorf("%d secrets are accepted", len(secrets))
		}
	}
}

func TestRunSendsWhatIsDue(t *testing.T) {
	shop := newShop(t)
	s := sender(t, servicetest.Redis(t), &shop.URL)
	if err := s.Enqueue(t.Context(), "demo", "turn_a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	redistest.Eventually(t, func() error {
		if shop.calls() == "" {
			return io.EOF
		}
		return nil
	})
	cancel()
	running.Wait()
}
