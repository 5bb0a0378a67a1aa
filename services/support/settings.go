package support

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// Limits of a store's settings.
const (
	maxRules    = 20
	maxLabels   = 20
	maxLabel    = 200 // characters
	maxExcluded = 1_000
)

func settingsKey(storeID string) string { return state.Key(storeID, "orders", "settings") }

// settingsMoment is how long a change of a store's settings may go unnoticed by the turns of replicas other than the one
// that was told.
const settingsMoment = time.Second

// ofTurn returns what settings does, as of at most settingsMoment ago. It must not be modified.
func (s orderStore) ofTurn(ctx context.Context, storeID string) (*orderv1.OrderSettings, error) {
	return s.recent.Get(ctx, storeID, func(ctx context.Context) (*orderv1.OrderSettings, error) { return s.settings(ctx, storeID) })
}

// settings returns what a store says of its orders. A store that has said nothing has empty ones.
func (s orderStore) settings(ctx context.Context, storeID string) (*orderv1.OrderSettings, error) {
	out := &orderv1.OrderSettings{}
	raw, err := s.redis.Get(ctx, settingsKey(storeID)).Bytes()
	if errors.Is(err, redis.Nil) {
		return out, nil
	}
	if err != nil {
		return nil, state.Error("read order settings", err)
	}
	if err := proto.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode order settings: %w", err)
	}
	return out, nil
}

func (s orderStore) putSettings(ctx context.Context, storeID string, settings *orderv1.OrderSettings) error {
	raw, err := proto.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encode order settings: %w", err)
	}
	defer s.recent.Forget(storeID)
	return state.Error("write order settings", s.redis.Set(ctx, settingsKey(storeID), raw, 0).Err())
}

// checkSettings reports every violation of a store's settings. It refuses rules that no order could meet, and a second rule
// for the same orders, since it could not be told which of the two counts.
func checkSettings(c *fault.Checker, settings *orderv1.OrderSettings) {
	if n := len(settings.GetRules()); n > maxRules {
		c.Addf("settings.rules", "has %d entries, must have at most %d", n, maxRules)
		return
	}
	type covered struct {
		kind   orderv1.OrderActionKind
		status orderv1.OrderStatus
	}
	seen := make(map[covered]bool)
	for i, rule := range settings.GetRules() {
		field := fault.At("settings.rules", i)
		if !slices.Contains(kinds, rule.GetKind()) {
			c.Addf(field+".kind", "must be a kind of action")
			continue
		}
		checkRule(c, field, rule)
		for _, status := range statusesOf(rule) {
			if !slices.Contains(possible(rule.GetKind()), status) {
				c.Addf(field+".statuses", "%s is not possible for an order of %s", rule.GetKind(), status)
			}
			if at := (covered{rule.GetKind(), status}); seen[at] {
				c.Addf(field+".statuses", "%s of an order of %s has a rule before", rule.GetKind(), status)
			} else {
				seen[at] = true
			}
		}
	}
}

func checkRule(c *fault.Checker, field string, rule *orderv1.OrderRule) {
	if w := rule.GetWindow(); w != nil && (w.CheckValid() != nil || w.AsDuration() <= 0) {
		c.Addf(field+".window", "must be more than nothing, or absent")
	}
	for name, labels := range map[string][]string{"reasons": rule.GetReasons(), "refund_methods": rule.GetRefundMethods()} {
		if n := len(labels); n > maxLabels {
			c.Addf(field+"."+name, "has %d entries, must have at most %d", n, maxLabels)
			continue
		}
		for i, label := range labels {
			c.Text(fault.At(field+"."+name, i), label, 1, maxLabel)
		}
	}
	if n := len(rule.GetExcludedProductIds()); n > maxExcluded {
		c.Addf(field+".excluded_product_ids", "has %d entries, must have at most %d", n, maxExcluded)
		return
	}
	for i, id := range rule.GetExcludedProductIds() {
		c.ID(fault.At(field+".excluded_product_ids", i), id)
	}
}

// PutOrderSettings replaces a store's settings.
func (s *orderServer) PutOrderSettings(ctx context.Context, req *orderv1.PutOrderSettingsRequest) (*orderv1.PutOrderSettingsResponse, error) {
	settings := req.GetSettings()
	if settings == nil {
		settings = &orderv1.OrderSettings{}
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	checkSettings(&c, settings)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if err := s.book.store.putSettings(ctx, req.GetStoreId(), settings); err != nil {
		return nil, err
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
	settings, err := s.book.store.settings(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &orderv1.GetOrderSettingsResponse{Settings: settings}, nil
}

// noOrderSystem is the error of a look-up in a store that has switched them off.
func noOrderSystem(storeID string) error {
	return &fault.Precondition{
		Reason:  commonv1.ErrorReason_ERROR_REASON_NO_ORDER_SYSTEM,
		Subject: "store/" + storeID, Description: "its orders can not be looked up here; settings.no_order_system says so",
	}
}
