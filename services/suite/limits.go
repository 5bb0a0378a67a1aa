package suite

import (
	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	customerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/customer/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// requestBytes are the largest requests of all methods, in bytes on the wire: what the limits of the fields allow, rounded up.
var requestBytes = map[string]int{
	gatewayv1.GatewayService_Ask_FullMethodName:                   64 * kib,
	gatewayv1.GatewayService_AskStream_FullMethodName:             64 * kib,
	gatewayv1.GatewayService_GetTurn_FullMethodName:               4 * kib,
	gatewayv1.GatewayService_ListThreads_FullMethodName:           4 * kib,
	gatewayv1.GatewayService_GetThread_FullMethodName:             4 * kib,
	gatewayv1.GatewayService_DeleteThread_FullMethodName:          4 * kib,
	gatewayv1.GatewayService_RecordFeedback_FullMethodName:        64 * kib,
	gatewayv1.AgentService_PostAgentMessage_FullMethodName:        64 * kib,
	gatewayv1.AgentService_MuteAssistant_FullMethodName:           4 * kib,
	gatewayv1.TurnService_ListTurns_FullMethodName:                4 * kib,
	gatewayv1.TurnService_ExportTurns_FullMethodName:              4 * kib,
	gatewayv1.UsageService_QueryUsage_FullMethodName:              4 * kib,
	gatewayv1.UsageService_StreamUsage_FullMethodName:             4 * kib,
	gatewayv1.UsageService_GetDayBudget_FullMethodName:            4 * kib,
	gatewayv1.UsageService_ListUnansweredQuestions_FullMethodName: 4 * kib,
	customerv1.CustomerService_ExportCustomer_FullMethodName:      4 * kib,
	customerv1.CustomerService_EraseCustomer_FullMethodName:       4 * kib,
	gatewayv1.PromptService_ListPrompts_FullMethodName:            4 * kib,
	gatewayv1.PromptService_ListPromptVersions_FullMethodName:     4 * kib,
	gatewayv1.PromptService_CreatePromptVersion_FullMethodName:    64 * kib,
	gatewayv1.PromptService_ActivatePrompt_FullMethodName:         4 * kib,
	gatewayv1.PromptService_RollBackPrompt_FullMethodName:         4 * kib,
	gatewayv1.PromptService_DiffPromptVersions_FullMethodName:     4 * kib,
	gatewayv1.StoreService_PutStore_FullMethodName:                256 * kib,
	gatewayv1.StoreService_GetStore_FullMethodName:                4 * kib,
	gatewayv1.StoreService_DeleteStore_FullMethodName:             4 * kib,
	gatewayv1.StoreService_ListStores_FullMethodName:              4 * kib,

	routerv1.RouterService_Route_FullMethodName:              4 * mib,
	specialistv1.SpecialistService_Describe_FullMethodName:   4 * kib,
	specialistv1.SpecialistService_Answer_FullMethodName:     4 * mib,
	catalogv1.CatalogService_UpsertProducts_FullMethodName:   16 * mib,
	catalogv1.CatalogService_UpdateVariants_FullMethodName:   16 * mib,
	catalogv1.CatalogService_GetProduct_FullMethodName:       4 * kib,
	catalogv1.CatalogService_BatchGetProducts_FullMethodName: 64 * kib,
	catalogv1.CatalogService_DeleteProduct_FullMethodName:    4 * kib,
	catalogv1.CatalogService_ListProducts_FullMethodName:     4 * kib,
	// Two lists of a thousand names, and two thousand ids.
	catalogv1.CatalogService_SearchProducts_FullMethodName:      2 * mib,
	catalogv1.CatalogService_FindSimilarProducts_FullMethodName: 2 * mib,

	cartv1.CartService_GetCart_FullMethodName:         4 * kib,
	cartv1.CartService_SetCart_FullMethodName:         64 * kib,
	cartv1.CartService_AddItem_FullMethodName:         64 * kib,
	cartv1.CartService_RemoveItem_FullMethodName:      4 * kib,
	cartv1.CartService_ClearCart_FullMethodName:       4 * kib,
	cartv1.CartService_PutCartSettings_FullMethodName: 4 * kib,
	cartv1.CartService_GetCartSettings_FullMethodName: 4 * kib,

	promotionv1.PromotionService_UpsertPromotions_FullMethodName: 16 * mib,
	promotionv1.PromotionService_ListPromotions_FullMethodName:   4 * kib,
	promotionv1.PromotionService_DeletePromotion_FullMethodName:  4 * kib,
	promotionv1.PromotionService_EvaluateCart_FullMethodName:     1 * mib,
	promotionv1.PromotionService_RecordUsage_FullMethodName:      64 * kib,
	promotionv1.PromotionService_ReleaseUsage_FullMethodName:     64 * kib,

	orderv1.OrderService_UpsertOrders_FullMethodName:     16 * mib,
	orderv1.OrderService_GetOrder_FullMethodName:         4 * kib,
	orderv1.OrderService_ListOrders_FullMethodName:       4 * kib,
	orderv1.OrderService_GetGuestOrder_FullMethodName:    4 * kib,
	orderv1.OrderService_PutOrderSettings_FullMethodName: 4 * mib,
	orderv1.OrderService_GetOrderSettings_FullMethodName: 4 * kib,
	orderv1.OrderService_ListCoPurchases_FullMethodName:  64 * kib,

	policyv1.PolicyService_UpsertPolicies_FullMethodName: 16 * mib,
	policyv1.PolicyService_ListPolicies_FullMethodName:   4 * kib,
	policyv1.PolicyService_DeletePolicy_FullMethodName:   4 * kib,
	policyv1.PolicyService_SearchPolicies_FullMethodName: 64 * kib,
}
