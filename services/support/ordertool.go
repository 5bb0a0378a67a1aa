package support

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/support/orders"
)

// maxItemsShown is how many items of an order a model is shown: those that are meant go first.
const maxItemsShown = 6

type orderArgs struct {
	OrderID string `json:"order_id,omitempty"`
	wish
}

type guestArgs struct {
	OrderID    string `json:"order_id,omitempty"`
	Email      string `json:"email,omitempty"`
	PostalCode string `json:"postal_code,omitempty"`
	wish
}

// maxOthersShown is how many other orders a model is shown, and maxOthersBeside how many when its item was named. Beside an
// order that was named by its number, there are none.
const (
	maxOthersShown  = 8
	maxOthersBeside = 3
)

type orderResult struct {
	Order *shownOrder `json:"order,omitempty"`
	// Actions that the shop shows a button for.
	Buttons []string `json:"buttons,omitempty"`
	// The customer's other orders, the newest first, each in a line.
	OtherOrders []string `json:"other_orders,omitempty"`
	Note        string   `json:"note,omitempty"`
	Instruction string   `json:"instruction,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r orderResult) Summary() string {
	if r.Order == nil {
		return "no order"
	}
	return r.Order.OrderID + ", " + r.Order.Status
}

type shownOrder struct {
	OrderID string `json:"order_id"`
	// Whether what the shopper wants is possible, in sentences.
	Asked    []string      `json:"asked,omitempty"`
	Status   string        `json:"status"`
	NextStep string        `json:"next_step"`
	Placed   string        `json:"placed"`
	Items    []shownItem   `json:"items"`
	Discount string        `json:"discount,omitempty"`
	Delivery string        `json:"delivery_fee,omitempty"`
	Total    string        `json:"total"`
	PaidBy   string        `json:"paid_by,omitempty"`
	Tracking *shownParcel  `json:"tracking,omitempty"`
	Parcels  []shownParcel `json:"other_parcels,omitempty"`
	Returns  []shownReturn `json:"returns,omitempty"`
	// What else the shopper may ask for, in clauses.
	Possible []string `json:"possible,omitempty"`
}

type shownItem struct {
	Title    string            `json:"title"`
	Quantity int32             `json:"quantity,omitempty"` // unless it is 1
	Options  map[string]string `json:"options,omitempty"`
	Price    string            `json:"price"`
}

type shownParcel struct {
	Status            string `json:"status"`
	Carrier           string `json:"carrier,omitempty"`
	TrackingNumber    string `json:"tracking_number,omitempty"`
	URL               string `json:"url,omitempty"`
	EstimatedDelivery string `json:"estimated_delivery,omitempty"`
	Delivered         string `json:"delivered,omitempty"`
	// What is in it. Empty: unknown.
	Items []string `json:"items,omitempty"`
}

type shownReturn struct {
	Status    string   `json:"status"`
	Requested string   `json:"requested,omitempty"`
	Items     []string `json:"items,omitempty"`
	Refund    string   `json:"refund,omitempty"`
}

// Words for a model about look-ups that did not work.
const (
	ordersDown   = "orders cannot be looked up now; say so, and name no status"
	ordersOff    = "this store's orders cannot be looked up here; say so, and search the documents for how to reach the store"
	signIn       = "the shopper is not signed in, so no order can be looked up: ask the shopper to sign in, or to give the order's number with its e-mail address or postal code"
	guestMissing = "No order has this number with this e-mail address or postal code. Ask the shopper to check both."
	guestBlocked = "there were too many wrong attempts; ask the shopper to sign in, or to try again in an hour"
)

// lookupOrder finds an order of the turn's customer, whatever customer the model names: by its number, by what the shopper says
// they bought, or else the latest.
func (t *turnTools) lookupOrder(ctx context.Context, in orderArgs) (orderResult, error) {
	s, id := t.turn.Scope, orders.NormalID(in.OrderID)
	latest, total, err := t.service.orders.ListWithActions(ctx, s.StoreID, s.CustomerID, maxOrdersRead)
	if err != nil {
		return orderResult{}, t.lookupError(ctx, err)
	}
	for _, f := range latest {
		if f.Order.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_CANCELLED && f.Order.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_RETURNED {
			for _, item := range f.Order.GetItems() {
				t.turn.AddOrdered(item.GetProductId())
			}
		}
	}
	f, none, err := t.chooseOrder(ctx, id, in.Item, latest)
	if err != nil {
		return orderResult{}, t.lookupError(ctx, err)
	}
	if f.Order == nil {
		if id != "" || len(latest) == 0 {
			t.turn.Absent()
		} else {
			t.turn.Found(0)
		}
		if len(latest) == 0 {
			none.Note = "This customer has no orders at this store."
		}
		none.OtherOrders = otherOrders(latest, total, "", maxOthersShown)
		return none, nil
	}
	limit := maxOthersShown
	switch {
	case id != "":
		limit = 0
	case in.Item != "":
		limit = maxOthersBeside
	}
	r := t.present(ctx, f, in.wish)
	r.OtherOrders = otherOrders(latest, total, f.Order.GetOrderId(), limit)
	return r, nil
}

// chooseOrder returns the order that a call is about, of the customer's latest or by its number, or a result that says why there
// is none.
func (t *turnTools) chooseOrder(
	ctx context.Context, id, item string, latest []orders.WithActions,
) (found orders.WithActions, none orderResult, err error) {
	s := t.turn.Scope
	switch {
	case id != "":
		if i := slices.IndexFunc(latest, func(f orders.WithActions) bool { return f.Order.GetOrderId() == id }); i >= 0 {
			return latest[i], none, nil
		}
		found, err = t.service.orders.Get(ctx, s.StoreID, s.CustomerID, id)
		var missing *fault.NotFound
		if errors.As(err, &missing) {
			return found, orderResult{Note: fmt.Sprintf("This customer has no order %s.", id), Instruction: "Ask them to check the number."}, nil
		}
		return found, none, err
	case len(latest) == 0:
		return found, none, nil
	case strings.TrimSpace(item) != "":
		if i := bestOrder(latest, t.terms(item)); i >= 0 {
			return latest[i], none, nil
		}
		return found, orderResult{
			Note: "No order has such an item.", Instruction: "Look up the order that may be meant, or ask the shopper which one it is.",
		}, nil
	}
	// Models leave out what the shopper says of the item, so code reads it.
	return latest[max(0, bestOrder(latest, t.terms(t.turn.SubQuery)))], none, nil
}

// otherOrders shows the customer's newest orders but one, and says how many are left out.
func otherOrders(latest []orders.WithActions, total int, but string, limit int) []string {
	var lines []string
	for _, f := range latest {
		if o := f.Order; o.GetOrderId() != but && len(lines) < limit {
			lines = append(lines, orderLine(o))
			total--
		}
	}
	if but != "" {
		total--
	}
	if total > 0 && len(lines) > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", total))
	}
	return lines
}

// The line of an order names this many titles of this many characters.
const (
	maxTitlesInLine = 3
	maxTitleInLine  = 60
)

// orderLine is an order in a line: number, date, status, titles.
func orderLine(o *orderv1.Order) string {
	var titles []string
	for _, item := range o.GetItems()[:min(len(o.GetItems()), maxTitlesInLine)] {
		titles = append(titles, text.Cut(item.GetTitle(), maxTitleInLine))
	}
	if more := len(o.GetItems()) - len(titles); more > 0 {
		titles = append(titles, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s, %s, %s: %s", o.GetOrderId(), dayText(o.GetCreateTime().AsTime()), statusText[o.GetStatus()], strings.Join(titles, ", "))
}

// lookupGuestOrder finds an order of a shopper who is not signed in, by what they know of it.
func (t *turnTools) lookupGuestOrder(ctx context.Context, in guestArgs) (orderResult, error) {
	id, p := orders.NormalID(in.OrderID), orders.ProofOf(in.Email, in.PostalCode)
	if id == "" || p.Empty() {
		return orderResult{}, errors.New(signIn)
	}
	f, err := t.service.orders.Guest(ctx, t.turn.Scope.StoreID, id, p)
	var missing *fault.NotFound
	if errors.As(err, &missing) {
		t.turn.Found(0)
		return orderResult{Note: guestMissing}, nil
	}
	if err != nil {
		return orderResult{}, t.lookupError(ctx, err)
	}
	return t.present(ctx, f, in.wish), nil
}

// lookupError puts a look-up that failed into words for the model.
func (t *turnTools) lookupError(ctx context.Context, err error) error {
	var (
		blocked *fault.Exhausted
		off     *fault.Precondition
	)
	switch {
	case errors.As(err, &blocked):
		return errors.New(guestBlocked)
	case errors.As(err, &off):
		return errors.New(ordersOff)
	}
	return t.service.forModel(ctx, err, ordersDown)
}

// present leaves an order in the findings, with what can be done with it, and shows it to the model.
func (t *turnTools) present(ctx context.Context, f orders.WithActions, in wish) orderResult {
	t.turn.Found(1)
	t.turn.AddOrder(f.Order, f.Actions)
	r := orderResult{Order: showOrder(f, t.meant(f.Order, in), t.service.now())}
	t.answerWish(ctx, f, in, &r)
	if n := len(f.Order.GetItems()); n > maxItemsShown {
		r.Note = fmt.Sprintf("The order has %d items; %d are listed.", n, maxItemsShown)
	}
	return r
}

// meant returns the places of the items that the model means, or the shopper if it names none.
func (t *turnTools) meant(o *orderv1.Order, in wish) []int32 {
	return meantItems(o, t.terms(cmp.Or(in.Item, t.turn.SubQuery)))
}

// itemsToShow returns the items of an order that a model is shown, in their order, those that are meant in any case.
func itemsToShow(o *orderv1.Order, meant []int32) []*orderv1.OrderItem {
	var shown []*orderv1.OrderItem
	room := maxItemsShown - min(len(meant), maxItemsShown)
	for i, item := range o.GetItems() {
		isMeant := slices.Contains(meant, int32(i))
		if !isMeant && room > 0 {
			room--
		} else if !isMeant || len(shown) == maxItemsShown {
			continue
		}
		shown = append(shown, item)
	}
	return shown
}

func showOrder(f orders.WithActions, meant []int32, now time.Time) *shownOrder {
	o := f.Order
	shown := &shownOrder{
		OrderID:  o.GetOrderId(),
		Status:   statusText[o.GetStatus()],
		NextStep: nextStep(f, now),
		Placed:   dayText(o.GetCreateTime().AsTime()),
		Discount: money.Text(o.GetDiscount()),
		Delivery: money.Text(o.GetShipping()),
		Total:    money.Text(o.GetTotal()),
		PaidBy:   o.GetPaymentKind(),
	}
	for _, item := range itemsToShow(o, meant) {
		s := shownItem{Title: item.GetTitle(), Options: item.GetOptions(), Price: money.Text(item.GetUnitPrice())}
		if item.GetQuantity() != 1 {
			s.Quantity = item.GetQuantity()
		}
		shown.Items = append(shown.Items, s)
	}
	for _, r := range o.GetReturns() {
		shown.Returns = append(shown.Returns, showReturn(f, r))
	}
	current := currentParcel(o)
	for _, p := range o.GetFulfilments() {
		parcel := showParcel(o, p)
		if p == current {
			shown.Tracking = &parcel
		} else {
			shown.Parcels = append(shown.Parcels, parcel)
		}
	}
	return shown
}

func showParcel(o *orderv1.Order, p *orderv1.Fulfilment) shownParcel {
	shown := shownParcel{
		Status: "not sent yet", Carrier: p.GetCarrier(), TrackingNumber: p.GetTrackingNumber(), URL: p.GetTrackingUrl(),
		Items: titles(o, p.GetItems()),
	}
	switch {
	case p.GetDeliveryTime() != nil:
		shown.Status, shown.Delivered = "delivered", dayText(p.GetDeliveryTime().AsTime())
	case p.GetEstimatedDeliveryTime() != nil:
		shown.EstimatedDelivery = dayText(p.GetEstimatedDeliveryTime().AsTime())
	}
	if sent(o, p) && p.GetDeliveryTime() == nil {
		shown.Status = "on its way"
	}
	return shown
}

// returnText are the statuses of a return, as facts for a model to word.
var returnText = map[orderv1.ReturnStatus]string{
	orderv1.ReturnStatus_RETURN_STATUS_REQUESTED: "requested; the goods have not reached the store",
	orderv1.ReturnStatus_RETURN_STATUS_RECEIVED:  "received by the store; not refunded yet",
	orderv1.ReturnStatus_RETURN_STATUS_REFUNDED:  "refunded",
	orderv1.ReturnStatus_RETURN_STATUS_REJECTED:  "rejected by the store",
}

func showReturn(f orders.WithActions, r *orderv1.Return) shownReturn {
	shown := shownReturn{Status: returnText[r.GetStatus()], Refund: money.Text(r.GetRefund()), Items: titles(f.Order, r.GetItems())}
	if shown.Refund != "" && f.ReturnRefund != "" && r.GetStatus() != orderv1.ReturnStatus_RETURN_STATUS_REJECTED {
		shown.Refund += ", to: " + f.ReturnRefund
	}
	if r.GetRequestTime() != nil {
		shown.Requested = dayText(r.GetRequestTime().AsTime())
	}
	return shown
}

// titles names the items of some units of an order, with the number of units where it is not 1.
func titles(o *orderv1.Order, units []*orderv1.ItemQuantity) []string {
	var out []string
	for _, u := range units[:min(len(units), maxItemsShown)] {
		title := o.GetItems()[u.GetItemIndex()].GetTitle()
		if u.GetQuantity() > 1 {
			title = fmt.Sprintf("%d x %s", u.GetQuantity(), title)
		}
		out = append(out, title)
	}
	return out
}

// sent reports whether a parcel has left. Parcels of an order that is shipped have, even without a ship time.
func sent(o *orderv1.Order, p *orderv1.Fulfilment) bool {
	return p.GetShipTime() != nil || p.GetDeliveryTime() != nil || o.GetStatus() != orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED
}

// currentParcel is the one that a shopper asks about: the last that is on its way, or else the last that has arrived, or else the
// last that has not left. Nil without any.
func currentParcel(o *orderv1.Order) *orderv1.Fulfilment {
	rank := func(p *orderv1.Fulfilment) int {
		switch {
		case p.GetDeliveryTime() != nil:
			return 1
		case sent(o, p):
			return 2
		}
		return 0
	}
	var current *orderv1.Fulfilment
	for _, p := range o.GetFulfilments() {
		if current == nil || rank(p) >= rank(current) {
			current = p
		}
	}
	return current
}
