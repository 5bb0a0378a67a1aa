package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// summarized waits until the summaries that were begun are written or given up.
func (h *fixture) summarized() { h.service.summaries.Wait() }

// summaryOf returns the summary that a thread has now.
func (h *fixture) summaryOf(thread string) string {
	h.t.Helper()
	known, err := h.service.threads.Load(context.Background(), "demo", thread, 1)
	if err != nil || known == nil {
		h.t.Fatalf("thread %s: %v, %v", thread, known, err)
	}
	return known.Summary
}

// asked returns the last message of a request to a model.
func asked(r *agentloop.Request) string { return r.Messages[len(r.Messages)-1].Text }

func TestAThreadIsSummedUpFromItsSecondTurnOn(t *testing.T) {
	model := scripted.New(scripted.Step{Text: " Wants shoes. \n"}, scripted.Step{Text: strings.Repeat("ü", threads.MaxSummary+1)})
	h := newFixture(t, miniredis.RunT(t))
	h.config.FastModel = model
	h.config.Now = noonOnSunday
	m := h.meter()
	h.start()
	h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		return sayAnswer(stream, &specialistv1.Answer{
			Text: "We have </messages> two.", ToolCalls: []*specialistv1.ToolCall{{ResultPreview: "payload"}},
		})
	}
	long := "search: " + strings.Repeat("x", 200)
	want := []string{long[:200], "Wants shoes.", strings.Repeat("ü", threads.MaxSummary)}
	for i, message := range []string{long, "search: in </messages> red", "support: returns"} {
		h.askIn("t1", "ann", message)
		h.summarized()
		if got := h.summaryOf("t1"); got != want[i] {
			t.Errorf("after turn %d: summary %q, want %q", i+1, got, want[i])
		}
	}
	requests, _ := h.specialists["support"].calls()
	if got := requests[0].GetSummary(); got != want[1] {
		t.Errorf("the specialist of the third turn was told %q", got)
	}
	sent := model.Requests()
	wantSent := sunday + "\nYour notes so far:\n<notes>\nWants shoes.\n</notes>\n\nThe last messages:\n<messages>\n" +
		"<shopper>\n" + long + "\n</shopper>\n<store>\nWe have  two.\n</store>\n" +
		"<shopper>\nsearch: in &lt;/messages&gt; red\n</shopper>\n<store>\nWe have  two.\n</store>\n" +
		"<shopper>\nsupport: returns\n</shopper>\n<store>\nsupport says returns.\n</store>\n" +
		"</messages>\n\nWrite the notes anew."
	if diff := cmp.Diff(wantSent, asked(sent[1])); diff != "" {
		t.Errorf("the model was sent (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(sent[0].Messages[0].Text, "You keep the notes of a conversation between a shopper and an online store") {
		t.Errorf("prompt %q", sent[0].Messages[0].Text)
	}
	if got := m.sums(telemetry.MetricSummaries, telemetry.KeyOutcome); got[threads.SummaryWritten] != 2 || len(got) != 1 {
		t.Errorf("metric %v", got)
	}
}

func TestASummaryThatFailsLeavesTheOldOne(t *testing.T) {
	for name, steps := range map[string][]scripted.Step{
		"the model fails":          {{Err: errors.New("no")}},
		"the model says nothing":   {{}, {Text: " \n"}},
		"the model breaks":         {{Text: "Wan", Err: errors.New("no")}},
		"the model hangs":          {{Text: "Wan", Hang: true}},
		"the text is withheld":     {{Text: "Wan", FinishReason: agentloop.FinishContentFilter}},
		"the model makes us panic": {{Check: func(*agentloop.Request) error { panic("kaboom") }}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				h.config.FastModel = scripted.New(append([]scripted.Step{{Text: "Wants shoes."}}, steps...)...)
				m := h.meter()
				h.start()
				for _, message := range []string{"search: shoes", "search: in red", "support: returns"} {
					begun := time.Now()
					h.askIn("t1", "ann", message)
					if took := time.Since(begun); took > 100*time.Millisecond {
						t.Errorf("the reply took %v", took)
					}
					h.summarized()
				}
				if got := h.summaryOf("t1"); got != "Wants shoes." {
					t.Errorf("summary %q", got)
				}
				want := map[string]int64{threads.SummaryWritten: 1, threads.SummaryFailed: 1}
				if diff := cmp.Diff(want, m.sums(telemetry.MetricSummaries, telemetry.KeyOutcome)); diff != "" {
					t.Errorf("metric (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// patientModel is a model that answers when it is let to.
type patientModel struct {
	agentloop.Model
	asked chan struct{}
	let   chan struct{}
}

func newPatientModel(text string) *patientModel {
	g := &patientModel{asked: make(chan struct{}, 1000), let: make(chan struct{})}
	g.Model = scripted.Func(func(*agentloop.Request) scripted.Step {
		g.asked <- struct{}{}
		<-g.let
		return scripted.Step{Text: text}
	})
	return g
}

func TestADeletedThreadDoesNotComeBackAsASummary(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	g := newPatientModel("Wants shoes.")
	h.config.FastModel = g
	h.start()
	h.askIn("t1", "ann", "search: shoes")
	h.askIn("t1", "ann", "search: in red")
	<-g.asked
	if _, err := h.client.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: "t1"}); err != nil {
		t.Fatal(err)
	}
	close(g.let)
	h.summarized()
	if h.redis.Exists(h.key("thread:t1")) {
		t.Error("the thread is back")
	}
}

func TestConcurrentSummariesAreBounded(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	g := newPatientModel("Wants shoes.")
	h.config.FastModel = g
	m := h.meter()
	h.start()
	const turns = threads.MaxSummaries + 5
	var wg sync.WaitGroup
	for i := range turns {
		wg.Go(func() {
			h.askIn(fmt.Sprint("t", i), "ann", "search: shoes")
			h.askIn(fmt.Sprint("t", i), "ann", "search: in red")
		})
	}
	wg.Wait()
	for range threads.MaxSummaries {
		<-g.asked
	}
	close(g.let)
	h.summarized()
	want := map[string]int64{threads.SummaryWritten: threads.MaxSummaries, threads.SummaryDropped: turns - threads.MaxSummaries}
	if diff := cmp.Diff(want, m.sums(telemetry.MetricSummaries, telemetry.KeyOutcome)); diff != "" {
		t.Errorf("metric (-want +got):\n%s", diff)
	}
	h.askIn("t0", "ann", "search: in blue")
	h.summarized()
	if n := m.sums(telemetry.MetricSummaries, telemetry.KeyOutcome)[threads.SummaryWritten]; n != threads.MaxSummaries+1 {
		t.Errorf("%d written when there was room again", n)
	}
}

func TestClosingWaitsForSummariesAndGivesUpThoseThatHang(t *testing.T) {
	for _, tt := range []struct {
		step scripted.Step
		took time.Duration
		want string
	}{
		{scripted.Step{Text: "Wants shoes.", Delay: 2 * time.Second}, 2 * time.Second, "Wants shoes."},
		{scripted.Step{Hang: true}, 5 * time.Second, "search: shoes"},
	} {
		inBubble(t, func(t *testing.T, h *fixture) {
			h.config.FastModel = scripted.New(tt.step)
			h.start()
			h.askIn("t1", "ann", "search: shoes")
			h.askIn("t1", "ann", "search: in red")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			begun := time.Now()
			h.service.Close(ctx)
			if took := time.Since(begun).Round(100 * time.Millisecond); took != tt.took || h.summaryOf("t1") != tt.want {
				t.Errorf("after %v: summary %q, want %q after %v", took, h.summaryOf("t1"), tt.want, tt.took)
			}
			h.askIn("t1", "ann", "search: in blue") // which begins none any more
		})
	}
}
