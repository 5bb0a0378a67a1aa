package fanout

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
)

// several is n times the same.
func several(n int, confirmed bool, tokens int64) []speculated {
	out := make([]speculated, n)
	for i := range out {
		out[i] = speculated{confirmed: confirmed, tokens: tokens}
	}
	return out
}

func TestWasteIsAShareOfTokensOrElseOfBranches(t *testing.T) {
	tests := []struct {
		name            string
		confirmed, lost []speculated
		want            float64
	}{
		{"nothing is wasted", several(3, true, 100), nil, 0},
		{"tokens count, not branches", several(1, true, 900), several(3, false, 100), 0.25},
		{"no tokens are known of any", several(3, true, 0), several(1, false, 0), 0.25},
		{"none are known of what was cancelled early", several(3, true, 100), several(1, false, 0), 0.25},
		{"all is wasted, whatever it was", nil, several(2, false, 0), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := waste(append(tt.confirmed, tt.lost...)); got != tt.want {
				t.Errorf("waste %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWasteLimiterPausesAndTriesAgain(t *testing.T) {
	var l wasteLimiter
	add := func(n int, confirmed bool) (paused bool) {
		for range n {
			paused, _ = l.add(speculated{confirmed: confirmed, tokens: 100})
		}
		return paused
	}
	allowed := func(turns int) (n int) {
		for range turns {
			if l.allow() {
				n++
			}
		}
		return n
	}
	if add(wasteSample-1, false) {
		t.Error("it pauses on too small a sample")
	}
	if !add(1, false) || allowed(10*probeInterval) != 10 {
		t.Error("it does not pause, or does not try again now and then")
	}
	if !add(wasteSample, false) {
		t.Error("it does not stay paused though the trial was no better")
	}
	if add(wasteSample, true) || allowed(100) != 100 {
		t.Error("it stays paused though the trial was good")
	}
	if add(wasteWindow, true) || add(wasteWindow*3/10, false) {
		t.Error("it pauses at the cap")
	}
	if !add(1, false) {
		t.Error("it does not pause above the cap, of the last branches alone")
	}
}

func TestModesSayWhichAssignmentsStart(t *testing.T) {
	doubtful := &routerv1.Assignment{Confidence: 0.66} // wrong more than one time in three
	uncertain := &routerv1.Assignment{Confidence: 0.67}
	certain := &routerv1.Assignment{Confidence: 0.5, Certain: true}
	for _, tt := range []struct {
		mode RunAhead
		want []bool // anything; an assignment below the threshold; one that the router is not certain of; one that it is certain of
	}{
		{RunAheadAlways, []bool{true, false, true, true}},
		{RunAheadCertain, []bool{true, false, false, true}},
		{RunAheadOff, []bool{false, false, false, false}},
	} {
		s, err := newSpeculation(tt.mode, noop.Meter{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		got := []bool{s != nil, s != nil && s.wants(doubtful), s != nil && s.wants(uncertain), s != nil && s.wants(certain)}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.mode, diff)
		}
	}
}
