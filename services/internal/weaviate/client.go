// Package weaviate is a client of a Weaviate cluster: collections with tenants, objects, and queries by filter and by vector.
// It writes by REST and reads by gRPC, with messages of its own: the official Go client would bring the server's models along, with
// them go-openapi and a MongoDB driver.
//
// It knows nothing of products and imports no service.
package weaviate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// callTime bounds a call with all its attempts; the caller's deadline may be sooner.
	callTime = 30 * time.Second
	// readTime, longTime and writeTime bound one attempt: to read little, to read or count much, and to write. A write to a
	// cluster that is just electing a leader can hang for long; another node answers sooner.
	readTime  = 3 * time.Second
	longTime  = 10 * time.Second
	writeTime = 10 * time.Second
	// dialTime bounds connecting to a node.
	dialTime = time.Second
	// backoff is the wait after every node has failed. It doubles with each further round, up to maxBackoff.
	backoff    = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
	// maxBody bounds an answer.
	maxBody = 256 << 20
	// maxMessage bounds what an error repeats of a refusal.
	maxMessage = 500
)

// defaultQueryPort is the server's own default for gRPC.
const defaultQueryPort = "50051"

// Client talks to the nodes of one cluster: to one of them until it fails, and then to the next. All that it sends may be sent
// again, and is, within the caller's deadline. It is safe for concurrent use.
type Client struct {
	nodes []*node
	key   string
	http  *http.Client
	at    atomic.Int64 // the node that is asked, modulo their number
}

// node is one server.
type node struct {
	url     string // for REST
	queries string // host and port for gRPC
	creds   credentials.TransportCredentials

	mu   sync.Mutex // guards the rest
	conn *grpc.ClientConn
}

// New returns a client for an address such as "weaviate://a:8080,b:8080/50052"; weaviates:// is over TLS. The number after the slash
// is the node's port for gRPC, 50051 if it is left out. The key may be empty. Nothing is sent yet.
func New(address, key string) (*Client, error) {
	scheme, hosts, ok := strings.Cut(address, "://")
	web, known := map[string]string{"weaviate": "http", "weaviates": "https"}[scheme]
	if !ok || !known {
		return nil, fmt.Errorf("index address: want weaviate://host:port[/grpc-port][,host:port...], or weaviates:// for TLS")
	}
	creds := insecure.NewCredentials()
	if web == "https" {
		creds = credentials.NewTLS(nil)
	}
	c := &Client{key: key}
	for host := range strings.SplitSeq(hosts, ",") {
		rest, port, given := strings.Cut(host, "/")
		if !given {
			port = defaultQueryPort
		}
		u, err := url.Parse(web + "://" + rest)
		if err != nil || u.Host != rest || u.Port() == "" || u.Hostname() == "" {
			return nil, fmt.Errorf("index address: %q is not host:port", rest)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("index address: %q has %q for the port of gRPC, want a number such as %s", host, port, defaultQueryPort)
		}
		c.nodes = append(c.nodes, &node{url: web + "://" + rest, queries: net.JoinHostPort(u.Hostname(), port), creds: creds})
	}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTime, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: readTime, ForceAttemptHTTP2: true,
	}}
	c.at.Store(rand.Int64N(int64(len(c.nodes))))
	return c, nil
}

// connection returns the node's connection for gRPC, which is made by the first call.
func (n *node) connection() (*grpc.ClientConn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		return n.conn, nil
	}
	var err error
	n.conn, err = grpc.NewClient(n.queries, grpc.WithTransportCredentials(n.creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBody)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: backoff, Multiplier: 2, Jitter: 0.2, MaxDelay: maxBackoff},
			MinConnectTimeout: dialTime,
		}))
	return n.conn, err
}

// disconnect lets go of the connection for gRPC. Calls under way fail.
func (n *node) disconnect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		_ = n.conn.Close() // the only error is that it is closed
		n.conn = nil
	}
}

// Close lets go of all connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	for _, n := range c.nodes {
		n.disconnect()
	}
}

// Nodes is how many nodes there are.
func (c *Client) Nodes() int { return len(c.nodes) }

// Node tells the nodes apart that calls went to.
func (c *Client) Node() int64 { return c.at.Load() }

// Next turns to another node, for one whose answers are out of date. Behind one address there may be several, so the connections are
// made anew; calls under way are sent again.
func (c *Client) Next() {
	at := c.at.Add(1) - 1
	c.http.CloseIdleConnections()
	c.node(at).disconnect()
}

func (c *Client) node(at int64) *node { return c.nodes[at%int64(len(c.nodes))] }

// Refused is the answer of a node that understood a call and does not do it.
type Refused struct {
	// Status is the HTTP status, or for a query the one that corresponds best.
	Status int
	// Message is the node's own.
	Message string
}

// Error is the status. The message may repeat a query or a product.
func (e *Refused) Error() string { return fmt.Sprintf("weaviate answers %d", e.Status) }

// Missing reports whether an error says that there is no such collection or tenant.
func Missing(err error) bool {
	var r *Refused
	if !errors.As(err, &r) {
		return false
	}
	return r.Status == http.StatusNotFound || strings.Contains(r.Message, "tenant not found") ||
		strings.Contains(r.Message, "could not find class") || strings.Contains(r.Message, "class not found")
}

// request is one call by REST.
type request struct {
	what, method, path string
	body               any // nil: none
	time               time.Duration
}

// do sends a call until a node has answered, and decodes the answer into out unless that is nil. Without such an answer the
// error is a *fault.Unavailable or the context's.
func (c *Client) do(ctx context.Context, r request, out any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("%s: %w", r.what, err)
		}
	}
	return c.repeat(ctx, r.what, r.time, func(ctx context.Context, n *node) error { return c.try(ctx, n.url, r, body, out) })
}

// invoke calls a method by gRPC as do calls by REST.
func (c *Client) invoke(ctx context.Context, what, method string, within time.Duration, in, out proto.Message) error {
	if c.key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.key)
	}
	return c.repeat(ctx, what, within, func(ctx context.Context, n *node) error {
		conn, err := n.connection()
		if err != nil {
			return err
		}
		return refusal(conn.Invoke(ctx, "/weaviate.v1.Weaviate/"+method, in, out))
	})
}

// refusal is the error of a call by gRPC: a *Refused if the node has understood it.
func refusal(err error) error {
	s := status.Convert(err)
	switch s.Code() {
	case codes.OK:
		return nil
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Internal, codes.Unimplemented:
		return err
	case codes.Unauthenticated:
		return &Refused{Status: http.StatusUnauthorized, Message: shorten(s.Message())}
	case codes.PermissionDenied:
		return &Refused{Status: http.StatusForbidden, Message: shorten(s.Message())}
	}
	return &Refused{Status: http.StatusUnprocessableEntity, Message: shorten(s.Message())}
}

// repeat tries a call with one node after the other until one has answered. within bounds each attempt.
func (c *Client) repeat(ctx context.Context, what string, within time.Duration, try func(context.Context, *node) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	wait := backoff
	for tries := 1; ; tries++ {
		at := c.at.Load()
		attempt, end := context.WithTimeout(ctx, within)
		err := try(attempt, c.node(at))
		end()
		var refused *Refused
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && !passing(refused):
			return fmt.Errorf("%s: %w", what, err)
		case errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
		c.at.CompareAndSwap(at, at+1) // unless another call has done so
		if tries%len(c.nodes) == 0 {
			if !sleep(ctx, wait) {
				return unavailable(what, err)
			}
			wait = min(2*wait, maxBackoff)
		}
		if ctx.Err() != nil {
			return unavailable(what, err)
		}
	}
}

// unavailable says that no node could do the work in time.
func unavailable(what string, err error) error {
	return &fault.Unavailable{
		Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "search index: " + what, Err: err,
	}
}

// passing reports whether a refusal is about the state of the cluster and not about the call. Weaviate tells many of those only
// in words.
func passing(r *Refused) bool {
	if r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests {
		return true
	}
	for _, words := range [...]string{
		"leader not found", "no leader", "connection refused", "cannot reach enough replicas", "broadcast:", "context deadline exceeded",
		"unable to reach", "no such host", "EOF", "is not ready", "shutting down", "node is not the leader", "read only",
	} {
		if strings.Contains(r.Message, words) {
			return true
		}
	}
	return false
}

// try sends a call by REST to one node.
func (c *Client) try(ctx context.Context, address string, r request, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, r.method, address+r.path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return &Refused{Status: resp.StatusCode, Message: message(raw)}
	}
	if out == nil {
		return nil
	}
	reflect.ValueOf(out).Elem().SetZero() // of what an earlier try has left
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if j, ok := out.(judge); ok {
		return j.verdict()
	}
	return nil
}

// judge is an answer that may say within that it failed.
type judge interface{ verdict() error }

// failures are errors as Weaviate lists them.
type failures []struct{ Message string }

func (f failures) first() string {
	if len(f) == 0 {
		return ""
	}
	return shorten(f[0].Message)
}

// message is what the body of a refusal says.
func message(raw []byte) string {
	var body struct {
		Error   failures
		Message string
	}
	if json.Unmarshal(raw, &body) == nil {
		if cause := cmp.Or(body.Error.first(), shorten(body.Message)); cause != "" {
			return cause
		}
	}
	return shorten(string(raw))
}

func shorten(message string) string {
	return strings.ToValidUTF8(text.Cut(message, maxMessage), "")
}

// sleep waits, and reports false when the context ends first or would end before the wait does.
func sleep(ctx context.Context, d time.Duration) bool {
	if due, ok := ctx.Deadline(); ok && time.Until(due) <= d {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
