package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// callers authenticates the tokens that are its keys.
type callers map[string]auth.Caller

func (c callers) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	caller, ok := c[token]
	if !ok {
		return auth.Caller{}, errors.New("no such token")
	}
	caller.Name = token
	return caller, nil
}

// withRights is a caller with rights in store demo.
func withRights(rights ...auth.Right) auth.Caller {
	return auth.Caller{Grants: []auth.Grant{{Store: "demo", Rights: rights}}}
}

// shops are callers of every kind.
var shops = callers{
	"web": withRights(auth.RightAsk), "app": withRights(auth.RightAsk), "desk": withRights(auth.RightAsk, auth.RightThreads),
	"reader": withRights(auth.RightThreads), "eraser": withRights(auth.RightErase), "loader": withRights(auth.RightCatalog, auth.RightOrders),
	"ann": {Customer: "ann", Grants: []auth.Grant{{Store: "demo", Rights: []auth.Right{auth.RightAsk}}}},
	"far": {Grants: []auth.Grant{{Store: "other", Rights: auth.Rights()}}},
}

// as returns a client of a gateway that asks its callers for tokens.
func (h *fixture) as(s *Service, caller string) gatewayv1.GatewayServiceClient {
	h.t.Helper()
	name := fmt.Sprintf("gateway-%p", s)
	if h.stops[name] == nil {
		h.serveWith(name, rpc.ServerConfig{Authenticator: shops}, s.Register)
	}
	return gatewayv1.NewGatewayServiceClient(h.dialAs(name, caller))
}

func (h *fixture) dialAs(name, caller string) *grpc.ClientConn {
	h.t.Helper()
	conn, err := rpc.Dial("inproc:///"+name, rpc.DialConfig{Network: h.network, Token: caller})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	return conn
}

// shopper is for whom a test calls.
type shopper struct{ customer, cart string }

var guest = shopper{cart: "c1"} // with a cart

func (s shopper) ask(thread, request, message string) *gatewayv1.AskRequest {
	return &gatewayv1.AskRequest{
		StoreId: "demo", CustomerId: s.customer, CartId: s.cart, ThreadId: thread, RequestId: request, Message: message,
	}
}

// The operations on a thread and its turn, all of one shopper.
var operations = []struct {
	name string
	call func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, thread, turn string) (proto.Message, error)
}{
	{"GetThread", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, thread, _ string) (proto.Message, error) {
		return c.GetThread(ctx, &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: thread, CustomerId: s.customer, CartId: s.cart})
	}},
	{"GetTurn", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, _, turn string) (proto.Message, error) {
		return c.GetTurn(ctx, &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: turn, CustomerId: s.customer, CartId: s.cart})
	}},
	{"RecordFeedback", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, _, turn string) (proto.Message, error) {
		resp, err := c.RecordFeedback(ctx, &gatewayv1.RecordFeedbackRequest{
			StoreId: "demo", TurnId: turn, CustomerId: s.customer, CartId: s.cart, Feedback: &gatewayv1.Feedback{Rating: gatewayv1.Rating_RATING_HELPFUL},
		})
		if err == nil {
			resp.Feedback.CreateTime = nil
		}
		return resp, err
	}},
	{"ListThreads", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, _, _ string) (proto.Message, error) {
		return c.ListThreads(ctx, &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: s.customer})
	}},
	{"Ask", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, thread, _ string) (proto.Message, error) {
		return c.Ask(ctx, s.ask(thread, "", "search: more"))
	}},
	{"AskStream", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, thread, _ string) (proto.Message, error) {
		stream, err := c.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: s.ask(thread, "", "search: more")})
		var last *gatewayv1.AskStreamResponse
		for err == nil {
			var ev *gatewayv1.AskStreamResponse
			if ev, err = stream.Recv(); err == nil {
				last = ev
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return last.GetAnswer(), err
	}},
	{"DeleteThread", func(ctx context.Context, c gatewayv1.GatewayServiceClient, s shopper, thread, _ string) (proto.Message, error) {
		return c.DeleteThread(ctx, &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: thread, CustomerId: s.customer, CartId: s.cart})
	}},
}

// wire is all that a caller sees of an error, or of a reply.
func wire(reply proto.Message, err error) string {
	if err != nil {
		return prototext.Format(status.Convert(err).Proto())
	}
	return prototext.Format(reply)
}

// What a caller gets for another shopper's thread is what it gets for a thread that is not there, byte for byte.
func TestAnothersThreadLooksLikeNone(t *testing.T) {
	h := open(t, nil)
	owners := map[string]shopper{"t-ann": {customer: "ann"}, "t-cart": guest}
	calls := []struct {
		caller  string
		shopper shopper
		thread  string
	}{
		{"web", shopper{}, "t-ann"}, {"web", shopper{customer: "bob"}, "t-ann"}, {"app", guest, "t-ann"},
		{"web", shopper{customer: "bob", cart: "ann"}, "t-ann"}, {"desk", shopper{customer: "bob"}, "t-ann"},
		{"desk", guest, "t-ann"},
		{"web", shopper{}, "t-cart"}, {"web", shopper{cart: "c2"}, "t-cart"}, {"app", shopper{customer: "bob"}, "t-cart"},
		{"app", shopper{customer: "bob", cart: "c2"}, "t-cart"},
	}
	type key struct{ call, operation int }
	before := map[key]string{}
	turns := map[string]string{}
	for _, there := range []bool{false, true} {
		for i, c := range calls {
			if there { // another thread with each call, so that calls do not meet each other's turns
				h.redis.Del(h.key("thread:" + c.thread))
				h.redis.Del(h.key("thread:" + c.thread + ":messages"))
				reply, err := h.client.Ask(t.Context(), owners[c.thread].ask(c.thread, "", "search: shoes"))
				if err != nil {
					t.Fatal(err)
				}
				turns[c.thread] = reply.GetTurnId()
			}
			client := h.as(h.service, c.caller)
			for j, op := range operations {
				if strings.HasPrefix(op.name, "Ask") || op.name == "ListThreads" {
					continue // those find no thread where none is
				}
				turn := "turn_aanothing"
				if there {
					turn = turns[c.thread]
				}
				reply, err := op.call(t.Context(), client, c.shopper, c.thread, turn)
				wantStatus(t, err, codes.NotFound, map[bool]string{true: "TURN_NOT_FOUND", false: "THREAD_NOT_FOUND"}[op.name == "GetTurn" || op.name == "RecordFeedback"])
				got := strings.ReplaceAll(wire(reply, err), turn, "TURN")
				if !there {
					before[key{i, j}] = got
				} else if diff := cmp.Diff(before[key{i, j}], got); diff != "" {
					t.Errorf("%s of %s by %s for %+v (-without +with the thread):\n%s", op.name, c.thread, c.caller, c.shopper, diff)
				}
			}
			if there {
				_, err := client.Ask(t.Context(), c.shopper.ask(c.thread, "", "search: more"))
				wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
				if got, err := h.thread(c.thread); err != nil || len(got.GetMessages()) != 2 {
					t.Errorf("afterwards: %v, %v", got, err)
				}
			}
		}
	}
}

func TestOwnersAndCallersWithTheRightReachAThread(t *testing.T) {
	h := open(t, nil)
	for _, tt := range []struct {
		caller  string
		shopper shopper
		owner   shopper
		may     []string
	}{
		{"web", shopper{customer: "ann"}, shopper{customer: "ann"}, []string{"GetThread", "GetTurn", "RecordFeedback", "ListThreads", "Ask", "AskStream", "DeleteThread"}},
		{"ann", shopper{customer: "ann"}, shopper{customer: "ann"}, []string{"GetThread", "GetTurn", "RecordFeedback", "ListThreads", "Ask", "AskStream", "DeleteThread"}},
		{"app", guest, guest, []string{"GetThread", "GetTurn", "RecordFeedback", "Ask", "AskStream", "DeleteThread"}},
		{"web", shopper{}, shopper{}, []string{"GetThread", "GetTurn", "RecordFeedback", "Ask", "AskStream", "DeleteThread"}},
		{"web", guest, shopper{}, []string{"GetThread", "GetTurn", "RecordFeedback", "Ask", "AskStream", "DeleteThread"}},
		{"web", shopper{customer: "ann", cart: "c1"}, guest, []string{"GetThread", "GetTurn", "RecordFeedback", "ListThreads", "Ask", "AskStream", "DeleteThread"}},
		{"web", shopper{customer: "ann"}, shopper{}, []string{"ListThreads"}},
		{"desk", shopper{}, shopper{customer: "ann"}, []string{"GetThread", "GetTurn", "RecordFeedback"}},
		{"desk", shopper{}, guest, []string{"GetThread", "GetTurn", "RecordFeedback", "Ask", "AskStream"}},
		{"desk", shopper{customer: "ann"}, shopper{}, []string{"GetThread", "GetTurn", "RecordFeedback", "ListThreads", "Ask", "AskStream"}},
		{"reader", shopper{}, shopper{customer: "ann"}, []string{"GetThread", "GetTurn", "RecordFeedback"}},
		{"reader", shopper{customer: "bob"}, shopper{customer: "ann"}, []string{"ListThreads"}},
		{"eraser", shopper{}, shopper{customer: "ann"}, []string{"DeleteThread"}},
		{"eraser", shopper{customer: "bob"}, shopper{customer: "ann"}, nil},
		{"loader", shopper{customer: "ann"}, shopper{customer: "ann"}, nil},
		{"far", shopper{customer: "ann"}, shopper{customer: "ann"}, nil},
		// A caller who acts for one customer may name nobody else, and no cart but its own.
		{"ann", shopper{customer: "bob"}, shopper{customer: "bob"}, nil},
		{"ann", shopper{}, shopper{}, nil},
		{"ann", shopper{customer: "ann", cart: "c1"}, guest, []string{"ListThreads"}},
	} {
		var may []string
		for _, op := range operations {
			h.redis.FlushAll()
			h.putStore("demo")
			first, err := h.client.Ask(t.Context(), tt.owner.ask("t1", "", "search: shoes"))
			if err != nil {
				t.Fatal(err)
			}
			reply, err := op.call(t.Context(), h.as(h.service, tt.caller), tt.shopper, "t1", first.GetTurnId())
			switch code := status.Code(err); {
			case err == nil:
				may = append(may, op.name)
				if d, ok := reply.(*gatewayv1.DeleteThreadResponse); ok && !d.GetDeleted() {
					t.Errorf("%+v: nothing is deleted", tt)
				}
			case code == codes.InvalidArgument && op.name == "ListThreads" && tt.shopper.customer == "": // guests' threads are not listed
			case code != codes.NotFound && code != codes.PermissionDenied:
				t.Errorf("%s: %+v: %v", op.name, tt, err)
			}
		}
		if diff := cmp.Diff(tt.may, may); diff != "" {
			t.Errorf("%s for %+v, of a thread of %+v (-want +got):\n%s", tt.caller, tt.shopper, tt.owner, diff)
		}
	}
}

func TestACustomersThreadNeverBecomesAGuests(t *testing.T) {
	h := open(t, nil)
	web := h.as(h.service, "web")
	for i, s := range []shopper{guest, guest, {customer: "ann", cart: "c1"}, {customer: "ann"}} {
		if _, err := web.Ask(t.Context(), s.ask("t1", "", fmt.Sprintf("search: %d", i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, caller := range []string{"web", "desk"} {
		for _, s := range []shopper{guest, {}, {customer: "bob", cart: "c1"}} {
			_, err := h.as(h.service, caller).Ask(t.Context(), s.ask("t1", "", "search: more"))
			wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
		}
	}
	got, err := h.thread("t1")
	if err != nil || got.GetThread().GetCustomerId() != "ann" || len(got.GetMessages()) != 8 {
		t.Errorf("thread %v, %v", got, err)
	}
}

// A thread of an earlier release has no field for the cart, and is not encrypted.
func TestThreadsOfAnEarlierReleaseStayWithTheirCustomers(t *testing.T) {
	h := openPlain(t)
	web := h.as(h.service, "web")
	for id, s := range map[string]shopper{"t-ann": {customer: "ann", cart: "c1"}, "t-guest": guest} {
		if _, err := web.Ask(t.Context(), s.ask(id, "", "search: shoes")); err != nil {
			t.Fatal(err)
		}
		h.redis.HDel(h.key("thread:"+id), "cart")
	}
	_, err := web.Ask(t.Context(), shopper{customer: "ann"}.ask("t-ann", "", "search: more"))
	if err != nil {
		t.Error(err)
	}
	_, err = web.Ask(t.Context(), shopper{customer: "bob", cart: "c1"}.ask("t-guest", "", "search: more"))
	wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
	for range 2 { // a guest's turn does not bind the thread to a cart later
		if _, err = web.Ask(t.Context(), guest.ask("t-guest", "", "search: more")); err != nil {
			t.Error(err)
		}
	}
	_, err = web.Ask(t.Context(), shopper{customer: "bob", cart: "c1"}.ask("t-guest", "", "search: more"))
	wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
}

func TestTheSameIDOfAnotherCallerIsAnotherRequest(t *testing.T) {
	h := open(t, nil)
	ann := shopper{customer: "ann"}
	g := h.gate("search")
	replies := map[string]*gatewayv1.AskResponse{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	names := []string{"web", "app", "desk", "ann"}
	for _, caller := range names {
		client := h.as(h.service, caller)
		for range 2 {
			wg.Go(func() {
				reply, err := client.Ask(t.Context(), ann.ask("", "r1", "search: for "+caller))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(replies[caller], reply, protocmp.Transform()); replies[caller] != nil && diff != "" {
					t.Errorf("%s got two replies (-one +other):\n%s", caller, diff)
				}
				replies[caller] = reply
			})
		}
	}
	eventually(t, func() bool { return len(g.entered) == len(names) })
	close(g.open)
	wg.Wait()
	var turns []string
	for _, caller := range names {
		if replies[caller].GetText() != "search says for "+caller+"." {
			t.Errorf("%s got %q", caller, replies[caller].GetText())
		}
		turns = append(turns, replies[caller].GetTurnId())
	}
	if slices.Sort(turns); len(slices.Compact(turns)) != len(names) {
		t.Errorf("turns %v", turns)
	}
	if calls, _ := h.specialists["search"].calls(); len(calls) != len(names) {
		t.Errorf("search was asked %d times", len(calls))
	}
}

// The reply of a request is for its shopper. When the guest's thread has become a customer's, the guest gets it no more.
func TestAReplyIsRepeatedToItsShopperOnly(t *testing.T) {
	h := open(t, nil)
	web := h.as(h.service, "web")
	for _, thread := range []string{"t1", ""} {
		req := guest.ask(thread, "r"+thread, "search: shoes")
		first, err := web.Ask(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := web.Ask(t.Context(), req); err != nil || again.GetTurnId() != first.GetTurnId() {
			t.Errorf("again: %v, %v", again, err)
		}
		for _, other := range []shopper{{}, {cart: "c2"}, {customer: "ann", cart: "c1"}, {customer: "bob"}} {
			_, err := web.Ask(t.Context(), other.ask(thread, "r"+thread, "search: shoes"))
			wantStatus(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED")
		}
		if _, err := web.Ask(t.Context(), shopper{customer: "ann", cart: "c1"}.ask(first.GetThreadId(), "", "search: mine")); err != nil {
			t.Fatal(err)
		}
		_, err = web.Ask(t.Context(), req)
		wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
	}
}

func TestARequestIsResumedForItsCallerOnly(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	second := h.serveGateway("second", h.redisClient())
	g := h.gate("support")
	req := shopper{customer: "ann"}.ask("", "r1", "search: shoes | support: returns")
	ctx, die := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	first := h.as(h.service, "web")
	wg.Go(func() { _, _ = first.Ask(ctx, req) })
	<-g.entered
	eventually(t, func() bool {
		keys, _ := h.redis.HKeys(h.key("request:r1"))
		return slices.Contains(keys, "answer:a1")
	})
	turn := h.redis.HGet(h.key("request:r1"), "turn")
	die()
	wg.Wait()
	h.leasesRunOut()
	close(g.open)
	other, err := h.as(second, "app").Ask(t.Context(), req)
	if err != nil || other.GetTurnId() == turn {
		t.Errorf("another caller: %v, %v", other, err)
	}
	reply, err := h.as(second, "web").Ask(t.Context(), req)
	if err != nil || reply.GetTurnId() != turn {
		t.Errorf("resumed turn %s: %v, %v", turn, reply, err)
	}
	if calls, _ := h.specialists["search"].calls(); len(calls) != 2 {
		t.Errorf("search was asked %d times, want once for each caller", len(calls))
	}
}

// On a real Redis, customers sign in with one guest's cart at the same moment, while outsiders read and delete.
func TestSignInsRaceOnARealRedis(t *testing.T) {
	client, err := state.Open(t.Context(), redistest.Single(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	h := newFixture(t, miniredis.RunT(t))
	h.start()
	gateways := []*Service{h.serveGateway("one", client), h.serveGateway("two", client)}
	h.stores = gatewayv1.NewStoreServiceClient(h.dial("one"))
	h.putStore("demo")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var web, app []gatewayv1.GatewayServiceClient
	for _, g := range gateways {
		web, app = append(web, h.as(g, "web")), append(app, h.as(g, "app"))
	}
	for round := range 10 {
		id := fmt.Sprintf("t%d", round)
		first, err := web[0].Ask(ctx, guest.ask(id, "", "search: shoes"))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		won := make([]bool, 4)
		for i := range won {
			wg.Go(func() {
				s := shopper{customer: fmt.Sprintf("customer%d", i), cart: "c1"}
				_, err := web[i%2].Ask(ctx, s.ask(id, fmt.Sprintf("r%d-%d", round, i), "search: mine"))
				if won[i] = err == nil; !won[i] {
					wantStatus(t, err, codes.NotFound, "THREAD_NOT_FOUND")
				}
			})
			wg.Go(func() {
				for _, op := range operations {
					if op.name == "ListThreads" {
						continue
					}
					reply, err := op.call(ctx, app[i%2], shopper{customer: "mallory", cart: "c2"}, id, first.GetTurnId())
					if status.Code(err) != codes.NotFound {
						t.Errorf("%s: %v, %v", op.name, reply, err)
					}
				}
			})
		}
		wg.Wait()
		got, err := h.as(gateways[1], "reader").GetThread(ctx, &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: id})
		winner := slices.Index(won, true)
		if err != nil || winner < 0 || slices.Contains(won[winner+1:], true) ||
			got.GetThread().GetCustomerId() != fmt.Sprintf("customer%d", winner) || len(got.GetMessages()) != 4 {
			t.Errorf("%v won: %v, %v", won, got, err)
		}
	}
}
