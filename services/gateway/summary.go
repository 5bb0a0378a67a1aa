package gateway

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

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

//go:embed summary.md
var summaryPrompt string

const (
	// maxSummary is the longest summary of a thread, in characters.
	maxSummary = 1000
	// maxSummaryTokens is what a model may write: maxSummary characters of any language.
	maxSummaryTokens = 700
	// maxSummaries is how many summaries are written at the same time. A turn that comes beyond leaves its thread's to the
	// next turn.
	maxSummaries = 64
	// summaryTime bounds the work on one summary. Nobody waits for it but the next turn's specialists, if they come so soon.
	summaryTime = 20 * time.Second
	// summaryMessages are the last messages that a summary is made of, beside the one before. They are more than a turn has,
	// so that a summary which was not written is made up for by a later one.
	summaryMessages = 12
	// summaryMessage is how much of a message is read, in characters.
	summaryMessage = 2000
)

// Values of telemetry.KeyOutcome.
const (
	summaryWritten = "written"
	summaryFailed  = "failed"
	summaryDropped = "dropped"
)

// summarizer writes the running summaries of threads, after the turns. A nil summarizer writes none. It is safe for
// concurrent use.
type summarizer struct {
	loop    *agentloop.Loop
	threads threads
	log     *slog.Logger
	count   metric.Int64Counter
	ctx     context.Context // ends when close waits no longer
	cancel  context.CancelFunc

	mu      sync.Mutex
	running int
	closed  bool
	wg      sync.WaitGroup // of the running ones; added to under mu, and only before closed
}

// newSummarizer returns nil without a model.
func newSummarizer(cfg Config, t threads) (*summarizer, error) {
	if cfg.FastModel == nil {
		return nil, nil
	}
	temperature := 0.2 // notes should follow the messages, not vary
	loop, err := agentloop.New(agentloop.Config{
		Model: cfg.FastModel, System: strings.TrimSpace(summaryPrompt), Temperature: &temperature,
		MaxSteps: 1, MaxOutputTokens: maxSummaryTokens, Price: cfg.FastPrice, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("summary: %w", err)
	}
	s := &summarizer{loop: loop, threads: t, log: cfg.Logger}
	s.count, err = cfg.MeterProvider.Meter(instrumentation).Int64Counter(telemetry.MetricSummaries, metric.WithUnit("{summary}"),
		metric.WithDescription("Summaries of threads by how writing them went."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// start has the summary of a turn's thread written, once the turn is recorded, and does not wait for it. The first message
// of a thread serves as its summary, so there is none to write after the first turn.
func (s *summarizer) start(ctx context.Context, t *turn) {
	if s == nil || len(t.history) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running == maxSummaries {
		s.done(ctx, summaryDropped)
		s.log.WarnContext(ctx, "summary not begun: too many are under way", "store", t.scope.StoreID, "turn", t.scope.TurnID)
		return
	}
	s.running++
	s.wg.Go(func() { s.run(context.WithoutCancel(ctx), t.scope.StoreID, t.scope.ThreadID) })
}

// close waits until the summaries that were begun are written. When ctx ends, it gives up those that are left.
func (s *summarizer) close(ctx context.Context) {
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

// run writes one summary. A failure costs no more than the summary: the old one stands.
func (s *summarizer) run(ctx context.Context, storeID, threadID string) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.write(ctx, storeID, threadID); err != nil {
		s.done(ctx, summaryFailed)
		s.log.WarnContext(ctx, "summary not written", "store", storeID, "thread", threadID, "error", err)
	}
}

// write reads the thread, since other turns may have come meanwhile, and writes its summary unless it is gone. A panic
// becomes an error; the stack goes to the log.
func (s *summarizer) write(ctx context.Context, storeID, threadID string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "panic in a summary", "panic", p, "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	known, err := s.threads.load(ctx, storeID, threadID, summaryMessages)
	if err != nil || known == nil {
		return err
	}
	result, err := s.loop.Run(ctx, nil, notesMessage(known))
	if err != nil {
		return err
	}
	if result.FinishReason == agentloop.FinishContentFilter {
		return errors.New("the provider withheld the text")
	}
	text := firstRunes(strings.TrimSpace(strings.ToValidUTF8(result.Text, "\uFFFD")), maxSummary)
	if text == "" {
		return errors.New("the model wrote nothing")
	}
	if err := s.threads.setSummary(ctx, storeID, threadID, text, known.turns); err != nil {
		return err
	}
	s.done(ctx, summaryWritten)
	cost := slog.String("cost", "unknown")
	if result.Cost != nil {
		cost = slog.Int64("cost_micros", result.Cost.Micros)
	}
	s.log.InfoContext(ctx, "summary written", "store", storeID, "thread", threadID, "model", result.Model,
		"duration", result.Duration, "input_tokens", result.Usage.InputTokens, "output_tokens", result.Usage.OutputTokens, cost)
	return nil
}

func (s *summarizer) done(ctx context.Context, outcome string) {
	s.count.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyOutcome, outcome)))
}

// unfence takes from a text what could end its place between tags.
var unfence = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// notesMessage is what the model is given: the notes so far and the last messages, between tags. Both are final texts alone.
func notesMessage(t *thread) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your notes so far:\n<notes>\n%s\n</notes>\n\nThe last messages:\n<messages>\n", unfence.Replace(t.summary))
	for _, m := range t.messages {
		who := "shopper"
		if m.GetRole() == commonv1.Role_ROLE_ASSISTANT {
			who = "store"
		}
		fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", who, unfence.Replace(firstRunes(m.GetText(), summaryMessage)), who)
	}
	b.WriteString("</messages>\n\nWrite the notes anew.")
	return b.String()
}
