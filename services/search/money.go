package search

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/currency"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// digits returns how many digits of the currency come after the decimal point: 2 for EUR, 0 for JPY.
func digits(code string) int {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

// priceText writes an amount as shoppers read it: "129.95 EUR". Nil is "".
func priceText(m *commonv1.Money) string {
	if m == nil {
		return ""
	}
	text := strconv.FormatInt(m.GetAmountMinor(), 10)
	if d := digits(m.GetCurrencyCode()); d > 0 {
		text = strings.Repeat("0", max(0, d+1-len(text))) + text
		text = text[:len(text)-d] + "." + text[len(text)-d:]
	}
	return text + " " + m.GetCurrencyCode()
}

// moneyOf turns an amount in major units into Money. A nil amount is nil.
func moneyOf(amount *float64, code string) *commonv1.Money {
	if amount == nil {
		return nil
	}
	minor := math.Round(*amount * math.Pow10(digits(code)))
	return &commonv1.Money{AmountMinor: int64(minor), CurrencyCode: code}
}
