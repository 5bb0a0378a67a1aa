package money_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
)

func amount(minor int64, code string) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: code}
}

func TestDigits(t *testing.T) {
	for code, want := range map[string]int{"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3, "QQQ": 2, "": 2} {
		if got := money.Digits(code); got != want {
			t.Errorf("Digits(%q) = %d, want %d", code, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		money *commonv1.Money
		want  string
	}{
		"two digits":           {amount(12995, "EUR"), "129.95 EUR"},
		"a whole amount":       {amount(3000, "EUR"), "30.00 EUR"},
		"cents alone":          {amount(5, "EUR"), "0.05 EUR"},
		"zero":                 {amount(0, "EUR"), "0.00 EUR"},
		"negative":             {amount(-1205, "EUR"), "-12.05 EUR"},
		"negative cents":       {amount(-5, "EUR"), "-0.05 EUR"},
		"the lowest number":    {amount(math.MinInt64, "EUR"), "-92233720368547758.08 EUR"},
		"no digits":            {amount(500, "JPY"), "500 JPY"},
		"zero without digits":  {amount(0, "JPY"), "0 JPY"},
		"negative, no digits":  {amount(-500, "JPY"), "-500 JPY"},
		"three digits":         {amount(1205, "KWD"), "1.205 KWD"},
		"less than a thousand": {amount(20, "KWD"), "0.020 KWD"},
		"an unknown currency":  {amount(1205, "QQQ"), "12.05 QQQ"},
		"no money":             {nil, ""},
	} {
		if got := money.Text(c.money); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestFromMajor(t *testing.T) {
	for name, c := range map[string]struct {
		amount float64
		code   string
		want   *commonv1.Money
	}{
		"a float that is not exact": {19.99, "EUR", amount(1999, "EUR")},
		"more than two digits":      {0.125, "EUR", amount(13, "EUR")},
		"no digits":                 {19.99, "JPY", amount(20, "JPY")},
		"three digits":              {1.25, "KWD", amount(1250, "KWD")},
		"an unknown currency":       {5, "QQQ", amount(500, "QQQ")},
		"zero":                      {0, "EUR", amount(0, "EUR")},
		"negative":                  {-12.5, "EUR", amount(-1250, "EUR")},
		"more than fits":            {1e300, "EUR", amount(1<<53, "EUR")},
		"less than fits":            {-1e300, "EUR", amount(-1<<53, "EUR")},
	} {
		if diff := cmp.Diff(c.want, money.FromMajor(c.amount, c.code), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
