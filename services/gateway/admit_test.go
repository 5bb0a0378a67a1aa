package gateway

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

func TestABadRequestIsRefusedWithAllOfItsViolations(t *testing.T) {
	h := open(t, nil)
	tests := []struct {
		name   string
		change func(*gatewayv1.AskRequest)
		fields []string
	}{
		{"no store", func(r *gatewayv1.AskRequest) { r.StoreId = "" }, []string{"store_id"}},
		{"no message", func(r *gatewayv1.AskRequest) { r.Message = "" }, []string{"message"}},
		{"a blank message", func(r *gatewayv1.AskRequest) { r.Message = " \n\t" }, []string{"message"}},
		{"a message of 8001 characters", func(r *gatewayv1.AskRequest) { r.Message = strings.Repeat("ü", 8001) }, []string{"message"}},
		{"a message with NUL", func(r *gatewayv1.AskRequest) { r.Message = "a\x00b" }, []string{"message"}},
		{"a thread of bad form", func(r *gatewayv1.AskRequest) { r.ThreadId = "a b" }, []string{"thread_id"}},
		{"a locale that is none", func(r *gatewayv1.AskRequest) { r.Locale = "deutsch, bitte" }, []string{"locale"}},
		{"a group with a comma", func(r *gatewayv1.AskRequest) { r.CustomerGroups = []string{"vip", "a,b"} }, []string{"customer_groups[1]"}},
		{"all at once", func(r *gatewayv1.AskRequest) {
			*r = gatewayv1.AskRequest{StoreId: "é", CustomerId: "/", CartId: "/", ThreadId: "/", RequestId: "/", Locale: "?"}
		}, []string{"store_id", "message", "customer_id", "cart_id", "thread_id", "request_id", "locale"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes"}
			tt.change(req)
			_, err := h.client.Ask(t.Context(), req)
			if diff := cmp.Diff(tt.fields, badFields(err)); diff != "" {
				t.Errorf("%v: fields (-want +got):\n%s", err, diff)
			}
			_, streamErr := h.askStream(t.Context(), req)
			if diff := cmp.Diff(status.Convert(err).Proto(), status.Convert(streamErr).Proto(), protocmp.Transform()); diff != "" {
				t.Errorf("AskStream fails otherwise than Ask (-ask +stream):\n%s", diff)
			}
		})
	}
	if n := len(h.router.requests); n != 0 {
		t.Errorf("the router was asked %d times", n)
	}
}

// badFields returns the fields that an INVALID_ARGUMENT names.
func badFields(err error) []string {
	st := status.Convert(err)
	var fields []string
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && st.Code() == codes.InvalidArgument {
			for _, v := range bad.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	return fields
}

func TestAnUnknownStoreIsNotFound(t *testing.T) {
	h := open(t, nil)
	_, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "nowhere", Message: "search: shoes"})
	wantStatus(t, err, codes.NotFound, "STORE_NOT_FOUND")
}

func wantStatus(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if st := status.Convert(err); st.Code() != code || rpc.Reason(st) != reason {
		t.Errorf("got %v with reason %q, want %v with %q", err, rpc.Reason(st), code, reason)
	}
}

func TestTheLocaleIsTheShoppersOrElseWhatTheMessageTellsOrElseTheStores(t *testing.T) {
	h := open(t, nil)
	if _, err := h.stores.PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: "alps", Name: "Alps", DefaultLocale: "de-AT", CurrencyCode: "EUR",
	}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ locale, message, want string }{
		{"fr", "search: 42", "fr"},
		{"", "search: do you have the blue shoes", ""}, // the specialist reads the message
		{"", "search: 42", "de-AT"},
	} {
		if _, err := h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "alps", Message: tt.message, Locale: tt.locale}); err != nil {
			t.Fatal(err)
		}
		_, scopes := h.specialists["search"].calls()
		if got := scopes[len(scopes)-1].Locale; got != tt.want {
			t.Errorf("%q with locale %q: scope has %q, want %q", tt.message, tt.locale, got, tt.want)
		}
	}
}
