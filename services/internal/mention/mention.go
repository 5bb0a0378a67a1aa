// Package mention finds which products, codes and ids a text names, and where. It must not import a service.
package mention

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Product is a product that a text may name.
type Product struct{ ID, Title, Brand string }

// Choices returns the products of an answer as Products takes them.
func Choices(choices []*specialistv1.ProductChoice) []Product {
	products := make([]Product, len(choices))
	for i, c := range choices {
		products[i] = Product{ID: c.GetProductId(), Title: c.GetTitle(), Brand: c.GetBrand()}
	}
	return products
}

// Mention is the first place where a text names a product.
type Mention struct {
	// Product is the product's index among those that Products was given.
	Product int
	// At is the place in the text, in bytes.
	At int
}

// minCoverage is the part of a title's words that names a product in a text: "chalk bag" is no "Skelvane chalk bag with belt", and
// "Korvane Reed carbon folding poles" is "Korvane Reed carbon folding poles, pair". See TestRecordedReplies for what it does.
const minCoverage = 0.75

// Products returns which of the products a text names, each once, in the order of the text. A text names a product by
//
//   - its id;
//   - its title, or most of it;
//   - its model, which is the words of the title after the brand that have a capital or a digit, written so in the text too;
//   - at least two words of its title in a row that have a capital or a digit in both, if no other of the products has them.
//
// Where several products fit, the one with the longest run of words is named: "Gully 3 GT" is not the "Gully 3". Products with
// the same title are named together.
func Products(s string, products []Product) []Mention {
	f := finder{text: s, words: wordsOf(s)}
	for _, p := range products {
		f.names = append(f.names, nameOf(p))
	}
	var out []Mention
	add := func(i, at int) {
		if !slices.ContainsFunc(out, func(m Mention) bool { return m.Product == i }) {
			out = append(out, Mention{i, at})
		}
	}
	for i := 0; i < len(f.words); {
		best := f.best(i)
		for _, r := range best {
			add(r.product, f.words[i].start)
		}
		if len(best) > 0 {
			i = best[0].end
		} else {
			i++
		}
	}
	all := text.Words(s)
	for i, p := range products {
		if at := index(s, all, p.ID); at >= 0 {
			out = slices.DeleteFunc(out, func(m Mention) bool { return m.Product == i && m.At > at })
			add(i, at)
		}
	}
	slices.SortStableFunc(out, func(a, b Mention) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Product, b.Product)) })
	return out
}

// minDigits is the least number of digits of an id without letters: "42" is a size, whatever product has that id.
const minDigits = 4

// Index returns where a text first names an id or a code, in bytes, or -1. A code with letters and digits may be written in any
// case and with other marks between its parts. A code of letters only must stand as it is: WELCOME is not "welcome".
func Index(s, code string) int { return index(s, text.Words(s), code) }

// index is Index for a text with these words.
func index(s string, words []text.Word, code string) int {
	parts := text.Words(code)
	letters := strings.ContainsFunc(code, unicode.IsLetter)
	digits := strings.ContainsFunc(code, unicode.IsDigit)
	if len(parts) == 0 || !letters && len(code) < minDigits {
		return -1
	}
	for i := 0; i+len(parts) <= len(words); i++ {
		same := func(a, b text.Word) bool { return a.Text == b.Text }
		if !slices.EqualFunc(words[i:i+len(parts)], parts, same) {
			continue
		}
		if at := words[i].Start; letters && digits || strings.HasPrefix(s[at:], code[parts[0].Start:]) {
			return at
		}
	}
	return -1
}

// word is a word of a title or a text.
type word struct {
	text   string // folded, in the singular
	proper bool   // with a capital or a digit
	digit  bool
	brand  bool
	start  int
	end    int
}

// wordsOf returns the words of a text without English stop words, which titles have few of and texts leave out.
func wordsOf(s string) []word {
	var out []word
	for _, w := range text.Words(s) {
		if text.IsStopWord("en", w.Text) {
			continue
		}
		first, _ := utf8.DecodeRuneInString(s[w.Start:])
		digit := strings.ContainsFunc(w.Text, unicode.IsDigit)
		out = append(out, word{
			text: text.Singular(w.Text), proper: digit || unicode.IsUpper(first), digit: digit, start: w.Start, end: w.End,
		})
	}
	return out
}

// maxGeneric is the length in words of a title that may be the word for a kind of thing: "Running sock". In a text it must have the
// title's capital, unless the title has a brand or a model: "we have no running socks" names no product.
const maxGeneric = 2

// name is a title, as a text may give it.
type name struct {
	title    string
	words    []word
	capital  bool // of the first word
	distinct bool // it has a brand or a model
}

// nameOf reads the title of a product. Of a title without its brand, the first word has a capital in any case, so it does not
// belong to the model.
func nameOf(p Product) name {
	n := name{title: p.Title, words: wordsOf(p.Title)}
	brand := wordsOf(p.Brand)
	for i, w := range n.words {
		n.words[i].brand = slices.ContainsFunc(brand, func(b word) bool { return b.text == w.text })
	}
	if len(n.words) > 0 && !n.words[0].digit {
		n.capital, n.words[0].proper = n.words[0].proper, false
	}
	n.distinct = slices.ContainsFunc(n.words, func(w word) bool { return w.brand || w.proper })
	return n
}

// finder looks for names in a text.
type finder struct {
	text  string
	words []word
	names []name
}

// run is a run of words of the text that are words of a title, in the same order.
type run struct {
	product int
	title   []int // indexes of the title's words
	begin   int   // of the text's words
	end     int
}

// best returns the longest run that starts at a word of the text and names a product, or the runs of several products with the
// same title. It returns none if products with different titles fit equally.
func (f *finder) best(at int) []run {
	var best []run
	for p, n := range f.names {
		for j, w := range n.words {
			if w.text != f.words[at].text {
				continue
			}
			r := f.run(p, at, j)
			if !f.isNamed(r) {
				continue
			}
			switch c := f.compare(r, best); {
			case c > 0:
				best = []run{r}
			case c == 0 && best[0].product != p:
				best = append(best, r)
			}
		}
	}
	for _, r := range best {
		if !strings.EqualFold(f.names[r.product].title, f.names[best[0].product].title) {
			return nil
		}
	}
	return best
}

// compare compares a run with the best ones so far: by its length, then by whether it is the whole title.
func (f *finder) compare(r run, best []run) int {
	if len(best) == 0 {
		return 1
	}
	rest := func(r run) int { return min(1, len(f.names[r.product].words)-len(r.title)) }
	return cmp.Or(cmp.Compare(len(r.title), len(best[0].title)), cmp.Compare(rest(best[0]), rest(r)))
}

// run returns the run that starts with a word of the text and a word of a title. The title may have words in between.
func (f *finder) run(product, at, j int) run {
	r := run{product: product, begin: at, end: at}
	words := f.names[product].words
	for ; r.end < len(f.words); r.end++ {
		next := slices.IndexFunc(words[j:], func(w word) bool { return w.text == f.words[r.end].text })
		if next < 0 {
			break
		}
		r.title = append(r.title, j+next)
		j += next + 1
	}
	return r
}

// isNamed reports whether a run names its product.
func (f *finder) isNamed(r run) bool {
	n := f.names[r.product]
	switch size := len(r.title); {
	case size == len(n.words) && (size > maxGeneric || n.distinct || f.words[r.begin].proper || !n.capital):
		return true
	case size > maxGeneric && float64(size) >= minCoverage*float64(len(n.words)):
		return true
	}
	return f.hasModel(r) && (len(r.title) > 1 || f.isOnly(r)) || f.isProper(r) && f.isOnly(r)
}

// hasModel reports whether a run has the words of the product's model as the title writes them, with at least one that starts with
// a capital. Numbers of the model may be missing if no other number stands in their place.
func (f *finder) hasModel(r run) bool {
	capital, missing := false, false
	for i, w := range f.names[r.product].words {
		if !w.proper || w.brand {
			continue
		}
		k := slices.Index(r.title, i)
		switch {
		case k < 0 && w.digit:
			missing = true
		case k < 0, !f.words[r.begin+k].proper:
			return false
		case !w.digit:
			capital = true
		}
	}
	return capital && !(missing && r.end < len(f.words) && f.words[r.end].digit && f.adjoins(r.end))
}

// adjoins reports whether only a space or a hyphen is between a word and the one before.
func (f *finder) adjoins(i int) bool {
	between := f.text[f.words[i-1].end:f.words[i].start]
	return len(between) <= 2 && strings.Trim(between, " -+") == ""
}

// isProper reports whether a run is two or more words of the title in a row that have a capital or a digit there and in the text.
func (f *finder) isProper(r run) bool {
	words, letters := f.names[r.product].words, false
	for k, i := range r.title {
		w := words[i]
		if i != r.title[0]+k || !w.proper && !w.brand || !f.words[r.begin+k].proper {
			return false
		}
		letters = letters || !w.digit
	}
	return letters && len(r.title) > 1
}

// isOnly reports whether no other product has the words of a run in its title, in a row.
func (f *finder) isOnly(r run) bool {
	same := func(a, b word) bool { return a.text == b.text }
	spoken := f.words[r.begin:r.end]
	for p, n := range f.names {
		for i := 0; p != r.product && i+len(spoken) <= len(n.words); i++ {
			if slices.EqualFunc(n.words[i:i+len(spoken)], spoken, same) {
				return false
			}
		}
	}
	return true
}
