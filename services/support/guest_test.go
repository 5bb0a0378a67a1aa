package support

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// Wrong attempts that guests have in an hour: at one order, and with one e-mail address or postal code.
const (
	maxAttemptsAtOrder   = 5
	maxAttemptsWithProof = 20
)

// reasons are the machine-readable reasons of an error.
func reasons(err error) []string {
	var out []string
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			out = append(out, info.GetReason())
		}
	}
	return out
}

func known(email, postalCode string) func(*orderv1.Order) {
	return func(o *orderv1.Order) { o.Email, o.PostalCode = email, postalCode }
}

func byEmail(id, email string) *orderv1.GetGuestOrderRequest {
	return &orderv1.GetGuestOrderRequest{StoreId: "one", OrderId: id, Proof: &orderv1.GetGuestOrderRequest_Email{Email: email}}
}

func byPostalCode(id, code string) *orderv1.GetGuestOrderRequest {
	return &orderv1.GetGuestOrderRequest{StoreId: "one", OrderId: id, Proof: &orderv1.GetGuestOrderRequest_PostalCode{PostalCode: code}}
}

func TestGuestsFindTheirOrder(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "g-1", 1, known("Ada@One.example", "SW1A 1AA")), order("Q-2", "g-2", 1))
	missing := status.Convert(func() error { _, err := c.orders.GetGuestOrder(t.Context(), byEmail("Q-9", "a@b.example")); return err }())
	tests := []struct {
		name  string
		req   *orderv1.GetGuestOrderRequest
		found bool
	}{
		{"by e-mail address", byEmail("#q-1", " ada@one.EXAMPLE"), true},
		{"by postal code", byPostalCode("order q-1", "sw1a-1aa"), true},
		{"by a wrong address", byEmail("Q-1", "bo@one.example"), false},
		{"by a wrong postal code", byPostalCode("Q-1", "SW1A 1AB"), false},
		{"by an address in place of the postal code", byPostalCode("Q-1", "ada@one.example"), false},
		{"an order that has neither", byEmail("Q-2", "ada@one.example"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := c.orders.GetGuestOrder(t.Context(), tt.req)
			switch {
			case tt.found && (err != nil || resp.GetOrder().GetOrderId() != "Q-1" || resp.GetActions() == nil):
				t.Errorf("%v, %v", resp, err)
			case tt.found && (resp.GetOrder().GetEmail() != "" || resp.GetOrder().GetPostalCode() != ""):
				t.Errorf("what proves it was returned: %v", resp.GetOrder())
			case !tt.found && cmp.Diff(codes.NotFound, status.Code(err)) != "":
				t.Errorf("error = %v, want NOT_FOUND", err)
			case !tt.found && cmp.Diff(reasons(missing.Err()), reasons(err)) != "":
				t.Errorf("reasons %v, of a missing order %v", reasons(err), reasons(missing.Err()))
			}
		})
	}
}

func TestAWrongProofReadsLikeAMissingOrder(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "g-1", 1, known("ada@one.example", "")))
	ask := func(store string) *status.Status {
		req := byEmail("Q-1", "bo@one.example")
		req.StoreId = store
		_, err := c.orders.GetGuestOrder(t.Context(), req)
		return status.Convert(err)
	}
	if diff := cmp.Diff(ask("two").Proto(), ask("one").Proto(), protocmp.Transform()); diff != "" {
		t.Errorf("the two can be told apart (-missing +wrong):\n%s", diff)
	}
}

func TestGuessingAtAnOrderIsStopped(t *testing.T) {
	for _, id := range []string{"Q-1", "Q-404"} { // one that exists and one that does not
		t.Run(id, func(t *testing.T) {
			c := serve(t, silent())
			c.haveOrders(t, "one", order("Q-1", "g-1", 1, known("ada@one.example", "1010")))
			for i := range maxAttemptsAtOrder {
				_, err := c.orders.GetGuestOrder(t.Context(), byPostalCode(id, fmt.Sprint(2000+i)))
				if status.Code(err) != codes.NotFound {
					t.Fatalf("attempt %d: %v", i, err)
				}
			}
			_, err := c.orders.GetGuestOrder(t.Context(), byPostalCode(id, "1010"))
			if status.Code(err) != codes.ResourceExhausted || !cmp.Equal(reasons(err), []string{"TOO_MANY_ATTEMPTS"}) {
				t.Errorf("after %d wrong attempts: %v", maxAttemptsAtOrder, err)
			}
			if _, err := c.orders.GetOrder(t.Context(), &orderv1.GetOrderRequest{StoreId: "one", CustomerId: "g-1", OrderId: "Q-1"}); err != nil {
				t.Errorf("the customer's own look-up is stopped too: %v", err)
			}
		})
	}
}

func TestTryingOneProofOnAllOrdersIsStopped(t *testing.T) {
	c := serve(t, silent())
	for i := range maxAttemptsWithProof {
		if _, err := c.orders.GetGuestOrder(t.Context(), byPostalCode(fmt.Sprintf("Q-%d", i), "1010")); status.Code(err) != codes.NotFound {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
	if _, err := c.orders.GetGuestOrder(t.Context(), byPostalCode("Q-999", "10-10")); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("error = %v, want RESOURCE_EXHAUSTED", err)
	}
}

func TestRightAttemptsAreNotCounted(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "g-1", 1, known("ada@one.example", "")))
	for i := range 2 * maxAttemptsWithProof {
		if _, err := c.orders.GetGuestOrder(t.Context(), byEmail("Q-1", "ada@one.example")); err != nil {
			t.Fatalf("look-up %d: %v", i, err)
		}
	}
}

func TestGuestToolNeedsProof(t *testing.T) {
	c := serve(t, silent())
	c.haveOrders(t, "one", order("Q-1", "g-1", 1, known("ada@one.example", "1010")))
	look := func(arguments string) (orderResult, error) {
		return servicetest.Run[orderResult](t.Context(), t, toolsFor(c, ""), "lookup_order", arguments)
	}
	got, err := look(`{"order_id":"#q-1","postal_code":"1010"}`)
	if err != nil || got.Order == nil || got.Order.OrderID != "Q-1" {
		t.Errorf("with its postal code: %+v, %v", got, err)
	}
	wrong, err := look(`{"order_id":"Q-1","email":"bo@one.example"}`)
	gone, err2 := look(`{"order_id":"Q-404","email":"bo@one.example"}`)
	if err != nil || err2 != nil || wrong.Order != nil || wrong.Note == "" || cmp.Diff(wrong, gone) != "" {
		t.Errorf("a wrong proof %+v, %v; a missing order %+v, %v", wrong, err, gone, err2)
	}
}
