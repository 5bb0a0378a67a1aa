package eval

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	upTo := func(n int) []time.Duration {
		var all []time.Duration
		for i := range n {
			all = append(all, time.Duration(i+1))
		}
		return all
	}
	for _, tt := range []struct {
		n    int
		q    float64
		want time.Duration
	}{
		{0, 0.5, 0}, {1, 0.5, 1}, {1, 0.99, 1}, {2, 0.5, 1}, {3, 0.5, 2}, {99, 0.99, 99}, {100, 0.99, 99}, {200, 0.99, 198}, {200, 0.5, 100},
	} {
		if got := Quantile(upTo(tt.n), tt.q); got != tt.want {
			t.Errorf("quantile %v of 1 to %d is %v, want %v", tt.q, tt.n, got, tt.want)
		}
	}
}

func TestShare(t *testing.T) {
	for share, want := range map[Share]string{
		{0, 0}: "-", {0, 100}: "0.0 % [0.0, 3.7]", {50, 100}: "50.0 % [40.4, 59.6]", {100, 100}: "100.0 % [96.3, 100.0]",
	} {
		if got := share.String(); got != want {
			t.Errorf("%d of %d: %s, want %s", share.N, share.Of, got, want)
		}
	}
}
