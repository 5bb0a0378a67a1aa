package fault

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// maxIDLength is the longest identifier in characters.
const maxIDLength = 64

// maxURLLength is the longest URL in characters.
const maxURLLength = 2_000

// Checker collects the violations of one request, so that a caller learns of many of them at once: the first MaxViolations, and
// how many more there are. Descriptions name the rule, lengths, numbers and identifiers, but never repeat a text of the request.
// The zero value is ready. It is not safe for concurrent use.
type Checker struct {
	violations []Violation
	more       int
}

// Count requires at most atMost entries of a list or map, and reports whether there are no more. Do not look at the entries of
// a list that is too long: their number is up to the caller.
func (c *Checker) Count(field string, n, atMost int) bool {
	if n > atMost {
		c.Addf(field, "has %d entries, must have at most %d", n, atMost)
	}
	return n <= atMost
}

// ID requires an identifier: 1 to 64 characters of A-Z a-z 0-9 . _ and -.
func (c *Checker) ID(field, value string) {
	if value == "" {
		c.Addf(field, "is required")
		return
	}
	c.OptionalID(field, value)
}

// OptionalID accepts an empty value, and else what ID accepts.
func (c *Checker) OptionalID(field, value string) {
	if value != "" && !ValidID(value) {
		c.Addf(field, "must be 1 to %d characters of A-Z a-z 0-9 . _ -", maxIDLength)
	}
}

// Text requires valid UTF-8 without NUL, of min to max characters, both included.
func (c *Checker) Text(field, value string, min, max int) {
	if !utf8.ValidString(value) {
		c.Addf(field, "must be valid UTF-8")
		return
	}
	if strings.ContainsRune(value, 0) {
		c.Addf(field, "must not contain the NUL character")
		return
	}
	n := utf8.RuneCountInString(value)
	switch {
	case n == 0 && min > 0:
		c.Addf(field, "is required")
	case n < min:
		c.Addf(field, "has %d characters, must have at least %d", n, min)
	case n > max:
		c.Addf(field, "has %d characters, must have at most %d", n, max)
	}
}

// Range requires min <= value <= max.
func (c *Checker) Range(field string, value, min, max int64) {
	if value < min || value > max {
		c.Addf(field, "is %d, must be from %d to %d", value, min, max)
	}
}

// Money requires an amount of zero or more and a currency code of three upper-case letters.
// A nil m is a violation only if required.
func (c *Checker) Money(field string, m *commonv1.Money, required bool) {
	if m == nil {
		if required {
			c.Addf(field, "is required")
		}
		return
	}
	if m.GetAmountMinor() < 0 {
		c.Addf(field+".amount_minor", "is %d, must be zero or more", m.GetAmountMinor())
	}
	if !validCurrency(m.GetCurrencyCode()) {
		c.Addf(field+".currency_code", "must be an ISO 4217 code of three upper-case letters")
	}
}

// URL accepts an empty value or an absolute http or https URL of at most 2,000 characters.
func (c *Checker) URL(field, value string) {
	if value == "" {
		return
	}
	c.Text(field, value, 0, maxURLLength)
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		c.Addf(field, "must be an absolute http or https URL, or empty")
	}
}

// TimeZone records a violation unless value is the IANA name of a time zone, or empty.
func (c *Checker) TimeZone(field, value string) {
	if _, err := time.LoadLocation(value); err != nil || value == time.Local.String() {
		c.Addf(field, "must be the IANA name of a time zone, such as \"Europe/Berlin\"")
	}
}

// At returns the name of the i-th entry of a repeated field, such as "items[3]".
func At(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// Addf records one violation of field. After MaxViolations it only counts.
func (c *Checker) Addf(field, format string, args ...any) {
	if len(c.violations) == MaxViolations {
		c.more++
		return
	}
	c.violations = append(c.violations, Violation{Field: field, Description: fmt.Sprintf(format, args...)})
}

// Err returns nil if nothing was violated, and else an *Invalid.
func (c *Checker) Err() error {
	if len(c.violations) == 0 {
		return nil
	}
	return &Invalid{Violations: c.violations, More: c.more}
}

// ValidID reports whether s is an identifier as Checker.ID accepts it.
func ValidID(s string) bool {
	if s == "" || len(s) > maxIDLength {
		return false
	}
	for i := range len(s) {
		switch b := s[i]; {
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '.', b == '_', b == '-':
		default:
			return false
		}
	}
	return true
}

func validCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

// CheckCustomer returns what is wrong with a request that names a store and a customer and nothing else.
func CheckCustomer(req interface {
	GetStoreId() string
	GetCustomerId() string
}) error {
	var c Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("customer_id", req.GetCustomerId())
	return c.Err()
}
