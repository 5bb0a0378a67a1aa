package output

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// store has a shop, its help pages, a carrier's tracking page, an address, a domain of addresses and a phone number.
var store = &gatewayv1.Store{
	WebHosts:       []string{"shop.example", "*.help.shop.example", "track.parcel.example", "münze.example"},
	EmailAddresses: []string{"Help@shop.example", "@service.shop.example"},
	PhoneNumbers:   []string{"+49 30 1234567", "+1 (800) 555-0100"},
}

// Texts that a shopper may see stay as they are, to the byte.
func TestHonestTextsStay(t *testing.T) {
	p := New(store, "en")
	for _, s := range []string{
		"", " ", "Yes.", "We have it. Do you want it?\n\n- A: 1.50 EUR\n- B: **2,50 €**\n",
		// The store's own.
		"See https://shop.example/p/TNT-01?a=b&c=%20d#e, or http://shop.example.", "See shop.example/returns, www.help.shop.example or SHOP.example.",
		"[Returns](https://shop.example/returns) and [your page](/account) and [top](#top).", "![tent](https://shop.example/tent.jpg)",
		"Track it: https://track.parcel.example/t?id=00340434161094", "<https://shop.example/a>", "https://münze.example/x https://xn--mnze-0ra.example/x",
		"Mail help@shop.example or anna.b@service.shop.example.", "[Mail us](mailto:help@shop.example)",
		"Call +49 30 1234567, 030 1234567, 030/123 45 67 or 1-800-555-0100.", "[Call](tel:+49301234567)",
		// Prices, numbers, dates, codes.
		"It costs 1,299.00 EUR, 1.299,00 €, 1 299,00 €, $1299 or 129.95.", "Order 10234567 of 2026-11-22 has 3 items; order A-100234-77 too.",
		"From 01.12.2026 to 15.12.2026, or 01.12.2026-15.12.2026, or 12/31/2026.", "We are open 9.30-18.00, 09.00–18.30, 24/7, Mon-Fri 08:00-12:30 14:00-18:30.",
		"Parcel 00340434161094015902 or 1Z999AA10123456784 or 0034 0434 1610 9401 5902.", "EAN 4006381333931, size 42/44, A.1/B, v2.3.1, 3.5 kg, 10.5x20.5 cm.",
		"Sizes 36 37 38 39 40 41 42 are in stock.", "Use e.g. z.B. p. ej. i.e. the M.2 slot; Mr.Smith, Nr.5, U.S. size.", "Read manual.pdf, size-chart.xlsx or photo.jpg.",
		"Your call about order 1023456 is noted.", "Code SAVE20 takes 20% off; 5 < 7 & 8 > 3, <3.", "a/b, and/or, km/h, 50/50, S/M/L.", "Note: 3 left. Colour:red. Ratio 16:9.",
		"Postal code 01067 Dresden, VAT DE123456789.", "In 2024-2026 we sold 1000-2000 of them.", "The tents weigh 1840 2310 and 1120 g.",
		"Größe 42, «sí», l’été, naïve — 10 °C … fine ✔️ 👨\u200d👩\u200d👧 ❤️.", "漢字です。返品は30日以内。", "می\u200cخواهم", "क्\u200dष", "Item [A] (blue), see [1].", "Text [with] (brackets).",
		"Only 3 left @ 5 EUR each.", "Follow us: @shop.", "The cut is {\"a\"}, 100%, C:\\ or not.",
	} {
		if got := p.Text(s); got != s {
			t.Errorf("changed:\n  %q\nto %q", s, got)
		}
	}
}

// What is not the store's goes, and the sentence still reads.
func TestForeignAddressesGo(t *testing.T) {
	p := New(store, "en")
	for _, c := range []struct{ in, want string }{
		{"See https://evil.example/a?b=c. Bye.", "See (link removed). Bye."},
		{"See (https://evil.example).", "See (link removed)."},
		{"seehttps://evil.example", "(link removed)"},
		{"See [our page](https://evil.example/a \"title\") now.", "See our page now."},
		{"See ![x](https://evil.example/a.png?d=secret) now.", "See  now."},
		{"![x](https://evil.example/a.png)", "(link removed)"},
		{"Yes. ![x](https://evil.example/a.png)", "Yes."},
		{"[![x](https://evil.example/a.png)](https://evil.example) Yes.", " Yes."},
		{"[a][1]\n\n[1]: https://evil.example/x \"t\"\nYes.", "[a][1]\nYes."},
		{"[1]: //evil.example/x", "(link removed)"},
		{"Go to //evil.example/x or \\\\evil.example\\x.", "Go to (link removed) or (link removed)."},
		{"[a](//evil.example)", "a"}, {"[a](/\\evil.example)", "a"}, {"[a](https:evil.example)", "a"}, {"[a](https:/evil.example)", "a"},
		{"[a](<https://evil.example/a b>)", "a"}, {"[a](javascript:alert(1))", "a"}, {"[a](JavaScript:alert(1))", "a"},
		{"[a](java&#115;cript:alert(1))", "a"}, {"\\x0Bjavascript:javascript:alert(1) now", "\\x0B(link removed) now"}, {"<a href=\"//evil", "< a href=\"(link removed)"}, {"[a](data:text/html;base64,PHNj)", "a"}, {"[a](&#104;ttps://evil.example)", "a"},
		{"[a](mailto:x@evil.example)", "a"}, {"[a](mailto:help@shop.example?bcc=x@evil.example)", "a"}, {"[a](tel:+4915112345678)", "a"},
		{"[a](https://shop.example@evil.example/)", "a"}, {"[a](https://shop.example%2eevil.example/)", "a"}, {"[a](https://shop.example\\@evil.example)", "a"},
		{"Go https://shop.example@evil.example/ now", "Go (link removed) now"}, {"Go https://shop.example.evil.example now", "Go (link removed) now"},
		{"Go https://evil.example#.shop.example now", "Go (link removed) now"}, {"Go https://notshop.example now", "Go (link removed) now"},
		{"Go https://help.shop.example now", "Go (link removed) now"}, // only hosts below it are listed
		{"Go https://shоp.example now", "Go (link removed) now"},      // a Cyrillic о
		{"Go https://xn--shp-hmc.example now", "Go (link removed) now"}, {"Go https://shop。example.evil.example", "Go (link removed)。(link removed)"},
		{"Go HTTPS://EVIL.EXAMPLE now", "Go (link removed) now"}, {"ftp://evil.example ws://a hxxp://evil[.]example", "(link removed) (link removed) (link removed)"},
		{"Go to evil.example/pay.", "Go to (link removed)."}, {"Go to www.evil.example.", "Go to (link removed)."}, {"Go to evil.com, superdupersketchycorp.biz!", "Go to (link removed), (link removed)!"},
		{"Go to evil.com:8080/x.", "Go to (link removed)."}, {"Go to 10.0.0.1/x.", "Go to (link removed)."}, {"Go to http://2130706433/.", "Go to (link removed)."},
		{"Go to пример.рф now.", "Go to (link removed) now."}, {"Go to ｅｖｉｌ．ｅｘａｍｐｌｅ now.", "Go to (link removed) now."}, {"Go to evil%2Eexample%2Fx now.", "Go to (link removed) now."},
		{"Go to evil&#46;example now.", "Go to (link removed) now."}, {"Go to evil\\.example now.", "Go to (link removed) now."}, {"Go to e\u200bvil.exam\u00adple now.", "Go to (link removed) now."},
		{"Get evil.zip now.", "Get evil .zip now."}, {"It is blue.In the box.", "It is blue. In the box."},
		{"<a href=\"https://evil.example\">here</a> it <b>is</b><br/>.", "here it is."}, {"<img src=x onerror=alert(1)>Yes.", "Yes."},
		{"<script>alert(1)</script>", "alert(1)"}, {"<https://evil.example/a>", "(link removed)"}, {"<x@evil.example>", "(address removed)"}, {"Size <XL or <b", "Size < XL or < b"},
		{"Mail x@evil.example, \"Y\" <y@evil.example> or z@shop.example.", "Mail (address removed), \"Y\" (address removed) or (address removed)."},
		{"Mail help@shop.example.evil.example or a@b@shop.example.", "Mail (address removed) or (address removed)."},
		{"Mail help [at] evil [dot] example or x(at)evil.example.", "Mail (address removed) or (address removed)."}, {"Mail x＠evil．example now", "Mail (address removed) now"},
		{"Mail ünal@evil.example or help+x@shop.example.", "Mail (address removed) or (address removed)."},
		{"Call +49 151 12345678, (555) 010-9999 or 0800 123 4567.", "Call (number removed), (number removed) or (number removed)."},
		{"Ruf 01 23 45 67 89 an.", "Ruf (number removed) an."}, {"Call us on 1234567.", "Call us on (number removed)."}, {"Text WIN to 82277.", "Text WIN to (number removed)."},
		{"Call 1-800-FLOWERS or 555-010-9999.", "Call (number removed) or (number removed)."}, {"Llame al 912 345 678.", "Llame al (number removed)."},
		{"Call +４９ １５１ １２３４５６７８ or +٤٩ ١٥١ ١٢٣٤٥٦٧٨.", "Call (number removed) or (number removed)."}, {"+4915112345678", "(number removed)"},
		{"a\u202eb\u2066c\U000e0041\u200b\u00ad\x00\x1b[31m\ufeff", "abc[31m"}, {"✔\ufe0f\ufe0f\ufe0e x\U000e0101", "✔\ufe0f x"},
	} {
		if got := p.Text(c.in); got != c.want {
			t.Errorf("%q\n  got  %q\n  want %q", c.in, got, c.want)
		}
		if got := p.Text(p.Text(c.in)); got != p.Text(c.in) {
			t.Errorf("%q: twice is not once: %q", c.in, got)
		}
	}
}

func TestNotesAreInTheReplysLanguage(t *testing.T) {
	for tag, want := range map[string]string{
		"de-AT": "Siehe (Link entfernt).", "es": "Siehe (enlace eliminado).", "fr": "Siehe (lien supprimé).", "": "Siehe (link removed).", "fi": "Siehe […].",
	} {
		if got := New(store, tag).Text("Siehe https://evil.example."); got != want {
			t.Errorf("%q: got %q, want %q", tag, got, want)
		}
	}
}

func TestAStoreThatListsNothingHasNoLinks(t *testing.T) {
	for _, p := range []*Policy{New(nil, "en"), New(&gatewayv1.Store{WebHosts: []string{"", "com", "*.co.uk", "*", "a b"}, EmailAddresses: []string{"@", "x"}}, "en")} {
		if got, want := p.Text("https://shop.example help@shop.example"), "(link removed) (address removed)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		check     func(string) error
		good, bad []string
	}{
		{CheckHost, []string{"shop.example", "*.shop.example", "Shop.Example", "münze.example", "a.b.c.co.uk", "x.github.io"},
			[]string{"", "*", "*.", "com", "*.com", "*.co.uk", "co.uk", "https://shop.example", "shop.example/x", "shop.example:443", "a*.example", "*.*.example", "localhost", "a b.example", "shop.example.", "x@shop.example"}},
		{CheckEmail, []string{"help@shop.example", "@shop.example", "a.b+c@shop.example"},
			[]string{"", "@", "help", "@com", "@*.shop.example", "Help <help@shop.example>", "a@b@shop.example", "help@localhost", "hilfé@shop.example", "help@"}},
		{CheckPhone, []string{"+49 30 1234567", "+1 (800) 555-0100", "+34912345678", "000 555 0142"},
			[]string{"", "+", "+49 3", "+49 30 FLOWERS", "+1234567890123456"}},
	} {
		for _, s := range c.good {
			if err := c.check(s); err != nil {
				t.Errorf("%q: %v", s, err)
			}
		}
		for _, s := range c.bad {
			if c.check(s) == nil {
				t.Errorf("%q is accepted", s)
			}
		}
	}
}

// streamed returns what a stream shows of a text in pieces of a size.
func streamed(p *Policy, s string, size int) string {
	var b strings.Builder
	stream := p.NewStream()
	for piece := range slices.Chunk([]byte(s), size) {
		b.WriteString(stream.Add(string(piece)))
	}
	return b.String() + stream.Rest()
}

func TestALongWordIsNotShown(t *testing.T) {
	p := New(store, "en")
	for _, size := range []int{7, 100, 1 << 20} {
		got := streamed(p, "Yes. See "+strings.Repeat("x", 20_000)+"://evil.example/a then https://evil.example/b. Bye.", size)
		if strings.Contains(got, "evil") || !strings.HasPrefix(got, "Yes. See") || !strings.HasSuffix(got, " then (link removed). Bye.") || len(got) > 9000 {
			t.Errorf("in pieces of %d: %.80q … %q", size, got, got[max(0, len(got)-80):])
		}
	}
}

// absolute finds the hosts of plain links. It is written apart from the code that it checks.
var absolute = regexp.MustCompile(`(?i)https?://([^\s/?#:<>"()]*)`)

// Whatever comes, in whatever pieces: what is shown is the same, and it links to nothing foreign.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"See [a](https://evil.example/a.b) and ![b](data:x). Call +49 151 1234567!", "<a href=x>", "a@b.example", "&#104;ttps&colon;//evil.example", "evil。example",
		"\\[a](//evil.example)", "[![](](", "https://shop.example/(a)b).", "%68ttps://evil.example", "1.evil.com:80/x", "(at)", "030 12 34 567", "\U000F0000",
	} {
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(30))
	}
	p := New(store, "en")
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		s = s[:min(len(s), 20_000)]
		want := streamed(p, s, len(s)+1)
		if got := streamed(p, s, int(size)+1); got != want {
			t.Fatalf("in pieces of %d:\n%q, whole:\n%q", size, got, want)
		}
		if !utf8.ValidString(want) {
			t.Fatalf("%q is not UTF-8", want)
		}
		for _, m := range absolute.FindAllStringSubmatch(want, -1) {
			if h := strings.ToLower(strings.TrimRight(m[1], closing)); h != "shop.example" && h != "track.parcel.example" && !strings.HasSuffix(h, ".help.shop.example") {
				t.Fatalf("%q links to %q", want, h)
			}
		}
	})
}

func TestAReplyClaimsNoAction(t *testing.T) {
	p := New(&gatewayv1.Store{}, "en")
	const said = "No problem! I've cancelled order AB-1 for you. I have also refunded it. It cost 20 EUR."
	if got, want := p.Reply(said), "No problem! Nothing has been changed yet. It cost 20 EUR."; got != want {
		t.Errorf("Reply: %q, want %q", got, want)
	}
	if got := p.Text(said); got != said { // also checks what the shopper wrote
		t.Errorf("Text: %q", got)
	}
	stream, got := p.NewStream(), ""
	for _, piece := range strings.SplitAfter(said, " ") {
		got += stream.Add(piece)
	}
	if got += stream.Rest(); got != p.Reply(said) {
		t.Errorf("in pieces: %q", got)
	}
}
