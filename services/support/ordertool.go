package support

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/support/orders"
)

// maxItemsShown is how many items of an order a model is shown.
const maxItemsShown = 20

type orderArgs struct {
	OrderID string   `json:"order_id,omitempty" jsonschema:"number of the order as the shopper wrote it; leave out for their latest order"`
	Wants   []string `json:"wants,omitempty" jsonschema:"what the shopper wants to do with the order; leave out when they only ask how it stands"`
}

type guestArgs struct {
	OrderID    string   `json:"order_id,omitempty" jsonschema:"number of the order as the shopper wrote it"`
	Email      string   `json:"email,omitempty" jsonschema:"e-mail address that the shopper says was given with the order"`
	PostalCode string   `json:"postal_code,omitempty" jsonschema:"postal code that the shopper says was given with the order"`
	Wants      []string `json:"wants,omitempty" jsonschema:"what the shopper wants to do with the order; leave out when they only ask how it stands"`
}

type orderResult struct {
	Order       *shownOrder `json:"order,omitempty"`
	OtherOrders int         `json:"other_orders"`
	Note        string      `json:"note,omitempty"`
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
	Asked    []string        `json:"asked,omitempty"`
	Status   string          `json:"status"`
	NextStep string          `json:"next_step"`
	Placed   string          `json:"placed"`
	Items    []shownItem     `json:"items"`
	Total    string          `json:"total"`
	PaidBy   string          `json:"paid_by,omitempty"`
	Tracking *shownTracking  `json:"tracking,omitempty"`
	Earlier  []shownTracking `json:"other_parcels,omitempty"`
	Returns  []shownReturn   `json:"returns,omitempty"`
	// What the shopper may ask for and what not, in clauses.
	Possible    []string `json:"possible,omitempty"`
	NotPossible []string `json:"not_possible,omitempty"`
}

type shownItem struct {
	Title    string            `json:"title"`
	Quantity int32             `json:"quantity"`
	Options  map[string]string `json:"options,omitempty"`
	Price    string            `json:"price"`
}

type shownTracking struct {
	Carrier           string `json:"carrier,omitempty"`
	TrackingNumber    string `json:"tracking_number,omitempty"`
	URL               string `json:"url,omitempty"`
	EstimatedDelivery string `json:"estimated_delivery,omitempty"`
	Delivered         string `json:"delivered,omitempty"`
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
	ordersOff    = "this store's orders cannot be looked up here; say so, and offer to pass it on"
	signIn       = "the shopper is not signed in, so no order can be looked up: ask the shopper to sign in, or to give the order's number with its e-mail address or postal code"
	guestMissing = "No order has this number with this e-mail address or postal code. Ask the shopper to check both."
	guestBlocked = "there were too many wrong attempts; ask the shopper to sign in, or to try again in an hour"
)

// lookupOrder finds an order of the turn's customer, whatever customer the model names.
func (t *turnTools) lookupOrder(ctx context.Context, in orderArgs) (orderResult, error) {
	f, total, err := t.findOrder(ctx, orders.NormalID(in.OrderID))
	if err != nil {
		return orderResult{}, t.lookupError(ctx, err)
	}
	if f.Order == nil {
		t.turn.Found(0)
		return orderResult{OtherOrders: total, Note: missingNote(in.OrderID, total)}, nil
	}
	return t.present(f, max(total-1, 0), in.Wants), nil
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
	return t.present(f, 0, in.Wants), nil
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
func (t *turnTools) present(f orders.WithActions, others int, wants []string) orderResult {
	t.turn.Found(1)
	t.turn.SetOrder(f.Order, f.Actions)
	r := orderResult{Order: showOrder(f, t.service.now()), OtherOrders: others}
	r.Order.Asked = t.answerRequested(f, wants)
	if n := len(f.Order.GetItems()); n > maxItemsShown {
		r.Note = fmt.Sprintf("The order has %d items; the first %d are listed.", n, maxItemsShown)
	}
	return r
}

// findOrder returns an order of the customer, the latest without an id, and how many they have. The order is nil when there
// is no such one.
func (t *turnTools) findOrder(ctx context.Context, id string) (orders.WithActions, int, error) {
	s, repository := t.turn.Scope, t.service.orders
	if id == "" {
		return repository.Latest(ctx, s.StoreID, s.CustomerID)
	}
	f, err := repository.Get(ctx, s.StoreID, s.CustomerID, id)
	var missing *fault.NotFound
	if err != nil && !errors.As(err, &missing) {
		return orders.WithActions{}, 0, err
	}
	_, total, err := repository.List(ctx, s.StoreID, s.CustomerID, 1)
	return f, total, err
}

func missingNote(asked string, count int) string {
	switch {
	case count == 0:
		return "This customer has no orders at this store."
	case orders.NormalID(asked) == "":
		return "The latest order could not be found."
	}
	return fmt.Sprintf("This customer has no order %s. Ask them to check the number, or look up their latest order without one.", orders.NormalID(asked))
}

func showOrder(f orders.WithActions, now time.Time) *shownOrder {
	o := f.Order
	shown := &shownOrder{
		OrderID:  o.GetOrderId(),
		Status:   statusText[o.GetStatus()],
		NextStep: nextStep(f, now),
		Placed:   dayText(o.GetCreateTime().AsTime()),
		Total:    money.Text(o.GetTotal()),
		PaidBy:   o.GetPaymentKind(),
	}
	shown.Possible, shown.NotPossible = actionTexts(f)
	for _, item := range o.GetItems()[:min(len(o.GetItems()), maxItemsShown)] {
		shown.Items = append(shown.Items, shownItem{
			Title: item.GetTitle(), Quantity: item.GetQuantity(), Options: item.GetOptions(), Price: money.Text(item.GetUnitPrice()),
		})
	}
	for _, r := range o.GetReturns() {
		shown.Returns = append(shown.Returns, showReturn(o, r))
	}
	current := currentParcel(o)
	for _, p := range o.GetFulfilments() {
		if p == current {
			parcel := showParcel(p)
			shown.Tracking = &parcel
		} else {
			shown.Earlier = append(shown.Earlier, showParcel(p))
		}
	}
	return shown
}

func showParcel(p *orderv1.Fulfilment) shownTracking {
	shown := shownTracking{Carrier: p.GetCarrier(), TrackingNumber: p.GetTrackingNumber(), URL: p.GetTrackingUrl()}
	switch {
	case p.GetDeliveryTime() != nil:
		shown.Delivered = dayText(p.GetDeliveryTime().AsTime())
	case p.GetEstimatedDeliveryTime() != nil:
		shown.EstimatedDelivery = dayText(p.GetEstimatedDeliveryTime().AsTime())
	}
	return shown
}

// returnText are the statuses of a return as a shopper reads them.
var returnText = map[orderv1.ReturnStatus]string{
	orderv1.ReturnStatus_RETURN_STATUS_REQUESTED: "asked for, or on its way back",
	orderv1.ReturnStatus_RETURN_STATUS_RECEIVED:  "back at the store",
	orderv1.ReturnStatus_RETURN_STATUS_REFUNDED:  "paid back",
	orderv1.ReturnStatus_RETURN_STATUS_REJECTED:  "refused",
}

func showReturn(o *orderv1.Order, r *orderv1.Return) shownReturn {
	shown := shownReturn{Status: returnText[r.GetStatus()], Refund: money.Text(r.GetRefund())}
	if r.GetRequestTime() != nil {
		shown.Requested = dayText(r.GetRequestTime().AsTime())
	}
	for _, u := range r.GetItems()[:min(len(r.GetItems()), maxItemsShown)] {
		shown.Items = append(shown.Items, o.GetItems()[u.GetItemIndex()].GetTitle())
	}
	return shown
}

// currentParcel is the one that a shopper waits for: the last that has not arrived, or else the last. Nil without any.
func currentParcel(o *orderv1.Order) *orderv1.Fulfilment {
	var last *orderv1.Fulfilment
	for _, p := range slices.Backward(o.GetFulfilments()) {
		if p.GetDeliveryTime() == nil {
			return p
		}
		if last == nil {
			last = p
		}
	}
	return last
}

// actionName is an action as a model names it: "change_address".
func actionName(kind orderv1.OrderActionKind) string {
	return strings.ToLower(strings.TrimPrefix(kind.String(), "ORDER_ACTION_KIND_"))
}

// withActionNames lets the schema of a tool take the names of actions in "wants", and nothing else.
func withActionNames(tool agentloop.Tool) agentloop.Tool {
	key := string(tool.Parameters)
	raw, ok := actionSchemas.Load(key)
	if !ok {
		raw, _ = actionSchemas.LoadOrStore(key, actionSchema(tool))
	}
	tool.Parameters = raw.(json.RawMessage)
	return tool
}

// actionSchemas remembers what wantsSchema made of a tool's parameters. There are two, of which every turn has one.
var actionSchemas sync.Map // string -> json.RawMessage

func actionSchema(tool agentloop.Tool) json.RawMessage {
	var schema map[string]any
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
		panic(fmt.Sprintf("support: schema of %s: %v", tool.Name, err)) // it was made from a type of this package
	}
	names := make([]string, len(orders.Kinds))
	for i, kind := range orders.Kinds {
		names[i] = actionName(kind)
	}
	properties := schema["properties"].(map[string]any)
	properties["wants"].(map[string]any)["items"].(map[string]any)["enum"] = names
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("support: schema of %s: %v", tool.Name, err))
	}
	return raw
}

// answerRequested says of each action that the shopper wants whether the store's rules allow it for the order, in sentences, and
// proposes those that they allow to the backend, each once in a turn. What is allowed and not wanted is not proposed: it is in
// the order's actions for who asks.
func (t *turnTools) answerRequested(f orders.WithActions, wants []string) []string {
	wanted := make(map[string]bool, len(wants))
	for _, w := range wants {
		wanted[w] = true
	}
	var said []string
	for _, a := range f.Actions.GetAllowed() {
		if !wanted[actionName(a.GetKind())] {
			continue
		}
		said = append(said, sentence(allowedText(f.Order, a)))
		if t.first(a.GetKind().String() + " " + f.Order.GetOrderId()) {
			t.turn.AddActions(proposal(f.Order.GetOrderId(), a))
		}
	}
	for _, r := range f.Actions.GetRefused() {
		if wanted[actionName(r.GetKind())] {
			said = append(said, sentence(refusedText(f.Order, r)))
		}
	}
	return said
}

// proposal is an allowed action as the backend gets it.
func proposal(orderID string, a *orderv1.AllowedAction) *specialistv1.SuggestedAction {
	if a.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN {
		return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_StartReturn{
			StartReturn: &specialistv1.StartReturn{OrderId: orderID, Action: a},
		}}
	}
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ChangeOrder{
		ChangeOrder: &specialistv1.ChangeOrder{OrderId: orderID, Action: a},
	}}
}

// sentence makes one of a clause.
func sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
