package orderhttp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	defaultTimeout = 5 * time.Second
	maxKeys        = 2
)

// Config is one store's order system.
type Config struct {
	// URL is what the paths of requests are added to, such as "https://orders.store.example/quartet". It must be https, but
	// for loopback addresses. Required.
	URL string
	// Keys are one or two that are live. The first signs; when it is refused the second does, so that the two sides need not
	// change keys at the same time. Required.
	Keys []Key
	// Timeout bounds one request with its response, within the caller's deadline. Zero: 5 seconds.
	Timeout time.Duration
	// Transport carries the requests. Nil: an endpoint.NewTransport.
	Transport http.RoundTripper
}

// Validate reports what is wrong.
func (c Config) Validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("order system: the URL must be absolute, without user, query and fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return fmt.Errorf("order system: %s is not https, which only a loopback address may be", u.Redacted())
	case len(c.Keys) < 1 || len(c.Keys) > maxKeys:
		return fmt.Errorf("order system: %d keys, must be 1 or %d", len(c.Keys), maxKeys)
	case c.Timeout < 0:
		return errors.New("order system: the timeout is negative")
	}
	for _, k := range c.Keys {
		if err := k.Validate(); err != nil {
			return err
		}
	}
	if len(c.Keys) == maxKeys && c.Keys[0].ID == c.Keys[1].ID {
		return fmt.Errorf("order system: two keys with the id %q", c.Keys[0].ID)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
