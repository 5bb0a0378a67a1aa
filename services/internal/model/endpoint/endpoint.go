// Package endpoint holds what the adapters for providers' own APIs share: the check of their configuration, the HTTP client, and
// the way an answer is streamed and ends. Errors and the transport are those of agentloop/openai. It imports no provider's SDK.
package endpoint

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
)

// Config says which model of a provider to use, and where. All fields are required but for those that say otherwise.
type Config struct {
	// Provider is named in errors.
	Provider string
	// BaseURL of the endpoint, without a query.
	BaseURL string
	// APIKey that the provider gave out. It never shows in an error.
	APIKey string
	// KeyOptional allows an empty APIKey: a model on one's own machine needs none.
	KeyOptional bool
	// Model is the provider's name for it.
	Model string
}

// Validate looks for what would fail in every call. The error is one line.
func (c Config) Validate() error {
	u, err := url.Parse(c.BaseURL)
	switch {
	case c.Model == "":
		return fmt.Errorf("%s: Config.Model is empty", c.Provider)
	case err != nil:
		return fmt.Errorf("%s: Config.BaseURL is not a URL", c.Provider) // the parser's error would repeat a key within it
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("%s: Config.BaseURL %q: want http:// or https:// and a host", c.Provider, u.Redacted())
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return fmt.Errorf("%s: Config.BaseURL must not hold a user, a query or a fragment; the key goes into APIKey", c.Provider)
	case c.APIKey == "" && !c.KeyOptional:
		return fmt.Errorf("%s: Config.APIKey is empty", c.Provider)
	case strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("%s: Config.APIKey holds a character that no key has", c.Provider)
	}
	return nil
}

// Client returns a copy of a client, or one with connections enough for hundreds of calls at once if c is nil. Bodies of
// refusals are cut at a megabyte, for SDKs read all that there is.
func Client(c *http.Client) *http.Client {
	client := http.Client{}
	if c != nil {
		client = *c
	} else {
		client.Transport = openai.NewTransport()
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = limited{client.Transport}
	return &client
}

// maxErrorBody bounds what is read of a refusal.
const maxErrorBody = 1 << 20

// limited is a RoundTripper that bounds the bodies of refusals.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	}
	return resp, err
}

// errStopped says that the consumer wants no more.
var errStopped = errors.New("consumer stopped")
