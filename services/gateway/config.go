// Package gateway is the service that a store's backend calls. It admits a shopper's message, asks the router which
// specialists answer which part of it, runs these at the same time, makes one reply of their answers, and keeps the
// conversation. Read turn.go first: it names all stages of a message in order.
//
// The packages below do the stages: threads keeps state in Redis, registry knows the specialists, fanout asks them, and merge
// makes the text. The package must not import another service: it meets services through the generated clients of router.v1,
// specialist.v1 and cart.v1.
package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/gateway/registry"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// Defaults for the zero values of [Settings].
const (
	DefaultTurnTimeout  = 60 * time.Second
	DefaultMergeReserve = 6 * time.Second
	DefaultThreadTTL    = 30 * 24 * time.Hour
	// DefaultLease exceeds the longest pause of a healthy process, and a fail-over of Redis, in which no lease can be renewed.
	DefaultLease = 6 * time.Second
	// DefaultRecordTimeout exceeds a fail-over of Redis, which took up to 5 s in a cluster of six nodes.
	DefaultRecordTimeout    = 5 * time.Second
	DefaultMaxTurns         = 1024
	DefaultMaxTurnsPerStore = 512
)

// RunAhead says which specialists start before the routing is final.
type RunAhead = fanout.RunAhead

// The modes of RunAhead.
const (
	RunAheadAlways  = fanout.RunAheadAlways
	RunAheadCertain = fanout.RunAheadCertain
	RunAheadOff     = fanout.RunAheadOff
)

// Peer is one specialist.
type Peer = registry.Peer

// Settings are the settings of the gateway that an operator chooses. The zero value stands for the defaults, and no budget.
type Settings struct {
	// TurnTimeout bounds a turn whose caller set no deadline. Zero: DefaultTurnTimeout.
	TurnTimeout time.Duration
	// MergeReserve is the time kept for merging when several specialists work, but at most a quarter of the time left. A merge
	// is given up when its model is silent for so long, and after twice as long in any case. Zero: DefaultMergeReserve.
	MergeReserve time.Duration
	// RunAhead says which specialists start before the routing is final. Empty: RunAheadAlways.
	RunAhead RunAhead
	// Lease is how long a gateway that has died keeps its turns; then another gateway may resume them. Zero: DefaultLease.
	Lease time.Duration
	// RecordTimeout is how long a finished reply waits for Redis to record it, if the caller's deadline allows; then it goes out
	// unrecorded. Zero: DefaultRecordTimeout.
	RecordTimeout time.Duration
	// ThreadTTL is how long a thread and its turns are kept after the last message. Zero: DefaultThreadTTL.
	ThreadTTL time.Duration
	// MaxTurns bounds the number of turns in flight in this process; more are refused. Zero: DefaultMaxTurns.
	MaxTurns int
	// MaxTurnsPerStore bounds the number of turns in flight of one store. Zero: DefaultMaxTurnsPerStore.
	MaxTurnsPerStore int
	// Budget bounds the tokens and the cost of all models' work on one turn. Nil: no bound.
	Budget *commonv1.Budget
	// WebhookSecrets sign webhooks: see webhook.Config. Empty: stores have no webhooks.
	WebhookSecrets []string
	// WebhookInsecure allows webhooks over http, and to addresses that are not public.
	WebhookInsecure bool
	// StoreModels are the models that stores and their prompts may name. Empty: none.
	StoreModels []string
}

// Config is what the service is made of.
type Config struct {
	Settings

	// Redis keeps stores, threads and turns. Required. The caller owns it and closes it after the service has stopped.
	Redis redis.UniversalClient
	// Sealer encrypts what shoppers and specialists say. Nil: it is kept in plaintext.
	Sealer *seal.Sealer
	// Router splits messages. Required.
	Router routerv1.RouterServiceClient
	// Specialists answer the parts of messages. At least one.
	Specialists []Peer
	// Signer signs the scope of a turn, narrowed for the router and for each specialist. Required.
	Signer *scope.Signer
	// Cart reads the shopper's cart, once per turn. Nil: specialists read it themselves.
	Cart cartv1.CartServiceClient
	// Orders reads the orders of a signed-in shopper, so that nothing that is on its way is offered again. Nil: it may be.
	Orders orderv1.OrderServiceClient
	// Model merges several answers into one reply. Nil: answers are joined without a model.
	Model agentloop.Model
	// Price of the model's tokens. Nil: the cost of a merge is unknown.
	Price *agentloop.Price
	// Customers are the CustomerServices of the other services that keep data of customers. They check the caller, too. Empty: the gateway
	// exports and erases its own alone.
	Customers []customerv1.CustomerServiceClient
	// NamedModel returns the model that a store has chosen for merges. Nil: stores choose none.
	NamedModel prompt.NamedModel
	// RouterPrompt is the router's built-in prompt, for PromptService. Nil: it is not shown.
	RouterPrompt *specialistv1.Prompt
	// FastModel writes the running summaries of threads. Nil: a thread's first message serves as its summary.
	FastModel agentloop.Model
	// FastPrice of the fast model's tokens. Nil: the cost of a summary is unknown.
	FastPrice *agentloop.Price
	// Now dates turns and threads. Nil: time.Now. Deadlines follow the real clock.
	Now func() time.Time
	// Tape records turns or plays one back. Nil: neither.
	Tape bundle.Tape
	// MeterProvider makes the metrics of turns. Nil: the global one.
	MeterProvider metric.MeterProvider
	// NewID makes the ids of turns and threads, which must be unique and hard to guess: a guest's thread has no other
	// protection. Nil: 128 random bits.
	NewID func() string
	// Logger gets errors, never customer text. Nil: slog.Default().
	Logger *slog.Logger
}

// Validate reports what is missing or out of range.
func (c Config) Validate() error {
	switch {
	case c.Redis == nil:
		return errors.New("gateway: Redis is required")
	case c.Router == nil:
		return errors.New("gateway: Router is required")
	case c.Signer == nil:
		return errors.New("gateway: Signer is required")
	case len(c.Specialists) == 0:
		return errors.New("gateway: at least one specialist is required")
	}
	seen := make(map[string]bool, len(c.Specialists))
	for _, p := range c.Specialists {
		if p.Name == "" || p.Client == nil || seen[p.Name] {
			return fmt.Errorf("gateway: specialist %q has no name or no client, or is named twice", p.Name)
		}
		seen[p.Name] = true
	}
	return c.Settings.Validate()
}

// Validate reports what is out of range.
func (s Settings) Validate() error {
	switch {
	case s.ThreadTTL < 0 || s.TurnTimeout < 0 || s.MergeReserve < 0 || s.Lease < 0 || s.RecordTimeout < 0:
		return errors.New("gateway: a duration is negative")
	case s.MaxTurns < 0 || s.MaxTurnsPerStore < 0:
		return errors.New("gateway: a limit of turns is negative")
	case s.Budget.GetMaxTokens() < 0 || s.Budget.GetMaxCost().GetAmountMicros() < 0:
		return errors.New("gateway: Budget is negative")
	case s.Budget.GetMaxCost() != nil && s.Budget.GetMaxCost().GetCurrencyCode() == "":
		return errors.New("gateway: Budget has a cost without a currency")
	case s.RunAhead != "" && !s.RunAhead.Valid():
		return fmt.Errorf("gateway: RunAhead is %q, must be %q, %q or %q", s.RunAhead, RunAheadAlways, RunAheadCertain, RunAheadOff)
	}
	return nil
}

func (c Config) withDefaults() Config {
	setDefault(&c.TurnTimeout, DefaultTurnTimeout)
	setDefault(&c.MergeReserve, DefaultMergeReserve)
	setDefault(&c.RunAhead, RunAheadAlways)
	setDefault(&c.Lease, DefaultLease)
	setDefault(&c.RecordTimeout, DefaultRecordTimeout)
	setDefault(&c.ThreadTTL, DefaultThreadTTL)
	setDefault(&c.MaxTurns, DefaultMaxTurns)
	setDefault(&c.MaxTurnsPerStore, DefaultMaxTurnsPerStore)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
