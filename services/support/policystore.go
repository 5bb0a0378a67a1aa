package support

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// maxIndexes bounds the stores whose index is kept. Beyond it any other is dropped, and made again when it is needed.
const maxIndexes = 256

// policyStore keeps policy documents in one Redis hash for each store, and beside it a version that changes with every
// write. Searches run on an index in this process, which is made again when the version is another than the index's;
// so every replica finds what any of them wrote, and nothing runs in the background. It is safe for concurrent use.
type policyStore struct {
	redis redis.UniversalClient
	words *lexicon

	mu      sync.Mutex
	indexes map[string]versioned // by store
}

type versioned struct {
	version string
	index   *passageIndex
}

func policiesKey(storeID string) string { return state.Key(storeID, "policies") }
func versionKey(storeID string) string  { return state.Key(storeID, "policies", "version") }

// put writes documents and the new version in one transaction.
func (s *policyStore) put(ctx context.Context, storeID string, policies []*policyv1.Policy) error {
	if len(policies) == 0 {
		return nil
	}
	fields := make([]any, 0, 2*len(policies))
	for _, p := range policies {
		raw, err := proto.Marshal(p)
		if err != nil {
			return fmt.Errorf("encode policy: %w", err)
		}
		fields = append(fields, p.GetPolicyId(), raw)
	}
	_, err := s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.HSet(ctx, policiesKey(storeID), fields...)
		setVersion(ctx, tx, storeID)
		return nil
	})
	return state.Error("write policies", err)
}

// delete removes a document and reports whether there was one.
func (s *policyStore) delete(ctx context.Context, storeID, policyID string) (bool, error) {
	var removed *redis.IntCmd
	_, err := s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		removed = tx.HDel(ctx, policiesKey(storeID), policyID)
		setVersion(ctx, tx, storeID)
		return nil
	})
	if err != nil {
		return false, state.Error("delete policy", err)
	}
	return removed.Val() > 0, nil
}

// setVersion takes a random version rather than the next number: a Redis that lost its data would count from one again,
// and an index of an older life would pass for the current one.
func setVersion(ctx context.Context, tx redis.Pipeliner, storeID string) {
	tx.Set(ctx, versionKey(storeID), rand.Text(), 0)
}

// list returns the documents of a store, ordered by id.
func (s *policyStore) list(ctx context.Context, storeID string) ([]*policyv1.Policy, error) {
	all, err := s.redis.HGetAll(ctx, policiesKey(storeID)).Result()
	if err != nil {
		return nil, state.Error("read policies", err)
	}
	return decodePolicies(all)
}

// search returns the passages that answer a question, at most limit; none when no document is about it.
func (s *policyStore) search(ctx context.Context, storeID, question, language string, limit int) ([]*policyv1.Passage, error) {
	index, err := s.index(ctx, storeID)
	if err != nil {
		return nil, err
	}
	return index.search(question, language, limit), nil
}

// index returns the index of the store's current documents.
func (s *policyStore) index(ctx context.Context, storeID string) (*passageIndex, error) {
	version, err := s.redis.Get(ctx, versionKey(storeID)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, state.Error("read version of policies", err)
	}
	s.mu.Lock()
	known, ok := s.indexes[storeID]
	s.mu.Unlock()
	if ok && known.version == version {
		return known.index, nil
	}
	return s.build(ctx, storeID)
}

// build makes the index of the documents of one instant and keeps it.
func (s *policyStore) build(ctx context.Context, storeID string) (*passageIndex, error) {
	var version *redis.StringCmd
	var all *redis.MapStringStringCmd
	_, err := s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		version = tx.Get(ctx, versionKey(storeID))
		all = tx.HGetAll(ctx, policiesKey(storeID))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, state.Error("read policies", err)
	}
	policies, err := decodePolicies(all.Val())
	if err != nil {
		return nil, err
	}
	index := newPassageIndex(s.words, policies)
	s.keep(storeID, versioned{version.Val(), index})
	return index, nil
}

func (s *policyStore) keep(storeID string, v versioned) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes == nil {
		s.indexes = make(map[string]versioned)
	}
	if _, ok := s.indexes[storeID]; !ok && len(s.indexes) >= maxIndexes {
		for other := range s.indexes {
			delete(s.indexes, other)
			break
		}
	}
	s.indexes[storeID] = v
}

func decodePolicies(all map[string]string) ([]*policyv1.Policy, error) {
	policies := make([]*policyv1.Policy, 0, len(all))
	for id, raw := range all {
		p := &policyv1.Policy{}
		if err := proto.Unmarshal([]byte(raw), p); err != nil {
			return nil, fmt.Errorf("decode policy %q: %w", id, err)
		}
		policies = append(policies, p)
	}
	slices.SortFunc(policies, func(a, b *policyv1.Policy) int { return cmp.Compare(a.GetPolicyId(), b.GetPolicyId()) })
	return policies, nil
}
