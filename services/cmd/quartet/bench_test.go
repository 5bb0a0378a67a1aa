package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/bench"
)

func TestBenchMeasuresATurnOfTheWholeSuite(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "cpu.out")
	code, out, stderr := quartet(t.Context(), nil, "bench", "turn", "--turns", "3", "--concurrency", "2", "--latency", "1ms",
		"--in-flight", "2", "--cpuprofile", profile, "--json")
	if code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	var figures map[string]any
	if err := json.Unmarshal([]byte(out), &figures); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, key := range []string{
		"ideal_ms", "median_ms", "ratio", "run_ahead_ratio", "cpu_ms_per_turn", "baseline_cpu_ms_per_turn", "turns_per_second",
	} {
		if v, ok := figures[key].(float64); !ok || v <= 0 {
			t.Errorf("%s is %v", key, figures[key])
		}
	}
	if memory, _ := figures["memory"].([]any); len(memory) != 1 || figures["ideal_ms"] != 4.0 {
		t.Errorf("figures: %s", out)
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("profile: %v", err)
	}
	if !strings.Contains(stderr, "3 turns one after the other") {
		t.Errorf("progress:\n%s", stderr)
	}
}

func TestMistakesOfBench(t *testing.T) {
	for says, args := range map[string][]string{
		"say what to measure":       {},
		"can not be measured":       {"lunch"},
		"--turns is 0":              {"turn", "--turns", "0"},
		"--concurrency is -1":       {"turn", "--concurrency", "-1"},
		"--latency is -1s":          {"turn", "--latency", "-1s"},
		"--in-flight is -4":         {"turn", "--in-flight", "-4"},
		"always, certain, off":      {"turn", "--run-ahead", "maybe"},
		"--in-flight must not be 0": {"turn", "--in-flight", "0", "--memprofile", "/tmp/m"},
	} {
		code, _, stderr := quartet(t.Context(), nil, append([]string{"bench"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit code %d, want %q:\n%s", args, code, says, stderr)
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

func TestBenchPrintsFiguresBesideGoals(t *testing.T) {
	var out output
	printBench(&out, &bench.Report{
		IdealMS: 200, MedianMS: 203, Ratio: 1.015, RunAhead: "always", RunAheadMedianMS: 152, RunAheadRatio: 0.76,
		CPUMS: 3, BaselineCPUMS: 2, CPURatio: 1.5, InFlight: 4000, Memory: []bench.Memory{{Turns: 1000, Total: 190}, {Turns: 4000, Total: 180}},
	}, "somewhere")
	for _, want := range []string{"1.015", "at most 1.02", "0.760", "at most 0.77", "1.500", "at most 1.8", "180 KiB", "at most 210", "state: somewhere"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "at most 210"); n != 1 {
		t.Errorf("the goal of memory stands beside %d figures:\n%s", n, &out)
	}
}
