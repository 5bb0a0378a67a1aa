package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/scope/scopetest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	routeStream  = grpc.ServerStreamingServer[routerv1.RouteResponse]
	answerStream = grpc.ServerStreamingServer[specialistv1.AnswerResponse]
)

// fakeRouter splits a message such as "search: shoes | support: returns". A nil func does just that. It remembers the
// specialists that it is sent, as a router does, until it is made to forget them.
type fakeRouter struct {
	routerv1.UnimplementedRouterServiceServer
	route func(*routerv1.RouteRequest, routeStream) error

	mu       sync.Mutex
	requests []*routerv1.RouteRequest // those that it took, with the specialists that they name
	known    map[string][]*specialistv1.Specialist
	told     int // how often specialists were sent
}

func (f *fakeRouter) Route(req *routerv1.RouteRequest, stream routeStream) error {
	if !f.take(req) {
		return f.unknown()
	}
	if f.route != nil {
		return f.route(req, stream)
	}
	return stream.Send(&routerv1.RouteResponse{Decision: split(req.GetMessage())})
}

// take reports whether the router knows the specialists of a request, and takes it if so.
func (f *fakeRouter) take(req *routerv1.RouteRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(req.GetSpecialists()) > 0 {
		f.told++
		if f.known == nil {
			f.known = map[string][]*specialistv1.Specialist{}
		}
		f.known[req.GetSpecialistsVersion()] = req.GetSpecialists()
	}
	req.Specialists = f.known[req.GetSpecialistsVersion()]
	if len(req.GetSpecialists()) == 0 {
		return false
	}
	f.requests = append(f.requests, req)
	return true
}

// unknown is how a router refuses.
func (f *fakeRouter) unknown() error {
	return &fault.Precondition{
		Reason: commonv1.ErrorReason_ERROR_REASON_SPECIALISTS_UNKNOWN, Subject: "specialists", Description: "send them",
	}
}

// forget is a restart, or another router that is asked next. It returns how often specialists were sent until now.
func (f *fakeRouter) forget() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.known)
	return f.told
}

func (f *fakeRouter) lastRequest() *routerv1.RouteRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[len(f.requests)-1]
}

// split makes a final decision of a message such as "search: shoes | support: returns".
func split(message string) *routerv1.RoutingDecision {
	d := &routerv1.RoutingDecision{
		Stage: routerv1.DecisionStage_DECISION_STAGE_FINAL, Source: routerv1.DecisionSource_DECISION_SOURCE_RULES, Certainty: 1,
	}
	for i, part := range strings.Split(message, " | ") {
		name, query, _ := strings.Cut(part, ": ")
		d.Assignments = append(d.Assignments, &routerv1.Assignment{
			AssignmentId: fmt.Sprintf("a%d", i+1), Specialist: name, SubQuery: query, Reason: "the test says so", Confidence: 0.8,
		})
	}
	return d
}

// fakeSpecialist says "NAME says SUB-QUERY." unless told otherwise.
type fakeSpecialist struct {
	specialistv1.UnimplementedSpecialistServiceServer
	name      string
	cart      bool                     // it reads the cart
	published *specialistv1.Specialist // what it describes itself with; nil: a plain text
	describe  func(context.Context) error
	answer    func(*specialistv1.AnswerRequest, answerStream) error

	mu       sync.Mutex
	requests []*specialistv1.AnswerRequest
	scopes   []scope.Scope
}

func (f *fakeSpecialist) Describe(ctx context.Context, _ *specialistv1.DescribeRequest) (*specialistv1.DescribeResponse, error) {
	if f.describe != nil {
		if err := f.describe(ctx); err != nil {
			return nil, err
		}
	}
	if f.published != nil {
		return &specialistv1.DescribeResponse{Specialist: f.published}, nil
	}
	return &specialistv1.DescribeResponse{Specialist: &specialistv1.Specialist{
		Name: f.name, Purpose: "Answers what concerns " + f.name + ".", Available: true,
		ReadsCart: f.cart,
	}}, nil
}

func (f *fakeSpecialist) Answer(req *specialistv1.AnswerRequest, stream answerStream) error {
	sc, _ := scope.FromContext(stream.Context())
	f.mu.Lock()
	f.requests, f.scopes = append(f.requests, req), append(f.scopes, sc)
	f.mu.Unlock()
	if f.answer != nil {
		return f.answer(req, stream)
	}
	return say(stream, fmt.Sprintf("%s says %s.", f.name, req.GetSubQuery()))
}

func (f *fakeSpecialist) calls() ([]*specialistv1.AnswerRequest, []scope.Scope) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests), slices.Clone(f.scopes)
}

// priced answers as a fake specialist does, for 15 tokens.
func (f *fakeSpecialist) priced(req *specialistv1.AnswerRequest, stream answerStream) error {
	return sayAnswer(stream, &specialistv1.Answer{
		Text: fmt.Sprintf("%s says %s.", f.name, req.GetSubQuery()), Confidence: 0.9,
		Usage: &commonv1.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 2},
	})
}

// say sends an answer with confidence 0.9, word by word and then whole.
func say(stream answerStream, text string) error {
	return sayAnswer(stream, &specialistv1.Answer{Text: text, Confidence: 0.9})
}

func sayAnswer(stream answerStream, a *specialistv1.Answer) error {
	for _, piece := range strings.SplitAfter(a.GetText(), " ") {
		if err := stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_TextDelta{
			TextDelta: &specialistv1.TextDelta{Text: piece}}}); err != nil {
			return err
		}
	}
	return stream.Send(&specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_Answer{Answer: a}})
}

// fixture is a gateway with everything around it: a router and four specialists over in-memory gRPC, and a Redis.
type fixture struct {
	t           *testing.T
	network     *rpc.Network
	redis       *miniredis.Miniredis
	router      *fakeRouter
	specialists map[string]*fakeSpecialist
	stops       map[string]func()
	config      Config        // what differs from the defaults
	ahead       time.Duration // of the Redis server's clock
	redisFault  redisFault

	service *Service
	client  gatewayv1.GatewayServiceClient
	stores  gatewayv1.StoreServiceClient
}

var specialistNames = []string{"search", "recommend", "promotions", "support"}

// reads are what specialists may read.
var reads = map[string][]scope.Read{
	"search": {scope.ReadCatalog}, "recommend": {scope.ReadCatalog, scope.ReadCarts},
	"promotions": {scope.ReadPromotions, scope.ReadCarts}, "support": {scope.ReadOrders},
}

// newFixture prepares a fixture; start opens it. Inside a synctest bubble, Redis is made outside and handed in.
func newFixture(t *testing.T, redis *miniredis.Miniredis) *fixture {
	h := &fixture{
		t: t, network: rpc.NewNetwork(), redis: redis, router: &fakeRouter{},
		specialists: map[string]*fakeSpecialist{}, stops: map[string]func(){},
	}
	h.config.Sealer = servicetest.Sealer(t) // what holds for encrypted threads holds for others
	for _, name := range specialistNames {
		h.specialists[name] = &fakeSpecialist{name: name}
	}
	return h
}

// open starts a fixture with a store called "demo".
func open(t *testing.T, model agentloop.Model) *fixture {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Model = model
	h.start()
	return h
}

// openOnSunday is open on the day that the line sunday names in prompts.
func openOnSunday(t *testing.T, model agentloop.Model) *fixture {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Model, h.config.FastModel = model, model
	h.config.Now = noonOnSunday
	h.start()
	return h
}

func noonOnSunday() time.Time { return time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC) }

const sunday = "Today is Sunday, 22 November 2026 (Europe/Berlin).\n"

// openPlain is open with a Redis in plaintext.
func openPlain(t *testing.T) *fixture {
	h := newFixture(t, miniredis.RunT(t))
	h.config.Sealer = nil
	h.start()
	return h
}

func (h *fixture) start() {
	h.t.Helper()
	h.serveRouter()
	for _, name := range specialistNames {
		h.serveSpecialist(name)
	}
	h.service = h.serveGateway("gateway", h.redisClient())
	conn := h.dial("gateway")
	h.client, h.stores = gatewayv1.NewGatewayServiceClient(conn), gatewayv1.NewStoreServiceClient(conn)
	h.putStore("demo")
}

// serveGateway serves a gateway in the fixture, of which there may be several.
func (h *fixture) serveGateway(name string, redis redis.UniversalClient) *Service {
	h.t.Helper()
	cfg := h.config
	for _, name := range specialistNames {
		if !slices.ContainsFunc(cfg.Specialists, func(p Peer) bool { return p.Name == name }) {
			client := &primedClient{SpecialistServiceClient: specialistv1.NewSpecialistServiceClient(h.dial(name))}
			cfg.Specialists = append(cfg.Specialists, Peer{Name: name, Client: client, Reads: reads[name]})
		}
	}
	cfg.Redis, cfg.Signer = redis, scopetest.Signer()
	cfg.Router = routerv1.NewRouterServiceClient(h.dial("router"))
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close(context.Background()) })
	h.prime(s)
	h.serve(name, s.Register)
	return s
}

// primedClient is a client that describes its specialist without a call until primed is set.
type primedClient struct {
	specialistv1.SpecialistServiceClient
	primed atomic.Bool
}

func (c *primedClient) Describe(
	ctx context.Context, req *specialistv1.DescribeRequest, opts ...grpc.CallOption,
) (*specialistv1.DescribeResponse, error) {
	if c.primed.Load() {
		return c.SpecialistServiceClient.Describe(ctx, req, opts...)
	}
	return &specialistv1.DescribeResponse{Specialist: &specialistv1.Specialist{Available: true}}, nil
}

// prime lets every specialist describe itself for a store that no test uses, so that on a slow machine a description stands in
// for a first Describe that is late.
func (h *fixture) prime(s *Service) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.registry.Describe(ctx, "primed")
	for _, p := range s.cfg.Specialists {
		if c, ok := p.Client.(*primedClient); ok {
			c.primed.Store(true)
		}
	}
}

// newFanout returns a fanout as that of the gateway, with a waste limiter that has counted nothing.
func (h *fixture) newFanout() *fanout.Fanout {
	h.t.Helper()
	f, err := newFanout(h.service.cfg, h.service.registry)
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// ofCaller is what binds a request id to its caller in keys.
var ofCaller = regexp.MustCompile(":request:[0-9a-f]{32}/")

// key returns the key of store demo that ends in ":" and suffix, without the callers of requests, or suffix if there is none.
func (h *fixture) key(suffix string) string {
	for _, key := range h.redis.Keys() {
		if strings.HasPrefix(key, "quartet:{demo") && strings.HasSuffix(ofCaller.ReplaceAllString(key, ":request:"), ":"+suffix) {
			return key
		}
	}
	return suffix
}

func (h *fixture) redisClient() redis.UniversalClient {
	c := redis.NewClient(&redis.Options{
		Addr: h.redis.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c.AddHook(&h.redisFault)
	h.t.Cleanup(func() { c.Close() })
	return c
}

func (h *fixture) serveRouter() {
	h.serve("router", func(r grpc.ServiceRegistrar) { routerv1.RegisterRouterServiceServer(r, h.router) })
}

func (h *fixture) serveSpecialist(name string) {
	h.serve(name, func(r grpc.ServiceRegistrar) { specialistv1.RegisterSpecialistServiceServer(r, h.specialists[name]) })
}

// serve serves one service until the test ends or stop is called.
func (h *fixture) serve(name string, register func(grpc.ServiceRegistrar)) {
	h.t.Helper()
	h.serveWith(name, rpc.ServerConfig{}, register)
}

func (h *fixture) serveWith(name string, cfg rpc.ServerConfig, register func(grpc.ServiceRegistrar)) {
	h.t.Helper()
	lis, err := h.network.Listen(name)
	if err != nil {
		h.t.Fatal(err)
	}
	cfg.Name, cfg.Scopes, cfg.DrainTimeout = name, scopetest.Verifier(), time.Millisecond
	s := rpc.NewServer(cfg)
	register(s)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ctx, lis); err != nil {
			h.t.Errorf("serve %s: %v", name, err)
		}
	})
	h.stops[name] = func() { cancel(); wg.Wait() }
	h.t.Cleanup(h.stops[name])
}

func (h *fixture) dial(name string) *grpc.ClientConn {
	h.t.Helper()
	conn, err := rpc.Dial("inproc:///"+name, rpc.DialConfig{Network: h.network})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	return conn
}

func (h *fixture) putStore(id string) {
	h.t.Helper()
	_, err := h.stores.PutStore(h.t.Context(), &gatewayv1.PutStoreRequest{Store: &gatewayv1.Store{
		StoreId: id, Name: "Store " + id, DefaultLocale: "en", CurrencyCode: "EUR", TimeZone: "Europe/Berlin",
	}})
	if err != nil {
		h.t.Fatal(err)
	}
}

// ask asks as a guest of store demo and wants a reply.
func (h *fixture) ask(message string) *gatewayv1.AskResponse {
	h.t.Helper()
	reply, err := h.client.Ask(h.t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: message})
	if err != nil {
		h.t.Fatalf("ask %q: %v", message, err)
	}
	return reply
}

// askStream returns all events of a turn, and the error that ended it if any.
func (h *fixture) askStream(ctx context.Context, req *gatewayv1.AskRequest) (events []*gatewayv1.AskStreamResponse, err error) {
	stream, err := h.client.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: req})
	if err != nil {
		return nil, err
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
}

// textOf adds up the text deltas of a turn and returns its answer.
func textOf(events []*gatewayv1.AskStreamResponse) (text string, answer *gatewayv1.AskResponse) {
	for _, ev := range events {
		text += ev.GetTextDelta().GetText()
		if a := ev.GetAnswer(); a != nil {
			answer = a
		}
	}
	return text, answer
}
