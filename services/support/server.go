package support

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/support/orders"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

const (
	defaultOrders      = 20
	maxOrders          = 100
	maxOrdersPerBatch  = 1_000
	maxCoAnchors       = 20
	defaultCoPurchases = 10
	maxCoPurchases     = 50

	defaultPassages     = 3
	maxPassages         = 20
	maxPoliciesPerBatch = 100
	maxPoliciesListed   = 200
)

// orderServer implements OrderService.
type orderServer struct {
	orderv1.UnsafeOrderServiceServer
	orders *orders.Repository
}

var _ orderv1.OrderServiceServer = (*orderServer)(nil)

// UpsertOrders writes the good orders of each message and reports the bad ones.
func (s *orderServer) UpsertOrders(stream orderv1.OrderService_UpsertOrdersServer) error {
	rep, err := bulk.Upsert[*orderv1.UpsertOrdersRequest, *orderv1.Order]{
		Field:    "orders",
		MaxItems: maxOrdersPerBatch,
		Items:    (*orderv1.UpsertOrdersRequest).GetOrders,
		ID:       (*orderv1.Order).GetOrderId,
		Check:    orders.Check,
		Put:      s.orders.Put,
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&orderv1.UpsertOrdersResponse{UpsertedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount})
}

// GetOrder returns one order of one customer.
func (s *orderServer) GetOrder(ctx context.Context, req *orderv1.GetOrderRequest) (*orderv1.GetOrderResponse, error) {
	id := orders.NormalID(req.GetOrderId())
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("customer_id", req.GetCustomerId())
	c.ID("order_id", id)
	if err := c.Err(); err != nil {
		return nil, err
	}
	f, err := s.orders.Get(ctx, req.GetStoreId(), req.GetCustomerId(), id)
	if err != nil {
		return nil, err
	}
	return &orderv1.GetOrderResponse{Order: f.Order, Actions: f.Actions}, nil
}

// GetGuestOrder returns one order to a shopper who is not signed in.
func (s *orderServer) GetGuestOrder(ctx context.Context, req *orderv1.GetGuestOrderRequest) (*orderv1.GetGuestOrderResponse, error) {
	id, p := orders.NormalID(req.GetOrderId()), orders.ProofOf(req.GetEmail(), req.GetPostalCode())
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("order_id", id)
	c.Text("email", req.GetEmail(), 0, orders.MaxProof)
	c.Text("postal_code", req.GetPostalCode(), 0, orders.MaxProof)
	if p.Empty() {
		c.Addf("proof", "is required: email or postal_code")
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	f, err := s.orders.Guest(ctx, req.GetStoreId(), id, p)
	if err != nil {
		return nil, err
	}
	return &orderv1.GetGuestOrderResponse{Order: f.Order, Actions: f.Actions}, nil
}

// ListOrders returns a customer's orders, the newest first.
func (s *orderServer) ListOrders(ctx context.Context, req *orderv1.ListOrdersRequest) (*orderv1.ListOrdersResponse, error) {
	limit := req.GetLimit()
	if limit == 0 {
		limit = defaultOrders
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("customer_id", req.GetCustomerId())
	c.Range("limit", int64(limit), 1, maxOrders)
	if err := c.Err(); err != nil {
		return nil, err
	}
	page, err := s.orders.List(ctx, req.GetStoreId(), req.GetCustomerId(), req.GetPageToken(), int(limit))
	if err != nil {
		return nil, err
	}
	return &orderv1.ListOrdersResponse{Orders: page.Orders, TotalCount: int32(page.Total), NextPageToken: page.Next}, nil
}

// ListCoPurchases counts what was bought together.
func (s *orderServer) ListCoPurchases(ctx context.Context, req *orderv1.ListCoPurchasesRequest) (*orderv1.ListCoPurchasesResponse, error) {
	limit := cmp.Or(req.GetLimit(), defaultCoPurchases)
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Range("limit", int64(limit), 1, maxCoPurchases)
	c.Range("product_ids", int64(len(req.GetProductIds())), 1, maxCoAnchors)
	if err := c.Err(); err != nil { // before a look at what may be very many
		return nil, err
	}
	for i, id := range req.GetProductIds() {
		c.ID(fault.At("product_ids", i), id)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	found, err := s.orders.CoPurchases(ctx, req.GetStoreId(), req.GetProductIds(), int(limit))
	if err != nil {
		return nil, err
	}
	return &orderv1.ListCoPurchasesResponse{CoPurchases: found}, nil
}

// PutOrderSettings replaces a store's settings.
func (s *orderServer) PutOrderSettings(ctx context.Context, req *orderv1.PutOrderSettingsRequest) (*orderv1.PutOrderSettingsResponse, error) {
	settings := req.GetSettings()
	if settings == nil {
		settings = &orderv1.OrderSettings{}
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	orders.CheckSettings(&c, settings)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if !req.GetValidateOnly() {
		if err := s.orders.PutSettings(ctx, req.GetStoreId(), settings); err != nil {
			return nil, err
		}
	}
	return &orderv1.PutOrderSettingsResponse{Settings: settings}, nil
}

// GetOrderSettings returns a store's settings.
func (s *orderServer) GetOrderSettings(ctx context.Context, req *orderv1.GetOrderSettingsRequest) (*orderv1.GetOrderSettingsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	settings, err := s.orders.Settings(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &orderv1.GetOrderSettingsResponse{Settings: settings}, nil
}

// policyServer implements PolicyService.
type policyServer struct {
	policyv1.UnsafePolicyServiceServer
	policies *policies.Repository
	now      func() time.Time
}

var _ policyv1.PolicyServiceServer = (*policyServer)(nil)

// UpsertPolicies writes the good documents of each message and reports the bad ones.
func (s *policyServer) UpsertPolicies(stream policyv1.PolicyService_UpsertPoliciesServer) error {
	rep, err := bulk.Upsert[*policyv1.UpsertPoliciesRequest, *policyv1.Policy]{
		Field:    "policies",
		MaxItems: maxPoliciesPerBatch,
		Items:    (*policyv1.UpsertPoliciesRequest).GetPolicies,
		ID:       (*policyv1.Policy).GetPolicyId,
		Check:    policies.Check,
		Put: func(ctx context.Context, storeID string, documents []*policyv1.Policy) error {
			written := timestamppb.New(s.now())
			for _, p := range documents {
				p.UpdateTime = written
			}
			return s.policies.Put(ctx, storeID, documents)
		},
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&policyv1.UpsertPoliciesResponse{UpsertedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount})
}

// ListPolicies returns a page of a store's documents, by id.
func (s *policyServer) ListPolicies(ctx context.Context, req *policyv1.ListPoliciesRequest) (*policyv1.ListPoliciesResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Range("limit", int64(req.GetLimit()), 0, maxPoliciesListed)
	after := pagetoken.Read(&c, req.GetPageToken(), pagetoken.ParseID)
	if err := c.Err(); err != nil {
		return nil, err
	}
	documents, next, err := s.policies.List(ctx, req.GetStoreId(), after, int(req.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &policyv1.ListPoliciesResponse{Policies: documents, NextPageToken: pagetoken.ID(next)}, nil
}

// DeletePolicy removes one document.
func (s *policyServer) DeletePolicy(ctx context.Context, req *policyv1.DeletePolicyRequest) (*policyv1.DeletePolicyResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("policy_id", req.GetPolicyId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.policies.Delete(ctx, req.GetStoreId(), req.GetPolicyId())
	if err != nil {
		return nil, err
	}
	return &policyv1.DeletePolicyResponse{Deleted: deleted}, nil
}

// SearchPolicies returns the passages that best answer a question.
func (s *policyServer) SearchPolicies(ctx context.Context, req *policyv1.SearchPoliciesRequest) (*policyv1.SearchPoliciesResponse, error) {
	limit := req.GetLimit()
	if limit == 0 {
		limit = defaultPassages
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Text("query", req.GetQuery(), 1, policies.MaxQuestion)
	policies.CheckLanguage(&c, req.GetLanguage())
	c.Range("limit", int64(limit), 1, maxPassages)
	if err := c.Err(); err != nil {
		return nil, err
	}
	version, err := s.policies.Version(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	passages, legs, err := s.policies.Search(ctx, req.GetStoreId(), version, req.GetQuery(), req.GetLanguage(), int(limit))
	if err != nil {
		return nil, err
	}
	return &policyv1.SearchPoliciesResponse{Passages: passages, Legs: legs}, nil
}
