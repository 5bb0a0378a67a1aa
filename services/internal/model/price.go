package model

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// priceText is what ParsePrice takes.
var priceText = regexp.MustCompile(`^([0-9.]+)/([0-9.]+)(?:/([0-9.]+))? ([A-Z]{3})$`)

// costText is what ParseCost takes.
var costText = regexp.MustCompile(`^([0-9.]+) ([A-Z]{3})$`)

// amountText is an amount of money; six decimals are a millionth.
var amountText = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,6}))?$`)

// ParsePrice reads the price of a million tokens, input and output, with the currency: "0.15/0.60 USD". A third number is
// the price of cached input, otherwise that of input: "0.15/0.60/0.075 USD".
func ParsePrice(s string) (*agentloop.Price, error) {
	m := priceText.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return nil, fmt.Errorf(`price %q: want input/output or input/output/cached input for a million tokens and a currency, as "0.15/0.60 USD"`, s)
	}
	p := &agentloop.Price{Currency: m[4]}
	var err error
	if p.InputMicros, err = micros(m[1]); err != nil {
		return nil, fmt.Errorf("price %q: input: %w", s, err)
	}
	if p.OutputMicros, err = micros(m[2]); err != nil {
		return nil, fmt.Errorf("price %q: output: %w", s, err)
	}
	if m[3] == "" {
		return p, nil
	}
	if p.CachedInputMicros, err = micros(m[3]); err != nil {
		return nil, fmt.Errorf("price %q: cached input: %w", s, err)
	}
	if p.CachedInputMicros == 0 && p.InputMicros != 0 {
		return nil, fmt.Errorf("price %q: cached input: 0 would stand for the price of input", s)
	}
	return p, nil
}

// ParseCost reads an amount of money with the currency, such as "0.02 USD".
func ParseCost(s string) (*agentloop.Cost, error) {
	m := costText.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return nil, fmt.Errorf(`amount %q: want a number and a currency, as "0.02 USD"`, s)
	}
	amount, err := micros(m[1])
	if err != nil {
		return nil, fmt.Errorf("amount %q: %w", s, err)
	}
	return &agentloop.Cost{Micros: amount, Currency: m[2]}, nil
}

// micros reads a decimal number, exactly.
func micros(s string) (int64, error) {
	m := amountText.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New("want a number below a thousand million with at most six decimals")
	}
	return strconv.ParseInt(m[1]+(m[2] + "000000")[:6], 10, 64)
}
