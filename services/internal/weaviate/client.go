// Package weaviate is a client of a Weaviate cluster: collections with tenants, objects, and queries by filter and by vector.
// It speaks REST and GraphQL over net/http; the official Go client would bring the server's models along, with them go-openapi and
// a MongoDB driver.
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
	"strings"
	"sync/atomic"
	"time"

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
	// backoff is the wait after every node has failed. It doubles with each further round, up to maxBackoff.
	backoff    = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
	// maxBody bounds an answer.
	maxBody = 256 << 20
	// maxMessage bounds what an error repeats of a refusal.
	maxMessage = 500
)

// Client talks to the nodes of one cluster: to one of them until it fails, and then to the next. All that it sends may be sent
// again, and is, within the caller's deadline. It is safe for concurrent use.
type Client struct {
	nodes []string // base URLs
	key   string
	http  *http.Client
	at    atomic.Int64 // the node that is asked, modulo their number
}

// New returns a client for an address such as "weaviate://a:8080,b:8080"; weaviates:// is over TLS. The key may be empty. Nothing
// is sent yet.
func New(address, key string) (*Client, error) {
	scheme, hosts, ok := strings.Cut(address, "://")
	web, known := map[string]string{"weaviate": "http", "weaviates": "https"}[scheme]
	if !ok || !known {
		return nil, fmt.Errorf("index address: want weaviate://host:port[,host:port...], or weaviates:// for TLS")
	}
	c := &Client{key: key}
	for host := range strings.SplitSeq(hosts, ",") {
		u, err := url.Parse(web + "://" + host)
		if err != nil || u.Host != host || u.Port() == "" || u.Hostname() == "" {
			return nil, fmt.Errorf("index address: %q is not host:port", host)
		}
		c.nodes = append(c.nodes, web+"://"+host)
	}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: readTime, ForceAttemptHTTP2: true,
	}}
	c.at.Store(rand.Int64N(int64(len(c.nodes))))
	return c, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Nodes is how many nodes there are.
func (c *Client) Nodes() int { return len(c.nodes) }

// Node tells the nodes apart that calls went to.
func (c *Client) Node() int64 { return c.at.Load() }

// Next turns to another node, for one whose answers are out of date. Behind one address there may be several.
func (c *Client) Next() {
	c.at.Add(1)
	c.http.CloseIdleConnections()
}

// Refused is the answer of a node that understood a call and does not do it.
type Refused struct {
	// Status is the HTTP status; 200 is that of a query with errors.
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
		strings.Contains(r.Message, "Cannot query field") || strings.Contains(r.Message, "could not find class") ||
		strings.Contains(r.Message, "class not found")
}

// request is one call.
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
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	wait := backoff
	for tries := 1; ; tries++ {
		at := c.at.Load()
		err := c.try(ctx, c.nodes[at%int64(len(c.nodes))], r, body, out)
		var refused *Refused
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && !passing(refused):
			return fmt.Errorf("%s: %w", r.what, err)
		case errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("%s: %w", r.what, ctx.Err())
		}
		c.at.CompareAndSwap(at, at+1) // unless another call has done so
		if tries%len(c.nodes) == 0 {
			if !sleep(ctx, wait) {
				return unavailable(r.what, err)
			}
			wait = min(2*wait, maxBackoff)
		}
		if ctx.Err() != nil {
			return unavailable(r.what, err)
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

// try sends a call to one node.
func (c *Client) try(ctx context.Context, node string, r request, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, r.time)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, node+r.path, bytes.NewReader(body))
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
