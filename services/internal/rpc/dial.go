package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // without it, clients do not watch the health of servers
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
)

// DialConfig says how a client connection behaves. Its zero value suits a plaintext peer.
type DialConfig struct {
	// Network resolves "inproc:///NAME" targets. May be nil if there are none.
	Network *Network
	// Credentials are the client's TLS credentials. Nil means plaintext.
	Credentials credentials.TransportCredentials
	// DefaultDeadline bounds calls whose context has no deadline. Zero means DefaultDeadline.
	DefaultDeadline time.Duration
	// MaxMessageBytes is the largest message to receive. Zero means DefaultMaxMessageBytes.
	MaxMessageBytes int
	// Token is sent with calls that have no scope in their context, to prove who calls. Empty: none. It does not go to where
	// ForwardCaller finds a token.
	Token string
	// ForwardCaller sends the token of the call that is being served with calls that have no scope in their context.
	ForwardCaller bool
	// External says that the peer is not one of Quartet's services, such as a store's own cart service. Neither a scope nor a token
	// is sent to it, so it cannot read from Quartet's services in their name.
	External bool
	// Idempotent lists the methods that may be repeated when the peer is unavailable, such as
	// catalogv1.CatalogService_GetProduct_FullMethodName. No other method is ever sent twice.
	Idempotent []string
}

// Dial returns a connection to target. It connects with the first call, not before, and balances calls over all healthy
// addresses of the target. A target without a scheme is looked up in DNS; "inproc:///NAME" is a listener of
// DialConfig.Network. Calls to a peer that is down fail at once; Status gives their errors a RetryInfo.
// The caller closes the connection.
func Dial(target string, cfg DialConfig) (*grpc.ClientConn, error) {
	config, err := serviceConfig(cfg.Idempotent)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", target, err)
	}
	creds := cfg.Credentials
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	cfg.DefaultDeadline = orDefault(cfg.DefaultDeadline, DefaultDeadline)
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(config),
		grpc.WithDisableServiceConfig(), // a config from DNS must not replace the one above
		grpc.WithUnaryInterceptor(unaryClient(cfg)),
		grpc.WithStreamInterceptor(streamClient(cfg)),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())))),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(orDefault(cfg.MaxMessageBytes, DefaultMaxMessageBytes))),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	}
	address, more, err := resolve(target, cfg.Network)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", target, err)
	}
	conn, err := grpc.NewClient(address, append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", target, err)
	}
	return conn, nil
}

// resolve returns the target for gRPC and the options that reach it.
func resolve(target string, n *Network) (string, []grpc.DialOption, error) {
	if target == "" {
		return "", nil, errors.New("the target is empty")
	}
	if name, ok := strings.CutPrefix(target, inprocScheme); ok {
		if n == nil {
			return "", nil, errors.New("an in-process target needs a Network")
		}
		return "passthrough:///" + name, []grpc.DialOption{grpc.WithContextDialer(n.dial)}, nil
	}
	scheme, _, ok := strings.Cut(target, "://")
	switch {
	case ok && resolver.Get(scheme) == nil:
		return "", nil, fmt.Errorf("unknown scheme %q", scheme) // gRPC would look all of it up in DNS
	case ok && scheme == "dns":
		return target, []grpc.DialOption{grpc.WithResolvers(pollingDNS{})}, nil
	case ok, strings.HasPrefix(target, "unix:"):
		return target, nil, nil
	}
	return "dns:///" + target, []grpc.DialOption{grpc.WithResolvers(pollingDNS{})}, nil
}

type (
	serviceConfigJSON struct {
		LoadBalancing []map[string]struct{} `json:"loadBalancingConfig"`
		HealthCheck   healthCheckJSON       `json:"healthCheckConfig"`
		Methods       []methodConfigJSON    `json:"methodConfig,omitempty"`
		Throttling    *throttlingJSON       `json:"retryThrottling,omitempty"`
	}
	healthCheckJSON struct {
		ServiceName string `json:"serviceName"`
	}
	methodConfigJSON struct {
		Names []methodNameJSON `json:"name"`
		Retry retryPolicyJSON  `json:"retryPolicy"`
	}
	methodNameJSON struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	retryPolicyJSON struct {
		MaxAttempts       int      `json:"maxAttempts"`
		InitialBackoff    string   `json:"initialBackoff"`
		MaxBackoff        string   `json:"maxBackoff"`
		BackoffMultiplier float64  `json:"backoffMultiplier"`
		Codes             []string `json:"retryableStatusCodes"`
	}
	throttlingJSON struct {
		MaxTokens  int     `json:"maxTokens"`
		TokenRatio float64 `json:"tokenRatio"`
	}
)

// serviceConfig builds gRPC's service config: every healthy address in turn, and retries of the idempotent methods only.
func serviceConfig(idempotent []string) (string, error) {
	cfg := serviceConfigJSON{LoadBalancing: []map[string]struct{}{{"round_robin": {}}}}
	if len(idempotent) > 0 {
		m := methodConfigJSON{Retry: retryPolicyJSON{
			MaxAttempts: 3, InitialBackoff: "0.1s", MaxBackoff: "1s", BackoffMultiplier: 2, Codes: []string{"UNAVAILABLE"},
		}}
		for _, full := range idempotent {
			service, method, ok := strings.Cut(strings.TrimPrefix(full, "/"), "/")
			if !ok || service == "" || method == "" {
				return "", fmt.Errorf("idempotent method %q must be of the form service/Method", full)
			}
			m.Names = append(m.Names, methodNameJSON{Service: service, Method: method})
		}
		cfg.Methods = []methodConfigJSON{m}
		// When many calls fail, stop adding to the load.
		cfg.Throttling = &throttlingJSON{MaxTokens: 10, TokenRatio: 0.1}
	}
	b, err := json.Marshal(cfg)
	if err != nil {
		return "", fmt.Errorf("service config: %w", err)
	}
	return string(b), nil
}
