// Package endpoint holds what adapters for model providers share, whichever API they speak: the check of their
// configuration, the HTTP transport, the error of a failed call with the wait that its headers ask for, and the way an
// answer is streamed and ends.
//
// The package imports the standard library and agentloop only.
package endpoint

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Config says which model of a provider to use, and where. All fields are required except those that say otherwise.
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
		return fmt.Errorf("%s: Config.BaseURL is not a URL: want http:// or https:// and a host", c.Provider) // the parser's error would repeat a key within it
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

// NoContent stands for an empty text, which providers refuse.
const NoContent = "(empty)"

// Arguments returns the arguments of an earlier tool call as a JSON object. Providers insist on an object, even where a
// model wrote something else.
func Arguments(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	switch {
	case arguments == "":
		return json.RawMessage("{}")
	case json.Unmarshal([]byte(arguments), &object) == nil && object != nil:
		return json.RawMessage(arguments)
	}
	wrapped, err := json.Marshal(map[string]string{"malformed": arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}
