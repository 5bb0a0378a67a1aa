package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
)

// A thousand shoppers of fifty stores ask at once; two hundred of ten under the race detector, which makes a turn take eight times as long.
const (
	shoppersAtOnce = 20
	// soakTimeout bounds all turns, also on a busy machine.
	soakTimeout = 5 * time.Minute
)

var storesAtOnce = map[bool]int{false: 50, true: 10}[racedetector.On]

// crowd is a model that answers nobody until so many wait, and then a few at a time.
type crowd struct {
	model http.Handler
	slots chan struct{}

	mu    sync.Mutex
	await int           // how many more must come
	all   chan struct{} // closed when they have
}

// newCrowd waits for nobody until gather is called.
func newCrowd(model http.Handler) *crowd {
	all := make(chan struct{})
	close(all)
	return &crowd{model: model, slots: make(chan struct{}, 8), all: all}
}

func (c *crowd) gather(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.await, c.all = n, make(chan struct{})
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if c.await--; c.await == 0 {
		close(c.all)
	}
	all := c.all
	c.mu.Unlock()
	select {
	case <-all:
	case <-r.Context().Done():
		return
	}
	select {
	case c.slots <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-c.slots }()
	c.model.ServeHTTP(w, r)
}

// canary marks everything that belongs to one shopper of one store.
func canary(store, shopper int) string { return fmt.Sprintf("canary%dx%d", store, shopper) }

// canaries finds whose things a reply holds.
var canaries = regexp.MustCompile(`canary\d+x\d+`)

// Every shopper of every store asks at once, for an order or for a policy; all turns are in flight before a model answers any.
// Each order and policy carries its owner's canary, and no reply may hold a canary that is not the asker's.
func TestShoppersAndStoresAtOnceSeeOnlyTheirOwn(t *testing.T) {
	crowd := newCrowd(newBrain(t))
	h := newSystemWith(t, redistest.Single(t), crowd)
	h.ask(t, "hi!") // the specialists describe themselves before the crowd comes
	for store := range storesAtOnce {
		h.loadCanaries(t, store)
	}
	crowd.gather(storesAtOnce * shoppersAtOnce)
	ctx, cancel := context.WithTimeout(t.Context(), soakTimeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for store := range storesAtOnce {
		for shopper := range shoppersAtOnce {
			message, want := "where is my order?", canary(store, shopper)
			if shopper%2 == 1 {
				message, want = "what is your return policy?", canary(store, shoppersAtOnce)
			}
			group.Go(func() error {
				reply, err := h.gateway.Ask(ctx, &gatewayv1.AskRequest{
					StoreId: fmt.Sprintf("store%d", store), CustomerId: fmt.Sprintf("shopper%d", shopper),
					Message: message,
				})
				if err != nil {
					return fmt.Errorf("store %d, shopper %d: %w", store, shopper, err)
				}
				found := canaries.FindAllString(protojson.Format(reply), -1)
				slices.Sort(found)
				if found = slices.Compact(found); !slices.Equal(found, []string{want}) {
					return fmt.Errorf("store %d, shopper %d: found %v, want only %s:\n%s", store, shopper, found, want, reply.GetText())
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// loadCanaries makes a store with a return policy, in which every shopper has one order. The policy's canary is that of one
// shopper more than there are.
func (h *system) loadCanaries(t *testing.T, store int) {
	t.Helper()
	id := fmt.Sprintf("store%d", store)
	eur := func(minor int64) *commonv1.Money { return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"} }
	set := demo.Dataset{Store: &gatewayv1.Store{StoreId: id, Name: "Store " + id, CurrencyCode: "EUR"}}
	set.Policies = []*policyv1.Policy{{PolicyId: "returns", Title: "Return policy",
		Body: "You can return what you bought within 30 days. Send it to Dock " + canary(store, shoppersAtOnce) + "."}}
	for shopper := range shoppersAtOnce {
		mark := canary(store, shopper)
		set.Orders = append(set.Orders, &orderv1.Order{
			OrderId: "ORDER-" + mark, CustomerId: fmt.Sprintf("shopper%d", shopper), Status: orderv1.OrderStatus_ORDER_STATUS_PROCESSING,
			CreateTime: timestamppb.New(time.Now().Add(-time.Hour)),
			Items:      []*orderv1.OrderItem{{ProductId: "P1", Title: "Lamp " + mark, Quantity: 1, UnitPrice: eur(1000)}},
			Subtotal:   eur(1000), Total: eur(1000),
		})
	}
	if err := load.Demo(t.Context(), h.data, set); err != nil {
		t.Fatal(err)
	}
}

func TestBadInputNamesEveryField(t *testing.T) {
	h := newSystem(t)
	tests := []struct {
		name   string
		ask    *gatewayv1.AskRequest
		code   codes.Code
		fields []string
	}{
		{"nothing at all", &gatewayv1.AskRequest{}, codes.InvalidArgument, []string{"store_id", "message"}},
		{"blank message and bad thread", &gatewayv1.AskRequest{StoreId: "demo", Message: " \n", ThreadId: "no spaces"}, codes.InvalidArgument, []string{"message", "thread_id"}},
		{"over-long message", &gatewayv1.AskRequest{StoreId: "demo", Message: strings.Repeat("é", 8001)}, codes.InvalidArgument, []string{"message"}},
		{"no language", &gatewayv1.AskRequest{StoreId: "demo", Message: "hi", Locale: "!!"}, codes.InvalidArgument, []string{"locale"}},
		{"unknown store", &gatewayv1.AskRequest{StoreId: "atlantis", Message: "hi"}, codes.NotFound, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := h.gateway.Ask(t.Context(), tt.ask)
			st := status.Convert(err)
			if st.Code() != tt.code {
				t.Fatalf("Ask: %v; want %v", err, tt.code)
			}
			var fields []string
			hasInfo := false
			for _, d := range st.Details() {
				switch d := d.(type) {
				case *errdetails.BadRequest:
					for _, v := range d.GetFieldViolations() {
						fields = append(fields, v.GetField())
					}
				case *errdetails.ErrorInfo:
					hasInfo = d.GetDomain() == "quartet" && d.GetReason() != ""
				}
			}
			if fmt.Sprint(fields) != fmt.Sprint(tt.fields) || !hasInfo {
				t.Errorf("violations %v, ErrorInfo %v; want violations %v and ErrorInfo", fields, hasInfo, tt.fields)
			}
		})
	}
}
