// Package money formats amounts for people, and makes amounts from numbers in major units. It is the one place that knows how
// many decimal digits a currency has.
//
// It must not import a service. It does not add or divide amounts.
package money

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/currency"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// Digits returns the number of decimal digits of a currency: 2 for EUR, 0 for JPY, 3 for KWD, and 2 for an unknown code.
func Digits(code string) int {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

// Text formats an amount as "129.95 EUR" or "-5.00 EUR". It returns "" for nil.
func Text(m *commonv1.Money) string {
	if m == nil {
		return ""
	}
	text, negative := strings.CutPrefix(strconv.FormatInt(m.GetAmountMinor(), 10), "-")
	if d := Digits(m.GetCurrencyCode()); d > 0 {
		text = strings.Repeat("0", max(0, d+1-len(text))) + text
		text = text[:len(text)-d] + "." + text[len(text)-d:]
	}
	if negative {
		text = "-" + text
	}
	return text + " " + m.GetCurrencyCode()
}

// largest bounds the result of FromMajor. Beyond it, a float64 does not represent every integer.
const largest = 1 << 53

// FromMajor converts an amount in major units, such as 19.99, rounded to the nearest minor unit. The result is at most 2^53
// minor units, positive or negative.
func FromMajor(amount float64, code string) *commonv1.Money {
	minor := math.Round(amount * math.Pow10(Digits(code)))
	return &commonv1.Money{AmountMinor: int64(max(-largest, min(minor, largest))), CurrencyCode: code}
}
