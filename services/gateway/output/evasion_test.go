package output_test

import (
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

// What stands beside the destination of an allowed link is read like all other text: renderers take no link there, but what it holds.
func TestNothingHidesInAnAllowedLink(t *testing.T) {
	p := output.New(&gatewayv1.Store{WebHosts: []string{"shop.example"}}, "en")
	for _, s := range []string{
		`[a](/x <img src=//evil.com/?d=1>)`,
		`[a](/x "<img src=//evil.com>")`,
		`[a](#x https://evil.com/)`,
		`[a](/x me@evil.com)`,
		`[a](https://shop.example/ "call +1 555 010 9999 at evil.com")`,
		`[a](</x <img src=//evil.com>)`,
		`[a](/x<img/src=//evil.com>)`,
		`[a](/&Tab;/evil.com)`,
		`[a](/&NewLine;/evil.com)`,
		`[a](&#9;//evil.com)`,
		"evil。com/x",
		"Go to evil｡com now",
		"+1·555·010·9999",
		"+1•555•010•9999",
		"+1_555_010_9999",
		"+1 | 555 | 010 | 9999",
		"+1 *555* *010* *9999*",
		"+1 555 010 9999€",
		"sip:evil", "facetime:evil", "xmpp:evil",
	} {
		if got := p.Text(s); strings.Contains(got, "evil") || strings.Contains(got, "<img") || strings.Contains(got, "9999") || strings.Contains(got, "Tab") {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
	for _, s := range []string{"[a](/x)", "[a](#top)", "[a](https://shop.example/a_(b))", "完了。Next", "Done。42 left", "+3 * 250 g, 2 * 125 g", "+1 | 2 | 3"} {
		if got := p.Text(s); got != s {
			t.Errorf("Text(%q) = %q, want it unchanged", s, got)
		}
	}
}

// A text without a place to cut is checked in parts, however it comes.
func TestLongTextsWithoutEndsDependNotOnPieces(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	p := output.New(&gatewayv1.Store{}, "en")
	for _, unit := range []string{"1 [](", "1 [a](/x) ", "1 ](", "1 <a ", "1 &amp;", "1 a.b/ ", "1 a@ ", "1 [", "+1 ", "1 (at)"} {
		s := strings.Repeat(unit, 200_000/len(unit))
		whole := p.Text(s)
		stream, pieces := p.NewStream(), ""
		for i := 0; i < len(s); i += 1000 {
			pieces += stream.Add(s[i:min(i+1000, len(s))])
		}
		if pieces += stream.Rest(); pieces != whole {
			t.Errorf("%q repeated: %d bytes in pieces, %d as a whole", unit, len(pieces), len(whole))
		}
	}
}
