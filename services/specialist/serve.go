package specialist

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"time"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// Config says where a specialist is served and what answers.
type Config struct {
	// Model writes the answers. See [OpenModel]. Required.
	Model agentloop.Model
	// Price of the model's tokens. Nil: costs are unknown.
	Price *agentloop.Price
	// Listen is the address to listen on, such as ":7311". Without TLSFolder it must be of the loopback interface, unless Insecure
	// is set. Required unless Serve gets listeners.
	Listen string
	// HealthListen is a further address that serves nothing but grpc.health.v1, in plaintext, for probes that cannot do TLS. Empty:
	// none.
	HealthListen string
	// ScopeKeys is the file of public keys with which the gateway's scopes are verified: scope-keys/keys.jwks of 'quartet certs'.
	// It may change at any time. Required.
	ScopeKeys string
	// TLSFolder has tls.crt, tls.key and ca.crt, which may change at any time. The certificate names the specialist:
	// 'quartet certs --specialists NAME' makes it. Only the gateway may call then. Empty: plaintext.
	TLSFolder string
	// TrustDomain is the trust domain of the certificates. Empty: that of 'quartet certs'.
	TrustDomain string
	// Insecure allows other machines to connect without TLS.
	Insecure bool
	// TelemetryEndpoint is the OTLP/gRPC receiver of traces and metrics, such as "http://collector:4317". Empty: none.
	TelemetryEndpoint string
	// DrainDelay is how long a stopping server still accepts calls after its health is NOT_SERVING.
	DrainDelay time.Duration
	// Logger gets a line for each answer, and errors; never text of shoppers. Nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock of the turns. Nil: time.Now.
	Now func() time.Time
}

// deps returns what the shared implementation needs.
func (c Config) deps() specialist.Deps {
	return specialist.Deps{Model: c.Model, Price: c.Price, Logger: c.Logger, Now: c.Now}
}

// validName is what the gateway takes as the name of a further specialist.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// New checks a definition and a configuration, and returns the specialist ready to be served or asked.
func New(def Definition, cfg Config) (*Specialist, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if def.Name != "" && !validName.MatchString(def.Name) {
		return nil, fmt.Errorf("specialist %q: the name must be 1 to 64 lower-case letters, digits and '-'", def.Name)
	}
	service, err := specialist.New(def.internal(), cfg.deps())
	if err != nil {
		return nil, err
	}
	return &Specialist{name: def.Name, cfg: cfg, service: service}, nil
}

// Specialist is a specialist that is ready. It is safe for concurrent use.
type Specialist struct {
	name    string
	cfg     Config
	service *specialist.Server
}

// Serve serves the specialist until ctx ends, and then lets running answers finish. It listens where Config says, or else on the
// listeners, which it owns. Health, for probes, is grpc.health.v1.
func (s *Specialist) Serve(ctx context.Context, listeners ...net.Listener) (err error) {
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // twice, unless it was not served
		}
	}()
	cfg := s.cfg
	if cfg.ScopeKeys == "" {
		return fmt.Errorf("specialist %s: ScopeKeys is required; 'quartet certs' makes the file", s.name)
	}
	server := rpc.ServerConfig{Name: s.name, Logger: cfg.Logger, DrainDelay: cfg.DrainDelay}
	if server.Scopes, err = scope.OpenVerifier(cfg.ScopeKeys, cfg.Logger); err != nil {
		return err
	}
	listen := func() (net.Listener, error) { return rpc.Listen(cfg.Listen, cfg.Insecure) }
	if cfg.TLSFolder != "" {
		tls, err := mtls.Open(mtls.Config{Folder: cfg.TLSFolder, TrustDomain: cfg.TrustDomain, Role: s.name, Logger: cfg.Logger})
		if err != nil {
			return err
		}
		const gateway = "gateway"
		server.Credentials = tls.Server()
		server.Peers = &mtls.Rules{TrustDomain: tls.TrustDomain(), Roles: []string{gateway}, Only: map[string][]string{
			specialistv1.SpecialistService_ServiceDesc.ServiceName: {gateway},
		}}
		listen = func() (net.Listener, error) { return (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen) }
	}
	process, err := telemetry.Setup(ctx, telemetry.Config{
		ServiceName: "quartet-" + s.name, Endpoint: cfg.TelemetryEndpoint, Logger: cfg.Logger,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Shutdown(context.WithoutCancel(ctx))) }()
	if len(listeners) == 0 {
		lis, err := listen()
		if err != nil {
			return err
		}
		listeners = append(listeners, lis)
	}
	if cfg.HealthListen != "" {
		health, err := rpc.ListenHealth(cfg.HealthListen)
		if err != nil {
			return err
		}
		listeners = append(listeners, health)
	}
	running := rpc.NewServer(server)
	s.service.Register(running)
	cfg.Logger.Info("serving", "service", s.name, "address", listeners[0].Addr().String(), "tls", cfg.TLSFolder != "")
	return running.Serve(ctx, listeners...)
}
