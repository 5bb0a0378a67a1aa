package orderhttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/sony/gobreaker/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// maxResponse bounds a response. A hundred large orders fit in.
const maxResponse = 4 << 20

// MaxPageToken bounds the page tokens of an order system, in bytes.
const MaxPageToken = 1_000

// The circuit breaker opens after maxFailures failures in a row. After breakerPause it lets one request through as a probe.
const (
	maxFailures  = 5
	breakerPause = 10 * time.Second
)

// ErrNotFound says that the order system has no such order for this customer.
var ErrNotFound = errors.New("order system: no such order")

// errRefusedKey says that the order system refused the key or the signature.
var errRefusedKey = errors.New("order system refuses the key")

// Client calls one store's order system. Its errors are ErrNotFound, the error of the caller's context, or a *fault.Unavailable.
// It is safe for concurrent use.
type Client struct {
	cfg     Config
	base    *url.URL
	http    *http.Client
	breaker *gobreaker.CircuitBreaker[[]byte]
}

// New returns a client. It makes no call.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("order system: %w", err)
	}
	if cfg.Transport == nil {
		cfg.Transport = endpoint.NewTransport()
	}
	return &Client{
		cfg: cfg, base: base,
		http: &http.Client{
			Transport: cfg.Transport,
			// A signature is valid for one path of one host, so a redirect is a failure.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		breaker: gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
			Timeout:     breakerPause,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
			// A cancelled caller and a missing order say nothing about the health of the order system.
			IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
			IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, ErrNotFound) },
		}),
	}, nil
}

// query is the body of every request. Fields without a value are left out.
type query struct {
	StoreID    string `json:"store_id"`
	OrderID    string `json:"order_id,omitempty"`
	CustomerID string `json:"customer_id,omitempty"`
	Email      string `json:"email,omitempty"`
	PostalCode string `json:"postal_code,omitempty"`
	PageToken  string `json:"page_token,omitempty"`
	Limit      int    `json:"limit,omitempty"`
}

// Get returns an order of a customer.
func (c *Client) Get(ctx context.Context, storeID, customerID, orderID string) (*orderv1.Order, error) {
	return c.order(ctx, query{StoreID: storeID, CustomerID: customerID, OrderID: orderID})
}

// Guest returns an order to a shopper who gives its e-mail address or its postal code; the other is "".
func (c *Client) Guest(ctx context.Context, storeID, orderID, email, postalCode string) (*orderv1.Order, error) {
	return c.order(ctx, query{StoreID: storeID, OrderID: orderID, Email: email, PostalCode: postalCode})
}

func (c *Client) order(ctx context.Context, q query) (*orderv1.Order, error) {
	out := &orderv1.GetOrderResponse{}
	if err := c.ask(ctx, "/orders/get", q, out); err != nil {
		return nil, err
	}
	if out.GetOrder() == nil || out.GetActions() != nil {
		return nil, unavailable(errors.New("the response must have an order and nothing else"))
	}
	return out.GetOrder(), nil
}

// List returns up to limit orders of a customer, the newest first, from the page of a token on; "" is the first. A token that the order
// system does not know is ErrNotFound.
func (c *Client) List(ctx context.Context, storeID, customerID, token string, limit int) (*orderv1.ListOrdersResponse, error) {
	out := &orderv1.ListOrdersResponse{}
	if err := c.ask(ctx, "/orders/list", query{StoreID: storeID, CustomerID: customerID, PageToken: token, Limit: limit}, out); err != nil {
		if errors.Is(err, ErrNotFound) && token == "" {
			return &orderv1.ListOrdersResponse{}, nil // an unknown customer has no orders
		}
		return nil, err
	}
	n := len(out.GetOrders())
	if n > limit || int(out.GetTotalCount()) < n {
		return nil, unavailable(fmt.Errorf("the response has %d orders of %d, where %d were asked for", n, out.GetTotalCount(), limit))
	}
	if next := out.GetNextPageToken(); len(next) > MaxPageToken || next != "" && (n == 0 || next == token) {
		return nil, unavailable(errors.New("next_page_token of the response is too long, or leads to no further orders"))
	}
	return out, nil
}

// ask sends one request and reads its response into out.
func (c *Client) ask(ctx context.Context, path string, q query, out proto.Message) error {
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("order system: encode request: %w", err)
	}
	_, err = c.breaker.Execute(func() ([]byte, error) {
		raw, err := c.post(ctx, path, body)
		if err != nil {
			return nil, err
		}
		return raw, decode(raw, out) // a system that answers nonsense is as good as none
	})
	switch {
	case err == nil, errors.Is(err, ErrNotFound):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return unavailable(err)
}

// decode is strict: an unknown field may be one that was to change what an order means.
func decode(raw []byte, out proto.Message) error {
	proto.Reset(out)
	if err := protojson.Unmarshal(raw, out); err != nil {
		return errUnreadable // the cause may quote the order
	}
	return nil
}

// errUnreadable says that a response is not what it must be.
var errUnreadable = errors.New("the response is not the JSON of the contract, or has unknown fields")

// post sends the body, signed by the first key that is not refused.
func (c *Client) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var err error
	for _, key := range c.cfg.Keys {
		var raw []byte
		if raw, err = c.send(ctx, key, path, body); !errors.Is(err, errRefusedKey) {
			return raw, err
		}
	}
	return nil, err
}

func (c *Client) send(ctx context.Context, key Key, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	key.sign(req, time.Now(), rand.Text(), body)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, fmt.Errorf("%w %q", errRefusedKey, key.ID)
	case resp.StatusCode == http.StatusNotFound && kind == "application/json":
		return nil, ErrNotFound
	case resp.StatusCode != http.StatusOK:
		return nil, endpoint.NewStatusError(resp.StatusCode, resp.Header, nil, "") // the body may be about a customer
	case kind != "application/json":
		return nil, fmt.Errorf("content type %q, want application/json", kind)
	case len(raw) > maxResponse:
		return nil, fmt.Errorf("response is longer than %d bytes", maxResponse)
	}
	return raw, nil
}

// unavailable wraps a cause, which is logged and never reaches a shopper.
func unavailable(cause error) error {
	f := &fault.Unavailable{
		Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_SYSTEM_UNAVAILABLE, What: "order system of the store", Err: cause,
	}
	var status *endpoint.StatusError
	switch {
	case errors.Is(cause, gobreaker.ErrOpenState), errors.Is(cause, gobreaker.ErrTooManyRequests):
		f.RetryAfter = breakerPause
	case errors.As(cause, &status):
		f.RetryAfter = status.RetryAfter
	}
	return f
}
