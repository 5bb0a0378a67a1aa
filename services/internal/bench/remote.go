package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Remote controls a [Fake] that is served elsewhere. It is safe for concurrent use.
type Remote struct {
	url    string
	client *http.Client
}

// NewRemote returns the remote control of the fake model at a URL, such as http://127.0.0.1:4000.
func NewRemote(url string) *Remote {
	once := &http.Transport{DisableKeepAlives: true} // nothing of it is left where memory is measured
	return &Remote{url: strings.TrimSuffix(url, "/"), client: &http.Client{Transport: once}}
}

// BaseURL is where the model is asked.
func (r *Remote) BaseURL() string { return r.url + "/v1" }

// Set sets how the model answers, and forgets what it has seen.
func (r *Remote) Set(ctx context.Context, b Behaviour) error {
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode behaviour: %w", err)
	}
	return r.do(ctx, http.MethodPut, "/behaviour", body, nil)
}

// Seen returns what the model has seen since its behaviour was set.
func (r *Remote) Seen(ctx context.Context) (Seen, error) {
	var s Seen
	return s, r.do(ctx, http.MethodGet, "/seen", nil, &s)
}

func (r *Remote) do(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("control the fake model: %w", err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("control the fake model: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("control the fake model: %w", err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("control the fake model: %s", resp.Status)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("control the fake model: %w", err)
	}
	return nil
}
