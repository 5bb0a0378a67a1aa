package grounding

import "strconv"

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
	weekday // from 1, Monday
	clock   // a time of day
)

func numberKey(decimal string) key { return key{number, decimal} }
func countKey(n int) key           { return key{number, strconv.Itoa(n)} }
func codeKey(squeezed string) key  { return key{code, squeezed} }
func moneyKey(currency string) key { return key{money, currency} }
func dayKey(d, m int) key          { return key{day, strconv.Itoa(d) + "." + strconv.Itoa(m)} }
func monthKey(m int) key           { return key{month, strconv.Itoa(m)} }
func weekdayKey(d int) key         { return key{weekday, strconv.Itoa(d)} }
func timeKey(hour, minute int) key {
	return key{clock, strconv.Itoa(hour) + ":" + strconv.Itoa(minute)}
}
