package engine

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

// guidelines reads a public handbook for agents of a shop: what its agents may promise, by flow and subflow.
func guidelines(t *testing.T) map[string]struct{ Subflows map[string]json.RawMessage } {
	t.Helper()
	var flows map[string]struct{ Subflows map[string]json.RawMessage }
	if err := json.NewDecoder(publicdata.Open(t, "abcd/guidelines.json")).Decode(&flows); err != nil {
		t.Fatal(err)
	}
	return flows
}

// issued is when the codes of the guidelines are given out.
var issued = noon.Add(-72 * time.Hour)

func member(level string) Buyer { return Buyer{SignedIn: true, ID: "ada", Groups: []string{level}} }

// afterUse is the customer once they have used the code.
func (w Buyer) afterUse() Buyer {
	w.Used = map[string]Use{"PP": {1, 1}}
	return w
}

// guideline is a rule of the handbook as a promotion. The figures and names are read from its words.
type guideline struct {
	name          string
	flow, subflow string
	words         string // the rule, with what it says in groups
	express       func(said []string) *promotionv1.Promotion
	cases         []guidelineCase
}

type guidelineCase struct {
	who    Buyer
	day    int // after issued
	reason string
	saving int64 // of walkCart, 338.65
}

// handbook are the rules on promotions.
var handbook = []guideline{
	{"promotions last seven days", "Purchase Dispute", "Promo Code Out of Date", `promotions only last (\d+) days`,
		func(said []string) *promotionv1.Promotion {
			return promo("PP", percent(1000), starts(issued), ends(issued.Add(time.Duration(figure(said[1]))*24*time.Hour)))
		},
		[]guidelineCase{{Buyer{}, 0, "", 3386}, {Buyer{}, 6, "", 3386}, {Buyer{}, 7, "EXPIRED", 0}, {Buyer{}, 100, "EXPIRED", 0}, {Buyer{}, -1, "NOT_STARTED", 0}}},
	{"a new code for members only", "Purchase Dispute", "Promo Code Invalid", `(Gold), (Silver) and (Bronze) all qualify`,
		func(said []string) *promotionv1.Promotion {
			return promo("PP", percent(1000), groups(lower(said[1:])...))
		},
		[]guidelineCase{{member("gold"), 0, "", 3386}, {member("silver"), 0, "", 3386}, {member("bronze"), 0, "", 3386},
			{member("guest"), 0, "CUSTOMER_NOT_ELIGIBLE", 0}, {Buyer{}, 0, "SIGN_IN_NEEDED", 0}}},
	{"it is for the next purchase", "Purchase Dispute", "Promo Code Invalid", `it is for (\d+)% off their next purchase`,
		func(said []string) *promotionv1.Promotion {
			return promo("PP", percent(int32(100*figure(said[1]))), limits(0, 1))
		},
		[]guidelineCase{{member("gold"), 0, "", 6773}, {member("gold").afterUse(), 0, "USED_UP", 0}, {Buyer{}, 0, "SIGN_IN_NEEDED", 0}}},
	{"a cheaper competitor", "Purchase Dispute", "Bad Price Competitor", `offer them a discount using \[Promo Code\]`, disputeCode, disputed},
	{"a cheaper yesterday", "Purchase Dispute", "Bad Price Yesterday", `offer them a discount using \[Promo Code\]`, disputeCode, disputed},
	{"an item out of stock", "Purchase Dispute", "Out-of-Stock General", `offer them a discount using \[Promo Code\]`, disputeCode, disputed},
	{"missing credit", "Manage Account", "Status Credit Missing", `the standard amount is \$(\d+)`,
		func(said []string) *promotionv1.Promotion {
			return promo("PP", amountOff(eur(100*figure(said[1]))), limits(1, 0))
		},
		[]guidelineCase{{Buyer{}, 0, "", 4000}, {Buyer{}.afterUse(), 0, "USED_UP", 0}}},
	{"an upgrade's fee is waived for gold", "Order Issue", "Manage Upgrade", `(Gold) members have their fee waived.*\$(\d+)`,
		func(said []string) *promotionv1.Promotion {
			return promo("PP", freeShipping(eur(100*figure(said[2]))), groups(lower(said[1:2])...))
		},
		[]guidelineCase{{member("gold"), 0, "", 2000}, {member("silver"), 0, "CUSTOMER_NOT_ELIGIBLE", 0}, {Buyer{}, 0, "SIGN_IN_NEEDED", 0}}},
	{"a late addition ships for free to silver and gold", "Order Issue", "Manage Create", `Enter the (Gold) or (Silver) level.*no shipping fee`,
		func(said []string) *promotionv1.Promotion {
			return promo("PP", freeShipping(nil), groups(lower(said[1:])...))
		},
		[]guidelineCase{{member("gold"), 0, "", 0}, {member("silver"), 0, "", 0}, {member("bronze"), 0, "CUSTOMER_NOT_ELIGIBLE", 0}}},
	{"standard shipping is waived", "Shipping Issue", "Shipping Cost", `Standard shipping is \$(\d+)\.00`,
		func(said []string) *promotionv1.Promotion { return promo("PP", freeShipping(eur(100*figure(said[1])))) },
		[]guidelineCase{{Buyer{}, 0, "", 800}}},
}

// A dispute ends in a code made for it, which works once. The handbook does not say how much it takes off.
func disputeCode([]string) *promotionv1.Promotion {
	return promo("PP", percent(1000), limits(1, 0), starts(issued), ends(issued.Add(7*24*time.Hour)))
}

var disputed = []guidelineCase{{Buyer{}, 0, "", 3386}, {member("guest"), 6, "", 3386}, {Buyer{}.afterUse(), 0, "USED_UP", 0}, {Buyer{}, 7, "EXPIRED", 0}}

func figure(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // the expression admits digits only
	return n
}

func lower(names []string) []string { return strings.Fields(strings.ToLower(strings.Join(names, " "))) }

func TestPromotionRulesOfAPublicHandbook(t *testing.T) {
	flows := guidelines(t)
	for _, g := range handbook {
		t.Run(g.name, func(t *testing.T) {
			said := regexp.MustCompile(g.words).FindStringSubmatch(string(flows[g.flow].Subflows[g.subflow]))
			if said == nil {
				t.Fatalf("%s, %s does not say %q", g.flow, g.subflow, g.words)
			}
			p := g.express(said)
			if err := Check(p); err != nil {
				t.Fatalf("cannot be expressed: %v", err)
			}
			for _, c := range g.cases {
				e := verdict(p, NewBasket(walkCart()), c.who, issued.Add(time.Duration(c.day)*24*time.Hour))
				reason := strings.TrimPrefix(e.GetRefusalReason().String(), "REFUSAL_REASON_")
				if c.reason == "" {
					c.reason = "UNSPECIFIED"
				}
				if reason != c.reason || e.GetSaving().GetAmountMinor() != c.saving {
					t.Errorf("day %d, %+v: %s, saves %v; want %s, %d", c.day, c.who, reason, e.GetSaving(), c.reason, c.saving)
				}
			}
		})
	}
}
