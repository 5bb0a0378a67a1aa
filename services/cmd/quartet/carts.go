package main

import (
	"flag"
	"time"

	"github.com/quartet-commerce/quartet/services/recommend"
	"github.com/quartet-commerce/quartet/services/suite"
)

// leastCartTTL is the shortest time for which carts are kept: a shopper looks around in it.
const leastCartTTL = time.Minute

// cartFlags say where carts are, and for how long.
type cartFlags struct {
	addr string
	ttl  time.Duration
}

func addCartFlags(fs *flag.FlagSet) *cartFlags {
	f := &cartFlags{}
	fs.StringVar(&f.addr, "cart-addr", "", "gateway, recommend, promotions: `target` of the cart service that carts are read from, if it is not the recommend service (docs/carts.md)")
	fs.Func("cart-ttl", defaulted("recommend: `time` for which a cart is kept after its last write", recommend.DefaultCartTTL),
		atLeast(&f.ttl, leastCartTTL, time.ParseDuration))
	return f
}

// apply sets what the flags say.
func (f *cartFlags) apply(cfg *suite.Config) {
	cfg.CartTTL = f.ttl
	if f.addr == "" {
		return
	}
	if cfg.Peers == nil {
		cfg.Peers = make(map[string]string)
	}
	cfg.Peers[suite.Cart] = f.addr
}
