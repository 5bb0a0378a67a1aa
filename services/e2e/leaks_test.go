package e2e

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/auth/jwt"
	"github.com/quartet-commerce/quartet/services/internal/auth/tokens"
	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	"github.com/quartet-commerce/quartet/services/internal/rerank"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

// plant begins every canary of TestNothingLeaks: texts, addresses and secrets that nothing exported may hold.
const plant = "zqplant"

// leakProbe makes calls with canaries and keeps what callers are told of failures.
type leakProbe struct {
	*system
	conns  map[string]*grpc.ClientConn // by role
	told   []string
	failed map[string]int // failures by code
}

// note keeps the error of a call and its trailers.
func (p *leakProbe) note(what string, err error, trailer metadata.MD) {
	st := status.Convert(err)
	p.failed[st.Code().String()]++
	p.told = append(p.told, fmt.Sprintf("%s: %s %v", what, protojson.Format(st.Proto()), trailer))
}

// call makes a unary call by name.
func call[Req, Resp proto.Message](p *leakProbe, ctx context.Context, f func(context.Context, Req, ...grpc.CallOption) (Resp, error), req Req) Resp {
	var trailer metadata.MD
	resp, err := f(ctx, req, grpc.Trailer(&trailer))
	p.note(fmt.Sprintf("%T", req), err, trailer)
	return resp
}

// leakyEndpoint answers for the model, embeddings, reranking and order systems. It repeats what it was sent, headers included.
type leakyEndpoint struct {
	mu    sync.Mutex
	fault func(w http.ResponseWriter, echo []byte) // nil: none
}

func (e *leakyEndpoint) set(fault func(http.ResponseWriter, []byte)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = fault
}

func (e *leakyEndpoint) get() func(http.ResponseWriter, []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fault
}

func (e *leakyEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	at := max(0, strings.LastIndex(string(body), plant)) // some clients keep only the start
	echo, err := json.Marshal(string(body[at:]) + fmt.Sprint(r.Header))
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	fault := e.get()
	if fault == nil {
		fault = leakFaults["500"] // it has a model, but no embeddings
	}
	fault(w, echo)
}

// leakFaults are the ways in which an endpoint fails while it repeats the request.
var leakFaults = map[string]func(w http.ResponseWriter, echo []byte){
	"400": leakStatus(http.StatusBadRequest),
	"401": leakStatus(http.StatusUnauthorized),
	"429": leakStatus(http.StatusTooManyRequests),
	"500": leakStatus(http.StatusInternalServerError),
	"an answer that is none": func(w http.ResponseWriter, echo []byte) {
		fmt.Fprintf(w, `{"data":%s,"results":%s,"order":%s}`, echo, echo, echo)
	},
	"an order of another shape": func(w http.ResponseWriter, echo []byte) {
		fmt.Fprintf(w, `{"order":{"order_id":"`+plant+` 1","customer_id":%s,"status":%s,"%s":1}}`, echo, echo, plant)
	},
	"another shopper's order": func(w http.ResponseWriter, _ []byte) {
		fmt.Fprintf(w, `{"order":{"order_id":"O-1","customer_id":"%s-other","email":"%s","status":"ORDER_STATUS_PROCESSING"}}`, plant, plant)
	},
}

func leakStatus(code int) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, echo []byte) {
		w.Header().Set("Retry-After", "100") // longer than any caller waits
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":%s,"type":%s,"code":%s}}`, echo, echo, echo)
	}
}

// panicking is a reranker whose panics tell what it was to order.
type panicking struct{}

func (panicking) Scores(_ context.Context, query string, _ []string) ([]float64, error) {
	panic(plant + " panic about " + query)
}

// newLeakProbe starts a system whose endpoints are e, with keys and addresses that are canaries.
func newLeakProbe(t *testing.T, redisURL string, e *leakyEndpoint, logger *slog.Logger, tune func(*suite.Config)) *leakProbe {
	t.Helper()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	brain := newBrain(t)
	models := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.get() != nil {
			e.ServeHTTP(w, r)
			return
		}
		brain.ServeHTTP(w, r)
	})
	modelServer := httptest.NewServer(models)
	t.Cleanup(modelServer.Close)
	p := &leakProbe{conns: make(map[string]*grpc.ClientConn), failed: make(map[string]int)}
	p.system = newSystemWith(t, redisURL, brain, func(cfg *suite.Config) {
		cfg.Logger = logger
		open := func(name string) *model.Traced {
			m, err := model.New(model.Config{URL: modelServer.URL + "/v1", Key: plant + "modelkey", Name: name, CaptureContent: cfg.CaptureContent})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		embedder, err1 := embed.New(embed.Config{URL: server.URL, Key: plant + "embedkey", Model: "m"})
		reranker, err2 := rerank.New(rerank.Config{URL: server.URL, Key: plant + "rerankkey", Model: "m"})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		cfg.Search.Embedder, cfg.Search.Reranker = embedder, reranker
		cfg.OrderSystems = map[string]orderhttp.Config{
			"remote": {URL: server.URL, Keys: []orderhttp.Key{{ID: "k", Secret: []byte(plant + "ordersystemsecret")}}},
		}
		cfg.Authenticator, cfg.Token = leakAuthenticator(t, logger), plant+"token"
		if tune != nil {
			tune(cfg)
		}
		cfg.Model, cfg.FastModel = open(offline.Model), open(offline.ModelFast)
	})
	for _, role := range suite.Roles() {
		conn, err := suite.Dial(role, p.cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		p.conns[role] = conn
	}
	return p
}

// leakJWTKey signs the JSON Web Tokens that leakAuthenticator accepts.
var leakJWTKey = jose.JSONWebKey{Key: ed25519.NewKeyFromSeed([]byte(plant + strings.Repeat("k", ed25519.SeedSize-len(plant)))), KeyID: "leaks", Algorithm: string(jose.EdDSA)}

// leakAuthenticator accepts the token that is a canary, and JSON Web Tokens that leakJWT makes.
func leakAuthenticator(t *testing.T, logger *slog.Logger) auth.Authenticator {
	t.Helper()
	file, keys := filepath.Join(t.TempDir(), "tokens.json"), filepath.Join(t.TempDir(), "jwks.json")
	err := tokens.Add(file, tokens.Caller{Name: "test", SHA256: []string{tokens.Hash(plant + "token")},
		Grants: []tokens.Grant{{Store: auth.AnyStore, Rights: auth.Rights()}}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{leakJWTKey.Public()}})
	if err == nil {
		err = os.WriteFile(keys, set, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	known, err1 := tokens.Open(file, logger)
	signed, err2 := jwt.Open(jwt.Config{Keys: keys, Issuer: plant + "issuer", Audience: "quartet", Logger: logger})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(signed.Close)
	return auth.AnyOf{known, signed}
}

// leakJWT returns a token of a shopper whose claims are canaries, but for those that are given.
func leakJWT(t *testing.T, key jose.JSONWebKey, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": plant + "issuer", "aud": "quartet", "sub": plant + "@mail.example", "exp": time.Now().Add(time.Hour).Unix(),
		"quartet_stores": "leaky", "quartet_rights": auth.Rights(), "quartet_customer": plant + "customer", "email": plant}
	maps.Copy(all, claims)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signature.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// credentials makes calls with good and bad tokens and scopes. It returns the tokens, no part of which may be exported.
func (p *leakProbe) credentials(t *testing.T) (secrets []string) {
	t.Helper()
	other := leakJWTKey
	_, other.Key, _ = ed25519.GenerateKey(nil)
	unknown := leakJWTKey
	unknown.KeyID = plant + "kid"
	jwts := []string{leakJWT(t, leakJWTKey, nil), leakJWT(t, other, nil), leakJWT(t, unknown, nil)}
	for _, claims := range []map[string]any{
		{"iss": plant}, {"aud": plant}, {"exp": 1}, {"exp": plant}, {"sub": map[string]any{plant: plant}}, {"quartet_stores": plant + " no id"},
		{"quartet_customer": plant + " no id"}, {"quartet_customer": map[string]any{plant: plant}}, {"quartet_rights": map[string]any{plant: plant}},
	} {
		jwts = append(jwts, leakJWT(t, leakJWTKey, claims))
	}
	bare := p.cfg
	bare.Token = ""
	conn, err := suite.Dial(suite.Gateway, bare)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	gateway := gatewayv1.NewGatewayServiceClient(conn)
	ask := func(headers ...string) *gatewayv1.AskResponse {
		ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
		reply := call(p, ctx, gateway.Ask, &gatewayv1.AskRequest{StoreId: "leaky", CustomerId: plant + "customer", Message: leakMessages[0]})
		call(p, ctx, gateway.ListThreads, &gatewayv1.ListThreadsRequest{StoreId: "leaky", CustomerId: plant + "other"})
		call(p, ctx, gateway.GetTurn, &gatewayv1.GetTurnRequest{StoreId: "remote", TurnId: plant})
		return reply
	}
	for i, token := range jwts {
		if reply := ask("authorization", "Bearer "+token); (reply != nil) != (i == 0) {
			t.Errorf("the JSON Web Token %d gets %v; only the first is good", i, reply)
		}
		secrets = append(secrets, strings.Split(token, ".")[1:]...)
	}
	for _, value := range []string{plant, "Basic " + plant, "Bearer " + plant, "Bearer " + plant + " " + plant, "Bearer " + plant + "." + plant + "." + plant} {
		ask("authorization", value)
	}
	ask("authorization", "Bearer "+plant+"token", "authorization", "Bearer "+plant)
	ask("authorization", "Bearer "+plant+"token", "quartet-scope", plant)
	ask("authorization", "Bearer "+plant+"token", "quartet-scope", jwts[0])
	ask("quartet-store", plant, "quartet-customer", plant)
	return secrets
}

// leakySet is a store whose texts are canaries.
func leakySet(id string) demo.Dataset {
	eur := func(minor int64) *commonv1.Money { return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"} }
	set := demo.Dataset{Store: &gatewayv1.Store{StoreId: id, Name: plant + " store", CurrencyCode: "EUR"}}
	set.Products = []*catalogv1.Product{{
		ProductId: "P1", Title: plant + " shoe", Description: plant + " description", Brand: plant, CategoryPath: []string{plant},
		Tags: []string{plant}, Attributes: []*catalogv1.Attribute{{Name: plant, Value: &catalogv1.Attribute_Text{Text: plant}}},
		Variants: []*catalogv1.Variant{{VariantId: "V1", Price: eur(1000), Stock: 3, Options: map[string]string{plant: plant}}},
		Url:      "https://shop.example/" + plant,
	}}
	second := proto.CloneOf(set.Products[0])
	second.ProductId = "P2"
	set.Products = append(set.Products, second)
	set.Policies = []*policyv1.Policy{{PolicyId: "returns", Title: plant + " returns", Body: "Return what you bought to " + plant + " street within 30 days."}}
	set.Promotions = []*promotionv1.Promotion{{Code: "SAVE10", Title: plant + " title", Description: plant,
		Benefit: &promotionv1.Promotion_PercentOff{PercentOff: &promotionv1.PercentOff{BasisPoints: 1000}},
		Scope:   &promotionv1.Scope{Brands: []string{plant}}}}
	set.Carts = []*cartv1.Cart{{StoreId: id, CartId: plant + "cart", Items: []*cartv1.CartItem{{ProductId: "P1", VariantId: "V1", Quantity: 1}}}}
	set.Orders = []*orderv1.Order{{
		OrderId: "O-1", CustomerId: plant + "customer", Status: orderv1.OrderStatus_ORDER_STATUS_PROCESSING, Email: plant + "@mail.example",
		PostalCode: plant + "1234", CreateTime: timestamppb.New(time.Now().Add(-time.Hour)), Subtotal: eur(1000), Total: eur(1000),
		Items: []*orderv1.OrderItem{{ProductId: "P1", Title: plant + " shoe", Quantity: 1, UnitPrice: eur(1000)}},
	}}
	return set
}

// asks makes turns of a customer, with a message before in the thread, in one piece and as a stream.
func (p *leakProbe) asks(ctx context.Context, store, thread string, messages ...string) {
	for _, message := range messages {
		req := &gatewayv1.AskRequest{StoreId: store, CustomerId: plant + "customer", CartId: plant + "cart", ThreadId: thread, Message: message}
		call(p, ctx, p.gateway.Ask, req)
		var err error
		stream, err := p.gateway.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: req})
		for err == nil {
			_, err = stream.Recv()
		}
		if !errors.Is(err, io.EOF) {
			p.note("AskStream", err, stream.Trailer())
		}
	}
}

// badRequests makes calls with values that no service takes, and reads of what does not exist.
func (p *leakProbe) badRequests(ctx context.Context) {
	const bad = plant + " not an id"
	money := &commonv1.Money{AmountMinor: -1, CurrencyCode: bad}
	call(p, ctx, p.gateway.Ask, &gatewayv1.AskRequest{StoreId: bad, Message: plant, CustomerId: bad, CustomerGroups: []string{bad}, CartId: bad,
		ThreadId: bad, RequestId: bad, Locale: bad})
	call(p, ctx, p.gateway.GetTurn, &gatewayv1.GetTurnRequest{StoreId: "leaky", TurnId: bad})
	call(p, ctx, p.gateway.GetThread, &gatewayv1.GetThreadRequest{StoreId: "leaky", ThreadId: bad})
	call(p, ctx, p.gateway.ListThreads, &gatewayv1.ListThreadsRequest{StoreId: "leaky", CustomerId: bad, Limit: -1})
	call(p, ctx, p.data.Stores.PutStore, &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{StoreId: bad, Name: strings.Repeat(plant, 99),
		CurrencyCode: bad, DefaultLocale: bad, RoutingKeywords: []*routerv1.RoutingKeyword{{Specialist: bad, Keyword: &specialistv1.Keyword{Term: strings.Repeat(plant, 99)}}}}})
	filter := &catalogv1.Filter{Categories: []string{strings.Repeat(plant, 99)}, Brands: []string{"?", strings.Repeat(plant, 99)}, MinPrice: money, MaxPrice: money,
		Options: map[string]string{strings.Repeat(plant, 99): ""}, Attributes: map[string]string{plant: ""}}
	call(p, ctx, p.data.Catalog.SearchProducts, &catalogv1.SearchProductsRequest{StoreId: "leaky", Query: strings.Repeat(plant, 999), Filter: filter})
	call(p, ctx, p.data.Catalog.SearchProducts, &catalogv1.SearchProductsRequest{StoreId: "leaky", Query: plant,
		Filter: &catalogv1.Filter{MinPrice: &commonv1.Money{CurrencyCode: "USD"}}})
	call(p, ctx, p.data.Catalog.FindSimilarProducts, &catalogv1.FindSimilarProductsRequest{StoreId: "leaky", ProductIds: []string{bad}, Query: plant, Filter: filter})
	call(p, ctx, p.data.Catalog.GetProduct, &catalogv1.GetProductRequest{StoreId: "leaky", ProductId: bad})
	item := &cartv1.CartItem{ProductId: bad, VariantId: bad, Quantity: -1}
	call(p, ctx, p.data.Carts.SetCart, &cartv1.SetCartRequest{StoreId: "leaky", CartId: bad, Items: []*cartv1.CartItem{item}})
	call(p, ctx, p.data.Carts.SetCart, &cartv1.SetCartRequest{StoreId: "leaky", CartId: plant + "cart", Items: []*cartv1.CartItem{{ProductId: "none", Quantity: 1}}})
	call(p, ctx, p.data.Carts.SetCart, &cartv1.SetCartRequest{StoreId: "leaky", CartId: plant + "cart", ExpectedVersion: proto.Int64(99)})
	call(p, ctx, p.data.Carts.AddItem, &cartv1.AddItemRequest{StoreId: "leaky", CartId: plant + "cart", Item: &cartv1.CartItem{ProductId: "P1", VariantId: "V9", Quantity: 1}})
	call(p, ctx, p.data.Promotions.DeletePromotion, &promotionv1.DeletePromotionRequest{StoreId: "leaky", Code: bad})
	call(p, ctx, p.data.Promotions.RecordUsage, &promotionv1.RecordUsageRequest{StoreId: "leaky", OrderId: bad, CustomerId: bad, Codes: []string{bad}})
	call(p, ctx, p.data.Promotions.EvaluateCart, &promotionv1.EvaluateCartRequest{StoreId: "leaky", CustomerId: bad, CustomerGroups: []string{bad}, SignedIn: true,
		AppliedCodes: []string{bad}, Source: &promotionv1.EvaluateCartRequest_Cart{Cart: &cartv1.Cart{Items: []*cartv1.CartItem{{ProductId: bad, UnitPrice: money}, item}}}})
	call(p, ctx, p.data.Promotions.EvaluateCart, &promotionv1.EvaluateCartRequest{StoreId: "leaky", Source: &promotionv1.EvaluateCartRequest_CartId{CartId: plant + "cart"}})
	call(p, ctx, p.data.Orders.GetOrder, &orderv1.GetOrderRequest{StoreId: "leaky", CustomerId: plant + "customer", OrderId: "O-9"})
	call(p, ctx, p.data.Orders.GetOrder, &orderv1.GetOrderRequest{StoreId: "leaky", CustomerId: bad, OrderId: bad})
	call(p, ctx, p.data.Orders.ListOrders, &orderv1.ListOrdersRequest{StoreId: "leaky", CustomerId: bad})
	for range 7 { // more attempts than a guest has
		call(p, ctx, p.data.Orders.GetGuestOrder, &orderv1.GetGuestOrderRequest{StoreId: "leaky", OrderId: "O-1", Proof: &orderv1.GetGuestOrderRequest_Email{Email: plant + "wrong@mail.example"}})
	}
	call(p, ctx, p.data.Orders.GetGuestOrder, &orderv1.GetGuestOrderRequest{StoreId: "leaky", OrderId: bad, Proof: &orderv1.GetGuestOrderRequest_Email{Email: strings.Repeat(plant, 99)}})
	call(p, ctx, p.data.Orders.PutOrderSettings, &orderv1.PutOrderSettingsRequest{StoreId: "leaky", Settings: &orderv1.OrderSettings{Rules: []*orderv1.OrderRule{{
		Kind: orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL, Reasons: []string{strings.Repeat(plant, 99)}, ExcludedProductIds: []string{bad}}}}})
	call(p, ctx, p.data.Policies.SearchPolicies, &policyv1.SearchPoliciesRequest{StoreId: "leaky", Query: strings.Repeat(plant, 999), Language: bad})
	call(p, ctx, p.data.Policies.DeletePolicy, &policyv1.DeletePolicyRequest{StoreId: "leaky", PolicyId: bad})
	p.badItems(ctx)
	for role, method := range map[string]string{suite.Gateway: gatewayv1.GatewayService_Ask_FullMethodName, suite.Support: orderv1.OrderService_UpsertOrders_FullMethodName} {
		raw := []byte("\x12\x10" + plant + "\xff\xff\xff" + plant) // no UTF-8
		stream, err := p.conns[role].NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method, grpc.ForceCodecV2(rawCodec{}))
		if err == nil {
			err = errors.Join(stream.SendMsg(&raw), stream.CloseSend(), stream.RecvMsg(new([]byte)))
		}
		p.note("raw bytes", err, nil)
	}
}

// badItems uploads items that are refused one by one. What a caller is told of them counts too.
func (p *leakProbe) badItems(ctx context.Context) {
	const bad = plant + " not an id"
	money := &commonv1.Money{AmountMinor: 1, CurrencyCode: bad}
	told := func(what string, m proto.Message, errs []*commonv1.ItemError, err error) {
		for _, e := range errs {
			e.ItemId = "" // the caller's own id as it was sent, so that it finds the item
		}
		p.told = append(p.told, what+": "+protojson.Format(m))
		p.note(what, err, nil)
	}
	products, err := p.data.Catalog.UpsertProducts(ctx)
	if err == nil {
		two := []*catalogv1.Variant{{VariantId: "zqplant", Price: money, Options: map[string]string{strings.ToUpper(plant): plant, bad + " ": strings.Repeat(plant, 99)}},
			{VariantId: "zqplant", Price: &commonv1.Money{CurrencyCode: "EUR"}, ListPrice: money}}
		_ = products.Send(&catalogv1.UpsertProductsRequest{StoreId: "leaky", Products: []*catalogv1.Product{{ProductId: bad, Url: bad, Variants: two,
			Attributes: []*catalogv1.Attribute{{Name: strings.ToUpper(plant)}, {Name: plant}, {Name: plant, Unit: bad}}}}})
		resp, err := products.CloseAndRecv()
		told("products", resp, resp.GetErrors(), err)
	}
	updates, err := p.data.Catalog.UpdateVariants(ctx)
	if err == nil {
		_ = updates.Send(&catalogv1.UpdateVariantsRequest{StoreId: "leaky", Updates: []*catalogv1.VariantUpdate{
			{ProductId: bad, VariantId: bad}, {ProductId: "P1", VariantId: "V1", Price: money}}})
		resp, err := updates.CloseAndRecv()
		told("updates", resp, resp.GetErrors(), err)
	}
	promotions, err := p.data.Promotions.UpsertPromotions(ctx)
	if err == nil {
		_ = promotions.Send(&promotionv1.UpsertPromotionsRequest{StoreId: "leaky", Promotions: []*promotionv1.Promotion{{Code: bad, MinimumSubtotal: money,
			Title: strings.Repeat(plant, 99), Scope: &promotionv1.Scope{ProductIds: []string{bad}}, CustomerGroups: []string{bad}, ExcludedCodes: []string{bad}}}})
		resp, err := promotions.CloseAndRecv()
		told("promotions", resp, resp.GetErrors(), err)
	}
	orders, err := p.data.Orders.UpsertOrders(ctx)
	if err == nil {
		_ = orders.Send(&orderv1.UpsertOrdersRequest{StoreId: "leaky", Orders: []*orderv1.Order{{OrderId: bad, CustomerId: bad, Email: strings.Repeat(plant, 99),
			Total: money, Subtotal: money, Discount: &commonv1.Money{CurrencyCode: "EUR"}, Items: []*orderv1.OrderItem{{ProductId: bad}}}}})
		resp, err := orders.CloseAndRecv()
		told("orders", resp, resp.GetErrors(), err)
	}
	policies, err := p.data.Policies.UpsertPolicies(ctx)
	if err == nil {
		_ = policies.Send(&policyv1.UpsertPoliciesRequest{StoreId: "leaky", Policies: []*policyv1.Policy{{PolicyId: bad, Language: bad, Url: bad, Body: "# " + plant}}})
		resp, err := policies.CloseAndRecv()
		told("policies", resp, resp.GetErrors(), err)
	}
	changed, err := p.data.Orders.UpsertOrders(ctx)
	if err == nil {
		_ = changed.Send(&orderv1.UpsertOrdersRequest{StoreId: bad})
		_, err = changed.CloseAndRecv()
		p.note("a bad store", err, nil)
	}
}

var leakMessages = []string{
	plant + " shoes, where is my order O-1, my mail is " + plant + "@mail.example",
	"Do you have " + plant + " shoes, what is your " + plant + " return policy, and is there a coupon for my cart?",
}

// TestNothingLeaks makes turns and writes whose every text, address and key is a canary, with endpoints that repeat what they
// are sent, panics, bad requests and a Redis that goes away. It then searches all that is logged, at debug level, traced,
// measured and told to callers. Ids of stores, threads, turns, orders and products may be there; a customer's may not.
func TestNothingLeaks(t *testing.T) {
	for _, capture := range []bool{false, true} {
		t.Run(fmt.Sprintf("capture content %v", capture), func(t *testing.T) { nothingLeaks(t, capture) })
	}
}

func nothingLeaks(t *testing.T, capture bool) {
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	closeRedis := func() { _ = redisServer.Close() }
	t.Cleanup(closeRedis)
	address, err := url.Parse(redisServer.URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := address.User.Password()
	logs := &logLines{}
	logger := slog.New(telemetry.LogHandler(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	before := slog.Default()
	slog.SetDefault(logger) // for libraries
	state.LogTo(logger)
	t.Cleanup(func() { slog.SetDefault(before); state.LogTo(before) })
	began := len(spans.Ended())

	e := &leakyEndpoint{}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "baggage", "k="+plant)
	p := newLeakProbe(t, redisServer.URL(), e, logger, func(cfg *suite.Config) { cfg.CaptureContent = capture })
	for _, id := range []string{"leaky", "remote"} {
		if err := load.Demo(ctx, p.data, leakySet(id)); err != nil {
			t.Fatal(err)
		}
	}
	e.set(nil)
	p.asks(ctx, "leaky", "t1", leakMessages...)
	for name, fault := range leakFaults {
		e.set(fault)
		thread := "t-" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "")
		p.asks(ctx, "remote", thread, leakMessages[0])
		p.asks(ctx, "leaky", thread, leakMessages[1])
		call(p, ctx, p.data.Orders.GetOrder, &orderv1.GetOrderRequest{StoreId: "remote", CustomerId: plant + "customer", OrderId: "O-1"})
		call(p, ctx, p.data.Orders.GetGuestOrder, &orderv1.GetGuestOrderRequest{StoreId: "remote", OrderId: "O-1", Proof: &orderv1.GetGuestOrderRequest_Email{Email: plant + "@mail.example"}})
	}
	e.set(nil)
	secrets := p.credentials(t)
	p.badRequests(ctx)
	p.panics(t, ctx, redisServer.URL(), logger, capture)
	closeRedis()
	late, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	p.asks(late, "leaky", "t1", leakMessages[0])
	p.badRequests(late)

	for _, code := range []string{"OK", "InvalidArgument", "NotFound", "Internal", "Unavailable", "ResourceExhausted", "FailedPrecondition",
		"Unauthenticated", "PermissionDenied"} {
		if p.failed[code] == 0 {
			t.Errorf("no call ended with %s, only %v", code, p.failed)
		}
	}
	leaks := func(text string) bool {
		return strings.Contains(strings.ToLower(text), plant) || strings.Contains(text, password) ||
			slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) })
	}
	for _, told := range p.told {
		if leaks(told) {
			t.Errorf("a caller is told: %.600s", told)
		}
	}
	lines := strings.Split(logs.String(), "\n")
	levels := make(map[string]int)
	for _, line := range lines {
		for _, level := range []string{"DEBUG", "INFO", "WARN", "ERROR"} {
			if strings.Contains(line, `"level":"`+level+`"`) {
				levels[level]++
			}
		}
		if leaks(line) {
			t.Errorf("logged: %.600s", line)
		}
	}
	isPanic := func(line string) bool { return strings.Contains(line, `"msg":"panic"`) }
	if len(levels) < 4 || !slices.ContainsFunc(lines, isPanic) {
		t.Errorf("lines by level: %v; or no call panicked", levels)
	}
	captured := 0
	ended := spans.Ended()[began:]
	for _, s := range ended {
		captured += leaksOfSpan(t, s, capture, leaks)
	}
	if len(ended) < 100 || capture != (captured > 0) {
		t.Errorf("%d spans, %d attributes with content", len(ended), captured)
	}
	var points metricdata.ResourceMetrics
	if err := metrics.Collect(t.Context(), &points); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(points.ScopeMetrics)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); leaks(text) || !strings.Contains(text, telemetry.MetricModelDuration) {
		t.Errorf("measured: %.600s", text)
	}
}

// contentKeys are the attributes that may hold content where it is captured.
var contentKeys = []string{telemetry.KeyToolArguments, telemetry.KeyToolResult, telemetry.KeyEndpointMessage}

// leaksOfSpan reports what a span tells, and counts the attributes that may do so.
func leaksOfSpan(t *testing.T, s sdktrace.ReadOnlySpan, capture bool, leaks func(string) bool) (captured int) {
	t.Helper()
	description := s.Status().Description
	if capture && strings.HasPrefix(s.Name(), "execute_tool") {
		description = "" // the error of a tool
	}
	if leaks(s.Name() + description + fmt.Sprint(s.Events(), s.Links(), s.Resource())) {
		t.Errorf("span %q: status %q, events %v", s.Name(), s.Status().Description, s.Events())
	}
	for _, a := range s.Attributes() {
		text := string(a.Key) + a.Value.String()
		if !leaks(text) {
			continue
		}
		secret := strings.Contains(text, plant+"modelkey") || strings.Contains(text, plant+"token") || strings.Contains(text, "secret")
		if capture && slices.Contains(contentKeys, string(a.Key)) && !secret {
			captured++
			continue
		}
		t.Errorf("span %q has %s=%.300q", s.Name(), a.Key, a.Value.String())
	}
	return captured
}

// panics asks another system on the same Redis, whose reranker panics.
func (p *leakProbe) panics(t *testing.T, ctx context.Context, redisURL string, logger *slog.Logger, capture bool) {
	t.Helper()
	other := newLeakProbe(t, redisURL, &leakyEndpoint{}, logger, func(cfg *suite.Config) {
		cfg.Search.Reranker, cfg.CaptureContent = panicking{}, capture
	})
	call(other, ctx, other.data.Catalog.SearchProducts, &catalogv1.SearchProductsRequest{StoreId: "leaky", Query: plant + " shoe"})
	other.asks(ctx, "leaky", "t-panic", leakMessages...)
	p.told = append(p.told, other.told...)
	for code, n := range other.failed {
		p.failed[code] += n
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }
