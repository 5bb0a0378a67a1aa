package gateway

import (
	"context"
	"sync"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"

	"github.com/quartet-commerce/quartet/services/internal/cartclient"
)

// maxCartTime bounds the one read of a turn's cart, but never to more than a tenth of what is left of the turn. A
// specialist that gets no cart reads it with its own time.
const maxCartTime = 500 * time.Millisecond

// sharedCart is the shopper's cart as the first specialist of a turn that needs it finds it. It is read at most once and
// ends with the turn, so it is never another's. The zero value is a cart that nobody has asked for. It is safe for
// concurrent use and must not be copied.
type sharedCart struct {
	mu      sync.Mutex
	reading chan struct{} // closed when the read under way ends; nil: there is none
	known   bool
	cart    *cartv1.Cart // nil: it could not be read
}

// get returns the cart, which must not be changed, or nil when it could not be read or ctx has ended. Who comes first reads;
// the others wait. A reader whose own work is cancelled leaves it to the next.
func (c *sharedCart) get(ctx context.Context, read func(context.Context) (*cartv1.Cart, error)) (*cartv1.Cart, error) {
	for ctx.Err() == nil {
		c.mu.Lock()
		if c.known {
			defer c.mu.Unlock()
			return c.cart, nil
		}
		if others := c.reading; others != nil {
			c.mu.Unlock()
			select {
			case <-others:
			case <-ctx.Done():
			}
			continue
		}
		c.reading = make(chan struct{})
		c.mu.Unlock()
		return c.fill(ctx, read)
	}
	return nil, ctx.Err()
}

// fill reads the cart for all, and wakes those who wait, also when reading panics.
func (c *sharedCart) fill(ctx context.Context, read func(context.Context) (*cartv1.Cart, error)) (cart *cartv1.Cart, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.reading)
		c.known, c.cart, c.reading = err == nil || ctx.Err() == nil, cart, nil
	}()
	return read(ctx)
}

// cartFor returns the turn's cart for a specialist whose tools read it. Nil: the specialist needs none, or reads it itself.
func (s *Service) cartFor(ctx context.Context, t *turn, specialist string) *cartv1.Cart {
	sc := t.scope
	if s.cfg.Cart == nil || sc.CartID == "" || !s.directory.readsCart(sc.StoreID, specialist) {
		return nil
	}
	cart, err := t.cart.get(ctx, func(ctx context.Context) (*cartv1.Cart, error) {
		due, _ := ctx.Deadline()
		ctx, cancel := context.WithTimeout(ctx, min(maxCartTime, time.Until(due)/10))
		defer cancel()
		return cartclient.Read(ctx, s.cfg.Cart, sc.StoreID, sc.CartID)
	})
	if cartclient.None(err) {
		return nil // specialists know what to say of that
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.WarnContext(ctx, "cart not read; specialists read it themselves", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
	}
	return cart
}

// readsCart reports whether a specialist said, when it last described itself for the store or else for any, that its tools
// read the cart.
func (d *directory) readsCart(storeID, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.known[describedFor{storeID, name}]; k != nil {
		return k.specialist.GetReadsCart()
	}
	return d.last[name].GetReadsCart()
}
