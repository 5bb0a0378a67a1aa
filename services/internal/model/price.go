package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

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

// Prices are the prices of models by name, as of a day.
type Prices struct {
	asOf   string
	byName map[string]*agentloop.Price
}

// ReadPrices reads a JSON object: {"as_of": "2026-11-01", "prices": {"gpt-4.1": "2/8/0.5 USD"}}, with prices as ParsePrice has them.
func ReadPrices(r io.Reader) (*Prices, error) {
	var file struct {
		AsOf   string            `json:"as_of"`
		Prices map[string]string `json:"prices"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("prices of models: %w", err)
	}
	if _, err := time.Parse(time.DateOnly, file.AsOf); err != nil {
		return nil, fmt.Errorf("prices of models: as_of %q: must be a day, such as 2026-11-01", file.AsOf)
	}
	p := &Prices{asOf: file.AsOf, byName: make(map[string]*agentloop.Price)}
	for name, text := range file.Prices {
		price, err := ParsePrice(text)
		if err != nil {
			return nil, fmt.Errorf("prices of models: %s: %w", name, err)
		}
		p.byName[name] = price
	}
	return p, nil
}

// Of returns the price of a model, or of the one that it is a dated version of: gpt-4.1-2025-04-14 costs what gpt-4.1 does. Nil: it is
// unknown. The prices may be nil.
func (p *Prices) Of(name string) *agentloop.Price {
	if p == nil {
		return nil
	}
	if price := p.byName[name]; price != nil {
		return price
	}
	return p.byName[dateSuffix.ReplaceAllString(name, "")]
}

// AsOf is the day of the prices.
func (p *Prices) AsOf() string { return p.asOf }

// dateSuffix ends the name of a version of a model.
var dateSuffix = regexp.MustCompile(`-20\d\d-?\d\d-?\d\d$`)
