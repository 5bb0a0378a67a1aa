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
	if memory, _ := figures["memory"].(map[string]any); memory["turns"] != 2.0 || figures["ideal_ms"] != 4.0 {
		t.Errorf("figures: %s", out)
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("profile: %v", err)
	}
	if !strings.Contains(stderr, "3 turns one after the other") {
		t.Errorf("progress:\n%s", stderr)
	}
}

func TestBenchLoadAsksAtARate(t *testing.T) {
	code, out, stderr := quartet(t.Context(), nil, "bench", "load", "--rate", "20", "--duration", "2s", "--latency", "100ms", "--max-turns", "3", "--json")
	if code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	var report bench.ArrivalsReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	answered, shed := report.Outcomes[bench.Answered], report.Outcomes[bench.Shed]
	// Three turns of 400 ms at once are at most 7.5 turns a second of 20.
	if answered.Turns < 3 || shed.Turns < 10 || answered.P50 < 400 || report.ShedShare < .3 || len(report.Outcomes) != 2 {
		t.Errorf("report: %s", out)
	}
	if len(report.Resources) != 11 || report.Resources[10].MiB <= 0 || report.Resources[10].Goroutines < 10 {
		t.Errorf("resources: %+v", report.Resources)
	}
}

func TestMistakesOfBench(t *testing.T) {
	for says, args := range map[string][]string{
		"say what to measure":       {},
		"cannot measure":            {"lunch"},
		"rate is 0":                 {"load", "--rate", "0"},
		"duration is 0s":            {"load", "--duration", "0s"},
		"cannot be given with":      {"load", "--addr", "127.0.0.1:1", "--max-turns", "3"},
		"turns is 0":                {"turn", "--turns", "0"},
		"concurrency is -1":         {"turn", "--concurrency", "-1"},
		"latency is -1s":            {"turn", "--latency", "-1s"},
		"in-flight is -4":           {"turn", "--in-flight", "-4"},
		"always, certain, off":      {"turn", "--run-ahead", "maybe"},
		"--in-flight must not be 0": {"turn", "--in-flight", "0", "--memprofile", "/tmp/m"},
	} {
		code, _, stderr := quartet(t.Context(), nil, append([]string{"bench"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit code %d, want %q:\n%s", args, code, says, stderr)
		}
	}
}
