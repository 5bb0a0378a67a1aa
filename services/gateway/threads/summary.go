package threads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/promptleak"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

var (
	//go:embed summary.md
	summaryPrompt string
	//go:embed summary.lua
	summaryLua string
)

// ownPrompt must not be quoted.
var ownPrompt = promptleak.New(summaryPrompt)

var summaryScript = redis.NewScript(summaryLua)

const (
	// MaxSummary is the longest summary of a thread, in characters.
	MaxSummary = 1000
	// maxSummaryTokens is what a model may write: MaxSummary characters of any language.
	maxSummaryTokens = 700
	// MaxSummaries is the number of summaries that are written at the same time. Beyond it, a turn leaves the summary to the
	// next turn of its thread.
	MaxSummaries = 64
	// summaryTime bounds the work on one summary.
	summaryTime = 20 * time.Second
	// summaryMessages is the number of last messages that a summary is made of, beside the summary before. It exceeds the two
	// messages of a turn, so that the next summary makes up for one that was not written.
	summaryMessages = 12
	// summaryMessage is the part of a message that is read, in characters.
	summaryMessage = 2000
)

// The outcomes of a summary, values of telemetry.KeyOutcome.
const (
	SummaryWritten = "written"
	SummaryFailed  = "failed"
	SummaryDropped = "dropped"
)

// SummaryConfig says how summaries are written.
type SummaryConfig struct {
	// Model writes summaries. Nil: the first message of a thread serves as its summary.
	Model agentloop.Model
	// Price of the model's tokens. Nil: the cost of a summary is unknown.
	Price *agentloop.Price
	// Meter makes the metric of summaries. Required.
	Meter metric.Meter
	// Logger gets one line for each summary, and errors; never customer text. Required.
	Logger *slog.Logger
}

// Summarizer writes the running summaries of threads, after the turns. A nil Summarizer writes none. It is safe for concurrent
// use.
type Summarizer struct {
	loop  *agentloop.Loop
	store *Store
	log   *slog.Logger
	count metric.Int64Counter

	ctx    context.Context // ends when Close waits no longer
	cancel context.CancelFunc

	mu      sync.Mutex
	running int
	closed  bool
	wg      sync.WaitGroup // of the running ones; added to under mu, and only before closed
}

// NewSummarizer returns the summarizer of a store, or nil without a model.
func NewSummarizer(cfg SummaryConfig, store *Store) (*Summarizer, error) {
	if cfg.Model == nil {
		return nil, nil
	}
	temperature := 0.2 // notes should follow the messages, not vary
	loop, err := agentloop.New(agentloop.Config{
		Model: cfg.Model, System: strings.TrimSpace(summaryPrompt), Temperature: &temperature,
		MaxSteps: 1, MaxOutputTokens: maxSummaryTokens, Price: cfg.Price, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("summary: %w", err)
	}
	s := &Summarizer{loop: loop, store: store, log: cfg.Logger}
	s.count, err = cfg.Meter.Int64Counter(telemetry.MetricSummaries, metric.WithUnit("{summary}"),
		metric.WithDescription("Summaries of threads by outcome."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start has the summary of a recorded turn's thread written in the background. today is the line of the prompt that names the date;
// check returns what of the summary may be shown. The first message of a thread serves as its summary, so the first turn needs none.
func (s *Summarizer) Start(ctx context.Context, l *Lease, today string, check func(text string) string) {
	if s == nil || l.Thread == nil || len(l.Thread.Messages) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running == MaxSummaries {
		s.done(ctx, SummaryDropped)
		s.log.WarnContext(ctx, "summary dropped: too many are under way", "store", l.Scope.StoreID, "turn", l.Scope.TurnID)
		return
	}
	s.running++
	s.wg.Go(func() { s.run(context.WithoutCancel(ctx), l.Scope.StoreID, l.Scope.ThreadID, today, check) })
}

// Wait waits until no summary is being written.
func (s *Summarizer) Wait() {
	if s != nil {
		s.wg.Wait()
	}
}

// Close waits until the summaries under way are written. When ctx ends, it gives up those that are left.
func (s *Summarizer) Close(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	defer context.AfterFunc(ctx, s.cancel)()
	s.wg.Wait()
	s.cancel()
}

// run writes one summary. After a failure, the old summary stands.
func (s *Summarizer) run(ctx context.Context, storeID, threadID, today string, check func(string) string) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.write(ctx, storeID, threadID, today, check); err != nil {
		s.done(ctx, SummaryFailed)
		s.log.WarnContext(ctx, "summary not written", "store", storeID, "thread", threadID, "error", err)
	}
}

// write reads the thread, since other turns may have come meanwhile, and writes its summary unless it is gone. A panic
// becomes an error; the stack goes to the log.
func (s *Summarizer) write(ctx context.Context, storeID, threadID, today string, check func(string) string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "panic in a summary", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	known, err := s.store.Load(ctx, storeID, threadID, summaryMessages)
	if err != nil || known == nil {
		return err
	}
	known.Messages = boundHistory(known.Messages)
	result, err := s.loop.Run(ctx, nil, notesMessage(known, today))
	if err != nil {
		return err
	}
	if result.FinishReason == agentloop.FinishContentFilter {
		return errors.New("the provider withheld the text")
	}
	summary := text.Head(strings.TrimSpace(check(strings.ToValidUTF8(result.Text, "\uFFFD"))), MaxSummary)
	switch {
	case summary == "":
		return errors.New("the model wrote nothing")
	case ownPrompt.Repeats(summary):
		return errors.New("the model repeats its prompt")
	}
	if err := s.store.SetSummary(ctx, storeID, known, summary); err != nil {
		return err
	}
	s.done(ctx, SummaryWritten)
	cost := slog.String("cost", "unknown")
	if result.Cost != nil {
		cost = slog.Int64("cost_micros", result.Cost.Micros)
	}
	s.log.InfoContext(ctx, "summary written", "store", storeID, "thread", threadID, "model", result.Model,
		"duration", result.Duration, "input_tokens", result.Usage.InputTokens, "output_tokens", result.Usage.OutputTokens, cost)
	return nil
}

func (s *Summarizer) done(ctx context.Context, outcome string) {
	s.count.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyOutcome, outcome)))
}

// unfence escapes the characters of tags, so that no text can end its place between tags.
var unfence = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// notesMessage is what the model is given: the notes so far and the last messages, between tags. Both are texts that the shopper
// has seen.
func notesMessage(t *Thread, today string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nYour notes so far:\n<notes>\n%s\n</notes>\n\nThe last messages:\n<messages>\n", today, unfence.Replace(t.Summary))
	for _, m := range t.Messages {
		who := "shopper"
		if m.GetRole() == commonv1.Role_ROLE_ASSISTANT {
			who = "store"
		}
		fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", who, unfence.Replace(text.Head(m.GetText(), summaryMessage)), who)
	}
	b.WriteString("</messages>\n\nWrite the notes anew.")
	return b.String()
}

// SetSummary keeps a summary of a thread as it was loaded, unless that thread is gone or has a summary of as many turns.
func (s *Store) SetSummary(ctx context.Context, storeID string, of *Thread, summary string) error {
	sealed, err := s.cfg.Sealer.Seal(summaryPlace(storeID, of.ID), []byte(summary))
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	keys := []string{threadKey(storeID, of.ID)}
	err = summaryScript.Run(ctx, s.cfg.Redis, keys, sealed, of.Turns, of.Created.UnixMilli()).Err()
	return state.Error("write summary", err)
}
