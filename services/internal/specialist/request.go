package specialist

import (
	"fmt"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Bounds of an assignment. Texts are counted in characters.
const (
	maxSubQuery  = 8000 // a gateway admits no longer message
	maxSummary   = 4000
	maxReason    = 2000
	maxShown     = 20
	maxTitle     = 500
	maxCartItems = 200 // as many as a cart holds
)

// checkRequest reports everything that is wrong with an assignment for the scope.
func checkRequest(req *specialistv1.AnswerRequest, sc scope.Scope) error {
	var check fault.Checker
	check.ID("assignment_id", req.GetAssignmentId())
	check.Text("sub_query", req.GetSubQuery(), 1, maxSubQuery)
	check.Text("message", req.GetMessage(), 0, maxSubQuery)
	check.Text("summary", req.GetSummary(), 0, maxSummary)
	check.Text("reason", req.GetReason(), 0, maxReason)
	checkShown(&check, req.GetShownProducts())
	checkCart(&check, req.GetCart(), sc)
	checkBudget(&check, req.GetBudget())
	return check.Err()
}

func checkShown(check *fault.Checker, shown []*specialistv1.ProductChoice) {
	if n := len(shown); n > maxShown {
		check.Addf("shown_products", "has %d products, must have at most %d", n, maxShown)
		return
	}
	for i, p := range shown {
		field := fmt.Sprintf("shown_products[%d]", i)
		check.ID(field+".product_id", p.GetProductId())
		check.Text(field+".title", p.GetTitle(), 0, maxTitle)
		check.Money(field+".price", p.GetPrice(), false)
	}
}

// checkCart refuses a cart that is not the one of the scope: no specialist reads another shopper's.
func checkCart(check *fault.Checker, cart *cartv1.Cart, sc scope.Scope) {
	if id := cart.GetStoreId(); id != "" && id != sc.StoreID {
		check.Addf("cart.store_id", "must be the store of the scope")
	}
	if id := cart.GetCartId(); id != "" && sc.CartID != "" && id != sc.CartID {
		check.Addf("cart.cart_id", "must be the cart of the scope")
	}
	if n := len(cart.GetItems()); n > maxCartItems {
		check.Addf("cart.items", "has %d items, must have at most %d", n, maxCartItems)
	}
}

func checkBudget(check *fault.Checker, b *commonv1.Budget) {
	if n := b.GetMaxTokens(); n < 0 {
		check.Addf("budget.max_tokens", "is %d, must be zero or more", n)
	}
	c := b.GetMaxCost()
	if c.GetAmountMicros() < 0 {
		check.Addf("budget.max_cost.amount_micros", "is %d, must be zero or more", c.GetAmountMicros())
	}
	if c != nil && len(c.GetCurrencyCode()) != 3 {
		check.Addf("budget.max_cost.currency_code", "must be an ISO 4217 code of three upper-case letters")
	}
}
