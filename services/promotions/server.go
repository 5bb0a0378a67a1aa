package promotions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	maxBatch  = 1_000 // promotions in one message of an upsert
	maxErrors = 1_000 // refusals that are reported one by one
)

// server implements PromotionService.
type server struct {
	promotionv1.UnsafePromotionServiceServer
	store  store
	cart   cartv1.CartServiceClient // nil when the deployment has no carts
	now    func() time.Time
	logger *slog.Logger
}

var _ promotionv1.PromotionServiceServer = (*server)(nil)

// UpsertPromotions writes the good promotions of each message and reports the bad ones.
func (s *server) UpsertPromotions(stream promotionv1.PromotionService_UpsertPromotionsServer) error {
	var storeID string
	var index int
	resp := &promotionv1.UpsertPromotionsResponse{}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(resp)
		}
		if err != nil {
			return fmt.Errorf("receive promotions: %w", err)
		}
		if storeID, err = checkBatch(storeID, req); err != nil {
			return err
		}
		good := takeValid(req.GetPromotions(), index, resp)
		if err := s.store.put(stream.Context(), storeID, good); err != nil {
			return err
		}
		resp.UpsertedCount += int32(len(good))
		index += len(req.GetPromotions())
	}
}

// checkBatch returns the store of the stream, which the first message names and no later one may change.
func checkBatch(storeID string, req *promotionv1.UpsertPromotionsRequest) (string, error) {
	var c fault.Checker
	switch named := req.GetStoreId(); {
	case storeID == "":
		c.ID("store_id", named)
		storeID = named
	case named != "" && named != storeID:
		c.Addf("store_id", "must not change within a stream")
	}
	if n := len(req.GetPromotions()); n > maxBatch {
		c.Addf("promotions", "has %d entries, must have at most %d in one message", n, maxBatch)
	}
	return storeID, c.Err()
}

// takeValid returns the valid promotions and adds the others to the response, each with its first violation.
func takeValid(batch []*promotionv1.Promotion, start int, resp *promotionv1.UpsertPromotionsResponse) []*promotionv1.Promotion {
	good := make([]*promotionv1.Promotion, 0, len(batch))
	for i, p := range batch {
		var invalid *fault.Invalid
		if !errors.As(checkPromotion(p), &invalid) {
			good = append(good, p)
			continue
		}
		resp.ErrorCount++
		if len(resp.GetErrors()) < maxErrors {
			resp.Errors = append(resp.Errors, &commonv1.ItemError{
				Index:       int32(start + i),
				ItemId:      p.GetCode(),
				Field:       invalid.Violations[0].Field,
				Description: invalid.Violations[0].Description,
			})
		}
	}
	return good
}

// ListPromotions returns every promotion of a store, by code.
func (s *server) ListPromotions(ctx context.Context, req *promotionv1.ListPromotionsRequest) (*promotionv1.ListPromotionsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	promotions, err := s.store.list(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &promotionv1.ListPromotionsResponse{Promotions: promotions}, nil
}

// DeletePromotion removes one promotion.
func (s *server) DeletePromotion(ctx context.Context, req *promotionv1.DeletePromotionRequest) (*promotionv1.DeletePromotionResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Text("code", req.GetCode(), 1, 40)
	if err := c.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.store.delete(ctx, req.GetStoreId(), req.GetCode())
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
		if cart, err = s.fetchCart(ctx, req.GetStoreId(), id); err != nil {
			return nil, err
		}
	}
	promotions, err := s.store.list(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	at := s.now()
	if req.GetTime() != nil {
		at = req.GetTime().AsTime()
	}
	who := buyer{signedIn: req.GetSignedIn(), groups: req.GetCustomerGroups()}
	evaluations, best := evaluate(promotions, newBasket(cart), who, at)
	return &promotionv1.EvaluateCartResponse{Evaluations: evaluations, BestCode: best}, nil
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
		checkInlineCart(&c, source.Cart)
	}
	checkList(&c, "customer_groups", req.GetCustomerGroups(), c.ID)
	if len(req.GetCustomerGroups()) > 0 && !req.GetSignedIn() {
		c.Addf("customer_groups", "must be empty unless signed_in is true")
	}
	checkTime(&c, "time", req.GetTime())
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

func (s *server) fetchCart(ctx context.Context, storeID, cartID string) (*cartv1.Cart, error) {
	resp, err := s.cart.GetCart(ctx, &cartv1.GetCartRequest{StoreId: storeID, CartId: cartID})
	if err != nil {
		return nil, fmt.Errorf("get cart: %w", err)
	}
	return resp.GetCart(), nil
}
