package model

import (
	"testing"
	"time"
)

func TestHowLongAnEndpointMayBeSilent(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want time.Duration // zero or less: for ever
	}{
		"by default":                 {Config{}, DefaultIdleTimeout},
		"as long as said":            {Config{IdleTimeout: time.Hour}, time.Hour},
		"for ever":                   {Config{IdleTimeout: -1}, -1},
		"for ever, without a stream": {Config{NoStream: true}, 0},
		"unless said":                {Config{NoStream: true, IdleTimeout: time.Second}, time.Second},
	} {
		if got := c.cfg.idleTimeout(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
