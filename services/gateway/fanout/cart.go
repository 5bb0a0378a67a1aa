package fanout

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// MaxCartTime bounds the one read of a turn's cart, but to at most a tenth of the time left. A specialist that gets no cart
// reads it with its own time.
const MaxCartTime = 500 * time.Millisecond

// audience is the audience of the scope with which the gateway reads the cart itself. No specialist accepts it. The scope allows to
// read the catalog, because the cart service prices the lines with the caller's scope.
const audience = "gateway"

// sharedCart is the shopper's cart as all of a turn sees it. It is read at most once, when it is first needed. The zero value is a
// cart that was not read.
type sharedCart struct {
	once sync.Once
	read chan struct{} // closed when cart and none are known
	cart *cartv1.Cart  // nil: the shopper has none, or it could not be read
	none bool          // the store has no carts
}

// cartFor returns the turn's cart for a specialist whose tools read it. Nil: the specialist needs no cart, or reads it itself.
func (r *Run) cartFor(ctx context.Context, specialist string) *cartv1.Cart {
	sc := r.turn.Scope
	if sc.CartID == "" || !r.fanout.cfg.Registry.ReadsCart(sc.StoreID, specialist) {
		return nil
	}
	cart, _ := r.Cart(ctx)
	return cart
}

// Cart returns the turn's cart, or nil if it is not known, and whether the store has no carts.
func (r *Run) Cart(ctx context.Context) (cart *cartv1.Cart, none bool) {
	if r.fanout.cfg.Cart == nil {
		return nil, false
	}
	r.cart.once.Do(func() {
		r.cart.read = make(chan struct{})
		// The read is for the whole turn, so it goes on if the branch that needs it first is cancelled.
		ctx, cancel := context.WithTimeout(r.ctx, Share(r.ctx, MaxCartTime, 10))
		r.goroutines.Go(func() {
			defer cancel()
			defer close(r.cart.read)
			var err error
			if r.cart.cart, r.cart.none, err = r.readCart(ctx); err != nil {
				r.fanout.cfg.Logger.WarnContext(ctx, "cart not read; specialists read it themselves", "store", r.turn.Scope.StoreID, "turn", r.turn.Scope.TurnID, "error", err)
			}
		})
	})
	select {
	case <-r.cart.read:
		return r.cart.cart, r.cart.none
	case <-ctx.Done():
		return nil, false
	}
}

// readCart reads the cart, or only whether the store has carts if the shopper has none. A panic becomes an error; the stack goes to
// the log.
func (r *Run) readCart(ctx context.Context) (cart *cartv1.Cart, none bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.fanout.cfg.Logger.ErrorContext(ctx, "panic in reading a cart", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			cart, none, err = nil, false, errPanic
		}
	}()
	ctx, err = r.fanout.cfg.Signer.Outgoing(ctx, r.turn.Scope.Narrow(audience, []scope.Read{scope.ReadCarts, scope.ReadCatalog}))
	if err != nil {
		return nil, false, err
	}
	storeID, cartID := r.turn.Scope.StoreID, r.turn.Scope.CartID
	if cartID == "" {
		none, err = cartclient.Lacking(ctx, r.fanout.cfg.Cart, storeID)
		return nil, none, err
	}
	if cart, err = cartclient.Read(ctx, r.fanout.cfg.Cart, storeID, cartID); cartclient.None(err) {
		return nil, true, nil
	}
	return cart, false, err
}
