package promotions

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/promotions/engine"
)

const (
	maxPromotionsPerBatch = 1_000
	maxPromotionsListed   = 200
	maxCodesPerOrder      = 100
	maxApplied            = 100
)

// server implements PromotionService.
type server struct {
	promotionv1.UnsafePromotionServiceServer
	repository repository
	cart       cartv1.CartServiceClient       // nil when the deployment has no carts
	catalog    catalogv1.CatalogServiceClient // nil when the deployment has no catalog
	now        func() time.Time
	logger     *slog.Logger
}

var _ promotionv1.PromotionServiceServer = (*server)(nil)

// UpsertPromotions writes the good promotions of each message and reports the bad ones.
func (s *server) UpsertPromotions(stream promotionv1.PromotionService_UpsertPromotionsServer) error {
	rep, err := bulk.Upsert[*promotionv1.UpsertPromotionsRequest, *promotionv1.Promotion]{
		Field:    "promotions",
		MaxItems: maxPromotionsPerBatch,
		Items:    (*promotionv1.UpsertPromotionsRequest).GetPromotions,
		ID:       (*promotionv1.Promotion).GetCode,
		Check:    engine.Check,
		Put:      s.repository.put,
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&promotionv1.UpsertPromotionsResponse{
		UpsertedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount,
	})
}

// ListPromotions returns a page of a store's promotions, by code.
func (s *server) ListPromotions(ctx context.Context, req *promotionv1.ListPromotionsRequest) (*promotionv1.ListPromotionsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Range("limit", int64(req.GetLimit()), 0, maxPromotionsListed)
	after := pagetoken.Read(&c, req.GetPageToken(), pagetoken.ParseID)
	if err := c.Err(); err != nil {
		return nil, err
	}
	promotions, next, err := s.repository.page(ctx, req.GetStoreId(), after, int(req.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &promotionv1.ListPromotionsResponse{Promotions: promotions, NextPageToken: pagetoken.ID(next)}, nil
}

// DeletePromotion removes one promotion.
func (s *server) DeletePromotion(ctx context.Context, req *promotionv1.DeletePromotionRequest) (*promotionv1.DeletePromotionResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Text("code", req.GetCode(), 1, 40)
	if err := c.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.repository.delete(ctx, req.GetStoreId(), req.GetCode())
	if err != nil {
		return nil, err
	}
	return &promotionv1.DeletePromotionResponse{Deleted: deleted}, nil
}

// EvaluateCart computes every promotion's verdict on a cart.
func (s *server) EvaluateCart(ctx context.Context, req *promotionv1.EvaluateCartRequest) (*promotionv1.EvaluateCartResponse, error) {
	if err := s.checkEvaluate(req); err != nil {
		return nil, err
	}
	cart := priced(req.GetCart())
	if id := req.GetCartId(); id != "" {
		var err error
		if cart, err = cartclient.Read(ctx, s.cart, req.GetStoreId(), id); err != nil {
			return nil, err
		}
	}
	if changes := req.GetChanges(); len(changes) > 0 {
		var err error
		if cart, err = cartclient.With(ctx, s.catalog, req.GetStoreId(), cart, changes); err != nil {
			return nil, err
		}
	}
	promotions, err := s.repository.list(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	at := s.now()
	if req.GetTime() != nil {
		at = req.GetTime().AsTime()
	}
	who := engine.Buyer{SignedIn: req.GetSignedIn(), ID: req.GetCustomerId(), Groups: req.GetCustomerGroups(), Applied: req.GetAppliedCodes()}
	if who.Used, err = s.repository.used(ctx, req.GetStoreId(), who.ID, promotions); err != nil {
		return nil, err
	}
	basket := engine.NewBasket(cart)
	o := engine.Evaluate(promotions, basket, who, at)
	cart.Subtotal = basket.Subtotal()
	resp := &promotionv1.EvaluateCartResponse{
		Evaluations: o.Evaluations, BestCode: o.BestCode, BestCombination: o.Combination, Cart: cart, Total: o.Total(basket, who.Applied),
	}
	if o.Combination == nil {
		resp.CheapestQualifyingPurchase = s.cheapestPurchase(ctx, req.GetStoreId(), o.Evaluations, engine.Situation{Cart: cart, Buyer: who, Now: at})
	}
	return resp, nil
}

// cheapestPurchase returns the cheapest purchase that makes a promotion apply. It is nil when there is none, and when no catalog
// answers in time.
func (s *server) cheapestPurchase(
	ctx context.Context, storeID string, evaluations []*promotionv1.Evaluation, at engine.Situation,
) *promotionv1.QualifyingPurchase {
	if s.catalog == nil {
		return nil
	}
	purchase, err := engine.CheapestPurchase(ctx, s.catalog, storeID, evaluations, at)
	if err != nil {
		s.logger.WarnContext(ctx, "cannot find the cheapest qualifying purchase", slog.Any("error", err))
		return nil
	}
	return purchase
}

func (s *server) checkEvaluate(req *promotionv1.EvaluateCartRequest) error {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	switch source := req.GetSource().(type) {
	case nil:
		c.Addf("source", "is required: one of cart_id, cart")
	case *promotionv1.EvaluateCartRequest_CartId:
		c.ID("cart_id", source.CartId)
		if s.cart == nil {
			c.Addf("cart_id", "this deployment has no cart service; give the cart itself")
		}
	case *promotionv1.EvaluateCartRequest_Cart:
		engine.CheckCart(&c, source.Cart)
	}
	engine.CheckList(&c, "customer_groups", req.GetCustomerGroups(), c.ID)
	if len(req.GetCustomerGroups()) > 0 && !req.GetSignedIn() {
		c.Addf("customer_groups", "must be empty unless signed_in is true")
	}
	c.OptionalID("customer_id", req.GetCustomerId())
	if req.GetCustomerId() != "" && !req.GetSignedIn() {
		c.Addf("customer_id", "must be empty unless signed_in is true")
	}
	c.Count("applied_codes", len(req.GetAppliedCodes()), maxApplied)
	cartclient.CheckChanges(&c, "changes", req.GetChanges())
	if len(req.GetChanges()) > 0 && s.catalog == nil {
		c.Addf("changes", "this deployment has no catalog to read products from")
	}
	engine.CheckTime(&c, "time", req.GetTime())
	return c.Err()
}

// priced returns an inline cart in the form in which the cart service gives carts: an item with a price is available,
// whether or not the caller set the field, which only the cart service sets. Prices speak for themselves, so the
// subtotal is dropped.
func priced(cart *cartv1.Cart) *cartv1.Cart {
	if cart == nil {
		return nil
	}
	cart = proto.CloneOf(cart)
	cart.Subtotal = nil
	for _, item := range cart.GetItems() {
		item.Available = item.GetUnitPrice() != nil
	}
	return cart
}

// RecordUsage counts the promotions of one order.
func (s *server) RecordUsage(ctx context.Context, req *promotionv1.RecordUsageRequest) (*promotionv1.RecordUsageResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("order_id", req.GetOrderId())
	c.OptionalID("customer_id", req.GetCustomerId())
	checkUsedCodes(&c, req.GetCodes())
	if err := c.Err(); err != nil {
		return nil, err
	}
	usages, err := s.repository.count(ctx, recordScript, req.GetStoreId(), req.GetCodes(), req.GetOrderId(), req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	return &promotionv1.RecordUsageResponse{Usages: usages}, nil
}

// ReleaseUsage takes back what RecordUsage counted.
func (s *server) ReleaseUsage(ctx context.Context, req *promotionv1.ReleaseUsageRequest) (*promotionv1.ReleaseUsageResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("order_id", req.GetOrderId())
	checkUsedCodes(&c, req.GetCodes())
	if err := c.Err(); err != nil {
		return nil, err
	}
	usages, err := s.repository.count(ctx, releaseScript, req.GetStoreId(), req.GetCodes(), req.GetOrderId())
	if err != nil {
		return nil, err
	}
	return &promotionv1.ReleaseUsageResponse{Usages: usages}, nil
}

func checkUsedCodes(c *fault.Checker, codes []string) {
	if n := len(codes); n == 0 || n > maxCodesPerOrder {
		c.Addf("codes", "has %d entries, must have 1 to %d", n, maxCodesPerOrder)
		return
	}
	for i, code := range codes {
		engine.CheckCode(c, fault.At("codes", i), code)
		if engine.ContainsCode(codes[:i], code) {
			c.Addf(fault.At("codes", i), "is named twice")
		}
	}
}
