package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// callers accepts tokens by their hash, as a file does.
type callers map[[sha256.Size]byte]auth.Caller

func (c callers) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	if found, ok := c[sha256.Sum256([]byte(token))]; ok {
		return found, nil
	}
	return auth.Caller{}, auth.InvalidToken(errors.New("not known here"))
}

// guarded is a system that asks for credentials. The tokens of its callers are their names.
type guarded struct {
	*system
	cfg suite.Config
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	accepted := make(callers)
	for _, c := range []auth.Caller{
		{Name: "admin", Grants: []auth.Grant{{Store: auth.AnyStore, Rights: auth.Rights()}}},
		{Name: "storefront", Grants: []auth.Grant{{Store: "demo", Rights: []auth.Right{auth.RightAsk}}}},
		{Name: "checkout", Grants: []auth.Grant{{Store: "demo", Rights: []auth.Right{auth.RightPromotions, auth.RightCarts, auth.RightCatalog}}}},
		{Name: "otherstore", Grants: []auth.Grant{{Store: "other", Rights: auth.Rights()}}},
		{Name: "reporter", Grants: []auth.Grant{{Store: "demo", Rights: []auth.Right{auth.RightUsage}}}},
		{Name: "benspage", Customer: "ben", Grants: []auth.Grant{{Store: "demo", Rights: []auth.Right{auth.RightAsk, auth.RightOrders}}}},
	} {
		accepted[sha256.Sum256([]byte(c.Name))] = c
	}
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	h := newSystemWith(t, redisServer.URL(), newBrain(t), func(cfg *suite.Config) {
		cfg.Authenticator, cfg.Token = accepted, "admin"
	})
	return &guarded{system: h, cfg: h.cfg}
}

// as connects to a role with a token; "" sends none.
func (g *guarded) as(t *testing.T, token, role string) *grpc.ClientConn {
	t.Helper()
	cfg := g.cfg
	cfg.Token = token
	conn, err := suite.Dial(role, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestAnOutsiderIsRefusedEverywhere(t *testing.T) {
	g := newGuarded(t)
	threads := gatewayv1.NewGatewayServiceClient(g.as(t, "storefront", suite.Gateway))
	const question = "where is my order?"
	reply, err := threads.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: question})
	if err != nil || len(reply.GetOrders()) == 0 {
		t.Fatalf("the storefront asks for ava: %v, %v", reply, err)
	}
	for _, outsider := range []struct {
		token string
		code  codes.Code
	}{
		{"", codes.Unauthenticated}, {"made-up", codes.Unauthenticated},
		{"otherstore", codes.PermissionDenied}, {"reporter", codes.PermissionDenied}, {"benspage", codes.PermissionDenied},
	} {
		gateway := gatewayv1.NewGatewayServiceClient(g.as(t, outsider.token, suite.Gateway))
		refused := func(what string, err error) {
			t.Helper()
			if status.Code(err) != outsider.code {
				t.Errorf("%q %s: %v, want %v", outsider.token, what, err, outsider.code)
			}
		}
		for _, role := range []string{suite.Support, suite.Gateway} {
			_, err := orderv1.NewOrderServiceClient(g.as(t, outsider.token, role)).
				ListOrders(t.Context(), &orderv1.ListOrdersRequest{StoreId: "demo", CustomerId: "ava"})
			refused("lists ava's orders at the "+role+" service", err)
		}
		_, err := gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: question})
		refused("asks as ava", err)
		stream, err := gateway.AskStream(t.Context(), &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: question}})
		if err == nil {
			_, err = stream.Recv()
		}
		refused("asks as ava, with progress", err)
		_, err = gateway.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ava"})
		refused("lists ava's threads", err)
		if outsider.token != "benspage" { // whose threads ben may name is for the gateway
			_, err = gateway.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: reply.GetThreadId()})
			refused("reads a thread", err)
			_, err = gateway.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: reply.GetThreadId()})
			refused("deletes a thread", err)
		}
		_, err = gatewayv1.NewStoreServiceClient(g.as(t, outsider.token, suite.Gateway)).
			PutStore(t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{StoreId: "demo", Name: "Mine", CurrencyCode: "USD"}})
		refused("replaces a store", err)
	}
	if store, err := g.data.Stores.GetStore(t.Context(), &gatewayv1.GetStoreRequest{StoreId: "demo"}); err != nil || store.GetStore().GetName() == "Mine" {
		t.Errorf("the store is %v, %v", store, err)
	}
	got, err := threads.ListThreads(t.Context(), &gatewayv1.ListThreadsRequest{StoreId: "demo", CustomerId: "ava"})
	if err != nil || len(got.GetThreads()) != 1 {
		t.Errorf("the storefront lists ava's threads: %v, %v", got, err)
	}
}

func TestCallersDoWhatTheyMay(t *testing.T) {
	g := newGuarded(t)
	cart := cartv1.NewCartServiceClient(g.as(t, "checkout", suite.Recommend))
	if _, err := cart.GetCart(t.Context(), &cartv1.GetCartRequest{StoreId: "demo", CartId: "ava"}); err != nil {
		t.Errorf("checkout reads a cart, whose prices the catalog has: %v", err)
	}
	promotions := promotionv1.NewPromotionServiceClient(g.as(t, "checkout", suite.Promotions))
	if _, err := promotions.EvaluateCart(t.Context(), &promotionv1.EvaluateCartRequest{
		StoreId: "demo", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "ava"}}); err != nil {
		t.Errorf("checkout evaluates a cart, which another service has: %v", err)
	}
	for token, want := range map[string][]string{"otherstore": nil, "storefront": {"demo"}, "admin": nil} {
		got, err := gatewayv1.NewStoreServiceClient(g.as(t, token, suite.Gateway)).ListStores(t.Context(), &gatewayv1.ListStoresRequest{})
		var ids []string
		for _, s := range got.GetStores() {
			ids = append(ids, s.GetStoreId())
		}
		if err != nil || token != "admin" && !slices.Equal(ids, want) || token == "admin" && len(ids) < 2 {
			t.Errorf("%s sees the stores %v, %v", token, ids, err)
		}
	}
	ben := gatewayv1.NewGatewayServiceClient(g.as(t, "benspage", suite.Gateway))
	if _, err := ben.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ben", Message: "what is your return policy?"}); err != nil {
		t.Errorf("ben asks: %v", err)
	}
	for _, role := range []string{suite.Support, suite.Gateway} {
		orders := orderv1.NewOrderServiceClient(g.as(t, "benspage", role))
		if _, err := orders.ListOrders(t.Context(), &orderv1.ListOrdersRequest{StoreId: "demo", CustomerId: "ben"}); err != nil {
			t.Errorf("ben lists orders at the %s service: %v", role, err)
		}
	}
}

// TestRefusalsTellNothingOfWhatExists calls every method for things that exist and for things that do not, by callers without
// rights to either. The statuses must be the same in every byte.
func TestRefusalsTellNothingOfWhatExists(t *testing.T) {
	g := newGuarded(t)
	reply, err := gatewayv1.NewGatewayServiceClient(g.as(t, "storefront", suite.Gateway)).
		Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", ThreadId: "avas", Message: "where is my order?"})
	if err != nil || len(reply.GetOrders()) == 0 {
		t.Fatalf("%v, %v", reply, err)
	}
	existing := things{
		"store_id": "demo", "customer_id": "ava", "cart_id": "ava", "thread_id": "avas", "turn_id": reply.GetTurnId(),
		"order_id": reply.GetOrders()[0].GetOrderId(), "product_id": reply.GetOrders()[0].GetItems()[0].GetProductId(),
		"policy_id": "returns", "code": "CAMP40",
	}
	missing := make(things)
	for name := range existing {
		missing[name] = "missing"
	}
	missingInStore, missingStore := maps.Clone(missing), maps.Clone(existing)
	missingInStore["store_id"], missingStore["store_id"] = "demo", "atlantis"
	anywhere := []things{existing, missing, missingInStore, missingStore}
	strangers := map[string]bool{"": true, "made-up": true}
	called := 0
	for _, caller := range []struct {
		token  string
		things []things // are refused alike
	}{
		{"", anywhere}, {"made-up", anywhere}, {"otherstore", anywhere}, {"reporter", []things{existing, missingInStore}},
	} {
		for role, services := range map[string][]string{
			suite.Gateway: {"quartet.gateway.v1.GatewayService", "quartet.gateway.v1.StoreService"}, suite.Router: {"quartet.router.v1.RouterService"},
			suite.Search:    {"quartet.catalog.v1.CatalogService", "quartet.specialist.v1.SpecialistService"},
			suite.Recommend: {"quartet.cart.v1.CartService"}, suite.Promotions: {"quartet.promotion.v1.PromotionService"},
			suite.Support: {"quartet.order.v1.OrderService", "quartet.policy.v1.PolicyService"},
		} {
			conn := g.as(t, caller.token, role)
			for _, service := range services {
				for _, method := range methodsOf(t, service) {
					name := "/" + service + "/" + string(method.Name())
					if name == gatewayv1.StoreService_ListStores_FullMethodName && !strangers[caller.token] ||
						name == gatewayv1.StoreService_GetStore_FullMethodName && caller.token == "reporter" {
						continue // it is allowed
					}
					var first *status.Status
					for i, named := range caller.things {
						st := callWith(t, conn, name, method, named)
						if code := st.Code(); code != codes.Unauthenticated && code != codes.PermissionDenied {
							t.Errorf("%q calls %s: %v", caller.token, name, st)
						}
						if i == 0 {
							first = st
						} else if diff := cmp.Diff(first.Proto(), st.Proto(), protocmp.Transform()); diff != "" {
							t.Errorf("%q calls %s: the status tells what exists:\n%s", caller.token, name, diff)
						}
						called++
					}
				}
			}
		}
	}
	if want := 4 * len(auth.Methods()); called < want {
		t.Errorf("%d calls were made, want %d or more", called, want)
	}
}

// things are values of fields by their names.
type things map[protoreflect.Name]string

// fill sets the fields of a message, and those of the message within it that stands for a request.
func (named things) fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if value, ok := named[f.Name()]; ok && f.Kind() == protoreflect.StringKind && !f.IsList() {
			m.Set(f, protoreflect.ValueOfString(value))
		}
		if f.Name() == "ask" || f.Name() == "store" {
			named.fill(m.Mutable(f).Message())
		}
	}
}

// methodsOf returns the methods of a service.
func methodsOf(t *testing.T, service string) []protoreflect.MethodDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		t.Fatal(err)
	}
	var methods []protoreflect.MethodDescriptor
	all := d.(protoreflect.ServiceDescriptor).Methods()
	for i := range all.Len() {
		methods = append(methods, all.Get(i))
	}
	return methods
}

// callWith calls a method of any kind with a request that names things, and returns how the call ends.
func callWith(t *testing.T, conn *grpc.ClientConn, name string, method protoreflect.MethodDescriptor, named things) *status.Status {
	t.Helper()
	message := func(d protoreflect.MessageDescriptor) proto.Message {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
		if err != nil {
			t.Fatal(err)
		}
		return kind.New().Interface()
	}
	request, response := message(method.Input()), message(method.Output())
	named.fill(request.ProtoReflect())
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name)
	if err != nil {
		return status.Convert(err)
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return status.Convert(err)
	}
	if err := stream.CloseSend(); err != nil {
		return status.Convert(err)
	}
	for err == nil {
		err = stream.RecvMsg(response)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return status.Convert(err)
}
