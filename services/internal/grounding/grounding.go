// Package grounding reads facts out of texts and checks the claims of answers and merged replies against evidence.
//
// A fact is true only as it stands: a number, an amount with its currency, a percentage, a date, a month or weekday, a time of
// day, a code such as SPRING-20, 256GB or WELCOME, a URL, a mail address or a domain. Read brings different ways of writing a
// fact to the same form: 1,299.50 EUR and 1.299,50 €, 20 % and 20 percent, 3 May and 2026-05-03, 6:30 pm and 18h30, ORD-1001
// and ord 1001. A fact that can be read in several ways, such as 1.299 or 3/5, keeps all readings; one match is enough.
//
// A claim is a fact that a text states and that needs support. Evidence supports the claims of one specialist's answer: it
// holds tool results, messages and what the assignment gives, and its Check returns a Verdict. Amounts that follow from
// supported ones, such as a sum, are derived amounts and count as supported. MergeEvidence supports the sentences of a
// reply that a model merges from several answers; the coverage check of the merge uses Section and Set.
//
// What the reader knows: numbers in words up to 99 in English, Spanish, German and French, each only in texts of that
// language, because many are other words elsewhere, and without 0 and 1. Months, weekdays and the words around times, dates
// and percentages in all four languages, wherever they stand; months that are other words too, such as May and mars, only
// beside a day, which may be in words. Digits of all scripts. A word of four or more capitals is a code; shorter ones are
// units and sizes. A number that counts the items of a list is no fact. Fractions, other ordinals in words, Roman numerals
// and numbers in words from 100 on are not read; in scripts without spaces between words, only digits and signs are.
//
// A text is split into clauses (clauses.go), each with the subjects that it names or goes on about (subjects.go), and with the products that
// its words fit without a whole name (focus.go). A value that the evidence has of another product, order, code or passage only is
// contradicted. So is what a clause asserts or denies against the evidence by the phrases of topics.txt: stock, an order's status, what is
// possible, free or valid; and a clause that reverses one of the evidence (statements.go). What the speaker promises is unsupported, and so
// is a name that the evidence does not have (names.go). Comparisons such as "cheaper" and "the lightest" are
// checked against prices and measures (comparisons.go), and numbers of pieces against the stock (stock.go). What cannot be compared is
// undecided. The package knows nothing of services and models, and must not import a service.
package grounding

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Units of facts that have one of their own.
const (
	Percent = "%"
	Money   = "¤" // an amount, and the currency beside it
	Date    = "date"
	Time    = "time"
)

// Text is what a text says. It is only read once made, so goroutines may share it.
type Text struct {
	// Facts are in order, each as often as it stands there. A currency follows its number.
	Facts []Fact
	raw   string
	shown string // language that it shows, if it was read by MergeEvidence
	words []key  // of plain words and codes in capitals, which a fact of another text may name too
}

// Read reads a text. The language is the base of a BCP 47 tag, such as "de"; numbers in words are read in it. In an unknown
// language, or with "", they are plain words.
func Read(text, language string) Text {
	r := readers.Get().(*reader)
	defer r.keep()
	*r = reader{text: text, numerals: numerals[language], atoms: r.atoms[:0], tokens: r.tokens[:0]}
	r.tokenize()

	r.out.words = make([]key, 0, len(r.tokens))
	r.read()
	return r.out
}

// readers keeps the buffers of readers. New ones for each text are 6 % of what a turn allocates (quartet bench turn).
var readers = sync.Pool{New: func() any { return new(reader) }}

// maxKept bounds the atoms of a reader that is kept: a long text's buffers are for the garbage collector.
const maxKept = 16 << 10

// keep gives the reader back without what it has read: texts of shoppers must not stay in memory for longer than their turns.
func (r *reader) keep() {
	if cap(r.atoms) > maxKept {
		return
	}
	clear(r.atoms)
	clear(r.tokens)
	*r = reader{atoms: r.atoms[:0], tokens: r.tokens[:0]}
	readers.Put(r)
}

// Fact is something in a text that is true only as it stands. Read makes them; the zero value is in no set.
type Fact struct {
	// Start and End delimit the fact in its text, in bytes, with what belongs to it: a currency, a percent sign, a month.
	Start, End int
	// Left is the word before it in the text, in lower case and without hyphens, or "".
	Left string
	// Unit is what it counts or is a kind of: one of the constants, the sign of a metric unit, or the first four letters of the word
	// behind it, which are the same for day and days; or "".
	Unit string
	// Plain tells a fact that an honest wording may drop: a number of one digit, one below ten in words, a currency, the year behind a date.
	Plain bool
	// Name tells a code or an address, which says the same wherever it stands.
	Name bool

	readings [][]key // what it may say, at least one; each is keys that belong together
	parts    []key   // a reading as parts, which other parts do not make up
	also     []key   // what a text that has it says as well
	dated    []key   // of a day and of the year behind it: both
	currency string  // of a number that is an amount: the ISO 4217 code, or the sign that several currencies share
}

// IsNumber reports whether the first thing that a fact may be is a number: an amount, but not the currency beside it.
func (f Fact) IsNumber() bool { return len(f.readings) > 0 && f.readings[0][0].kind == number }

// isCurrency reports whether a fact is the currency beside a number.
func (f Fact) isCurrency() bool { return len(f.readings) > 0 && f.readings[0][0].kind == money }

// Digits of the numbers that are calculated with, before and after the point. Longer ones are ids.
const (
	maxWhole    = 12
	maxDecimals = 3
)

// values returns what a number, an amount or a percentage may stand for, in thousandths: 1.299 has two readings.
func (f Fact) values() []int64 {
	var out []int64
	for _, reading := range f.readings {
		if k := reading[0]; len(reading) == 1 && (k.kind == number || k.kind == percent) {
			whole, rest, _ := strings.Cut(k.text, ".")
			if len(whole) > maxWhole || len(rest) > maxDecimals {
				continue
			}
			if n, err := strconv.ParseInt(whole+(rest + "000")[:maxDecimals], 10, 64); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// Matches reports whether another fact has a reading of this one.
func (f Fact) Matches(other Fact) bool {
	return f.holds(func(k key) bool {
		return slices.Contains(other.also, k) ||
			slices.ContainsFunc(other.readings, func(reading []key) bool { return slices.Contains(reading, k) })
	})
}

// WithoutYear returns a date as one of any year, and other facts as they are.
func (f Fact) WithoutYear() Fact {
	if !isDate(f) {
		return f
	}
	dates := make([][]key, len(f.readings))
	for i, reading := range f.readings {
		if dates[i] = reading; reading[0].kind == day {
			dates[i] = reading[:1]
		}
	}
	f.readings = dates
	return f
}

// holds reports whether one of the readings is all known.
func (f Fact) holds(known func(key) bool) bool {
	for _, reading := range f.readings {
		if all(reading, known) {
			return true
		}
	}
	return len(f.parts) > 0 && all(f.parts, known)
}

func all(keys []key, known func(key) bool) bool {
	return !slices.ContainsFunc(keys, func(k key) bool { return !known(k) })
}

// Set is what some texts say. The zero value says nothing and is ready. Several goroutines may call Has, but none beside
// one that adds.
type Set struct {
	keys map[key]struct{}
}

// Has reports whether the texts say the fact, in one of its readings.
func (s *Set) Has(f Fact) bool { return f.holds(s.has) }

// hasWhole is Has, but does not take parts that may stand far from each other for a code.
func (s *Set) hasWhole(f Fact) bool {
	f.parts = nil
	return f.holds(s.has)
}

func (s *Set) has(k key) bool {
	_, ok := s.keys[k]
	return ok
}

// Add adds all that a text says.
func (s *Set) Add(t Text) {
	if s.keys == nil {
		s.keys = make(map[key]struct{}, len(t.words)+len(t.Facts))
	}
	s.add(t.words...)
	s.AddFacts(t.Facts...)
}

// AddFacts adds all that facts may say, and nothing of the words around them.
func (s *Set) AddFacts(facts ...Fact) {
	for _, f := range facts {
		for _, reading := range f.readings {
			s.add(reading...)
		}
		s.add(f.also...)
		for _, k := range f.measures() {
			s.add(k)
		}
	}
}

// measures returns a number with its unit, if that is one of a period or a measure.
func (f Fact) measures() []key {
	unit := unitOf(f)
	if unit == "" {
		return nil
	}
	var out []key
	for _, reading := range f.readings {
		if len(reading) == 1 && reading[0].kind == number {
			out = append(out, key{measured, reading[0].text + unit})
		}
	}
	return out
}

func (s *Set) add(keys ...key) {
	if s.keys == nil {
		s.keys = make(map[key]struct{}, len(keys))
	}
	for _, k := range keys {
		s.keys[k] = struct{}{}
	}
}

// key is one thing that a text says, in a form that does not depend on how a language writes it.
type key struct {
	kind kind
	text string
}

type kind byte

const (
	number  kind = iota // a plain decimal
	percent             // the same
	code                // a code, an address or a plain word, in lower case
	money               // a currency, or the sign that several share
	day                 // of a month
	month
	weekday  // from 1, Monday
	clock    // a time of day
	measured // a number with its unit
)

func numberKey(decimal string) key { return key{number, decimal} }
func countKey(n int) key           { return key{number, strconv.Itoa(n)} }
func codeKey(compact string) key   { return key{code, compact} }
func moneyKey(currency string) key { return key{money, currency} }
func dayKey(d, m int) key          { return key{day, strconv.Itoa(d) + "." + strconv.Itoa(m)} }
func monthKey(m int) key           { return key{month, strconv.Itoa(m)} }
func weekdayKey(d int) key         { return key{weekday, strconv.Itoa(d)} }
func timeKey(hour, minute int) key {
	return key{clock, strconv.Itoa(hour) + ":" + strconv.Itoa(minute)}
}
