package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

func TestParsePrice(t *testing.T) {
	good := map[string]agentloop.Price{
		"0.15/0.60 USD":         {InputMicros: 150_000, OutputMicros: 600_000, Currency: "USD"},
		"0.15/0.60/0.075 USD":   {InputMicros: 150_000, OutputMicros: 600_000, CachedInputMicros: 75_000, Currency: "USD"},
		" 3/15 EUR\n":           {InputMicros: 3_000_000, OutputMicros: 15_000_000, Currency: "EUR"},
		"0.000001/0/0.0 CHF":    {},
		"0/0 USD":               {Currency: "USD"},
		"999999999/1.50 JPY":    {InputMicros: 999_999_999_000_000, OutputMicros: 1_500_000, Currency: "JPY"},
		"0.000001/1.123456 GBP": {InputMicros: 1, OutputMicros: 1_123_456, Currency: "GBP"},
	}
	for text, want := range good {
		got, err := model.ParsePrice(text)
		if want.Currency == "" {
			if err == nil {
				t.Errorf("%q: %+v, want an error: cached input of 0 cannot be told from none", text, got)
			}
			continue
		}
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{
		"", "0.15 USD", "0.15/0.60", "0.15/0.60 usd", "0.15/0.60 USDT", "0.15/0.60USD", "-1/2 USD", "1e3/2 USD", "1//2 USD", "1/2/3/4 USD",
		"./2 USD", "1./2 USD", ".5/2 USD", "1.2.3/2 USD", "1/0.0000001 USD", "1234567890/2 USD", "0,15/0,60 USD",
	} {
		if got, err := model.ParsePrice(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, error %v, want an error of one line", text, got, err)
		}
	}
}

func TestParseCost(t *testing.T) {
	for text, want := range map[string]agentloop.Cost{
		"0.02 USD": {Micros: 20_000, Currency: "USD"}, " 3 EUR\n": {Micros: 3_000_000, Currency: "EUR"}, "0 CHF": {Currency: "CHF"},
	} {
		if got, err := model.ParseCost(text); err != nil || *got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0.02", "USD", "0.02 usd", "0.02USD", "-1 USD", "1e3 USD", "1.2.3 USD", "0.0000001 USD", "0,02 EUR"} {
		if got, err := model.ParseCost(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, error %v, want an error of one line", text, got, err)
		}
	}
}

func TestReadPrices(t *testing.T) {
	p, err := model.ReadPrices(strings.NewReader(`{"as_of": "2026-11-01", "prices": {"m": "2/8/0.5 USD", "m-2025-04-14": "1/1 EUR"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"m": "USD", "m-2026-01-02": "USD", "m-20260102": "USD", "m-2025-04-14": "EUR", "m-mini": "", "": ""} {
		got := ""
		if price := p.Of(name); price != nil {
			got = price.Currency
		}
		if got != want {
			t.Errorf("the price of %q is in %q, want %q", name, got, want)
		}
	}
	if (*model.Prices)(nil).Of("m") != nil || p.AsOf() != "2026-11-01" {
		t.Errorf("prices of nothing, or of %s", p.AsOf())
	}
	for _, bad := range []string{
		``, `{}`, `{"as_of": "yesterday"}`, `{"as_of": "2026-11-01", "prices": {"m": "cheap"}}`, `{"as_of": "2026-11-01", "price": {}}`,
	} {
		if _, err := model.ReadPrices(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
