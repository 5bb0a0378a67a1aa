package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// eachMethod calls f for every method of Quartet's contracts with its full name and an empty request.
func eachMethod(t *testing.T, f func(method string, d protoreflect.MethodDescriptor, request proto.Message)) {
	t.Helper()
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "quartet.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				d := service.Methods().Get(j)
				kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
				if err != nil {
					t.Fatal(err)
				}
				f("/"+string(service.FullName())+"/"+string(d.Name()), d, kind.New().Interface())
			}
		}
		return true
	})
}

func TestEveryMethodOfTheContractsHasARule(t *testing.T) {
	var all []string
	eachMethod(t, func(method string, _ protoreflect.MethodDescriptor, _ proto.Message) { all = append(all, method) })
	slices.Sort(all)
	if !slices.Equal(all, Methods()) {
		t.Errorf("the contracts have\n%s\nand there are rules for\n%s", strings.Join(all, "\n"), strings.Join(Methods(), "\n"))
	}
}

// The names that mean a write. A new one that is neither here nor a read fails TestWritesNeedTheirRightAndNoScopeAllowsThem.
var (
	writes = []string{"Upsert", "Update", "Put", "Delete", "Set", "Add", "Remove", "Clear", "Record", "Release", "Erase", "Post", "Mute", "Create", "Activate", "RollBack"}
	reads  = []string{"Get", "List", "Search", "Find", "BatchGet", "Evaluate", "Ask", "Describe", "Answer", "Route", "Export", "Query", "Stream", "Diff"}
)

func TestWritesNeedTheirRightAndNoScopeAllowsThem(t *testing.T) {
	begins := func(name string, verbs []string) bool {
		return slices.ContainsFunc(verbs, func(v string) bool { return strings.HasPrefix(name, v) })
	}
	area := map[string]Right{"catalog": RightCatalog, "cart": RightCarts, "order": RightOrders, "promotion": RightPromotions, "policy": RightPolicies}
	eachMethod(t, func(method string, d protoreflect.MethodDescriptor, _ proto.Message) {
		r, name := rules[method], string(d.Name())
		write := begins(name, writes)
		if write == begins(name, reads) {
			t.Errorf("%s: its name does not say whether it writes", method)
		}
		if write && (r.read != "" || r.shared || r.enter || r.lists || r.turn || len(r.rights) == 0) {
			t.Errorf("%s writes, and its rule is %+v", method, r)
		}
		pkg := strings.Split(string(d.ParentFile().Package()), ".")[1]
		if right, ok := area[pkg]; ok && !slices.Equal(r.rights, []Right{right}) {
			t.Errorf("%s needs %v, want %v", method, r.rights, right)
		}
	})
}

func TestFieldsAreFoundByTheirNames(t *testing.T) {
	eachMethod(t, func(method string, d protoreflect.MethodDescriptor, request proto.Message) {
		message := request.ProtoReflect()
		for _, inner := range []protoreflect.Name{"ask", "store"} {
			if f := message.Descriptor().Fields().ByName(inner); f != nil && f.Message() != nil {
				message = message.Mutable(f).Message()
			}
		}
		names := message.Descriptor().Fields()
		set := func(name protoreflect.Name) (found bool) {
			f := names.ByName(name)
			if f != nil {
				message.Set(f, protoreflect.ValueOfString(string(name)))
			}
			return f != nil
		}
		store, customer, cart := set("store_id"), set("customer_id"), set("cart_id")
		got := fieldsOf(request)
		if r := rules[method]; !store && !r.turn && !r.lists {
			t.Errorf("%s: its request names no store", method)
		}
		if store != (got.store == "store_id") || customer != got.hasCustomer || customer != (got.customer == "customer_id") ||
			cart != got.hasCart || cart != (got.cart == "cart_id") {
			t.Errorf("%s: found %+v in %v", method, got, request)
		}
	})
}

func TestAuthorize(t *testing.T) {
	const (
		ask, listThreads, deleteThread = gatewayv1.GatewayService_Ask_FullMethodName, gatewayv1.GatewayService_ListThreads_FullMethodName, gatewayv1.GatewayService_DeleteThread_FullMethodName
		listOrders, search             = orderv1.OrderService_ListOrders_FullMethodName, catalogv1.CatalogService_SearchProducts_FullMethodName
		getCart, setCart               = cartv1.CartService_GetCart_FullMethodName, cartv1.CartService_SetCart_FullMethodName
		getStore, listStores           = gatewayv1.StoreService_GetStore_FullMethodName, gatewayv1.StoreService_ListStores_FullMethodName
		evaluate, answer               = promotionv1.PromotionService_EvaluateCart_FullMethodName, specialistv1.SpecialistService_Answer_FullMethodName
		askStream                      = gatewayv1.GatewayService_AskStream_FullMethodName
	)
	grant := func(store string, rights ...Right) Caller {
		return Caller{Name: "c", Grants: []Grant{{Store: store, Rights: rights}}}
	}
	pinned := grant("a", RightAsk, RightCatalog, RightCarts, RightOrders, RightPromotions, RightErase)
	pinned.Customer, pinned.CustomerGroups = "ava", []string{"members"}
	local := Caller{Name: "local", Local: true}
	ava := scope.Scope{StoreID: "a", CustomerID: "ava", CartID: "k1", CustomerGroups: []string{"members"}, Reads: scope.Reads()}
	promotions, offers, searching, guest := ava, ava, ava, scope.Scope{StoreID: "a", Reads: scope.Reads()}
	promotions.Reads = []scope.Read{scope.ReadPromotions, scope.ReadCarts, scope.ReadCatalog}
	offers.Reads = []scope.Read{scope.ReadPromotions}
	searching.Reads = []scope.Read{scope.ReadCatalog}
	for name, test := range map[string]struct {
		caller  Caller
		scope   *scope.Scope
		method  string
		request any
		want    string // part of the refusal; "" if allowed
	}{
		"local":                          {caller: local, method: ask, request: &gatewayv1.AskRequest{StoreId: "a"}},
		"nobody":                         {method: ask, request: &gatewayv1.AskRequest{StoreId: "a"}, want: `"ask"`},
		"right":                          {caller: grant("a", RightAsk), method: ask, request: &gatewayv1.AskRequest{StoreId: "a", CustomerId: "ben"}},
		"right in a stream":              {caller: grant("a", RightAsk), method: askStream, request: &gatewayv1.AskStreamRequest{Ask: &gatewayv1.AskRequest{StoreId: "a"}}},
		"no message in a stream":         {caller: grant("a", RightAsk), method: askStream, request: &gatewayv1.AskStreamRequest{}, want: `"ask"`},
		"another store":                  {caller: grant("b", RightAsk), method: ask, request: &gatewayv1.AskRequest{StoreId: "a"}, want: `"ask"`},
		"another right":                  {caller: grant("a", RightCatalog), method: listOrders, request: &orderv1.ListOrdersRequest{StoreId: "a"}, want: `"orders"`},
		"any store":                      {caller: grant(AnyStore, RightOrders), method: listOrders, request: &orderv1.ListOrdersRequest{StoreId: "a"}},
		"one of two rights":              {caller: grant("a", RightErase), method: deleteThread, request: &gatewayv1.DeleteThreadRequest{StoreId: "a"}},
		"neither of two":                 {caller: grant("a", RightThreads), method: deleteThread, request: &gatewayv1.DeleteThreadRequest{StoreId: "a"}, want: `"ask"`},
		"unknown method":                 {caller: local, method: "/quartet.x.v1.X/Y", want: "no rule"},
		"unknown method, scope":          {caller: local, scope: &ava, method: "/quartet.x.v1.X/Y", want: "no rule"},
		"a store of one's own":           {caller: grant("a", RightUsage), method: getStore, request: &gatewayv1.GetStoreRequest{StoreId: "a"}},
		"a store of others":              {caller: grant("a", RightUsage), method: getStore, request: &gatewayv1.GetStoreRequest{StoreId: "b"}, want: "no right"},
		"list of stores":                 {caller: grant("a", RightUsage), method: listStores, request: &gatewayv1.ListStoresRequest{}},
		"a turn's part without scope":    {caller: grant(AnyStore, Rights()...), method: answer, request: &specialistv1.AnswerRequest{}, want: "signed scope"},
		"pinned, its customer":           {caller: pinned, method: ask, request: &gatewayv1.AskRequest{StoreId: "a", CustomerId: "ava", CartId: "ava", CustomerGroups: []string{"members"}}},
		"pinned, another customer":       {caller: pinned, method: ask, request: &gatewayv1.AskRequest{StoreId: "a", CustomerId: "ben"}, want: "own customer"},
		"pinned, a guest":                {caller: pinned, method: ask, request: &gatewayv1.AskRequest{StoreId: "a"}, want: "own customer"},
		"pinned, another cart":           {caller: pinned, method: ask, request: &gatewayv1.AskRequest{StoreId: "a", CustomerId: "ava", CartId: "ben"}, want: "cart"},
		"pinned, other groups":           {caller: pinned, method: ask, request: &gatewayv1.AskRequest{StoreId: "a", CustomerId: "ava", CustomerGroups: []string{"staff"}}, want: "groups"},
		"pinned, own cart":               {caller: pinned, method: setCart, request: &cartv1.SetCartRequest{StoreId: "a", CartId: "ava"}},
		"pinned, a cart of others":       {caller: pinned, method: getCart, request: &cartv1.GetCartRequest{StoreId: "a", CartId: "k1"}, want: "cart"},
		"pinned, other's threads":        {caller: pinned, method: listThreads, request: &gatewayv1.ListThreadsRequest{StoreId: "a", CustomerId: "ben"}, want: "own customer"},
		"pinned, what belongs to nobody": {caller: pinned, method: search, request: &catalogv1.SearchProductsRequest{StoreId: "a"}},
		"pinned, guests' orders": {caller: pinned, method: orderv1.OrderService_GetGuestOrder_FullMethodName,
			request: &orderv1.GetGuestOrderRequest{StoreId: "a"}, want: "own customer"},
		"pinned, write of all": {caller: pinned, method: orderv1.OrderService_UpsertOrders_FullMethodName,
			request: &orderv1.UpsertOrdersRequest{StoreId: "a"}, want: "own customer"},
		"scope":                   {scope: &ava, method: listOrders, request: &orderv1.ListOrdersRequest{StoreId: "a", CustomerId: "ava"}},
		"scope, another store":    {scope: &ava, method: search, request: &catalogv1.SearchProductsRequest{StoreId: "b"}, want: "another store"},
		"scope, another customer": {scope: &ava, method: listOrders, request: &orderv1.ListOrdersRequest{StoreId: "a", CustomerId: "ben"}, want: "another customer"},
		"scope, another cart":     {scope: &ava, method: getCart, request: &cartv1.GetCartRequest{StoreId: "a", CartId: "ava"}, want: "another cart"},
		"scope, its cart":         {scope: &ava, method: getCart, request: &cartv1.GetCartRequest{StoreId: "a", CartId: "k1"}},
		"scope, other groups":     {scope: &ava, method: evaluate, request: &promotionv1.EvaluateCartRequest{StoreId: "a", CustomerId: "ava", CustomerGroups: []string{"staff"}}, want: "groups"},
		"evaluates a cart it may not read": {caller: grant("a", RightPromotions), method: evaluate,
			request: &promotionv1.EvaluateCartRequest{StoreId: "a", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "k1"}}, want: `"carts"`},
		"evaluates a cart of another store": {caller: Caller{Name: "c", Grants: []Grant{
			{Store: "a", Rights: []Right{RightPromotions}}, {Store: "b", Rights: []Right{RightCarts}}}}, method: evaluate,
			request: &promotionv1.EvaluateCartRequest{StoreId: "a", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "k1"}}, want: `"carts"`},
		"evaluates a cart it may read": {caller: grant("a", RightPromotions, RightCarts), method: evaluate,
			request: &promotionv1.EvaluateCartRequest{StoreId: "a", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "k1"}}},
		"evaluates a cart that it brings": {caller: grant("a", RightPromotions), method: evaluate, request: &promotionv1.EvaluateCartRequest{StoreId: "a"}},
		"local, evaluates a cart": {caller: local, method: evaluate,
			request: &promotionv1.EvaluateCartRequest{StoreId: "a", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "k1"}}},
		"scope without carts, evaluates one": {scope: &offers, method: evaluate,
			request: &promotionv1.EvaluateCartRequest{StoreId: "a", CustomerId: "ava", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "k1"}}, want: "read carts"},
		"scope with carts, evaluates one": {scope: &promotions, method: evaluate,
			request: &promotionv1.EvaluateCartRequest{StoreId: "a", CustomerId: "ava", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: "k1"}}},
		"promotions reads orders":  {scope: &promotions, method: listOrders, request: &orderv1.ListOrdersRequest{StoreId: "a", CustomerId: "ava"}, want: "read orders"},
		"promotions reads a cart":  {scope: &promotions, method: getCart, request: &cartv1.GetCartRequest{StoreId: "a", CartId: "k1"}},
		"search reads a cart":      {scope: &searching, method: getCart, request: &cartv1.GetCartRequest{StoreId: "a", CartId: "k1"}, want: "read carts"},
		"search reads products":    {scope: &searching, method: search, request: &catalogv1.SearchProductsRequest{StoreId: "a"}},
		"a guest's, a customer":    {scope: &guest, method: listOrders, request: &orderv1.ListOrdersRequest{StoreId: "a", CustomerId: "ava"}, want: "another customer"},
		"a guest's, a cart":        {scope: &guest, method: getCart, request: &cartv1.GetCartRequest{StoreId: "a", CartId: "k1"}, want: "another cart"},
		"a guest's, no store":      {scope: &guest, method: search, request: &catalogv1.SearchProductsRequest{}, want: "another store"},
		"scope, a write":           {scope: &ava, method: setCart, request: &cartv1.SetCartRequest{StoreId: "a", CartId: "k1"}, want: "does not allow"},
		"scope, another turn":      {scope: &ava, method: ask, request: &gatewayv1.AskRequest{StoreId: "a", CustomerId: "ava"}, want: "does not allow"},
		"scope narrows the local":  {caller: local, scope: &ava, method: search, request: &catalogv1.SearchProductsRequest{StoreId: "b"}, want: "another store"},
		"scope narrows any caller": {caller: grant("b", RightCatalog), scope: &ava, method: search, request: &catalogv1.SearchProductsRequest{StoreId: "b"}, want: "another store"},
		"scope, a turn's part":     {scope: &ava, method: answer, request: &specialistv1.AnswerRequest{}},
	} {
		ctx := NewContext(context.Background(), test.caller)
		if test.scope != nil {
			ctx = scope.NewContext(ctx, *test.scope)
		}
		err := Authorize(ctx, test.method, test.request)
		if err == nil && test.want == "" {
			continue
		}
		var denied *fault.Denied
		var unauthenticated *fault.Unauthenticated
		if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) || !errors.As(err, &denied) && !errors.As(err, &unauthenticated) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestAStreamWithoutRequestsNeedsTheRightInSomeStore(t *testing.T) {
	const upsert = catalogv1.CatalogService_UpsertProducts_FullMethodName
	for _, test := range []struct {
		caller Caller
		ok     bool
	}{
		{Caller{}, false},
		{Caller{Name: "c", Grants: []Grant{{Store: "a", Rights: []Right{RightOrders}}}}, false},
		{Caller{Name: "c", Grants: []Grant{{Store: "a", Rights: []Right{RightCatalog}}}}, true},
		{Caller{Name: "local", Local: true}, true},
	} {
		ctx := NewContext(t.Context(), test.caller)
		if err := AuthorizeEmpty(ctx, upsert); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.caller, err)
		}
		if err := AuthorizeEmpty(scope.NewContext(ctx, scope.Scope{StoreID: "a", Reads: scope.Reads()}), upsert); err == nil {
			t.Errorf("%+v: a scope allows it", test.caller)
		}
	}
}
