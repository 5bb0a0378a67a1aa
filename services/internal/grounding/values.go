package grounding

import (
	"strconv"
	"strings"
)

// values returns what a number may stand for, as plain decimals: 1,299.50 and 1.299,50 are both 1299.5, and 1.299 may be
// either of two things. It returns nothing for digits that are not one number.
func values(atoms []atom) []string {
	switch len(atoms) {
	case 0:
		return nil
	case 1:
		return []string{decimal(atoms[0].text, "")}
	case 2:
		whole, rest, glue := atoms[0].text, atoms[1].text, atoms[1].glue
		var out []string
		if glue == "." || glue == "," {
			out = append(out, decimal(whole, rest))
		}
		if len(rest) == 3 && len(whole) <= 3 && (whole[0] != '0' || whole == "0") { // 0,495 kg is 495 g
			out = append(out, decimal(whole+rest, ""))
		}
		return out
	}
	glue, last := atoms[1].glue, atoms[len(atoms)-1]
	var digits strings.Builder
	for i, a := range atoms {
		switch {
		case i == len(atoms)-1 && a.glue != glue && (a.glue == "." || a.glue == ","):
			return []string{decimal(digits.String(), last.text)}
		case i > 0 && (len(a.text) != 3 || a.glue != glue):
			return nil
		}
		digits.WriteString(a.text)
	}
	return []string{decimal(digits.String(), "")}
}

// decimal writes a number without zeros that do not count.
func decimal(whole, rest string) string {
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if rest = strings.TrimRight(rest, "0"); rest != "" {
		return whole + "." + rest
	}
	return whole
}

// dates returns the readings of two or three numbers as a date.
func dates(atoms []atom) [][]key {
	if len(atoms) == 3 && len(atoms[0].text) == 4 {
		return onDay(atoms[2].text, atoms[1].text, atoms[0].text)
	}
	year := ""
	switch {
	case len(atoms) == 3 && len(atoms[2].text) == 4:
		year = atoms[2].text
	case len(atoms) == 3 && len(atoms[2].text) == 2:
		year = "20" + atoms[2].text
	case len(atoms) != 2:
		return nil
	}
	return append(onDay(atoms[0].text, atoms[1].text, year), onDay(atoms[1].text, atoms[0].text, year)...)
}

// onDay returns one reading, or none if there is no such day. The year may be empty.
func onDay(day, month, year string) [][]key {
	d, m := small(day, 31), small(month, 12)
	if d == 0 || m == 0 {
		return nil
	}
	reading := []key{dayKey(d, m)}
	if year != "" {
		reading = append(reading, numberKey(year))
	}
	return [][]key{reading}
}

// small returns the value of one or two digits if it is between 1 and limit, and else 0.
func small(digits string, limit int) int {
	if n, err := strconv.Atoi(digits); err == nil && len(digits) <= 2 && n >= 1 && n <= limit {
		return n
	}
	return 0
}

// currencies are the signs and codes that may stand at a number without a space. Signs that several countries use stand
// for themselves.
var currencies = map[string]string{
	"€": "EUR", "£": "GBP", "¥": "¥", "$": "$", "₹": "INR", "₺": "TRY", "₩": "KRW", "₽": "RUB", "zł": "PLN", "kč": "CZK",
	"euro": "EUR", "euros": "EUR", "dollar": "$", "dollars": "$", "dólar": "$", "dólares": "$",
	"eur": "EUR", "gbp": "GBP", "usd": "USD", "cad": "CAD", "aud": "AUD", "nzd": "NZD", "mxn": "MXN", "chf": "CHF", "jpy": "JPY",
	"cny": "CNY", "inr": "INR", "krw": "KRW", "pln": "PLN", "czk": "CZK", "sek": "SEK", "nok": "NOK", "dkk": "DKK",
	"huf": "HUF", "ron": "RON", "brl": "BRL",
}

// signOf is the sign that a currency shares with others.
var signOf = map[string]string{
	"USD": "$", "CAD": "$", "AUD": "$", "NZD": "$", "MXN": "$", "JPY": "¥", "CNY": "¥",
}

// isCurrency reports whether letters at a number are a currency's code.
func isCurrency(a atom) bool {
	return !a.digits && a.upper && len(a.text) == 3 && currencies[a.text] != ""
}
