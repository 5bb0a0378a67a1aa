package main

import (
	"strings"
	"testing"
)

func TestWrapper(t *testing.T) {
	const s = "The Dune Lamp costs 49 EUR.\n- red, in stock\n\n  an-unbreakably-long-word follows  it"
	for width, want := range map[int]string{
		0:  s,
		80: s,
		12: "The Dune\nLamp costs\n49 EUR.\n- red, in\nstock\n\n  an-unbreakably-long-word\nfollows  it",
	} {
		for _, size := range []int{1, 3, len(s)} { // however it is cut
			var b strings.Builder
			w := &wrapper{out: &b, width: width}
			for i := 0; i < len(s); i += size {
				if _, err := w.Write([]byte(s[i:min(len(s), i+size)])); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil || b.String() != want {
				t.Errorf("width %d, pieces of %d: %v\n%q, want\n%q", width, size, err, b.String(), want)
			}
		}
	}
}
