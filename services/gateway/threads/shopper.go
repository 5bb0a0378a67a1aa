package threads

// Shopper is for whom a thread is read or deleted. The zero value is a guest without a cart.
type Shopper struct {
	// Customer is the id of the signed-in customer. Empty: a guest.
	Customer string
	// Cart is the id of the cart that the request names. Empty: none.
	Cart string
	// AnyGuest says that the caller may use the thread of every guest, whatever its cart.
	AnyGuest bool
	// All says that the caller may use every thread of the store.
	All bool
}

// foreignTo reports whether a thread is not the shopper's. owner.lua is the same rule for turns: they check and write in one script.
func (t *Thread) foreignTo(s Shopper) bool {
	switch {
	case s.All:
		return false
	case t.Customer != "":
		return t.Customer != s.Customer
	case s.AnyGuest:
		return false
	case t.Cart == "":
		return s.Customer != ""
	}
	return t.Cart != s.Cart
}
