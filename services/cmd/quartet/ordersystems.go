package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/orderhttp"
	flag "github.com/spf13/pflag"
)

// orderSystem is one store's entry in the file of order systems. It names the places of secrets and never holds them.
type orderSystem struct {
	URL     string           `json:"url"`
	Keys    []orderSystemKey `json:"keys"`
	Timeout string           `json:"timeout"` // such as "5s"
}

// orderSystemKey names a key and where its secret is: a file, or a variable of the environment.
type orderSystemKey struct {
	ID         string `json:"id"`
	SecretFile string `json:"secret_file"`
	SecretEnv  string `json:"secret_env"`
}

func orderSystemsFlag(fs *flag.FlagSet) *string {
	return fs.String("order-systems", "", "support: JSON `file` of the stores that have an order system of their own (docs/orders.md)")
}

// readOrderSystems reads the file of order systems, by store. No path: there are none.
func readOrderSystems(path string, getenv func(string) string) (map[string]orderhttp.Config, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("order systems: %w", err)
	}
	var entries map[string]orderSystem
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&entries); err != nil {
		return nil, fmt.Errorf("order systems: %s: %w", path, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("order systems: %s: more than one object", path)
	}
	systems := make(map[string]orderhttp.Config, len(entries))
	for store, entry := range entries {
		cfg, err := entry.config(getenv)
		if err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("order systems: store %q: %w", store, err)
		}
		systems[store] = cfg
	}
	return systems, nil
}

func (s orderSystem) config(getenv func(string) string) (orderhttp.Config, error) {
	cfg := orderhttp.Config{URL: s.URL}
	if s.Timeout != "" {
		var err error
		if cfg.Timeout, err = time.ParseDuration(s.Timeout); err != nil {
			return cfg, fmt.Errorf("timeout: %w", err)
		}
	}
	for _, k := range s.Keys {
		var secret string
		switch {
		case (k.SecretFile == "") == (k.SecretEnv == ""):
			return cfg, fmt.Errorf("key %q: give secret_file or secret_env", k.ID)
		case k.SecretEnv != "":
			secret = getenv(k.SecretEnv)
		default:
			raw, err := os.ReadFile(k.SecretFile)
			if err != nil {
				return cfg, fmt.Errorf("key %q: %w", k.ID, err)
			}
			secret = strings.TrimRight(string(raw), "\r\n")
		}
		cfg.Keys = append(cfg.Keys, orderhttp.Key{ID: k.ID, Secret: []byte(secret)})
	}
	return cfg, nil
}
