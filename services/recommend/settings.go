package recommend

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/services/internal/carts"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func settingsKey(storeID string) string { return state.Key(storeID, "carts", "settings") }

// settings returns what a store says of its carts. A store that has said nothing has empty ones.
func (s store) settings(ctx context.Context, storeID string) (*cartv1.CartSettings, error) {
	out := &cartv1.CartSettings{}
	raw, err := s.rdb.Get(ctx, settingsKey(storeID)).Bytes()
	if errors.Is(err, redis.Nil) {
		return out, nil
	}
	if err != nil {
		return nil, state.Error("read cart settings", err)
	}
	if err := proto.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode cart settings: %w", err)
	}
	return out, nil
}

func (s store) putSettings(ctx context.Context, storeID string, settings *cartv1.CartSettings) error {
	raw, err := proto.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encode cart settings: %w", err)
	}
	return state.Error("write cart settings", s.rdb.Set(ctx, settingsKey(storeID), raw, 0).Err())
}

// open refuses the carts of a store that has none.
func (s store) open(ctx context.Context, storeID string) error {
	settings, err := s.settings(ctx, storeID)
	if err == nil && settings.GetNoCart() {
		err = carts.NoCart(storeID)
	}
	return err
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
	if err := s.carts.store.putSettings(ctx, req.GetStoreId(), settings); err != nil {
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
	settings, err := s.carts.store.settings(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &cartv1.GetCartSettingsResponse{Settings: settings}, nil
}

// lacks switches off what a store without a cart does not have.
func (s *Service) lacks(ctx context.Context, sc scope.Scope) (map[string]string, error) {
	none, err := s.noCart(ctx, sc.StoreID)
	if err != nil || !none {
		return nil, err
	}
	return map[string]string{
		cartTool: "Carts can not be seen here: this store has none connected. Asked about the cart, say so. Do not offer to put " +
			"anything into it.",
	}, nil
}

// noCart reports whether a store has no cart, as whoever keeps the carts says.
func (s *Service) noCart(ctx context.Context, storeID string) (bool, error) {
	if s.cart != nil {
		return carts.Lacking(ctx, s.cart, storeID)
	}
	settings, err := s.carts.store.settings(ctx, storeID)
	return settings.GetNoCart(), err
}

// readCart reads a cart from whoever keeps it.
func (s *Service) readCart(ctx context.Context, storeID, cartID string) (*cartv1.Cart, error) {
	if s.cart != nil {
		return carts.Read(ctx, s.cart, storeID, cartID)
	}
	return s.carts.get(ctx, storeID, cartID)
}
