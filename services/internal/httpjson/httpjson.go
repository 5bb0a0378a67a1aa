// Package httpjson posts JSON to one address and reads JSON, with retries. Clients of embedding and reranking endpoints use
// it. It imports no service.
package httpjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

const (
	// maxAttempts bounds how often one request is sent.
	maxAttempts = 4
	// firstWait bounds the wait before the second attempt; the bound doubles with each further one.
	firstWait = 200 * time.Millisecond
	// maxResponse bounds what is read of a response: 64 vectors of 4,096 numbers are 6 MB of text.
	maxResponse = 32 << 20
)

// errTooLong says that a response has no end.
var errTooLong = errors.New("the response is longer than 32 MiB")

// Client sends JSON to one address and reads JSON. It is safe for concurrent use.
type Client struct {
	cfg  endpoint.Config
	http *http.Client
}

// New returns a client for cfg.BaseURL, or one line that says what is wrong with the configuration. It sends nothing.
func New(cfg endpoint.Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, http: endpoint.Client(nil)}, nil
}

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.cfg.Model }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Post sends in and decodes the response into out. It retries what may pass (429, 5xx, a broken connection), after the wait
// that the endpoint asks for, unless that would outlast the context. The error of a failed call is an
// [*endpoint.StatusError].
func (c *Client) Post(ctx context.Context, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", c.cfg.Provider, err)
	}
	for failed := 1; ; failed++ {
		err := c.once(ctx, body, out)
		if err == nil {
			return nil
		}
		wait, again := wrap.Retryable(err)
		var unreadable *endpoint.ResponseError // as a rule, another API answers
		again = again && !errors.As(err, &unreadable)
		if wait <= 0 {
			wait = rand.N(firstWait << (failed - 1))
		}
		deadline, bounded := ctx.Deadline()
		if !again || failed == maxAttempts || ctx.Err() != nil || bounded && time.Until(deadline) <= wait {
			return fmt.Errorf("%s: %s, attempt %d: %w", c.cfg.Provider, c.cfg.BaseURL, failed, err)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%s: %s: %w, after: %w", c.cfg.Provider, c.cfg.BaseURL, ctx.Err(), err)
		}
	}
}

// once sends one request.
func (c *Client) once(ctx context.Context, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.BaseURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return endpoint.Redact(err, c.cfg.APIKey)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return endpoint.NewStatusError(resp.StatusCode, resp.Header, answer, c.cfg.APIKey)
	case err != nil:
		return fmt.Errorf("read the response: %w", endpoint.Redact(err, c.cfg.APIKey))
	case len(answer) > maxResponse:
		return errTooLong
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return &endpoint.ResponseError{Reason: "the response is not the expected JSON", Message: endpoint.CleanMessage(err.Error(), c.cfg.APIKey)}
	}
	return nil
}
