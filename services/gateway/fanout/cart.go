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

// audience is the audience of the scope with which the gateway reads the cart itself. No specialist accepts it.
const audience = "gateway"

// sharedCart is the shopper's cart as all specialists of a turn see it. It is read at most once, for the first specialist that
// needs it. The zero value is a cart that was not read.
type sharedCart struct {
	once sync.Once
	read chan struct{} // closed when cart is known
	cart *cartv1.Cart  // nil: it could not be read
}

// cartFor returns the turn's cart for a specialist whose tools read it. Nil: the specialist needs no cart, or reads it itself.
func (r *Run) cartFor(ctx context.Context, specialist string) *cartv1.Cart {
	sc := r.turn.Scope
	if r.fanout.cfg.Cart == nil || sc.CartID == "" || !r.fanout.cfg.Registry.ReadsCart(sc.StoreID, specialist) {
		return nil
	}
	r.cart.once.Do(func() {
		r.cart.read = make(chan struct{})
		// The read is for all branches, so it goes on if the branch that needs it first is cancelled.
		ctx, cancel := context.WithTimeout(r.ctx, Share(r.ctx, MaxCartTime, 10))
		r.goroutines.Go(func() {
			defer cancel()
			defer close(r.cart.read)
			var err error
			if r.cart.cart, err = r.readCart(ctx); err != nil && !cartclient.None(err) {
				r.fanout.cfg.Logger.WarnContext(ctx, "cart not read; specialists read it themselves", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
			}
		})
	})
	select {
	case <-r.cart.read:
		return r.cart.cart
	case <-ctx.Done():
		return nil
	}
}

// readCart reads the cart. A panic becomes an error; the stack goes to the log.
func (r *Run) readCart(ctx context.Context) (cart *cartv1.Cart, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.fanout.cfg.Logger.ErrorContext(ctx, "panic in reading a cart", "panic", telemetry.PanicText(p), "stack", string(debug.Stack()))
			cart, err = nil, errPanic
		}
	}()
	ctx, err = r.fanout.cfg.Signer.Outgoing(ctx, r.turn.Scope.Narrow(audience, []scope.Read{scope.ReadCarts}))
	if err != nil {
		return nil, err
	}
	return cartclient.Read(ctx, r.fanout.cfg.Cart, r.turn.Scope.StoreID, r.turn.Scope.CartID)
}
