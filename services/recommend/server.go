package recommend

import (
	"context"
	"fmt"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/recommend/carts"
)

// server implements CartService.
type server struct {
	cartv1.UnsafeCartServiceServer
	carts *carts.Repository
}

var _ cartv1.CartServiceServer = (*server)(nil)

// GetCart implements CartService.
func (s *server) GetCart(ctx context.Context, req *cartv1.GetCartRequest) (*cartv1.GetCartResponse, error) {
	if err := cartCheck(req).Err(); err != nil {
		return nil, err
	}
	cart, err := s.carts.Get(ctx, req.GetStoreId(), req.GetCartId())
	if err != nil {
		return nil, fmt.Errorf("get cart: %w", err)
	}
	return &cartv1.GetCartResponse{Cart: cart}, nil
}

// SetCart implements CartService.
func (s *server) SetCart(ctx context.Context, req *cartv1.SetCartRequest) (*cartv1.SetCartResponse, error) {
	c := cartCheck(req)
	if c.Count("items", len(req.GetItems()), carts.MaxItems) {
		for i, item := range req.GetItems() {
			checkItem(c, fault.At("items", i), item)
		}
	}
	checkVersion(c, req.ExpectedVersion)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if req.GetValidateOnly() {
		return &cartv1.SetCartResponse{Cart: &cartv1.Cart{CartId: req.GetCartId(), Items: req.GetItems()}}, nil
	}
	cart, err := s.carts.Set(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("set cart: %w", err)
	}
	return &cartv1.SetCartResponse{Cart: cart}, nil
}

// AddItem implements CartService.
func (s *server) AddItem(ctx context.Context, req *cartv1.AddItemRequest) (*cartv1.AddItemResponse, error) {
	c := cartCheck(req)
	if req.GetItem() == nil {
		c.Addf("item", "is required")
	} else {
		checkItem(c, "item", req.GetItem())
	}
	checkVersion(c, req.ExpectedVersion)
	if err := c.Err(); err != nil {
		return nil, err
	}
	cart, err := s.carts.Add(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("add item: %w", err)
	}
	return &cartv1.AddItemResponse{Cart: cart}, nil
}

// RemoveItem implements CartService.
func (s *server) RemoveItem(ctx context.Context, req *cartv1.RemoveItemRequest) (*cartv1.RemoveItemResponse, error) {
	c := cartCheck(req)
	c.ID("product_id", req.GetProductId())
	c.OptionalID("variant_id", req.GetVariantId())
	checkVersion(c, req.ExpectedVersion)
	if err := c.Err(); err != nil {
		return nil, err
	}
	cart, err := s.carts.Remove(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("remove item: %w", err)
	}
	return &cartv1.RemoveItemResponse{Cart: cart}, nil
}

// ClearCart implements CartService.
func (s *server) ClearCart(ctx context.Context, req *cartv1.ClearCartRequest) (*cartv1.ClearCartResponse, error) {
	c := cartCheck(req)
	checkVersion(c, req.ExpectedVersion)
	if err := c.Err(); err != nil {
		return nil, err
	}
	cart, err := s.carts.Clear(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("clear cart: %w", err)
	}
	return &cartv1.ClearCartResponse{Cart: cart}, nil
}

// PutCartSettings implements CartService.
func (s *server) PutCartSettings(ctx context.Context, req *cartv1.PutCartSettingsRequest) (*cartv1.PutCartSettingsResponse, error) {
	settings := req.GetSettings()
	if settings == nil {
		settings = &cartv1.CartSettings{}
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	if err := s.carts.PutSettings(ctx, req.GetStoreId(), settings); err != nil {
		return nil, err
	}
	return &cartv1.PutCartSettingsResponse{Settings: settings}, nil
}

// GetCartSettings implements CartService.
func (s *server) GetCartSettings(ctx context.Context, req *cartv1.GetCartSettingsRequest) (*cartv1.GetCartSettingsResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	settings, err := s.carts.Settings(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &cartv1.GetCartSettingsResponse{Settings: settings}, nil
}

// cartRequest is what every request of CartService names.
type cartRequest interface {
	GetStoreId() string
	GetCartId() string
}

func cartCheck(req cartRequest) *fault.Checker {
	c := new(fault.Checker)
	c.ID("store_id", req.GetStoreId())
	c.ID("cart_id", req.GetCartId())
	return c
}

func checkItem(c *fault.Checker, path string, item *cartv1.CartItem) {
	c.ID(path+".product_id", item.GetProductId())
	c.OptionalID(path+".variant_id", item.GetVariantId())
	c.Range(path+".quantity", int64(item.GetQuantity()), 1, carts.MaxQuantity)
}

func checkVersion(c *fault.Checker, expected *int64) {
	if expected != nil && *expected < 0 {
		c.Addf("expected_version", "is %d, must be zero or more", *expected)
	}
}
