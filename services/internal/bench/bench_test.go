package bench

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// serve serves a fake model.
func serve(t *testing.T) *Remote {
	t.Helper()
	server := httptest.NewServer(NewFake())
	t.Cleanup(server.Close)
	return NewRemote(server.URL)
}

// suiteOf stands for the suite: it makes the calls of the turn.
func suiteOf(t *testing.T, model *Remote) Turn {
	t.Helper()
	l, err := newLoop(model.BaseURL(), turnRequests())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l.turn
}

func small(model *Remote, turn Turn) Config {
	return Config{
		Model: model, Latency: time.Millisecond, Turns: 4, Concurrency: 2, InFlight: 3, Progress: func(string) {},
		Open: func(context.Context, string) (Turn, func() error, error) {
			return turn, func() error { return nil }, nil
		},
	}
}

func TestRunMeasuresEverything(t *testing.T) {
	model := serve(t)
	turn := suiteOf(t, model)
	var opened []string
	closed := 0
	var cpu, heap bytes.Buffer
	cfg := small(model, turn)
	cfg.RunAhead, cfg.CPUProfile, cfg.HeapProfile = "always", &cpu, &heap
	cfg.Open = func(_ context.Context, mode string) (Turn, func() error, error) {
		opened = append(opened, mode)
		return turn, func() error { closed++; return nil }, nil
	}
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(opened, []string{"off", "always"}) || closed != 2 {
		t.Errorf("opened %v, closed %d times", opened, closed)
	}
	if r.IdealMS != 4 || r.Ratio != r.MedianMS/4 || r.RunAheadRatio != r.RunAheadMedianMS/4 || r.CPURatio != r.CPUMS/r.BaselineCPUMS {
		t.Errorf("the ratios are not those of the figures: %+v", r)
	}
	for name, v := range map[string]float64{
		"median": r.MedianMS, "run-ahead median": r.RunAheadMedianMS, "baseline median": r.BaselineMedianMS, "cpu": r.CPUMS,
		"baseline cpu": r.BaselineCPUMS, "run-ahead cpu": r.RunAheadCPUMS, "turns per second": r.TurnsPerSecond,
	} {
		if v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if r.MedianMS < r.IdealMS || r.BaselineMedianMS < r.IdealMS {
		t.Errorf("a turn took less than its model calls: %v and %v of %v ms", r.MedianMS, r.BaselineMedianMS, r.IdealMS)
	}
	if r.Memory == nil || r.Memory.Turns != 3 || r.Memory.Total != r.KiBInFlight {
		t.Errorf("memory: %+v", r.Memory)
	}
	if cpu.Len() == 0 || heap.Len() == 0 {
		t.Errorf("profiles of %d and %d bytes", cpu.Len(), heap.Len())
	}
}

func TestWhatIsOffIsLeftOut(t *testing.T) {
	model := serve(t)
	cfg := small(model, suiteOf(t, model))
	cfg.RunAhead, cfg.InFlight = runAheadOff, 0
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r.RunAheadRatio != 0 || r.KiBInFlight != 0 || r.Memory != nil {
		t.Errorf("report: %+v", r)
	}
}

func TestAnotherTurnIsNotMeasured(t *testing.T) {
	model := serve(t)
	turn := suiteOf(t, model)
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		turn Turn
		says string
	}{
		"one that calls too often": {func(ctx context.Context) error { return errors.Join(turn(ctx), turn(ctx)) }, "made 60 model calls, want 6 each"},
		"one that does not call":   {func(context.Context) error { return nil }, "made 0 model calls"},
		"one that fails":           {func(context.Context) error { return broken }, "broken"},
	} {
		if _, err := Run(t.Context(), small(model, tt.turn)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

func TestATurnThatDoesNotHangIsNoTurnInFlight(t *testing.T) {
	cfg := small(serve(t), nil)
	_, err := cfg.hang(t.Context(), func(context.Context) error { return errors.New("not today") }, 2)
	if err == nil || !strings.Contains(err.Error(), "should hang") || !strings.Contains(err.Error(), "not today") {
		t.Errorf("error is %v", err)
	}
}

func TestOneFailedTurnEndsALoad(t *testing.T) {
	cfg := small(serve(t), nil)
	broken := errors.New("broken")
	if err := cfg.run(t.Context(), func(context.Context) error { return broken }, 100); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

func TestRequestsOfAnotherTurnMakeNoLoop(t *testing.T) {
	all := turnRequests()
	for name, requests := range map[string]int{"none": 0, "without the merge": len(all) - 1} {
		if _, err := newLoop("http://127.0.0.1", all[:requests]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCheckKnowsTheTurn(t *testing.T) {
	answered := func(calls ...*specialistv1.ToolCall) *gatewayv1.AssignmentResult {
		return &gatewayv1.AssignmentResult{Assignment: &routerv1.Assignment{Specialist: "search"},
			Outcome: &gatewayv1.AssignmentResult_Answer{Answer: &specialistv1.Answer{ToolCalls: calls}}}
	}
	good := answered(&specialistv1.ToolCall{ToolName: "t"})
	reply := func(method gatewayv1.MergeMethod, results ...*gatewayv1.AssignmentResult) *gatewayv1.AskResponse {
		return &gatewayv1.AskResponse{Text: "text", MergeMethod: method, Results: results}
	}
	const byModel = gatewayv1.MergeMethod_MERGE_METHOD_MODEL
	failed := &gatewayv1.AssignmentResult{Outcome: &gatewayv1.AssignmentResult_Failure{Failure: &gatewayv1.Failure{Message: "late"}}}
	for says, r := range map[string]*gatewayv1.AskResponse{
		"":                    reply(byModel, good, good),
		"1 assignments":       reply(byModel, good),
		"failed: late":        reply(byModel, good, failed),
		"made 0 tool calls":   reply(byModel, good, answered()),
		"one that succeeds":   reply(byModel, good, answered(&specialistv1.ToolCall{Error: "no"})),
		"merged by MERGE_MET": reply(gatewayv1.MergeMethod_MERGE_METHOD_JOINED, good, good),
	} {
		if err := check(r); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("error is %v, want %q", err, says)
		}
	}
}

func TestTurnsInFlightNeedOpenFiles(t *testing.T) {
	if err := checkOpenFiles(4000, 1024); err == nil || !strings.Contains(err.Error(), "4000 turns in flight need 8256 open files") {
		t.Errorf("error is %v", err)
	}
	for inFlight, most := range map[int]uint64{4000: 8256, 4001: 0, 0: 10} {
		if err := checkOpenFiles(inFlight, most); err != nil {
			t.Errorf("%d turns, %d files: %v", inFlight, most, err)
		}
	}
}

func TestPrintShowsFiguresBesideGoals(t *testing.T) {
	var out strings.Builder
	r := &Report{
		IdealMS: 200, MedianMS: 203, Ratio: 1.015, RunAhead: "always", RunAheadMedianMS: 152, RunAheadRatio: 0.76,
		CPUMS: 3, BaselineCPUMS: 2, CPURatio: 1.5, Memory: &Memory{Turns: 4000, Total: 180},
	}
	r.Print(&out, "somewhere")
	for _, want := range []string{"1.015", "at most 1.02", "0.760", "at most 0.77", "1.500", "at most 1.8", "180 KiB", "at most 210", "state: somewhere"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}
