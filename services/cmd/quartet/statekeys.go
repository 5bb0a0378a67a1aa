package main

import (
	"context"
	"fmt"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

const stateKeysAbout = `Adds a random key to the file of keys for --state-keys, which it makes if there is none. Give --store once for a store that is to have
a key of its own, so that its data is lost for good when the key is removed. docs/security.md describes rotation.`

func runStateKeys(_ context.Context, args []string, env environment) error {
	fs := newFlags("state-keys", "FILE", stateKeysAbout, env)
	store := fs.String("store", seal.AnyStore, "`id` of the store that the key is for; \"*\" for all stores without keys of their own")
	after := fs.Duration("after", 0, "`duration` until the key begins to encrypt; give all services the file by then")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usagef("give one file; got %q", rest)
	case *after < 0:
		return usagef("--after must not be negative")
	}
	from := time.Now().Add(*after)
	id, err := seal.AddKey(rest[0], *store, from)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.out, "key %s for store %s encrypts from %s on\n", id, *store, from.UTC().Format(time.RFC3339))
	return err
}
