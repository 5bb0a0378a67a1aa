package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/productview"
)

// maxListed is how many products and orders a tool returns.
const maxListed = 10

// addTools adds the tools: those about the shopper only if there is one.
func (s *session) addTools(server *mcp.Server) {
	add(s, server, "search_products", "Searches the store's products.", s.searchProducts)
	add(s, server, "get_product", "Returns one product with its description, all variants, prices and stock.", s.getProduct)
	add(s, server, "list_promotions", "Lists the promotions that run, with what each saves on the shopper's cart, if there is one.", s.listPromotions)
	add(s, server, "search_policies", "Searches the store's documents, such as those on returns and delivery. Returns passages to quote.", s.searchPolicies)
	if s.scope.CustomerID != "" {
		add(s, server, "list_orders", "Lists the shopper's latest orders with status and tracking.", s.listOrders)
		add(s, server, "get_cart", "Returns the shopper's cart.", s.getCart)
	}
}

// add adds a tool that reads.
func add[In any](s *session, server *mcp.Server, name, description string, read func(context.Context, In) (any, error)) {
	no := false
	tool := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}}
	mcp.AddTool(server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		ctx, cancel, err := s.call(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer cancel()
		out, err := read(ctx, in)
		if err != nil {
			return nil, nil, s.told(ctx, name, err)
		}
		return nil, out, nil
	})
}

// told returns an error for an agent: what is wrong with its arguments, or else that the store does not answer.
func (s *session) told(ctx context.Context, tool string, err error) error {
	st := status.Convert(err)
	switch st.Code() {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition:
		return errors.New(st.Message())
	}
	s.cfg.Logger.WarnContext(ctx, "a tool of an agent failed", "tool", tool, "store", s.scope.StoreID, "error", err)
	return errors.New("the store does not answer at the moment")
}

// message returns a message as JSON with the names of the contract.
func message(m proto.Message) (any, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	return json.RawMessage(text), err
}

type searchArgs struct {
	Query    string  `json:"query" jsonschema:"what is wanted, in plain words"`
	Category string  `json:"category,omitempty"`
	MaxPrice float64 `json:"max_price,omitempty" jsonschema:"in the store's currency"`
	Currency string  `json:"currency,omitempty" jsonschema:"ISO 4217 code; required with max_price"`
	InStock  bool    `json:"in_stock,omitempty" jsonschema:"only what is in stock"`
}

type searchResult struct {
	Products []productview.View `json:"products"`
	Total    int32              `json:"total"`
}

func (s *session) searchProducts(ctx context.Context, in searchArgs) (any, error) {
	filter := &catalogv1.Filter{InStock: in.InStock}
	if in.Category != "" {
		filter.Categories = []string{in.Category}
	}
	if in.MaxPrice > 0 {
		filter.MaxPrice = money.FromMajor(in.MaxPrice, strings.ToUpper(in.Currency))
	}
	found, err := s.cfg.Catalog.SearchProducts(ctx, &catalogv1.SearchProductsRequest{
		StoreId: s.scope.StoreID, Query: in.Query, Filter: filter, Limit: maxListed,
	})
	if err != nil {
		return nil, err
	}
	var items []productview.Item
	for _, h := range found.GetHits() {
		matched := slices.DeleteFunc(slices.Clone(h.GetProduct().GetVariants()), func(v *catalogv1.Variant) bool {
			return !slices.Contains(h.GetMatchedVariantIds(), v.GetVariantId())
		})
		items = append(items, productview.Item{Product: h.GetProduct(), Variants: matched, Reason: h.GetReason()})
	}
	out := searchResult{Products: []productview.View{}, Total: found.GetTotalCount()}
	if len(items) > 0 {
		out.Products = productview.List(items, in.Query)
	}
	return out, nil
}

type productArgs struct {
	ProductID string `json:"product_id"`
}

func (s *session) getProduct(ctx context.Context, in productArgs) (any, error) {
	found, err := s.cfg.Catalog.GetProduct(ctx, &catalogv1.GetProductRequest{StoreId: s.scope.StoreID, ProductId: in.ProductID})
	if err != nil {
		return nil, err
	}
	return message(found.GetProduct())
}

func (s *session) listPromotions(ctx context.Context, _ struct{}) (any, error) {
	if s.scope.CartID != "" {
		found, err := s.cfg.Promotions.EvaluateCart(ctx, &promotionv1.EvaluateCartRequest{
			StoreId: s.scope.StoreID, Source: &promotionv1.EvaluateCartRequest_CartId{CartId: s.scope.CartID}, SignedIn: true,
			CustomerId: s.scope.CustomerID, CustomerGroups: s.scope.CustomerGroups,
		})
		if err == nil {
			return message(found)
		}
		if status.Code(err) != codes.InvalidArgument { // a deployment without carts
			return nil, err
		}
	}
	all := &promotionv1.ListPromotionsResponse{}
	err := pagetoken.Each(func(token string) (string, error) {
		page, err := s.cfg.Promotions.ListPromotions(ctx, &promotionv1.ListPromotionsRequest{StoreId: s.scope.StoreID, PageToken: token})
		all.Promotions = append(all.Promotions, page.GetPromotions()...)
		return page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	all.Promotions = slices.DeleteFunc(all.GetPromotions(), func(p *promotionv1.Promotion) bool {
		return p.GetStartTime() != nil && now.Before(p.GetStartTime().AsTime()) || p.GetEndTime() != nil && !now.Before(p.GetEndTime().AsTime())
	})
	return message(all)
}

type policyArgs struct {
	Query string `json:"query" jsonschema:"the question, in plain words"`
}

func (s *session) searchPolicies(ctx context.Context, in policyArgs) (any, error) {
	found, err := s.cfg.Policies.SearchPolicies(ctx, &policyv1.SearchPoliciesRequest{StoreId: s.scope.StoreID, Query: in.Query})
	if err != nil {
		return nil, err
	}
	return message(found)
}

func (s *session) listOrders(ctx context.Context, _ struct{}) (any, error) {
	found, err := s.cfg.Orders.ListOrders(ctx, &orderv1.ListOrdersRequest{
		StoreId: s.scope.StoreID, CustomerId: s.scope.CustomerID, Limit: maxListed,
	})
	if err != nil {
		return nil, err
	}
	return message(found)
}

func (s *session) getCart(ctx context.Context, _ struct{}) (any, error) {
	found, err := s.cfg.Carts.GetCart(ctx, &cartv1.GetCartRequest{StoreId: s.scope.StoreID, CartId: s.scope.CartID})
	if err != nil {
		return nil, err
	}
	return message(found.GetCart())
}
