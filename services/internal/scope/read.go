package scope

// Read is a kind of data that the services read for a turn.
type Read string

// The kinds of data.
const (
	ReadCatalog     Read = "catalog"
	ReadCarts       Read = "carts"
	ReadPromotions  Read = "promotions"
	ReadOrders      Read = "orders"
	ReadCoPurchases Read = "co-purchases"
	ReadPolicies    Read = "policies"
)
