package orders

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/support/orders/orderstest"
)

// Short names of the orders of tests.
var (
	noon        = orderstest.Noon
	daysFromNow = orderstest.DaysFromNow
	eur         = orderstest.EUR
	order       = orderstest.Order
	in          = orderstest.In
	returnUntil = orderstest.ReturnUntil
	units       = orderstest.Units
	twoItems    = orderstest.TwoItems
	days        = orderstest.Days
)

const (
	cancelOrder   = orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL
	cancelItems   = orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL_ITEMS
	changeItems   = orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS
	changeAddress = orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS
	returnItems   = orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN
	exchangeItems = orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE

	processing    = orderv1.OrderStatus_ORDER_STATUS_PROCESSING
	partlyShipped = orderv1.OrderStatus_ORDER_STATUS_PARTLY_SHIPPED
	shippedAll    = orderv1.OrderStatus_ORDER_STATUS_SHIPPED
	delivered     = orderv1.OrderStatus_ORDER_STATUS_DELIVERED
	returnAsked   = orderv1.OrderStatus_ORDER_STATUS_RETURN_REQUESTED
)

func arrived(daysAgo int) *orderv1.Fulfilment {
	return &orderv1.Fulfilment{DeliveryTime: daysFromNow(-daysAgo)}
}

func coming(status orderv1.ReturnStatus, of ...int32) func(*orderv1.Order) {
	return func(o *orderv1.Order) {
		o.Returns = append(o.Returns, &orderv1.Return{Status: status, Items: units(of...)})
	}
}

func TestActions(t *testing.T) {
	const requested, rejected = orderv1.ReturnStatus_RETURN_STATUS_REQUESTED, orderv1.ReturnStatus_RETURN_STATUS_REJECTED
	changed := func(o *orderv1.Order) { o.ItemsChanged = true }
	rule := func(kind orderv1.OrderActionKind, options ...func(*orderv1.OrderRule)) *orderv1.OrderRule {
		r := &orderv1.OrderRule{Kind: kind}
		for _, option := range options {
			option(r)
		}
		return r
	}
	within := func(d *durationpb.Duration) func(*orderv1.OrderRule) {
		return func(r *orderv1.OrderRule) { r.Window = d }
	}
	once := func(r *orderv1.OrderRule) { r.UnlessChanged = true }
	but := func(ids ...string) func(*orderv1.OrderRule) {
		return func(r *orderv1.OrderRule) { r.ExcludedProductIds = ids }
	}
	during := func(s ...orderv1.OrderStatus) func(*orderv1.OrderRule) {
		return func(r *orderv1.OrderRule) { r.Statuses = s }
	}
	all, lastOf := units(0, 3, 1, 1), func(n int) *timestamppb.Timestamp { return timestamppb.New(EndOfDay(noon.AddDate(0, 0, n))) }
	parcel := func(of ...int32) *orderv1.Fulfilment {
		return &orderv1.Fulfilment{ShipTime: daysFromNow(-1), Items: units(of...)}
	}
	tests := []struct {
		name    string
		rule    *orderv1.OrderRule
		order   []func(*orderv1.Order)
		units   []*orderv1.ItemQuantity // nil: refused
		until   *timestamppb.Timestamp
		refused string
	}{
		{"cancelled while prepared", rule(cancelOrder), nil, all, nil, ""},
		{"not cancelled once it has left", rule(cancelOrder), []func(*orderv1.Order){in(shippedAll)}, nil, nil, "ALREADY_SHIPPED"},
		{"not cancelled when a parcel has left unnoted", rule(cancelOrder), []func(*orderv1.Order){in(processing, parcel(1, 1))}, nil, nil, "ALREADY_SHIPPED"},
		{"cancelled when a parcel is only packed", rule(cancelOrder), []func(*orderv1.Order){in(processing, &orderv1.Fulfilment{})}, all, nil, ""},
		{"not cancelled where a rule says when", rule(cancelOrder, during(orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT)), nil, nil, nil, "NOT_OFFERED"},
		{"cancelled within an hour", rule(cancelOrder, within(durationpb.New(time.Hour))), []func(*orderv1.Order){func(o *orderv1.Order) {
			o.CreateTime = timestamppb.New(noon.Add(-59 * time.Minute))
		}}, all, timestamppb.New(noon.Add(time.Minute)), ""},
		{"not cancelled after an hour", rule(cancelOrder, within(durationpb.New(time.Hour))), nil, nil, timestamppb.New(noon.Add(-23 * time.Hour)), "TOO_LATE"},
		{"not cancelled whole without what is excluded", rule(cancelOrder, but("socks")), nil, nil, nil, "NO_ITEMS"},
		{"cancelled in part: what has not left", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped, parcel(0, 2))}, units(0, 1, 1, 1), nil, ""},
		{"cancelled in part: not what is excluded", rule(cancelItems, but("boots")), []func(*orderv1.Order){in(partlyShipped, parcel(0, 2))}, units(1, 1), nil, ""},
		{"not cancelled in part when a parcel may hold anything", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped, &orderv1.Fulfilment{})}, nil, nil, "NO_ITEMS"},
		{"not cancelled in part when no parcel is known", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped)}, nil, nil, "NO_ITEMS"},
		{"not cancelled in part when all has left", rule(cancelItems), []func(*orderv1.Order){in(partlyShipped, parcel(0, 3, 1, 1))}, nil, nil, "ALREADY_SHIPPED"},
		{"changed once", rule(changeItems, once), []func(*orderv1.Order){changed}, nil, nil, "ALREADY_CHANGED"},
		{"changed more than once", rule(changeItems), []func(*orderv1.Order){changed}, all, nil, ""},
		{"not returned before it arrives", rule(returnItems), []func(*orderv1.Order){in(shippedAll)}, nil, nil, "NOT_DELIVERED"},
		{"returned in the window, to the end of its last day", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(14))}, all, lastOf(0), ""},
		{"not returned after it", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(15))}, nil, lastOf(-1), "TOO_LATE"},
		{"the last parcel begins the window", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(3), arrived(30))}, all, lastOf(11), ""},
		{"the order's own deadline goes before it", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered, arrived(60)), returnUntil(daysFromNow(2))}, all, lastOf(2), ""},
		{"nobody knows when it arrived", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered)}, nil, nil, "DEADLINE_UNKNOWN"},
		{"the history knows", rule(returnItems, within(days(14))), []func(*orderv1.Order){in(delivered), func(o *orderv1.Order) {
			o.History = []*orderv1.StatusChange{{Status: delivered, Time: daysFromNow(-1)}}
		}}, all, lastOf(13), ""},
		{"what came back is not returned again", rule(returnItems), []func(*orderv1.Order){in(delivered), coming(requested, 0, 2)}, units(0, 1, 1, 1), nil, ""},
		{"a return that was refused does not count", rule(returnItems), []func(*orderv1.Order){in(delivered), coming(rejected, 0, 2)}, all, nil, ""},
		{"all came back", rule(returnItems), []func(*orderv1.Order){in(delivered), coming(requested)}, nil, nil, "ALREADY_RETURNED"},
		{"hygiene goods are not returned", rule(returnItems, but("socks")), []func(*orderv1.Order){in(delivered)}, units(0, 3), nil, ""},
		{"nothing but excluded goods", rule(returnItems, but("socks", "boots")), []func(*orderv1.Order){in(delivered)}, nil, nil, "NO_ITEMS"},
		{"no second return unless a rule says so", rule(returnItems), []func(*orderv1.Order){in(returnAsked), coming(requested, 0, 2)}, nil, nil, "ALREADY_RETURNED"},
		{"a second return where a rule says so", rule(returnItems, during(delivered, returnAsked)), []func(*orderv1.Order){in(returnAsked), coming(requested, 0, 2)}, units(0, 1, 1, 1), nil, ""},
		{"a second return of nobody knows what", rule(returnItems, during(returnAsked)), []func(*orderv1.Order){in(returnAsked)}, nil, nil, "ALREADY_RETURNED"},
		{"no exchange after an exchange", rule(exchangeItems, once), []func(*orderv1.Order){in(delivered), changed}, nil, nil, "ALREADY_CHANGED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := order("Q-1", "ada", 1, append([]func(*orderv1.Order){twoItems}, tt.order...)...)
			got := ActionsFor(&orderv1.OrderSettings{Rules: []*orderv1.OrderRule{tt.rule}}, o, noon)
			if n := len(got.GetAllowed()) + len(got.GetRefused()); n != len(Kinds) {
				t.Errorf("%d actions are answered, want all %d", n, len(Kinds))
			}
			if tt.refused != "" {
				if reason := orderstest.Refused(got)[orderstest.KindName(tt.rule.GetKind())]; reason != tt.refused {
					t.Errorf("refused for %q, want %s", reason, tt.refused)
				}
				for _, r := range got.GetRefused() {
					if r.GetKind() == tt.rule.GetKind() && cmp.Diff(tt.until, r.GetDeadline(), protocmp.Transform()) != "" {
						t.Errorf("deadline %v, want %v", r.GetDeadline().AsTime(), tt.until.AsTime())
					}
				}
				return
			}
			want := []*orderv1.AllowedAction{{Kind: tt.rule.GetKind(), Items: tt.units, Deadline: tt.until}}
			if diff := cmp.Diff(want, got.GetAllowed(), protocmp.Transform()); diff != "" {
				t.Errorf("allowed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesThatCannotBeMetAreRefused(t *testing.T) {
	tests := []struct {
		name  string
		rules []*orderv1.OrderRule
		field string
	}{
		{"no kind", []*orderv1.OrderRule{{}}, "settings.rules[0].kind"},
		{"cancelling what has left", []*orderv1.OrderRule{{Kind: cancelOrder, Statuses: []orderv1.OrderStatus{shippedAll}}}, "settings.rules[0].statuses"},
		{"returning what has not arrived", []*orderv1.OrderRule{{Kind: returnItems, Statuses: []orderv1.OrderStatus{processing}}}, "settings.rules[0].statuses"},
		{"two rules for the same orders", []*orderv1.OrderRule{{Kind: cancelOrder}, {Kind: cancelOrder, Statuses: []orderv1.OrderStatus{processing}}}, "settings.rules[1].statuses"},
		{"a window of nothing", []*orderv1.OrderRule{{Kind: returnItems, Window: &durationpb.Duration{}}}, "settings.rules[0].window"},
		{"an empty reason", []*orderv1.OrderRule{{Kind: cancelOrder, Reasons: []string{""}}}, "settings.rules[0].reasons[0]"},
		{"a condition as long as a document", []*orderv1.OrderRule{{Kind: returnItems, Condition: strings.Repeat("a", maxCondition+1)}}, "settings.rules[0].condition"},
		{"too many rules", make([]*orderv1.OrderRule, maxRules+1), "settings.rules"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var check fault.Checker
			CheckSettings(&check, &orderv1.OrderSettings{Rules: tt.rules})
			if got := violated(check.Err()); !cmp.Equal(got, []string{tt.field}) {
				t.Errorf("violations %v, want %s", got, tt.field)
			}
		})
	}
}
