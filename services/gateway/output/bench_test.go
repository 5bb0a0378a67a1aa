package output

import (
	"strings"
	"testing"
)

// A reply of a few sentences, with what replies have: prices, a date, a link, emphasis.
const reply = "Your order QT-10029 is on its way and should arrive by **23 November 2026**. You can follow it here: https://shop.example/track/TP70446718204\n\n" +
	"For wet trails, the **Dunmarrow Sleet waterproof sock** at 44.95 EUR is a good choice: it's waterproof, merino lined and crew height, in black. " +
	"If you'd rather have something light that goes with trail running shoes, the **Quillfoot Vireo running sock** at 16.95 EUR is a thin ankle sock of just 34 g, in black or lemon."

// BenchmarkText is what the check of one reply costs.
func BenchmarkText(b *testing.B) {
	p := New(store, "en")
	b.ReportAllocs()
	for b.Loop() {
		if p.Text(reply) != reply {
			b.Fatal("the reply is changed")
		}
	}
}

// BenchmarkHostileText is what a text of 32 KiB costs that is made to keep the check busy: about 30 ms, less than its transfer.
func BenchmarkHostileText(b *testing.B) {
	p := New(store, "en")
	for _, unit := range []string{"![](", "0 1", "call 1 ", "a.b ", "a@b ", "<a "} {
		b.Run(unit, func(b *testing.B) {
			s := strings.Repeat(unit, 32<<10/len(unit))
			for b.Loop() {
				p.Text(s)
			}
		})
	}
}
