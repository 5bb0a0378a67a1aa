package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func TestErrors(t *testing.T) {
	cause := errors.New("dial: refused")
	tests := map[string]struct {
		err    error
		want   string
		unwrap error
	}{
		"invalid":   {&fault.Invalid{Violations: []fault.Violation{{"a", "is bad"}, {"b", "is worse"}}}, "invalid request: a: is bad; b: is worse", nil},
		"not found": {&fault.NotFound{Resource: "product", Name: "p-1"}, `product "p-1" not found`, nil},
		"not found, but others": {
			&fault.NotFound{Resource: "product", Name: "p-1", Instead: "the nearest ids are p-2"},
			`product "p-1" not found; the nearest ids are p-2`, nil,
		},
		"precondition":           {&fault.Precondition{Subject: "cart/c1", Description: "is at version 4"}, "cart/c1: is at version 4", nil},
		"exists":                 {&fault.Exists{Resource: "request", Name: "r1", Description: "is taken"}, `request "r1": is taken`, nil},
		"aborted":                {&fault.Aborted{Description: "taken over"}, "taken over", nil},
		"unavailable":            {&fault.Unavailable{What: "load cart", Err: cause}, "load cart: temporarily unavailable: dial: refused", cause},
		"unavailable, no cause":  {&fault.Unavailable{What: "load cart"}, "load cart: temporarily unavailable", nil},
		"exhausted":              {&fault.Exhausted{What: "model", Err: cause}, "model: limit reached: dial: refused", cause},
		"wrapped, cause matched": {fmt.Errorf("turn: %w", &fault.Exhausted{What: "model", Err: cause}), "turn: model: limit reached: dial: refused", cause},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.unwrap != nil && !errors.Is(tt.err, tt.unwrap) {
				t.Error("the cause is not found")
			}
		})
	}
}

func TestPublicTextsHideTheCause(t *testing.T) {
	cause := errors.New("10.0.0.7 refused")
	for _, e := range []interface{ Public() string }{&fault.Unavailable{What: "x", Err: cause}, &fault.Exhausted{What: "x", Err: cause}} {
		if strings.Contains(e.Public(), "10.0.0.7") {
			t.Errorf("%T tells its cause: %s", e, e.Public())
		}
	}
}

func TestChecker(t *testing.T) {
	eur := func(amount int64) *commonv1.Money { return &commonv1.Money{AmountMinor: amount, CurrencyCode: "EUR"} }
	tests := map[string]struct {
		check func(*fault.Checker)
		want  []string // "field: description", the description cut to its first word
	}{
		"a good id":                 {func(c *fault.Checker) { c.ID("id", "A-z_0.9") }, nil},
		"the longest id":            {func(c *fault.Checker) { c.ID("id", strings.Repeat("x", 64)) }, nil},
		"an id that is too long":    {func(c *fault.Checker) { c.ID("id", strings.Repeat("x", 65)) }, []string{"id: must"}},
		"no id":                     {func(c *fault.Checker) { c.ID("id", "") }, []string{"id: is"}},
		"an id with a slash":        {func(c *fault.Checker) { c.ID("id", "a/b") }, []string{"id: must"}},
		"an id with a newline":      {func(c *fault.Checker) { c.ID("id", "a\n") }, []string{"id: must"}},
		"an id with an umlaut":      {func(c *fault.Checker) { c.ID("id", "ä") }, []string{"id: must"}},
		"no optional id":            {func(c *fault.Checker) { c.OptionalID("id", "") }, nil},
		"a bad optional id":         {func(c *fault.Checker) { c.OptionalID("id", "a:b") }, []string{"id: must"}},
		"text by characters":        {func(c *fault.Checker) { c.Text("t", "äöü", 3, 3) }, nil},
		"text that is short":        {func(c *fault.Checker) { c.Text("t", "ab", 3, 9) }, []string{"t: has"}},
		"text that is long":         {func(c *fault.Checker) { c.Text("t", "abcd", 1, 3) }, []string{"t: has"}},
		"no text where it must be":  {func(c *fault.Checker) { c.Text("t", "", 1, 3) }, []string{"t: is"}},
		"no text where it may lack": {func(c *fault.Checker) { c.Text("t", "", 0, 3) }, nil},
		"text with NUL":             {func(c *fault.Checker) { c.Text("t", "a\x00", 1, 3) }, []string{"t: must"}},
		"text that is not UTF-8":    {func(c *fault.Checker) { c.Text("t", "\xff", 1, 3) }, []string{"t: must"}},
		"the ends of a range":       {func(c *fault.Checker) { c.Range("n", 1, 1, 5); c.Range("n", 5, 1, 5) }, nil},
		"outside a range":           {func(c *fault.Checker) { c.Range("n", 0, 1, 5); c.Range("n", 6, 1, 5) }, []string{"n: is", "n: is"}},
		"money":                     {func(c *fault.Checker) { c.Money("m", eur(0), true) }, nil},
		"no money where it may":     {func(c *fault.Checker) { c.Money("m", nil, false) }, nil},
		"no money where it must":    {func(c *fault.Checker) { c.Money("m", nil, true) }, []string{"m: is"}},
		"negative money":            {func(c *fault.Checker) { c.Money("m", eur(-1), false) }, []string{"m.amount_minor: is"}},
		"money of no currency":      {func(c *fault.Checker) { c.Money("m", &commonv1.Money{CurrencyCode: "eur"}, true) }, []string{"m.currency_code: must"}},
		"all of several":            {func(c *fault.Checker) { c.ID("a", ""); c.Addf("b", "is %d", 7) }, []string{"a: is", "b: is"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c fault.Checker
			tt.check(&c)
			err := c.Err()
			var got []string
			var bad *fault.Invalid
			if errors.As(err, &bad) {
				for _, v := range bad.Violations {
					first, _, _ := strings.Cut(v.Description, " ")
					got = append(got, v.Field+": "+first)
				}
			} else if err != nil {
				t.Fatalf("got %T", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestViolationsAreBounded(t *testing.T) {
	var c fault.Checker
	if c.Count("items", 11, 10) || !c.Count("items", 10, 10) {
		t.Error("Count does not tell 11 entries from 10")
	}
	for i := range 150_000 {
		c.Addf(fault.At("items", i), "is %s", "bad")
	}
	var bad *fault.Invalid
	if !errors.As(c.Err(), &bad) || len(bad.Violations) != fault.MaxViolations || bad.More != 150_001-fault.MaxViolations {
		t.Fatalf("%d violations and %d more", len(bad.Violations), bad.More)
	}
	text := bad.Error()
	if len(text) > 1_100 || !strings.HasSuffix(text, "; and 149981 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	bad.Violations[1].Description = strings.Repeat("long ", 1_000)
	if text := bad.Error(); !strings.HasSuffix(text, "; and 150000 more") {
		t.Errorf("with a long one: %s", text)
	}
}
