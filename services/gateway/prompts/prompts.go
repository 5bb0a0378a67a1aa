// Package prompts keeps versions of the agents' prompts in Redis, and says which of them a turn uses.
//
// Each owner of prompts, which is a store, a variant or all stores, has a hash of what is active, by agent, and for each agent a hash of
// versions. All keys of an owner share one cluster slot.
package prompts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

const (
	// TTL is how long a gateway may use prompts after they have changed.
	TTL = time.Second
	// BuiltIn begins the versions of built-in prompts, and by itself stands for the built-in prompt of any release.
	BuiltIn = "builtin"
	// maxVersions is how many versions of a prompt are kept.
	maxVersions = 100
	// attempts bounds how often a change is tried against others at the same time.
	attempts = 10
)

// Owner is whose prompt it is: a store's, a variant's, or that of all stores, which is the zero value.
type Owner struct {
	StoreID string
	Variant string // without StoreID
}

// key returns a key of the owner. No store's id begins with '@'.
func (o Owner) key(parts ...string) string {
	return state.Key(cmp.Or(o.StoreID, "@"+o.Variant), append([]string{"prompts"}, parts...)...)
}

func (o Owner) kind() gatewayv1.PromptOwner {
	switch {
	case o.StoreID != "":
		return gatewayv1.PromptOwner_PROMPT_OWNER_STORE
	case o.Variant != "":
		return gatewayv1.PromptOwner_PROMPT_OWNER_VARIANT
	}
	return gatewayv1.PromptOwner_PROMPT_OWNER_ALL
}

// Store keeps prompts. It is safe for concurrent use. New makes one.
type Store struct {
	redis redis.UniversalClient
	cache *state.TTLCache[map[string]Active]
}

// New returns a Store.
func New(client redis.UniversalClient) *Store {
	return &Store{redis: client, cache: state.NewTTLCache[map[string]Active](TTL)}
}

// Active is what is in use of an owner's prompt for an agent.
type Active struct {
	Owner  gatewayv1.PromptOwner
	Shares []Share // none: nothing
}

// Share is a version and its share of the threads.
type Share struct {
	Version *gatewayv1.PromptVersion
	Percent int32
}

// record is what Redis keeps of what is in use.
type record struct {
	Shares   []recordShare `json:"shares"`
	Previous []recordShare `json:"previous"`
	Changed  bool          `json:"changed"` // there is something to roll back to
}

type recordShare struct {
	Version string `json:"version"`
	Percent int32  `json:"percent"`
}

// VersionOf returns the identifier of a content.
func VersionOf(v *gatewayv1.PromptVersion) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", v.GetText(), v.GetModel(), v.GetMaxOutputTokens()))
	return hex.EncodeToString(sum[:4])
}

// Create adds a version and returns it, or the one with the same content that is there.
func (s *Store) Create(ctx context.Context, o Owner, agent string, v *gatewayv1.PromptVersion) (*gatewayv1.PromptVersion, error) {
	key := o.key(agent)
	raw, err := proto.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode prompt: %w", err)
	}
	added, err := s.redis.HSetNX(ctx, key, v.GetVersion(), raw).Result()
	if err != nil {
		return nil, state.Error("write prompt", err)
	}
	if !added {
		return s.Version(ctx, o, agent, v.GetVersion())
	}
	return v, s.prune(ctx, o, agent)
}

// prune drops the oldest versions that are not in use.
func (s *Store) prune(ctx context.Context, o Owner, agent string) error {
	n, err := s.redis.HLen(ctx, o.key(agent)).Result()
	if err != nil || n <= maxVersions {
		return state.Error("count prompts", err)
	}
	all, err := s.Versions(ctx, o, agent)
	if err != nil {
		return err
	}
	used, err := readRecord(ctx, s.redis, o, agent)
	if err != nil {
		return err
	}
	var old []string
	for _, v := range slices.Backward(all) {
		same := func(r recordShare) bool { return r.Version == v.GetVersion() }
		if len(all)-len(old) > maxVersions && !slices.ContainsFunc(slices.Concat(used.Shares, used.Previous), same) {
			old = append(old, v.GetVersion())
		}
	}
	return state.Error("drop prompts", s.redis.HDel(ctx, o.key(agent), old...).Err())
}

// Versions returns the versions of a prompt, the newest first.
func (s *Store) Versions(ctx context.Context, o Owner, agent string) ([]*gatewayv1.PromptVersion, error) {
	raw, err := s.redis.HGetAll(ctx, o.key(agent)).Result()
	if err != nil {
		return nil, state.Error("read prompts", err)
	}
	all := make([]*gatewayv1.PromptVersion, 0, len(raw))
	for id, r := range raw {
		v := &gatewayv1.PromptVersion{}
		if err := proto.Unmarshal([]byte(r), v); err != nil {
			state.SkipRecord(ctx, "prompt", o.key(agent), id, err)
			continue
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *gatewayv1.PromptVersion) int {
		return cmp.Or(b.GetCreateTime().AsTime().Compare(a.GetCreateTime().AsTime()), strings.Compare(a.GetVersion(), b.GetVersion()))
	})
	return all, nil
}

// Version returns a version of a prompt, or a *fault.NotFound. Of a built-in one it has the identifier only.
func (s *Store) Version(ctx context.Context, o Owner, agent, id string) (*gatewayv1.PromptVersion, error) {
	if strings.HasPrefix(id, BuiltIn) {
		return &gatewayv1.PromptVersion{Version: id}, nil
	}
	raw, err := s.redis.HGet(ctx, o.key(agent), id).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, notFound("version of the prompt of "+agent, id, "ListPromptVersions has those that there are")
	case err != nil:
		return nil, state.Error("read prompt", err)
	}
	v := &gatewayv1.PromptVersion{}
	if err := proto.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("decode prompt %q: %w", id, err)
	}
	return v, nil
}

func notFound(resource, name, instead string) error {
	return &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_PROMPT_NOT_FOUND, Resource: resource, Name: name, Instead: instead}
}

// Activate puts versions into use. All must exist.
func (s *Store) Activate(ctx context.Context, o Owner, agent string, shares []*gatewayv1.PromptShare) error {
	next := make([]recordShare, len(shares))
	for i, share := range shares {
		if _, err := s.Version(ctx, o, agent, share.GetVersion()); err != nil {
			return err
		}
		next[i] = recordShare{share.GetVersion(), share.GetPercent()}
	}
	return s.change(ctx, o, agent, func(r *record) error {
		if !r.Changed || !slices.Equal(r.Shares, next) { // a repeated call leaves the way back
			*r = record{Shares: next, Previous: r.Shares, Changed: true}
		}
		return nil
	})
}

// RollBack puts back what was in use before the last change, or returns a *fault.NotFound.
func (s *Store) RollBack(ctx context.Context, o Owner, agent string) error {
	return s.change(ctx, o, agent, func(r *record) error {
		if !r.Changed {
			return notFound("earlier prompt of", agent, "none was activated")
		}
		r.Shares, r.Previous = r.Previous, r.Shares
		return nil
	})
}

// change changes the record of an agent, unless somebody else changes one of the owner's meanwhile: then it is tried again.
func (s *Store) change(ctx context.Context, o Owner, agent string, edit func(*record) error) error {
	defer s.cache.Clear()
	var err error
	for range attempts {
		err = s.redis.Watch(ctx, func(tx *redis.Tx) error {
			r, err := readRecord(ctx, tx, o, agent)
			if err != nil {
				return err
			}
			if err := edit(&r); err != nil {
				return err
			}
			raw, err := json.Marshal(r)
			if err != nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.HSet(ctx, o.key(), agent, raw).Err() })
			return state.Error("write prompt", err)
		}, o.key())
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
	return err
}

func readRecord(ctx context.Context, client redis.Cmdable, o Owner, agent string) (r record, err error) {
	raw, err := client.HGet(ctx, o.key(), agent).Bytes()
	if errors.Is(err, redis.Nil) {
		return r, nil
	}
	if err != nil {
		return r, state.Error("read prompt", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("decode the active prompt of %s: %w", agent, err)
	}
	return r, nil
}

// InUse returns what is in use in a store, by agent: its own, or that of its variant, or that of all stores. Agents that use the built-in
// prompt are left out. The owner may also be a variant, or all stores. What it returns is at most TTL old and must not be modified.
func (s *Store) InUse(ctx context.Context, store Owner, variant string) (map[string]Active, error) {
	return s.cache.Get(ctx, store.StoreID+"\n"+cmp.Or(store.Variant, variant), func(ctx context.Context) (map[string]Active, error) {
		owners := []Owner{{}}
		if variant != "" {
			owners = append(owners, Owner{Variant: variant})
		}
		if store != (Owner{}) {
			owners = append(owners, store)
		}
		return s.read(ctx, owners)
	})
}

// read returns what is in use, of owners whose last one counts first.
func (s *Store) read(ctx context.Context, owners []Owner) (map[string]Active, error) {
	var active []*redis.MapStringStringCmd
	_, err := s.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, o := range owners {
			active = append(active, pipe.HGetAll(ctx, o.key()))
		}
		return nil
	})
	if err != nil {
		return nil, state.Error("read prompts", err)
	}
	found := make(map[string]Active)
	for i, o := range owners {
		for agent, raw := range active[i].Val() {
			var r record
			if err := json.Unmarshal([]byte(raw), &r); err != nil {
				state.SkipRecord(ctx, "active prompt", o.key(), agent, err)
				continue
			}
			if len(r.Shares) == 0 {
				continue
			}
			a := Active{Owner: o.kind()}
			for _, share := range r.Shares {
				v, err := s.Version(ctx, o, agent, share.Version)
				if gone := new(fault.NotFound); errors.As(err, &gone) {
					state.SkipRecord(ctx, "prompt", o.key(agent), share.Version, err)
					continue
				}
				if err != nil {
					return nil, err
				}
				a.Shares = append(a.Shares, Share{v, share.Percent})
			}
			if len(a.Shares) > 0 {
				found[agent] = a
			}
		}
	}
	return found, nil
}

// For returns the prompts that a thread of a store uses, by agent, with the models that the store has chosen. Agents that use what is
// their own are left out.
func For(inUse map[string]Active, store *gatewayv1.Store, threadID string) map[string]*specialistv1.Prompt {
	out := make(map[string]*specialistv1.Prompt)
	for agent, a := range inUse {
		v := a.of(agent, threadID)
		p := &specialistv1.Prompt{Version: v.GetVersion(), Text: fill(v.GetText(), store), Model: v.GetModel(), MaxOutputTokens: v.GetMaxOutputTokens()}
		if strings.HasPrefix(v.GetVersion(), BuiltIn) {
			p.Version = "" // the agent knows that of its release
		}
		if proto.Size(p) > 0 {
			out[agent] = p
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(store.GetModels())) {
		if out[agent] == nil {
			out[agent] = &specialistv1.Prompt{}
		}
		out[agent].Model = cmp.Or(out[agent].GetModel(), store.GetModels()[agent])
	}
	return out
}

// of returns the version that a thread uses.
func (a Active) of(agent, threadID string) *gatewayv1.PromptVersion {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s\n%s", agent, threadID) // a hash takes everything
	at := int32(h.Sum32() % 100)
	for _, share := range a.Shares {
		if at -= share.Percent; at < 0 {
			return share.Version
		}
	}
	return a.Shares[len(a.Shares)-1].Version
}
