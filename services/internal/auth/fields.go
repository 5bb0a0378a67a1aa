package auth

import (
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// fields are the parts of a request that rules look at.
type fields struct {
	store       string
	customer    string
	cart        string
	groups      []string
	hasCustomer bool // the request has a customer_id, which may be empty
	hasCart     bool // the request has a cart_id, which may be empty
}

// fieldsOf reads the fields of a request by their names in the contract: store_id, customer_id, cart_id and customer_groups, of
// the request itself or of the message within it that stands for the request.
func fieldsOf(request any) fields {
	switch r := request.(type) {
	case *gatewayv1.AskStreamRequest:
		request = r.GetAsk()
	case *gatewayv1.PutStoreRequest:
		request = r.GetStore()
	}
	var f fields
	if r, ok := request.(interface{ GetStoreId() string }); ok {
		f.store = r.GetStoreId()
	}
	if r, ok := request.(interface{ GetCustomerId() string }); ok {
		f.customer, f.hasCustomer = r.GetCustomerId(), true
	}
	if r, ok := request.(interface{ GetCartId() string }); ok {
		f.cart, f.hasCart = r.GetCartId(), true
	}
	if r, ok := request.(interface{ GetCustomerGroups() []string }); ok {
		f.groups = r.GetCustomerGroups()
	}
	return f
}

// StoreOf returns the store that a request names, or "".
func StoreOf(request any) string { return fieldsOf(request).store }
