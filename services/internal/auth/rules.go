package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// rule says who may call a method. Its zero value lets nobody call it.
type rule struct {
	// rights are what a caller needs in the request's store: one of them.
	rights []Right
	// enter lets a caller with any right in the store call the method.
	enter bool
	// lists says that the method takes no store and returns only what the caller may see, so anybody with credentials may call it.
	lists bool
	// turn says that the method is a part of a turn: it takes a scope that was signed for the service, and nothing else.
	turn bool
	// read is the kind of data that a scope must allow. Empty: a scope does not allow the method.
	read scope.Read
	// shared says that the method reads what belongs to no customer, so a caller who acts for one customer may call it although
	// its request names none.
	shared bool
	// readsCart says that the method reads the cart that a request names, which takes what reading carts takes. The rule is checked
	// here because a cart service of the store's own gets neither token nor scope, so it cannot check.
	readsCart bool
}

// rules has the rule of every method of Quartet.
var rules = map[string]rule{
	gatewayv1.GatewayService_Ask_FullMethodName:       {rights: []Right{RightAsk}},
	gatewayv1.GatewayService_AskStream_FullMethodName: {rights: []Right{RightAsk}},
	// Whose threads a caller may read and delete is for the gateway, which knows the owners.
	gatewayv1.GatewayService_GetTurn_FullMethodName:        {rights: []Right{RightAsk, RightThreads}},
	gatewayv1.GatewayService_ListThreads_FullMethodName:    {rights: []Right{RightAsk, RightThreads}},
	gatewayv1.GatewayService_GetThread_FullMethodName:      {rights: []Right{RightAsk, RightThreads}},
	gatewayv1.GatewayService_DeleteThread_FullMethodName:   {rights: []Right{RightAsk, RightErase}},
	gatewayv1.GatewayService_RecordFeedback_FullMethodName: {rights: []Right{RightAsk, RightThreads}},
	gatewayv1.AgentService_PostAgentMessage_FullMethodName: {rights: []Right{RightAgents}},
	gatewayv1.AgentService_MuteAssistant_FullMethodName:    {rights: []Right{RightAgents}},
	gatewayv1.TurnService_ListTurns_FullMethodName:         {rights: []Right{RightThreads}},
	gatewayv1.TurnService_ExportTurns_FullMethodName:       {rights: []Right{RightThreads}},

	gatewayv1.UsageService_QueryUsage_FullMethodName:              {rights: []Right{RightUsage}},
	gatewayv1.UsageService_StreamUsage_FullMethodName:             {rights: []Right{RightUsage}},
	gatewayv1.UsageService_GetDayBudget_FullMethodName:            {rights: []Right{RightUsage}},
	gatewayv1.UsageService_ListUnansweredQuestions_FullMethodName: {rights: []Right{RightUsage}},

	gatewayv1.PromptService_ListPrompts_FullMethodName:         {rights: []Right{RightPrompts}},
	gatewayv1.PromptService_ListPromptVersions_FullMethodName:  {rights: []Right{RightPrompts}},
	gatewayv1.PromptService_CreatePromptVersion_FullMethodName: {rights: []Right{RightPrompts}},
	gatewayv1.PromptService_ActivatePrompt_FullMethodName:      {rights: []Right{RightPrompts}},
	gatewayv1.PromptService_RollBackPrompt_FullMethodName:      {rights: []Right{RightPrompts}},
	gatewayv1.PromptService_DiffPromptVersions_FullMethodName:  {rights: []Right{RightPrompts}},

	customerv1.CustomerService_ExportCustomer_FullMethodName: {rights: []Right{RightErase}},
	customerv1.CustomerService_EraseCustomer_FullMethodName:  {rights: []Right{RightErase}},

	gatewayv1.StoreService_PutStore_FullMethodName:    {rights: []Right{RightStores}},
	gatewayv1.StoreService_DeleteStore_FullMethodName: {rights: []Right{RightStores}},
	gatewayv1.StoreService_GetStore_FullMethodName:    {enter: true, shared: true},
	gatewayv1.StoreService_ListStores_FullMethodName:  {lists: true, shared: true},

	routerv1.RouterService_Route_FullMethodName:              {turn: true},
	specialistv1.SpecialistService_Describe_FullMethodName:   {turn: true},
	specialistv1.SpecialistService_Answer_FullMethodName:     {turn: true},
	catalogv1.CatalogService_UpsertProducts_FullMethodName:   {rights: []Right{RightCatalog}},
	catalogv1.CatalogService_UpdateVariants_FullMethodName:   {rights: []Right{RightCatalog}},
	catalogv1.CatalogService_DeleteProduct_FullMethodName:    {rights: []Right{RightCatalog}},
	catalogv1.CatalogService_GetProduct_FullMethodName:       {rights: []Right{RightCatalog}, read: scope.ReadCatalog, shared: true},
	catalogv1.CatalogService_BatchGetProducts_FullMethodName: {rights: []Right{RightCatalog}, read: scope.ReadCatalog, shared: true},
	catalogv1.CatalogService_ListProducts_FullMethodName:     {rights: []Right{RightCatalog}, read: scope.ReadCatalog, shared: true},
	catalogv1.CatalogService_SearchProducts_FullMethodName:   {rights: []Right{RightCatalog}, read: scope.ReadCatalog, shared: true},
	catalogv1.CatalogService_FindSimilarProducts_FullMethodName: {
		rights: []Right{RightCatalog}, read: scope.ReadCatalog, shared: true},

	cartv1.CartService_GetCart_FullMethodName:         {rights: []Right{RightCarts}, read: scope.ReadCarts},
	cartv1.CartService_SetCart_FullMethodName:         {rights: []Right{RightCarts}},
	cartv1.CartService_AddItem_FullMethodName:         {rights: []Right{RightCarts}},
	cartv1.CartService_RemoveItem_FullMethodName:      {rights: []Right{RightCarts}},
	cartv1.CartService_ClearCart_FullMethodName:       {rights: []Right{RightCarts}},
	cartv1.CartService_PutCartSettings_FullMethodName: {rights: []Right{RightCarts}},
	cartv1.CartService_GetCartSettings_FullMethodName: {rights: []Right{RightCarts}, read: scope.ReadCarts, shared: true},

	promotionv1.PromotionService_UpsertPromotions_FullMethodName: {rights: []Right{RightPromotions}},
	promotionv1.PromotionService_DeletePromotion_FullMethodName:  {rights: []Right{RightPromotions}},
	promotionv1.PromotionService_RecordUsage_FullMethodName:      {rights: []Right{RightPromotions}},
	promotionv1.PromotionService_ReleaseUsage_FullMethodName:     {rights: []Right{RightPromotions}},
	promotionv1.PromotionService_ListPromotions_FullMethodName:   {rights: []Right{RightPromotions}, read: scope.ReadPromotions, shared: true},
	promotionv1.PromotionService_EvaluateCart_FullMethodName: {
		rights: []Right{RightPromotions}, read: scope.ReadPromotions, readsCart: true},

	orderv1.OrderService_UpsertOrders_FullMethodName:     {rights: []Right{RightOrders}},
	orderv1.OrderService_PutOrderSettings_FullMethodName: {rights: []Right{RightOrders}},
	orderv1.OrderService_GetOrder_FullMethodName:         {rights: []Right{RightOrders}, read: scope.ReadOrders},
	orderv1.OrderService_ListOrders_FullMethodName:       {rights: []Right{RightOrders}, read: scope.ReadOrders},
	// The proof in the request, not a customer, says whose order it is.
	orderv1.OrderService_GetGuestOrder_FullMethodName:    {rights: []Right{RightOrders}},
	orderv1.OrderService_GetOrderSettings_FullMethodName: {rights: []Right{RightOrders}, read: scope.ReadOrders, shared: true},
	orderv1.OrderService_ListCoPurchases_FullMethodName:  {rights: []Right{RightOrders}, read: scope.ReadCoPurchases, shared: true},

	policyv1.PolicyService_UpsertPolicies_FullMethodName: {rights: []Right{RightPolicies}},
	policyv1.PolicyService_DeletePolicy_FullMethodName:   {rights: []Right{RightPolicies}},
	policyv1.PolicyService_ListPolicies_FullMethodName:   {rights: []Right{RightPolicies}, read: scope.ReadPolicies, shared: true},
	policyv1.PolicyService_SearchPolicies_FullMethodName: {rights: []Right{RightPolicies}, read: scope.ReadPolicies, shared: true},
}

// Authorize returns nil if the caller and the scope of ctx allow a call of a method with a request. The error is a
// *fault.Denied or a *fault.Unauthenticated, which is the same whether or not the things exist that the request names. It comes
// before anything is looked up. A method without a rule is denied.
//
// With a scope, the scope decides alone: it narrows even a local caller. Without a scope, the rights of the caller decide.
func Authorize(ctx context.Context, method string, request any) error {
	r, ok := rules[method]
	if !ok {
		return denied("the method has no rule that allows it")
	}
	if sc, ok := scope.FromContext(ctx); ok {
		return r.checkScope(sc, fieldsOf(request))
	}
	return r.checkCaller(FromContext(ctx), fieldsOf(request))
}

// AuthorizeEmpty is Authorize for a stream that ends without a request, which names no store.
func AuthorizeEmpty(ctx context.Context, method string) error {
	c := FromContext(ctx)
	if _, turn := scope.FromContext(ctx); turn {
		return denied("the scope of a turn does not allow this method")
	}
	if slices.ContainsFunc(rules[method].rights, c.mayAnywhere) {
		return nil
	}
	return denied("the caller lacks the right to call this method")
}

func denied(format string, args ...any) error {
	return &fault.Denied{Description: fmt.Sprintf(format, args...)}
}

// checkScope returns nil if a scope allows a request.
func (r rule) checkScope(sc scope.Scope, f fields) error {
	switch {
	case r.turn:
		return nil // the request names no data; the service takes all ids from the scope
	case r.read == "":
		return denied("the scope of a turn does not allow this method")
	case !sc.Allows(r.read):
		return denied("the scope of the call does not allow to read %s", r.read)
	case r.readsCart && f.cart != "" && !sc.Allows(scope.ReadCarts):
		return denied("the scope of the call does not allow to read %s", scope.ReadCarts)
	case f.store != sc.StoreID:
		return denied("the scope of the call is for another store")
	case f.hasCustomer && f.customer != sc.CustomerID:
		return denied("the scope of the call is for another customer")
	case f.cart != "" && f.cart != sc.CartID:
		return denied("the scope of the call is for another cart")
	case !within(f.groups, sc.CustomerGroups):
		return denied("the scope of the call does not name these groups")
	}
	return nil
}

// checkCaller returns nil if a caller may make a request.
func (r rule) checkCaller(c Caller, f fields) error {
	switch {
	case r.turn:
		return scope.Missing()
	case c.Local:
	case r.lists:
	case r.enter:
		if !c.MayEnter(f.store) {
			return denied("the caller has no right for this store")
		}
	default:
		if !slices.ContainsFunc(r.rights, func(right Right) bool { return c.May(f.store, right) }) {
			return denied("the caller lacks the right %q for this store", r.rights[0])
		}
		if r.readsCart && f.cart != "" && !c.May(f.store, RightCarts) {
			return denied("the caller lacks the right %q for this store", RightCarts)
		}
	}
	if c.Customer == "" {
		return nil
	}
	switch {
	case f.hasCustomer && f.customer != c.Customer, !f.hasCustomer && !f.hasCart && !r.shared:
		return denied("the caller may act for its own customer only")
	case f.cart != "" && f.cart != c.Customer:
		return denied("the caller may use its own customer's cart only")
	case !within(f.groups, c.CustomerGroups):
		return denied("the caller may name its own customer's groups only")
	}
	return nil
}

// within reports whether all groups are among the allowed ones.
func within(groups, allowed []string) bool {
	return !slices.ContainsFunc(groups, func(g string) bool { return !slices.Contains(allowed, g) })
}

// PartOfTurn reports whether a method is a part of a turn, so that its calls need a scope that was signed for the service.
func PartOfTurn(method string) bool { return rules[method].turn }

// Methods returns the full names of all methods that have a rule, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(rules)) }
