// Package money words amounts and makes them from what models and people write. It is the one place that knows how
// many digits of a currency come after the decimal point.
//
// It must not import a service, and it does not compute: sums and shares stay with whoever answers for them.
package money

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/currency"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// Digits returns how many digits of the currency come after the decimal point: 2 for EUR, 0 for JPY, 3 for KWD, and 2
// for a code that is not known.
func Digits(code string) int {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

// Text is an amount as shoppers read it: "129.95 EUR", or "-5.00 EUR". Nil is "".
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

// largest bounds what FromMajor returns. Beyond it, a float64 does not hold every minor unit.
const largest = 1 << 53

// FromMajor turns an amount in major units, such as 19.99, into Money, rounded to the nearest minor unit. What is
// beyond 2^53 minor units becomes that many.
func FromMajor(amount float64, code string) *commonv1.Money {
	minor := math.Round(amount * math.Pow10(Digits(code)))
	return &commonv1.Money{AmountMinor: int64(max(-largest, min(minor, largest))), CurrencyCode: code}
}
