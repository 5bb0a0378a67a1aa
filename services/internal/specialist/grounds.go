package specialist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/money"
)

// grounds are what the claims of an answer may rest on.
type grounds struct {
	turn  *Turn
	req   *specialistv1.AnswerRequest
	texts []string // what tools returned, as the model read it, and then what the assignment gave
	found int      // how many of them are of tools

	gathered, reckoned bool             // the texts are complete; the amounts are known
	facts              []grounding.Fact // of all texts; nil: they were not read
	said               grounding.Set    // the same, and their words
	amounts            []claim          // in the order in which they stand
	bare               []int64          // numbers without a currency that may be amounts
}

func newGrounds(turn *Turn, req *specialistv1.AnswerRequest, messages []agentloop.Message) *grounds {
	g := &grounds{turn: turn, req: req, texts: make([]string, 0, len(messages)+4)}
	for _, m := range messages {
		if m.Role == agentloop.RoleTool {
			g.texts = append(g.texts, unfenced(m.Text))
		}
	}
	g.found = len(g.texts)
	g.texts = append(g.texts, req.GetSubQuery())
	if m := req.GetMessage(); m != req.GetSubQuery() {
		g.texts = append(g.texts, m)
	}
	g.texts = append(g.texts, req.GetSummary())
	for _, m := range req.GetHistory() {
		g.texts = append(g.texts, m.GetText())
	}
	return g
}

// unfenced is a tool's message without the lines that fence the result in: the id of a call supports nothing.
func unfenced(text string) string {
	_, inner, _ := strings.Cut(text, "\n")
	if end := strings.LastIndex(inner, "\n</"); end >= 0 {
		return inner[:end]
	}
	return inner
}

// stands reports whether a claim stands in the grounds as it is, and takes in what belongs to it.
func (g *grounds) stands(c *claim) bool {
	switch c.kind {
	case claimNumber:
		if _, end := c.next(c.end); end > c.end && g.holds(c.text[c.start:end]) {
			return true
		}
		if before, start := c.previous(); len(before) >= minCodeLetters && g.holds(c.text[start:c.end]) {
			return true
		}
		if c.values[0] <= 31_000 && c.values[0]%1000 == 0 {
			if whole, ok := c.dated(); ok {
				*c = whole
				return g.holds(c.surface())
			}
		}
		return g.holds(c.digits()) || g.holdsForm(c, "")
	case claimShare:
		return g.holds(c.surface()) || g.holdsForm(c, "%") || g.holdsForm(c, " %")
	case claimAmount:
		return g.holds(c.surface()) || g.holdsAmount(c)
	}
	if isASCIIDigit(c.text[c.start]) {
		if whole, ok := c.dated(); ok {
			*c = whole
		}
	}
	return g.holds(c.surface()) || g.holdsRange(c)
}

// rangeGap is how many bytes may stand between the ends of a range: 2-3, 2 to 3.
const rangeGap = 6

// holdsRange reports whether a text says the two numbers that a claim such as 2-3 has, one right after the other.
func (g *grounds) holdsRange(c *claim) bool {
	from, to, ok := c.ends()
	if !ok {
		return false
	}
	for _, text := range g.texts {
		for i := find(text, from, 0); i >= 0; i = find(text, from, i+1) {
			after := text[i+len(from):]
			if at := find(after[:min(len(after), rangeGap+len(to)+1)], to, 0); at > 0 && at <= rangeGap {
				return true
			}
		}
	}
	return false
}

// holds reports whether a text says something word for word.
func (g *grounds) holds(s string) bool {
	for _, text := range g.texts {
		if find(text, s, 0) >= 0 {
			return true
		}
	}
	return false
}

// holdsForm reports whether a text says a number as programs write it, with something behind it.
func (g *grounds) holdsForm(c *claim, behind string) bool {
	for _, v := range c.values[:c.readings] {
		if slices.ContainsFunc(plainForms(v), func(form string) bool { return g.holds(form + behind) }) {
			return true
		}
	}
	return false
}

// holdsAmount reports whether a text says an amount in the form that tools use, or with the currency on the other side.
func (g *grounds) holdsAmount(c *claim) bool {
	for _, v := range c.values[:c.readings] {
		for _, form := range plainForms(v) {
			for _, text := range g.texts {
				for i := find(text, form, 0); i >= 0; i = find(text, form, i+1) {
					if said, ok := nextClaim(text, i); ok && said.kind == claimAmount && sameCurrency(c, &said) {
						return true
					}
				}
			}
		}
	}
	return false
}

// plainForms are how programs write a number of thousandths.
func plainForms(v int64) []string {
	whole := strconv.FormatInt(v/1000, 10)
	switch rest := v % 1000; {
	case rest == 0:
		return []string{whole + ".00", whole}
	case rest%10 == 0:
		return []string{fmt.Sprintf("%s.%02d", whole, rest/10), strings.TrimRight(fmt.Sprintf("%s.%03d", whole, rest), "0")}
	default:
		return []string{fmt.Sprintf("%s.%03d", whole, rest)}
	}
}

// sameCurrency reports whether one amount is in the currency of another, as far as signs that several share tell.
func sameCurrency(a, b *claim) bool {
	if isCode := func(s string) bool { return 'A' <= s[0] && s[0] <= 'Z' }; a.currency == b.currency || isCode(a.currency) && isCode(b.currency) {
		return a.currency == b.currency
	}
	var said grounding.Set
	said.Add(grounding.Of(b.surface(), ""))
	return !slices.ContainsFunc(grounding.Of(a.surface(), "").Facts, func(f grounding.Fact) bool {
		return f.Unit == grounding.Money && !f.IsNumber() && !said.Has(f)
	})
}

// find returns where a text says s at or after from, with nothing around it that would make it a part of something else, or -1.
func find(text, s string, from int) int {
	for s != "" && from <= len(text) {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return -1
		}
		i += from
		if opens(text[:i], s) && closes(text[i+len(s):], s) {
			return i
		}
		from = i + 1
	}
	return -1
}

// glue may stand within a number, a date or a code.
const glue = ".,:-/'_"

// opens reports whether s may begin after a text.
func opens(before, s string) bool {
	if n := len(before); n > 1 && before[n-2] == '\\' && (before[n-1] == 'n' || before[n-1] == 't') {
		return true // of JSON
	}
	r, n := utf8.DecodeLastRuneInString(before)
	if isWordRune(r) {
		return false
	}
	if isASCIIDigit(s[0]) && n == 1 && strings.IndexByte(glue, before[len(before)-1]) >= 0 {
		r, _ = utf8.DecodeLastRuneInString(before[:len(before)-1])
		return !isWordRune(r)
	}
	return true
}

// closes reports whether s may end before a text.
func closes(after, s string) bool {
	r, n := utf8.DecodeRuneInString(after)
	if isWordRune(r) {
		return false
	}
	if isASCIIDigit(s[len(s)-1]) && n == 1 && strings.IndexByte(glue, after[0]) >= 0 {
		r, _ = utf8.DecodeRuneInString(after[1:])
		return !unicode.IsDigit(r) && (after[0] != '-' || !unicode.IsUpper(r))
	}
	return true
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (grounding.IsLetter(r) || grounding.IsDigit(r))
}

// says reports whether the grounds say a claim in other words. All of them are read for that, once.
func (g *grounds) says(c *claim) bool {
	if c.kind == claimAmount {
		return g.saysAmount(c)
	}
	g.gather()
	if _, _, isRange := c.ends(); isRange {
		return g.holdsRange(c) // now that there are more texts; each number by itself says less
	}
	surface := c.surface()
	if c.kind == claimNumber {
		surface = c.digits()
	}
	g.readFacts()
	claimed := grounding.Of(surface, "").Facts
	if parts := c.parts(); len(parts) > 1 && len(claimed) == 1 && claimed[0].Name {
		return slices.ContainsFunc(g.facts, claimed[0].SaidBy) || g.holdsParts(parts) // the set takes parts that are far from each other
	}
	return !slices.ContainsFunc(claimed, func(f grounding.Fact) bool { return !g.said.Has(f) })
}

func (g *grounds) readFacts() {
	if g.facts != nil {
		return
	}
	g.facts = make([]grounding.Fact, 0, len(g.texts))
	for _, text := range g.texts {
		read := grounding.Of(text, "")
		g.said.Add(read)
		g.facts = append(g.facts, read.Facts...)
	}
}

// holdsParts reports whether a text says the parts of a code with at most one character between each two: QT 10029.
func (g *grounds) holdsParts(parts []string) bool {
	for _, text := range g.texts {
		for i := find(text, parts[0], 0); i >= 0; i = find(text, parts[0], i+1) {
			rest, ok := text[i+len(parts[0]):], true
			for _, part := range parts[1:] {
				at := strings.Index(rest[:min(len(rest), len(part)+1)], part)
				if ok = at >= 0; !ok {
					break
				}
				rest = rest[at+len(part):]
			}
			if r, _ := utf8.DecodeRuneInString(rest); ok && !isWordRune(r) {
				return true
			}
		}
	}
	return false
}

// saysAmount reports whether the grounds have an amount, or the bare number and, elsewhere, the currency.
func (g *grounds) saysAmount(c *claim) bool {
	g.reckon()
	same := func(a claim) bool { return sameCurrency(c, &a) }
	if slices.ContainsFunc(g.amounts, func(a claim) bool { return c.equals(&a) && same(a) }) {
		return true
	}
	isBare := func(v int64) bool { return slices.Contains(g.bare, v) }
	return slices.ContainsFunc(c.values[:c.readings], isBare) && slices.ContainsFunc(g.amounts, same)
}

// equals reports whether two numbers may be the same.
func (c *claim) equals(other *claim) bool {
	return slices.ContainsFunc(c.values[:c.readings], func(v int64) bool { return slices.Contains(other.values[:other.readings], v) })
}

// unescaped undoes what JSON does to space, so that words are words.
var unescaped = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`)

// gather makes the texts of the grounds complete, and fit to be read.
func (g *grounds) gather() {
	if g.gathered {
		return
	}
	g.gathered = true
	for i, text := range g.texts[:g.found] {
		g.texts[i] = unescaped.Replace(text)
	}
	g.texts = append(g.texts, g.things())
}

// reckon collects the amounts of the grounds.
func (g *grounds) reckon() {
	if g.reckoned {
		return
	}
	g.reckoned = true
	g.gather()
	for i, text := range g.texts {
		for c, ok := nextClaim(text, 0); ok; c, ok = nextClaim(text, c.end) {
			switch {
			case c.kind == claimAmount:
				g.amounts = append(g.amounts, c)
			case c.kind == claimNumber && (i >= g.found || c.values[0]%1000 != 0): // what people write, and what looks like a price
				g.bare = append(g.bare, c.values[:c.readings]...)
			}
		}
	}
}

// things words what the assignment gives beside texts: the products that were shown, the cart, the store's name.
func (g *grounds) things() string {
	var b strings.Builder
	for _, p := range g.req.GetShownProducts() {
		fmt.Fprintln(&b, p.GetProductId(), p.GetTitle(), money.Text(p.GetPrice()))
	}
	cart := g.turn.Cart
	for _, item := range cart.GetItems() {
		fmt.Fprintln(&b, item.GetProductId(), item.GetVariantId(), item.GetTitle(), item.GetOptions(), item.GetQuantity())
		if price := item.GetUnitPrice(); price != nil {
			total := &commonv1.Money{AmountMinor: price.GetAmountMinor() * int64(item.GetQuantity()), CurrencyCode: price.GetCurrencyCode()}
			fmt.Fprintln(&b, money.Text(price), money.Text(total))
		}
	}
	fmt.Fprintln(&b, len(cart.GetItems()), money.Text(cart.GetSubtotal()))
	fmt.Fprintln(&b, g.req.GetStoreName())
	for _, why := range g.turn.lacks {
		fmt.Fprintln(&b, why)
	}
	return b.String()
}
