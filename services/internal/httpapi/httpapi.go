// Package httpapi serves the gateway's RPCs as JSON over HTTP, and AskStream as server-sent events, for front ends that cannot
// speak gRPC. The paths are in proto/http.yaml, and a description for other programs is in
// proto/openapi.
//
// Each request becomes one gRPC call of the gateway, so tokens, rights, limits, deadlines and errors are those of gRPC. The package
// only translates. It must not import a service.
package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/rs/cors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	gatewayhttp "github.com/quartet-commerce/quartet/services/internal/httpapi/gen/quartet/gateway/v1"
)

const (
	// maxBody is the largest body of a request: the largest message, with every character escaped.
	maxBody = 256 << 10
	// maxHeaderBytes is that of gRPC calls.
	maxHeaderBytes = 32 << 10
	// clientTimeout is how long a request waits for its client to send, and a reply for its client to read.
	clientTimeout = 30 * time.Second
	// idleTimeout is when a connection without requests is closed.
	idleTimeout = 5 * time.Minute
)

// Config says what is served, and to whom.
type Config struct {
	// Conn reaches the gateway without credentials of its own. Required. The caller closes it after Serve.
	Conn grpc.ClientConnInterface
	// Origins are the web origins, such as "https://shop.example", whose pages may call. Empty: none but pages of the listener's own.
	Origins []string
	// TLS is what the listener serves with. Nil: plaintext.
	TLS *tls.Config
	// DrainDelay is how long a stopping server still takes requests.
	DrainDelay time.Duration
	// DrainTimeout is how long running requests may take after that.
	DrainTimeout time.Duration
	// Logger gets the errors of connections. Nil: slog.Default().
	Logger *slog.Logger
}

// Server is an HTTP server of the API.
type Server struct {
	cfg     Config
	handler http.Handler
}

// New returns a server for Serve.
func New(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	json := messages{&runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{}}}
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, json),
		runtime.WithMarshalerOption(eventStreamType, eventStream{json}),
		// The token, which goes through in any case, is the only header that becomes metadata of the call.
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(writeError),
		runtime.WithRoutingErrorHandler(writeRoutingError),
		runtime.WithDisablePathLengthFallback(), // a POST is no other method
		runtime.WithDisableHTTPMethodOverride(),
	)
	if err := gatewayhttp.RegisterGatewayServiceHandlerClient(context.Background(), mux, client{gatewayv1.NewGatewayServiceClient(cfg.Conn)}); err != nil {
		return nil, fmt.Errorf("http API: %w", err)
	}
	sameOrigin := http.NewCrossOriginProtection() // browsers send some requests of other pages without asking first
	sameOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, status.New(codes.PermissionDenied, "pages of this origin may not call; --http-cors-origin allows an origin"))
	}))
	for _, origin := range cfg.Origins {
		if err := CheckOrigin(origin); err != nil {
			return nil, err
		}
		if err := sameOrigin.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("http API: %w", err)
		}
	}
	handler := sameOrigin.Handler(bounded(traced(mux)))
	if len(cfg.Origins) > 0 { // without origins, the library would allow all
		handler = cors.New(cors.Options{
			AllowedOrigins: cfg.Origins,
			AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "Grpc-Timeout", "Traceparent", "Tracestate"},
			ExposedHeaders: []string{"Retry-After"},
			MaxAge:         600,
		}).Handler(handler)
	}
	return &Server{cfg: cfg, handler: handler}, nil
}

// NewFor returns a server of another handler, which is drained and bounded like the API. Of cfg it uses neither Conn nor Origins.
func NewFor(handler http.Handler, cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Server{cfg: cfg, handler: bounded(traced(handler))}
}

// CheckOrigin returns an error unless origin is a web origin: a scheme and a host, without a path or a wildcard.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host || strings.Contains(origin, "*") {
		return fmt.Errorf("origin %q: want a scheme and a host, such as https://shop.example", origin)
	}
	return nil
}

// Serve serves until ctx ends, then lets running requests finish. It owns the listener. Call it once.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	server := &http.Server{
		Handler: s.handler, TLSConfig: s.cfg.TLS, ReadHeaderTimeout: clientTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug), // what clients do wrong
	}
	served := make(chan error, 1)
	go func() {
		if s.cfg.TLS != nil {
			served <- server.ServeTLS(lis, "", "")
		} else {
			served <- server.Serve(lis)
		}
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP on %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
	if s.cfg.DrainDelay > 0 {
		<-time.After(s.cfg.DrainDelay)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // cancels what still runs
	}
	<-served
	return err
}

// traced continues the trace that the client began.
func traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := otel.GetTextMapPropagator().Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// bounded bounds the size of a request, and the time that its client may take to send it and to read the reply.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := http.NewResponseController(w)
		// Not the server's ReadTimeout, which would also cancel a turn that takes longer.
		_ = conn.SetReadDeadline(time.Now().Add(clientTimeout))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			code := codes.InvalidArgument
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				code = codes.ResourceExhausted
			}
			writeStatus(w, status.Newf(code, "the body cannot be read: %v", err))
			return
		}
		_ = conn.SetReadDeadline(time.Time{})
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(&boundedWriter{w, conn}, r)
	})
}

// boundedWriter gives the client clientTimeout for each write.
type boundedWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// Unwrap lets http.ResponseController flush.
func (w *boundedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *boundedWriter) Write(p []byte) (int, error) {
	_ = w.conn.SetWriteDeadline(time.Now().Add(clientTimeout))
	return w.ResponseWriter.Write(p)
}

// writeError writes an error as google.rpc.Status in JSON, and when to come back as Retry-After.
func writeError(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	for _, d := range status.Convert(err).Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			seconds := int64((retry.GetRetryDelay().AsDuration() + time.Second - 1) / time.Second)
			w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		}
	}
	runtime.DefaultHTTPErrorHandler(ctx, mux, m, w, r, err)
}

// writeRoutingError writes an error for a request that no route takes. The library has 501 for a method that a path does not take.
func writeRoutingError(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, httpStatus int) {
	if httpStatus != http.StatusMethodNotAllowed {
		runtime.DefaultRoutingErrorHandler(ctx, mux, m, w, r, httpStatus)
		return
	}
	writeError(ctx, mux, m, w, r, &runtime.HTTPStatusError{
		HTTPStatus: httpStatus, Err: status.Errorf(codes.Unimplemented, "%s is not a method of %s", r.Method, r.URL.Path),
	})
}

// writeStatus writes an error that is not of a call.
func writeStatus(w http.ResponseWriter, st *status.Status) {
	body, err := protojson.Marshal(st.Proto())
	if err != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(runtime.HTTPStatusFromCode(st.Code()))
	_, _ = w.Write(body) // the client may be gone
}
