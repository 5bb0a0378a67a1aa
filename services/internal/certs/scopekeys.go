package certs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-jose/go-jose/v4"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// The folders and files of the keys of scopes: the gateway's private key, the public keys that all services have, and the private
// key that will be next.
const (
	ScopeKeyFolder     = "scope-key"
	ScopeKeyFile       = "key.jwk"
	ScopeKeysFolder    = "scope-keys"
	ScopeKeysFile      = "keys.jwks"
	nextScopeKeyFolder = "scope-key-next"
)

// The steps that replace the key of scopes. After each step, the files must reach the services before the next one.
const (
	// Publish makes the next key, and adds its public half to the set.
	Publish = "publish"
	// Use makes the next key the gateway's.
	Use = "use"
	// Retire leaves only the public half of the gateway's key in the set.
	Retire = "retire"
)

// ScopeFolders returns the folders with the keys of scopes after a step, or with an empty step as they are in dir. Keys that are
// missing are made. An empty dir has none.
func ScopeFolders(dir, step string) ([]Folder, error) {
	k := scopeKeys{dir: dir}
	if err := k.read(); err != nil {
		return nil, err
	}
	if err := k.take(step); err != nil {
		return nil, err
	}
	return k.folders()
}

type scopeKeys struct {
	dir     string
	current *jose.JSONWebKey
	next    *jose.JSONWebKey // nil: none was published
	public  *jose.JSONWebKeySet
}

// read reads the keys, and makes the current one if there is none.
func (k *scopeKeys) read() error {
	var err1, err2, err3 error
	k.current, err1 = readKeys(k.dir, ScopeKeyFolder, ScopeKeyFile, one)
	k.next, err2 = readKeys(k.dir, nextScopeKeyFolder, ScopeKeyFile, one)
	k.public, err3 = readKeys(k.dir, ScopeKeysFolder, ScopeKeysFile, scope.ParseKeys)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if (k.current == nil) != (k.public == nil) {
		return fmt.Errorf("%s has only one of %s and %s; restore the other, or move both away to make new keys", k.dir, ScopeKeyFolder, ScopeKeysFolder)
	}
	if k.current != nil {
		return nil
	}
	made, err := scope.NewKey()
	k.current, k.public = &made, &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{made.Public()}}
	return err
}

func one(content []byte) (*jose.JSONWebKey, error) {
	key, err := scope.ParseKey(content)
	return &key, err
}

// readKeys reads a file; nil if there is none.
func readKeys[T any](dir, folder, file string, parse func([]byte) (*T, error)) (*T, error) {
	if dir == "" {
		return nil, nil
	}
	path := filepath.Join(dir, folder, file)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return value, nil
}

// take takes one step of a rotation.
func (k *scopeKeys) take(step string) error {
	switch step {
	case "":
		return nil
	case Publish:
		made, err := scope.NewKey()
		k.next = &made
		k.public.Keys = append(k.public.Keys, made.Public())
		return err
	case Use:
		if k.next == nil || k.next.KeyID == k.current.KeyID || len(k.public.Key(k.next.KeyID)) == 0 {
			return fmt.Errorf("no next key of scopes was published; the step before %q is %q", Use, Publish)
		}
		k.current = k.next
		return nil
	case Retire:
		k.public.Keys = []jose.JSONWebKey{k.current.Public()}
		return nil
	}
	return fmt.Errorf("unknown step %q; the steps are %s, %s and %s", step, Publish, Use, Retire)
}

func (k *scopeKeys) folders() ([]Folder, error) {
	current, err1 := json.MarshalIndent(k.current, "", "  ")
	public, err2 := json.MarshalIndent(k.public, "", "  ")
	folders := []Folder{
		{Name: ScopeKeyFolder, Secret: "quartet-" + ScopeKeyFolder, Files: []File{{Name: ScopeKeyFile, Content: current, Private: true}}},
		{Name: ScopeKeysFolder, Secret: "quartet-" + ScopeKeysFolder, Files: []File{{Name: ScopeKeysFile, Content: public}}},
	}
	if k.next == nil {
		return folders, errors.Join(err1, err2)
	}
	next, err3 := json.MarshalIndent(k.next, "", "  ")
	return append(folders, Folder{Name: nextScopeKeyFolder, Files: []File{{Name: ScopeKeyFile, Content: next, Private: true}}}), errors.Join(err1, err2, err3)
}
