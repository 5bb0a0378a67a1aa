package e2e

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/judge"
	"github.com/quartet-commerce/quartet/services/internal/offline/wire"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

// judging is a model that finds each first sentence wrong, and leaves all else to another one.
type judging struct {
	http.Handler
	asked atomic.Int32
}

func (j *judging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(judge.OutputName)) {
		j.Handler.ServeHTTP(w, r)
		return
	}
	j.asked.Add(1)
	a := wire.Answer{Text: `{"wrong":[{"sentence":1,"why":"it is wrong"}]}`, Finish: openai.FinishReasonStop}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range a.Chunks() {
		_, _ = w.Write([]byte("data: " + string(chunk) + "\n\n"))
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// TestAStoresModelJudgesReplies asks over HTTP, once with a model that judges, and once with the offline model, which refuses to.
func TestAStoresModelJudgesReplies(t *testing.T) {
	const message = "do you have trail running shoes, and how long can I return them?"
	for _, canJudge := range []bool{true, false} {
		redisServer, err := state.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		defer redisServer.Close()
		j := &judging{Handler: newBrain(t)}
		var brain http.Handler = j
		if !canJudge {
			brain = j.Handler
		}
		var log logLines
		h := newSystemWith(t, redisServer.URL(), brain, func(cfg *suite.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		plain := h.ask(t, message)
		outcome := map[bool]string{true: "judged", false: "failed"}[canJudge]
		before := counted(t, telemetry.MetricJudgments, telemetry.KeyOutcome, outcome)
		judgeClaims(t, h)
		if j.asked.Load() != 0 {
			t.Error("a store that did not ask for it is judged")
		}
		judged := h.ask(t, message)
		if n := counted(t, telemetry.MetricJudgments, telemetry.KeyOutcome, outcome) - before; n != 3 {
			t.Errorf("the metric says that %d texts %s, want two answers and the merge", n, outcome)
		}
		if !canJudge {
			if judged.GetText() != plain.GetText() || !strings.Contains(log.String(), "no model has judged the answer") || strings.Contains(log.String(), "return them") {
				t.Errorf("%q, not %q; log:\n%s", judged.GetText(), plain.GetText(), log.String())
			}
			continue
		}
		if j.asked.Load() != 3 {
			t.Errorf("the model has judged %d texts, want two answers and the merge", j.asked.Load())
		}
		lost := 0
		for _, r := range judged.GetResults() {
			lost += len(r.GetAnswer().GetUnsupportedClaims())
		}
		first, _, _ := strings.Cut(plain.GetText(), "\n")
		if lost != 2 || strings.Contains(judged.GetText(), first) || judged.GetText() == "" {
			t.Errorf("%d sentences were dropped:\n%s\nof\n%s", lost, judged.GetText(), plain.GetText())
		}
		if dropped := judged.GetMerge().GetDroppedClaims(); len(dropped) != 1 || dropped[0].GetText() == "" || dropped[0].GetSources()[0].GetValue() != "it is wrong" {
			t.Errorf("the merge dropped %v", dropped)
		}
		for _, c := range judged.GetClaims() {
			if v := c.GetVerdict(); v == specialistv1.ClaimVerdict_CLAIM_VERDICT_UNDECIDED {
				t.Errorf("%q is undecided", c.GetText())
			}
		}
	}
}

// judgeClaims has the model of the demo store judge claims.
func judgeClaims(t *testing.T, h *system) {
	t.Helper()
	demo, err := h.data.Stores.GetStore(t.Context(), &gatewayv1.GetStoreRequest{StoreId: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	demo.Store.JudgeClaims = true
	if _, err := h.data.Stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: demo.Store}); err != nil {
		t.Fatal(err)
	}
}

func TestAJudgedTurnReplays(t *testing.T) {
	j := &judging{Handler: newBrain(t)}
	h, dir := recordingSystemWith(t, bundle.Config{Keep: bundle.All}, j)
	judgeClaims(t, h)
	reply := askRecorded(t, h, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: "do you have trail running shoes, and how long can I return them?"})
	checkReplay(t, bundleOf(dir, reply), reply)
	if j.asked.Load() != 3 {
		t.Errorf("the model has judged %d texts, want two answers and the merge, and none in the replay", j.asked.Load())
	}
}
