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

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// maxIndexes bounds the stores whose index is kept. Beyond it any other is dropped, and made again when it is needed.
const maxIndexes = 256

// policyStore keeps policy documents in one Redis hash for each store, and beside it a version that changes with every
// write. Searches run on an index in this process, which is made again when the version is another than the index's;
// so every replica finds what any of them wrote, in an assignment what was written before that began. With an embedder, a goroutine for each new index embeds its passages, until
// it is done, the index is replaced, or close. It is safe for concurrent use.
type policyStore struct {
	redis     redis.UniversalClient
	words     *lexicon
	embedder  Embedder // nil: documents are searched by words alone
	embedding retrieval.Endpoint

	mu      sync.Mutex
	indexes map[string]versioned // by store
	closed  bool
	work    sync.WaitGroup // of the goroutines
}

type versioned struct {
	version  string
	index    *passageIndex
	meanings *meanings // nil without an embedder
}

// drop ends what an index has under way.
func (v versioned) drop() {
	if v.meanings != nil {
		v.meanings.cancel()
	}
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

// search returns the passages of an index that answer a question, at most limit, and the legs that took part; none when no
// document is about it.
func (s *policyStore) search(ctx context.Context, v versioned, question, language string, limit int) ([]*policyv1.Passage, []string) {
	legs := []string{legLexical}
	found, asked := v.index.find(question, language)
	if v.meanings != nil && asked && len(v.index.entries) > 0 {
		var leg string
		found, leg = s.byMeaning(ctx, v, found, question, limit)
		legs = append(legs, leg)
	}
	return v.index.passages(found, limit), legs
}

// byMeaning joins what the words have found with the vector leg's part, and names the leg.
func (s *policyStore) byMeaning(ctx context.Context, v versioned, found []candidate, question string, limit int) ([]candidate, string) {
	leg := v.meanings.leg()
	if leg != legVector {
		return found, leg
	}
	vectors := *v.meanings.vectors.Load()
	var query embed.Vector
	ok := s.embedding.Ask(ctx, func(ctx context.Context) (err error) {
		query, err = s.embedder.Query(ctx, question)
		if err == nil && len(query) != len(vectors[0]) {
			err = fmt.Errorf("a question has %d dimensions, and a passage %d", len(query), len(vectors[0]))
		}
		return err
	})
	if !ok {
		return found, legVector + legFailed
	}
	return v.index.joined(found, query, vectors, limit), leg
}

// version returns the version of the store's documents; empty when nothing was ever written.
func (s *policyStore) version(ctx context.Context, storeID string) (string, error) {
	version, err := s.redis.Get(ctx, versionKey(storeID)).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return version, state.Error("read version of policies", err)
}

// current returns the index of the store's current documents.
func (s *policyStore) current(ctx context.Context, storeID string) (versioned, error) {
	version, err := s.version(ctx, storeID)
	if err != nil {
		return versioned{}, err
	}
	if known, ok := s.known(storeID, version); ok {
		return known, nil
	}
	return s.build(ctx, storeID)
}

// known returns the index of a version, if it is the one that there is.
func (s *policyStore) known(storeID, version string) (versioned, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.indexes[storeID]
	return v, ok && v.version == version
}

// build makes the index of the documents of one instant and keeps it.
func (s *policyStore) build(ctx context.Context, storeID string) (versioned, error) {
	var version *redis.StringCmd
	var all *redis.MapStringStringCmd
	_, err := s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		version = tx.Get(ctx, versionKey(storeID))
		all = tx.HGetAll(ctx, policiesKey(storeID))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return versioned{}, state.Error("read policies", err)
	}
	policies, err := decodePolicies(all.Val())
	if err != nil {
		return versioned{}, err
	}
	return s.keep(storeID, versioned{version: version.Val(), index: newPassageIndex(s.words, policies)}), nil
}

// keep puts an index in the place of the store's old one, and begins to embed its passages. An index of the same version that
// another search has made in the meantime stays.
func (s *policyStore) keep(storeID string, v versioned) versioned {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes == nil {
		s.indexes = make(map[string]versioned)
	}
	old, ok := s.indexes[storeID]
	switch {
	case ok && old.version == v.version:
		return old
	case ok:
		old.drop()
	case len(s.indexes) >= maxIndexes:
		for other, dropped := range s.indexes {
			dropped.drop()
			delete(s.indexes, other)
			break
		}
	}
	if s.embedder != nil {
		v.meanings = s.begin(v.index)
	}
	s.indexes[storeID] = v
	return v
}

// begin embeds the passages of an index in the background. It wants the lock.
func (s *policyStore) begin(index *passageIndex) *meanings {
	ctx, cancel := context.WithCancel(context.Background())
	m := &meanings{cancel: cancel}
	if s.closed || len(index.entries) == 0 {
		cancel()
		return m
	}
	s.work.Go(func() { m.make(ctx, s.embedder, index.meaningTexts(), s.embedding.Logger) })
	return m
}

// close ends the work in the background and waits for it.
func (s *policyStore) close() {
	s.mu.Lock()
	s.closed = true
	for _, v := range s.indexes {
		v.drop()
	}
	s.mu.Unlock()
	s.work.Wait()
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
