package productfeed

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
)

// amount is a price: "15.00 USD", "USD 15.00" or "15". Thousands have no separator, so a comma can only be a decimal one.
var amount = regexp.MustCompile(`^(?:([A-Za-z]{3})\s*)?(\d{1,13})(?:[.,](\d{1,3}))?(?:\s*([A-Za-z]{3}))?$`)

// price reads a price, which is of a currency unless it names its own.
func price(s, currency string) (*commonv1.Money, error) {
	if s == "" {
		return nil, errors.New("is missing")
	}
	m := amount.FindStringSubmatch(s)
	if m == nil {
		return nil, fmt.Errorf("%q is no price; write it like 15.00 EUR", s)
	}
	for _, code := range []string{m[1], m[4]} {
		if code != "" {
			currency = strings.ToUpper(code)
		}
	}
	if currency == "" {
		return nil, fmt.Errorf("%q has no currency; write it like 15.00 EUR", s)
	}
	digits, fraction := money.Digits(currency), strings.TrimRight(m[3], "0")
	if len(m[3]) == 3 && digits < 3 {
		return nil, fmt.Errorf("%q may be thousands or thousandths; write it with %d decimals and without a separator of thousands", s, digits)
	}
	if len(fraction) > digits {
		return nil, fmt.Errorf("%q has more decimals than %s has", s, currency)
	}
	minor, err := strconv.ParseInt(m[2]+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is too large", s)
	}
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: currency}, nil
}

// runs reports whether a sale runs: its time is two instants in ISO 8601 with a slash between. Empty: always.
func runs(s string, now time.Time) (bool, error) {
	if s == "" {
		return true, nil
	}
	from, to, ok := strings.Cut(s, "/")
	start, err := instant(from)
	end, err2 := instant(to)
	if !ok || err != nil || err2 != nil {
		return false, fmt.Errorf("%q is no time; write it like 2026-03-01T00:00+01:00/2026-03-14T23:59+01:00", s)
	}
	return !now.Before(start) && now.Before(end), nil
}

// instant reads the forms of ISO 8601 that feeds have.
func instant(s string) (t time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04-0700", "2006-01-02T15:04:05-0700", time.DateOnly} {
		if t, err = time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return t, nil
		}
	}
	return t, err
}

// stock returns the units of a row: its quantity, or 1 of what is in stock, because a feed often does not say how many there are.
func stock(r row) (int32, error) {
	availability := strings.ReplaceAll(strings.ToLower(r.get("availability")), " ", "_")
	quantity := r.get("quantity")
	switch availability {
	case "out_of_stock", "preorder", "backorder", "discontinued":
		return 0, nil
	case "", "in_stock", "limited_availability":
	default:
		return 0, fmt.Errorf("is %q, must be in_stock, out_of_stock, preorder or backorder", availability)
	}
	if quantity != "" {
		n, err := strconv.ParseInt(quantity, 10, 32)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("quantity %q is no whole number of 0 or more", quantity)
		}
		return int32(n), nil
	}
	if availability == "" {
		return 0, errors.New("is missing; give availability or quantity")
	}
	return 1, nil
}

// categories returns the path of a row: the shop's own, or else the specification's if it is a path and no number.
func categories(r row) []string {
	path := r.get("product_type")
	if path == "" {
		path = r.get("google_product_category")
		if _, err := strconv.Atoi(path); err == nil {
			return nil
		}
	}
	var out []string
	for part := range strings.SplitSeq(path, ">") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// rating returns the rating of a row, or nil.
func rating(r row) (*catalogv1.Rating, error) {
	if r.get("rating") == "" {
		return nil, nil
	}
	average, err := strconv.ParseFloat(r.get("rating"), 64)
	if err != nil {
		return nil, fmt.Errorf("rating: %q is no number", r.get("rating"))
	}
	count, err := strconv.ParseInt(r.get("rating_count"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("rating_count: %q is no whole number", r.get("rating_count"))
	}
	return &catalogv1.Rating{Average: average, Count: int32(count)}, nil
}

// measure is a number with or without a unit, such as "310 g".
var measure = regexp.MustCompile(`^(-?\d+(?:\.\d+)?)\s*([\p{L}%°"'/²³]{0,10})$`)

// attribute returns an attribute: a flag, a number or a text.
func attribute(name, value string) *catalogv1.Attribute {
	out := &catalogv1.Attribute{Name: name}
	switch strings.ToLower(value) {
	case "yes", "true":
		out.Value = &catalogv1.Attribute_Flag{Flag: true}
		return out
	case "no", "false":
		out.Value = &catalogv1.Attribute_Flag{}
		return out
	}
	if m := measure.FindStringSubmatch(value); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil && !math.IsInf(n, 0) {
			out.Value, out.Unit = &catalogv1.Attribute_Number{Number: n}, m[2]
			return out
		}
	}
	out.Value = &catalogv1.Attribute_Text{Text: value}
	return out
}

// list splits a list at its commas.
func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// plain returns a description without the HTML that feeds allow.
func plain(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(s)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			b.Write(z.Text())
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "br", "p", "li", "ul", "ol", "div":
				if !strings.HasSuffix(b.String(), "\n") {
					b.WriteByte('\n')
				}
			}
		}
	}
}
