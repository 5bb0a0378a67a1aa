package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

var (
	sleet  = &specialistv1.ProductChoice{ProductId: "SOCK-004", Title: "Dunmarrow Sleet waterproof sock", Brand: "Dunmarrow", Stock: 20}
	vireo  = &specialistv1.ProductChoice{ProductId: "SOCK-002", Title: "Quillfoot Vireo running sock", Brand: "Quillfoot", Stock: 9}
	racer  = &specialistv1.ProductChoice{ProductId: "TR-SHOE-003", Title: "Quillfoot Vireo 2 light trail racer", Brand: "Quillfoot", Stock: 5}
	ash    = &specialistv1.ProductChoice{ProductId: "POLE-001", Title: "Korvane Ash aluminium poles, pair", Brand: "Korvane", VariantId: "std", Stock: 4}
	linnet = &specialistv1.ProductChoice{ProductId: "PACK-001", Title: "Orrowby Linnet 18 day pack", Brand: "Orrowby", Stock: 4}
	glint  = &specialistv1.ProductChoice{ProductId: "LAMP-002", Title: "Emberlock Glint 500 rechargeable headlamp", Brand: "Emberlock", Stock: 1}
	gone   = &specialistv1.ProductChoice{ProductId: "LAMP-003", Title: "Emberlock Lodestar 1000 running headlamp", Brand: "Emberlock"}

	cancelling = &orderv1.AllowedAction{Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL}
	returning  = &orderv1.AllowedAction{Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN}
)

func addAction(p *specialistv1.ProductChoice) *specialistv1.SuggestedAction {
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_AddToCart{AddToCart: &specialistv1.AddToCart{ProductId: p.GetProductId(), Quantity: 2}}}
}

// withPromotion is an answer that proposes a code that saves so much.
func withPromotion(text string, saving int64, code string, also ...string) *specialistv1.Answer {
	return &specialistv1.Answer{
		Text:      text,
		Promotion: &specialistv1.PromotionChoice{Code: code, AlsoCodes: also, Saving: &commonv1.Money{AmountMinor: saving, CurrencyCode: "EUR"}},
		SuggestedActions: []*specialistv1.SuggestedAction{{Action: &specialistv1.SuggestedAction_ApplyPromotion{
			ApplyPromotion: &specialistv1.ApplyPromotion{Code: code, AlsoCodes: also}}}},
	}
}

// withOrder is an answer about an order with an item, which proposes to return it and to cancel it.
func withOrder(text, id string, item *specialistv1.ProductChoice) *specialistv1.Answer {
	return &specialistv1.Answer{
		Text:         text,
		Order:        &orderv1.Order{OrderId: id, Items: []*orderv1.OrderItem{{ProductId: item.GetProductId(), Title: item.GetTitle(), Quantity: 1}}},
		OrderActions: &orderv1.OrderActions{Allowed: []*orderv1.AllowedAction{returning, cancelling}},
		SuggestedActions: []*specialistv1.SuggestedAction{
			{Action: &specialistv1.SuggestedAction_StartReturn{StartReturn: &specialistv1.StartReturn{OrderId: id, Action: returning}}},
			{Action: &specialistv1.SuggestedAction_ChangeOrder{ChangeOrder: &specialistv1.ChangeOrder{OrderId: id, Action: cancelling}}},
		},
	}
}

func handOver(reason, summary string) *specialistv1.Answer {
	return &specialistv1.Answer{Text: "A person will look at it.", SuggestedActions: []*specialistv1.SuggestedAction{{
		Action: &specialistv1.SuggestedAction_HandOff{HandOff: &specialistv1.HandOff{Reason: reason, Summary: summary}}}}}
}

// actionsOf lists the actions of a reply in short.
func actionsOf(r *gatewayv1.AskResponse) string {
	var out []string
	for _, a := range r.GetSuggestedActions() {
		switch {
		case a.GetAddToCart() != nil:
			out = append(out, fmt.Sprintf("add %d %s", a.GetAddToCart().GetQuantity(), cmp.Or(a.GetAddToCart().GetVariantId(), a.GetAddToCart().GetProductId())))
		case a.GetApplyPromotion() != nil:
			out = append(out, "apply "+a.GetApplyPromotion().GetCode())
		case a.GetStartReturn() != nil:
			out = append(out, "return "+a.GetStartReturn().GetOrderId())
		case a.GetChangeOrder() != nil:
			out = append(out, "change "+a.GetChangeOrder().GetOrderId())
		case a.GetHandOff() != nil:
			out = append(out, "hand off")
		}
	}
	return strings.Join(out, ", ")
}

// The texts are of recorded replies. A shopper can take what the text names and the facts allow, in the order of the text.
func TestActionsFollowTheText(t *testing.T) {
	const socks = "For wet trails, the **Dunmarrow Sleet waterproof sock** at 44.95 EUR is a good choice. If you'd rather have something light, take the **Quillfoot Vireo running sock** at 16.95 EUR."
	found := func(text string, products ...*specialistv1.ProductChoice) *specialistv1.Answer {
		return &specialistv1.Answer{Text: text, Products: products}
	}
	asked := found("With the Sleet, that is 89.90 EUR.", sleet)
	asked.SuggestedActions = []*specialistv1.SuggestedAction{addAction(sleet)}
	for name, tt := range map[string]struct {
		answers        map[string]*specialistv1.Answer
		cart           []string
		noCart         bool
		merged         string // else the answers are joined
		products, want string
		promotion      string
	}{
		"no shoes for a text about socks": {
			answers:  map[string]*specialistv1.Answer{"recommend": found(socks, racer, vireo, sleet)},
			products: "SOCK-004 SOCK-002", want: "add 1 SOCK-004, add 1 SOCK-002",
		},
		"products of a search count too, with their variant": {
			answers:  map[string]*specialistv1.Answer{"search": found("The Korvane Ash aluminium poles are 69.95 EUR.", ash)},
			products: "POLE-001", want: "add 1 std",
		},
		"the merged text decides": {
			answers: map[string]*specialistv1.Answer{
				"search": found("The Korvane Ash poles.", ash), "recommend": found("The Orrowby Linnet 18 day pack, or the Emberlock Glint 500.", linnet, glint),
			},
			merged:   "Take the Emberlock Glint 500 or the Orrowby Linnet 18 day pack, and the Korvane Ash poles.",
			products: "LAMP-002 PACK-001 POLE-001", want: "add 1 LAMP-002, add 1 PACK-001, add 1 std",
		},
		"what is sold out, in the cart or ordered has no button": {
			answers: map[string]*specialistv1.Answer{
				"search":  found("The Emberlock Lodestar 1000 is sold out; the Emberlock Glint 500 and the Orrowby Linnet 18 are not.", gone, glint, linnet),
				"support": {Text: "Your order O-10 has the Emberlock Glint 500.", Order: withOrder("", "O-10", glint).GetOrder()},
			},
			cart: []string{"PACK-001"}, products: "LAMP-003 LAMP-002 PACK-001",
		},
		"a second one of the cart's, if asked for": {
			answers: map[string]*specialistv1.Answer{"recommend": asked}, cart: []string{"SOCK-004"}, products: "SOCK-004", want: "add 2 SOCK-004",
		},
		"no cart, no button": {
			answers: map[string]*specialistv1.Answer{"recommend": found(socks, sleet, vireo)}, noCart: true, products: "SOCK-004 SOCK-002",
		},
		"the code that saves most, of those in the text": {
			answers: map[string]*specialistv1.Answer{
				"promotions": withPromotion("With **MATCHSET** you save 4.50 EUR.", 450, "MATCHSET"),
				"recommend":  withPromotion("**LEAF10** and **POSTPAID** together save you the most: 6.11 EUR.", 611, "LEAF10", "POSTPAID"),
				"search":     withPromotion("There are other codes.", 900, "HIDDEN"),
			},
			want: "apply LEAF10", promotion: "LEAF10",
		},
		"no code that the merged text leaves out": {
			answers: map[string]*specialistv1.Answer{
				"promotions": withPromotion("With MATCHSET you save 4.50 EUR from 30 EUR until 3 May 2026.", 450, "MATCHSET"),
				"search":     {Text: "Returns take 14 days."},
			},
			merged: "You save 4.50 EUR from 30 EUR until 3 May 2026. Returns take 14 days.",
		},
		"no code whose sentence the merge drops": {
			answers: map[string]*specialistv1.Answer{
				"promotions": withPromotion("MATCHSET takes off 4.50 EUR. It needs 30 EUR, one tent and 12 mats, until 3 May 2026.", 450, "MATCHSET"),
				"search":     {Text: "Returns take 14 days."},
			},
			merged: "There is an offer from 30 EUR for one tent and 12 mats until 3 May 2026. MATCHSET takes off 6.50 EUR. Returns take 14 days.",
		},
		"one of two orders, named by its item": {
			answers: map[string]*specialistv1.Answer{
				"support":    withOrder("The Korvane Ash poles can be sent back.", "O-10", ash),
				"promotions": withOrder("Another order cannot.", "O-11", linnet),
			},
			want: "return O-10, change O-10",
		},
		"the only order, although the text does not name it": {
			answers: map[string]*specialistv1.Answer{"support": withOrder("Yes, it can still be cancelled.", "O-10", ash)},
			want:    "return O-10, change O-10",
		},
		"four at most, those that a specialist proposes before others": {
			answers: map[string]*specialistv1.Answer{
				"recommend":  found(socks+" The Korvane Ash poles, the Orrowby Linnet 18 and the Emberlock Glint 500 go with them.", sleet, vireo, ash, linnet, glint),
				"promotions": withPromotion("SAVE20 takes 20 EUR off.", 2000, "SAVE20"),
				"support":    handOver("upset", "Ann waits for O-10."),
			},
			products: "SOCK-004 SOCK-002 POLE-001 PACK-001 LAMP-002",
			want:     "add 1 SOCK-004, add 1 SOCK-002, apply SAVE20, hand off", promotion: "SAVE20",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			carts := h.stockCarts()
			carts.get = func(context.Context) error {
				if tt.noCart {
					return cartclient.NoCart("demo")
				}
				return nil
			}
			for _, id := range tt.cart {
				carts.items = append(carts.items, &cartv1.CartItem{ProductId: id, Quantity: 1})
			}
			if tt.merged != "" {
				h.config.Model = scripted.New(scripted.Step{Text: tt.merged})
			}
			h.start()
			var parts []string
			for _, name := range []string{"search", "recommend", "promotions", "support"} {
				if a := tt.answers[name]; a != nil {
					parts = append(parts, name+": x")
					h.specialists[name].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error { return sayAnswer(stream, a) }
				}
			}
			reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", Message: strings.Join(parts, " | ")})
			if err != nil {
				t.Fatal(err)
			}
			var products []string
			for _, p := range reply.GetProducts() {
				products = append(products, p.GetProductId())
			}
			if got := strings.Join(products, " "); got != tt.products {
				t.Errorf("products %s, want %s", got, tt.products)
			}
			if got := actionsOf(reply); got != tt.want {
				t.Errorf("actions %s, want %s", got, tt.want)
			}
			if got := reply.GetPromotion().GetCode(); got != tt.promotion {
				t.Errorf("promotion %s, want %s", got, tt.promotion)
			}
			if slices.Contains(parts, "support: x") && tt.answers["support"].GetOrder() == nil {
				if got := reply.GetHandoff(); got.GetSummary() != "Ann waits for O-10." || !strings.Contains(got.GetReason(), "upset") {
					t.Errorf("handoff %v", got)
				}
			}
		})
	}
}

// A guest without a cart of their own can be offered one, unless the store has none.
func TestAGuestIsOfferedACart(t *testing.T) {
	for _, noCart := range []bool{false, true} {
		h := newFixture(t, miniredis.RunT(t))
		h.stockCarts().noCart = noCart
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return sayAnswer(stream, &specialistv1.Answer{Text: "The Korvane Ash poles.", Products: []*specialistv1.ProductChoice{ash}})
		}
		if got := actionsOf(h.ask("search: poles")); (got == "add 1 std") == noCart {
			t.Errorf("no cart: %v, actions %q", noCart, got)
		}
	}
}

// A cart service that hangs holds up a reply that names a product for a moment only.
func TestAReplyDoesNotWaitForACartThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.stockCarts().get = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return sayAnswer(stream, &specialistv1.Answer{Text: "The Korvane Ash poles.", Products: []*specialistv1.ProductChoice{ash}})
		}
		begun := time.Now()
		reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", Message: "search: poles"})
		if took := time.Since(begun).Round(100 * time.Millisecond); err != nil || took != fanout.MaxCartTime || actionsOf(reply) != "add 1 std" {
			t.Errorf("after %v: %v, %v", took, actionsOf(reply), err)
		}
	})
}

// What the shopper has ordered already is not offered again, in an order that the reply does not show too. Who asks for it gets it.
func TestWhatWasOrderedIsNotOffered(t *testing.T) {
	for _, asksForIt := range []bool{false, true} {
		h := newFixture(t, miniredis.RunT(t))
		h.stockCarts()
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			answer := &specialistv1.Answer{Text: "The Orrowby Linnet 18 day pack.", Products: []*specialistv1.ProductChoice{linnet}}
			if asksForIt {
				answer.SuggestedActions = []*specialistv1.SuggestedAction{addAction(linnet)}
			}
			return sayAnswer(stream, answer)
		}
		h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return sayAnswer(stream, &specialistv1.Answer{Text: "Your order is on its way.", OrderedProductIds: []string{linnet.GetProductId()}})
		}
		if got := actionsOf(h.ask("search: a pack | support: my order")); (got != "") != asksForIt {
			t.Errorf("asked for: %v, actions %q", asksForIt, got)
		}
	}
}

// fakeOrders are the orders of ann.
type fakeOrders struct {
	orderv1.UnimplementedOrderServiceServer
	status orderv1.OrderStatus // of the one order, of PACK-001
	list   func(context.Context) error
	reads  []scope.Scope
}

func (f *fakeOrders) ListOrders(ctx context.Context, req *orderv1.ListOrdersRequest) (*orderv1.ListOrdersResponse, error) {
	sc, _ := scope.FromContext(ctx)
	f.reads = append(f.reads, sc)
	if f.list != nil {
		if err := f.list(ctx); err != nil {
			return nil, err
		}
	}
	return &orderv1.ListOrdersResponse{Orders: []*orderv1.Order{{
		OrderId: "O-10", CustomerId: req.GetCustomerId(), Status: f.status, Items: []*orderv1.OrderItem{{ProductId: linnet.GetProductId()}}}}}, nil
}

func (h *fixture) stockOrders(f *fakeOrders) {
	h.serve("orders", func(r grpc.ServiceRegistrar) { orderv1.RegisterOrderServiceServer(r, f) })
	h.config.Orders = orderv1.NewOrderServiceClient(h.dial("orders"))
}

// What is on its way to the shopper is not offered again, although nothing in the turn read an order.
func TestWhatIsOnItsWayIsNotOffered(t *testing.T) {
	for name, tt := range map[string]struct {
		status   orderv1.OrderStatus
		customer string
		sold     bool // the only product is sold out
		fails    bool
		want     string
		reads    int
	}{
		"on its way":             {status: orderv1.OrderStatus_ORDER_STATUS_SHIPPED, customer: "ann", reads: 1},
		"not paid yet":           {status: orderv1.OrderStatus_ORDER_STATUS_PENDING_PAYMENT, customer: "ann", reads: 1},
		"delivered":              {status: orderv1.OrderStatus_ORDER_STATUS_DELIVERED, customer: "ann", want: "add 1 PACK-001", reads: 1},
		"cancelled":              {status: orderv1.OrderStatus_ORDER_STATUS_CANCELLED, customer: "ann", want: "add 1 PACK-001", reads: 1},
		"a guest has no orders":  {status: orderv1.OrderStatus_ORDER_STATUS_SHIPPED, want: "add 1 PACK-001"},
		"nothing can be offered": {status: orderv1.OrderStatus_ORDER_STATUS_SHIPPED, customer: "ann", sold: true},
		"orders cannot be read":  {status: orderv1.OrderStatus_ORDER_STATUS_SHIPPED, customer: "ann", fails: true, want: "add 1 PACK-001", reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			h.stockCarts()
			orders := &fakeOrders{status: tt.status}
			if tt.fails {
				orders.list = func(context.Context) error { return status.Error(codes.Unavailable, "down") }
			}
			h.stockOrders(orders)
			h.start()
			h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
				pack := proto.CloneOf(linnet)
				if tt.sold {
					pack.Stock = 0
				}
				return sayAnswer(stream, &specialistv1.Answer{Text: "The Orrowby Linnet 18 day pack.", Products: []*specialistv1.ProductChoice{pack}})
			}
			reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: tt.customer, Message: "search: a pack"})
			if err != nil {
				t.Fatal(err)
			}
			if got := actionsOf(reply); got != tt.want || len(orders.reads) != tt.reads {
				t.Errorf("actions %q and %d reads, want %q and %d", got, len(orders.reads), tt.want, tt.reads)
			}
			for _, sc := range orders.reads {
				if sc.CustomerID != "ann" || !slices.Equal(sc.Reads, []scope.Read{scope.ReadOrders}) {
					t.Errorf("read with %+v", sc)
				}
			}
		})
	}
}

// Orders that hang hold up a reply for a moment only.
func TestAReplyDoesNotWaitForOrdersThatHang(t *testing.T) {
	inBubble(t, func(t *testing.T, h *fixture) {
		h.stockCarts()
		h.stockOrders(&fakeOrders{list: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		h.start()
		h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			return sayAnswer(stream, &specialistv1.Answer{Text: "The Korvane Ash poles.", Products: []*specialistv1.ProductChoice{ash}})
		}
		begun := time.Now()
		reply, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ann", Message: "search: poles"})
		if took := time.Since(begun).Round(100 * time.Millisecond); err != nil || took != fanout.MaxCartTime || actionsOf(reply) != "add 1 std" {
			t.Errorf("after %v: %v, %v", took, actionsOf(reply), err)
		}
	})
}

// The merge may leave out what an answer says of an order.
func TestOrdersAreThoseThatTheTextNames(t *testing.T) {
	for text, want := range map[string][]string{
		"O-10 is late, unlike O-9.": {"O-10", "O-9"},
		"O-9 is late.":              {"O-9"},
		"Both are on their way.":    {"O-10", "O-9"},
	} {
		h := open(t, nil)
		h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
			answer := withOrder(text, "O-10", ash)
			answer.OtherOrders = []*orderv1.Order{{OrderId: "O-9"}}
			return sayAnswer(stream, answer)
		}
		var ids []string
		for _, o := range h.ask("support: my orders").GetOrders() {
			ids = append(ids, o.GetOrderId())
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%q: orders %v, want %v", text, ids, want)
		}
	}
}

// Each answer names the order that was asked for apart from others, and so does the reply.
func TestTheOrderThatWasAskedForComesFirst(t *testing.T) {
	h := open(t, nil)
	h.specialists["support"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
		answer := withOrder("O-10 is late, unlike O-9.", "O-10", ash)
		answer.OtherOrders = []*orderv1.Order{{OrderId: "O-9"}}
		return sayAnswer(stream, answer)
	}
	var ids []string
	for _, o := range h.ask("support: O-10").GetOrders() {
		ids = append(ids, o.GetOrderId())
	}
	if !slices.Equal(ids, []string{"O-10", "O-9"}) {
		t.Errorf("orders %v", ids)
	}
}
