package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

// AnyStore in a file of keys stands for all stores without keys of their own. What seals a store's values is derived from the key and
// the store's id, so two stores never share it.
const AnyStore = "*"

const (
	keySize = 32 // of AES-256, in bytes
	// maxID bounds the id of a key.
	maxID = 32
	// maxDerived bounds the derived keys that are kept. Beyond it, they are derived again.
	maxDerived = 4096
)

// storeKey is one key in a file of keys, which is a JSON object of lists of keys by store.
type storeKey struct {
	// ID names the key in the values that it has sealed. No two keys of a file share one.
	ID string `json:"id"`
	// From is the time from which on the key seals, until a newer one does. It opens at any time.
	From time.Time `json:"from"`
	// Key has 32 random bytes, in base64.
	Key []byte `json:"key"`
}

// parse reads a file of keys. Its errors quote no key. The keys of each store come newest first.
func parse(raw []byte) (map[string][]storeKey, error) {
	var keys map[string][]storeKey
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&keys); err != nil {
		return nil, fmt.Errorf("%w; 'quartet state-keys' makes such a file", err)
	}
	ids := make(map[string]bool)
	for store, list := range keys {
		if store != AnyStore && !fault.ValidID(store) {
			return nil, fmt.Errorf("%q is not the id of a store", store)
		}
		for _, k := range list {
			switch {
			case !fault.ValidID(k.ID) || len(k.ID) > maxID:
				return nil, fmt.Errorf("a key of store %q has the id %q, must be 1 to %d characters of A-Z a-z 0-9 . _ -", store, k.ID, maxID)
			case ids[k.ID]:
				return nil, fmt.Errorf("two keys have the id %q", k.ID)
			case len(k.Key) != keySize:
				return nil, fmt.Errorf("key %q has %d bytes, must have %d", k.ID, len(k.Key), keySize)
			}
			ids[k.ID] = true
		}
		slices.SortStableFunc(list, func(a, b storeKey) int { return b.From.Compare(a.From) })
	}
	if len(ids) == 0 {
		return nil, errors.New("there is no key in it; 'quartet state-keys' adds one")
	}
	return keys, nil
}

// keyring is the keys of a file, and those that are derived from them.
type keyring struct {
	keys map[string][]storeKey

	mu      sync.RWMutex
	derived map[derivedID]*derivedKey
}

type derivedID struct{ store, id string }

// derivedKey is made of one key for one store.
type derivedKey struct {
	aead   cipher.AEAD
	macKey []byte
}

// newKeyring parses a file of keys.
func newKeyring(content []byte) (*keyring, error) {
	keys, err := parse(content)
	if err != nil {
		return nil, err
	}
	return &keyring{keys: keys, derived: make(map[derivedID]*derivedKey)}, nil
}

// of returns the keys that seal for a store: its own, or those for any store.
func (r *keyring) of(storeID string) []storeKey {
	if own := r.keys[storeID]; len(own) > 0 {
		return own
	}
	return r.keys[AnyStore]
}

// newest returns the key that seals at a time: the one that began last, or else the first that will.
func (r *keyring) newest(storeID string, now time.Time) (string, *derivedKey, error) {
	list := r.of(storeID)
	if len(list) == 0 {
		return "", nil, noKey(storeID)
	}
	at := slices.IndexFunc(list, func(k storeKey) bool { return !k.From.After(now) })
	if at < 0 {
		at = len(list) - 1
	}
	k, err := r.derive(storeID, list[at])
	return list[at].ID, k, err
}

func (r *keyring) oldest(storeID string) (*derivedKey, error) {
	list := r.of(storeID)
	if len(list) == 0 {
		return nil, noKey(storeID)
	}
	return r.derive(storeID, list[len(list)-1])
}

// byID returns a key of the store or for any store: a store may have got keys of its own since the value was sealed.
func (r *keyring) byID(storeID, id string) (*derivedKey, error) {
	for _, list := range [][]storeKey{r.keys[storeID], r.keys[AnyStore]} {
		for _, k := range list {
			if k.ID == id {
				return r.derive(storeID, k)
			}
		}
	}
	return nil, fmt.Errorf("there is no key %q for store %q", id, storeID)
}

func noKey(storeID string) error { return fmt.Errorf("there is no key for store %q", storeID) }

// derive returns what a key is for a store.
func (r *keyring) derive(storeID string, k storeKey) (*derivedKey, error) {
	name := derivedID{storeID, k.ID}
	r.mu.RLock()
	found := r.derived[name]
	r.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	encryption, err1 := hkdf.Key(sha256.New, k.Key, nil, "quartet state encryption "+storeID, keySize)
	mac, err2 := hkdf.Key(sha256.New, k.Key, nil, "quartet state hash "+storeID, keySize)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("derive state key: %w", err)
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return nil, fmt.Errorf("derive state key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("derive state key: %w", err)
	}
	made := &derivedKey{aead: aead, macKey: mac}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.derived) >= maxDerived {
		clear(r.derived)
	}
	r.derived[name] = made
	return made, nil
}

func (k *derivedKey) mac(text string) []byte {
	h := hmac.New(sha256.New, k.macKey)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// AddKey adds a random key for a store, or for AnyStore, to a file of keys, which it makes if there is none. It returns the key's id.
// The key seals from a time on; it should lie so late that all services have the file by then. One process may write a file at a time.
func AddKey(file, storeID string, from time.Time) (id string, err error) {
	keys := make(map[string][]storeKey)
	raw, err := os.ReadFile(file)
	switch {
	case err == nil:
		if keys, err = parse(raw); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	k := storeKey{ID: strings.ToLower(rand.Text())[:10], From: from.UTC().Truncate(time.Second), Key: make([]byte, keySize)}
	_, _ = rand.Read(k.Key) // never fails
	keys[storeID] = append([]storeKey{k}, keys[storeID]...)
	if raw, err = json.MarshalIndent(keys, "", "  "); err != nil {
		return "", err
	}
	if _, err := parse(raw); err != nil {
		return "", err
	}
	return k.ID, reload.Replace(file, append(raw, '\n'), 0o600)
}
