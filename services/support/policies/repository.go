// Package policies keeps a store's policy documents and finds the passages that answer a question. Documents are in Redis;
// each replica searches an index in its own memory, by words and, with an embedder, by meaning.
//
// The package must not import a service or another package of the support service.
package policies

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// maxIndexes bounds the number of stores with an index in memory. Beyond it, any other index is dropped and built again when a
// search needs it.
const maxIndexes = 256

// Repository keeps policy documents in one Redis hash for each store, beside a version that changes with every write. A search
// runs on an index in the memory of this process. The index is rebuilt when its version is not the wanted one, so every replica
// finds what any replica wrote. With an embedder, one goroutine for each new index embeds its passages; it ends when it is
// done, when the index is replaced, or on Close. A Repository is safe for concurrent use.
type Repository struct {
	redis     redis.UniversalClient
	words     *lexicon
	embedder  Embedder // nil: search by words only
	embedding *retrieval.Endpoint
	logger    *slog.Logger

	mu         sync.Mutex
	indexes    map[string]storeIndex // by store
	closed     bool
	background sync.WaitGroup // goroutines that embed
}

// New returns a repository that searches by meaning if embedder is not nil. It reads nothing yet. The caller owns client, and
// must call Close.
func New(client redis.UniversalClient, embedder Embedder, logger *slog.Logger) *Repository {
	return &Repository{
		redis: client, words: newLexicon(), embedder: embedder, embedding: retrieval.NewEndpoint(legVector, logger),
		logger: logger,
	}
}

// SaysUsed reports whether a text in English, German, Spanish or French says that goods were used or opened. A negation counts within
// its clause, for the words that follow it closely: "never opened", "nicht ein einziges Mal getragen", "sin usar", "jamais porté".
func (r *Repository) SaysUsed(message string) bool {
	clauses := strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(".,;:!?…()\n", r) })
	return slices.ContainsFunc(clauses, r.words.saysUsed)
}

// maxNegated is how many words may stand between a negation and what it negates.
const maxNegated = 3

// saysUsed is SaysUsed for a clause.
func (l *lexicon) saysUsed(clause string) bool {
	negated := -1 // the place of the last negation
	for i, word := range l.words(clause) {
		switch {
		case slices.Contains(negations, word) || strings.HasSuffix(word, "n't"):
			negated = i
		case slices.Contains(contrasts, word):
			negated = -1
		case slices.Contains(l.named(word), usedGoods) && (negated < 0 || i-negated > maxNegated+1):
			return true
		}
	}
	return false
}

// storeIndex is the index of one version of a store's documents.
type storeIndex struct {
	version string
	index   *passageIndex
	vectors *vectors // nil without an embedder
}

// cancel ends the background work of an index.
func (x storeIndex) cancel() {
	if x.vectors != nil {
		x.vectors.cancel()
	}
}

func policiesKey(storeID string) string { return state.Key(storeID, "policies") }
func versionKey(storeID string) string  { return state.Key(storeID, "policies", "version") }

// Put writes documents and a new version in one transaction. It sets no update time.
func (r *Repository) Put(ctx context.Context, storeID string, policies []*policyv1.Policy) error {
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
	_, err := r.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.HSet(ctx, policiesKey(storeID), fields...)
		setVersion(ctx, tx, storeID)
		return nil
	})
	return state.Error("write policies", err)
}

// Delete removes a document and reports whether it existed.
func (r *Repository) Delete(ctx context.Context, storeID, policyID string) (bool, error) {
	var removed *redis.IntCmd
	_, err := r.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		removed = tx.HDel(ctx, policiesKey(storeID), policyID)
		setVersion(ctx, tx, storeID)
		return nil
	})
	if err != nil {
		return false, state.Error("delete policy", err)
	}
	return removed.Val() > 0, nil
}

// setVersion writes a random version. A counter would start again at one after Redis lost its data, and an old index would pass
// for the current one.
func setVersion(ctx context.Context, tx redis.Pipeliner, storeID string) {
	tx.Set(ctx, versionKey(storeID), rand.Text(), 0)
}

// List returns up to limit documents of a store, by id, after an id, and the last id, "" when there are no more. Limit 0 is as many as
// one message holds.
func (r *Repository) List(ctx context.Context, storeID, after string, limit int) (documents []*policyv1.Policy, next string, err error) {
	documents, next, err = state.HashPage(ctx, r.redis, policiesKey(storeID), after, limit, func(id, raw string) *policyv1.Policy {
		return decodePolicy(ctx, storeID, id, raw)
	})
	return documents, next, state.Error("read policies", err)
}

// Search returns up to limit passages that may answer a question, the best first, and the legs that took part. All are near in
// meaning only when the best one has few words of the question. It sees at least every write that version, a result of Version, includes.
func (r *Repository) Search(
	ctx context.Context, storeID, version, question, language string, limit int,
) ([]*policyv1.Passage, []string, error) {
	x, ok := r.cached(storeID, version)
	if !ok {
		var err error
		if x, err = r.current(ctx, storeID); err != nil {
			return nil, nil, err
		}
	}
	legs := []string{legLexical}
	found := x.index.find(question, language)
	if x.vectors != nil && found.asked && len(x.index.entries) > 0 {
		var leg string
		found, leg = r.fuse(ctx, x, found, question)
		legs = append(legs, leg)
	}
	return x.index.passages(found, limit), legs, nil
}

// fuse reorders lexical candidates with the vector leg's ranks, and returns the leg's name with its state.
func (r *Repository) fuse(ctx context.Context, x storeIndex, found findings, question string) (findings, string) {
	leg := x.vectors.leg()
	if leg != legVector {
		return found, leg
	}
	vectors := *x.vectors.passages.Load()
	var query embed.Vector
	ok := r.embedding.Ask(ctx, func(ctx context.Context) (err error) {
		query, err = r.embedder.Query(ctx, question)
		if err == nil && len(query) != len(vectors[0]) {
			err = fmt.Errorf("the question has %d dimensions, the passages have %d", len(query), len(vectors[0]))
		}
		return err
	})
	if !ok {
		return found, legVector + legFailed
	}
	return x.index.fused(found, query, vectors), leg
}

// Version returns the version of a store's documents; "" when none was ever written.
func (r *Repository) Version(ctx context.Context, storeID string) (string, error) {
	version, err := r.redis.Get(ctx, versionKey(storeID)).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return version, state.Error("read version of policies", err)
}

// current returns the index of the store's current documents.
func (r *Repository) current(ctx context.Context, storeID string) (storeIndex, error) {
	version, err := r.Version(ctx, storeID)
	if err != nil {
		return storeIndex{}, err
	}
	if x, ok := r.cached(storeID, version); ok {
		return x, nil
	}
	return r.build(ctx, storeID)
}

// cached returns the store's index in memory, and whether it is of the version.
func (r *Repository) cached(storeID, version string) (storeIndex, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.indexes[storeID]
	return x, ok && x.version == version
}

// build reads the documents and their version in one transaction, and builds and keeps their index.
func (r *Repository) build(ctx context.Context, storeID string) (storeIndex, error) {
	var version *redis.StringCmd
	var all *redis.MapStringStringCmd
	_, err := r.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		version = tx.Get(ctx, versionKey(storeID))
		all = tx.HGetAll(ctx, policiesKey(storeID))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return storeIndex{}, state.Error("read policies", err)
	}
	policies := decodePolicies(ctx, storeID, all.Val())
	return r.keep(storeID, storeIndex{version: version.Val(), index: newPassageIndex(r.words, policies)}), nil
}

// keep replaces the store's index and starts to embed the new one's passages. An index of the same version, which another
// search built in the meantime, stays.
func (r *Repository) keep(storeID string, x storeIndex) storeIndex {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.indexes == nil {
		r.indexes = make(map[string]storeIndex)
	}
	old, ok := r.indexes[storeID]
	switch {
	case ok && old.version == x.version:
		return old
	case ok:
		old.cancel()
	case len(r.indexes) >= maxIndexes:
		for other, dropped := range r.indexes {
			dropped.cancel()
			delete(r.indexes, other)
			break
		}
	}
	if r.embedder != nil {
		x.vectors = r.embed(x.index)
	}
	r.indexes[storeID] = x
	return x
}

// embed starts to embed the passages of an index in the background. The caller holds the lock.
func (r *Repository) embed(index *passageIndex) *vectors {
	ctx, cancel := context.WithCancel(context.Background())
	v := &vectors{cancel: cancel}
	if r.closed || len(index.entries) == 0 {
		cancel()
		return v
	}
	r.background.Go(func() { v.make(ctx, r.embedder, index.embeddedTexts(), r.logger) })
	return v
}

// Close ends the background work and waits for it. No call may be under way.
func (r *Repository) Close() {
	r.mu.Lock()
	r.closed = true
	for _, x := range r.indexes {
		x.cancel()
	}
	r.mu.Unlock()
	r.background.Wait()
}

// decodePolicies returns documents by id, without those that cannot be decoded.
func decodePolicies(ctx context.Context, storeID string, all map[string]string) []*policyv1.Policy {
	policies := make([]*policyv1.Policy, 0, len(all))
	for id, raw := range all {
		if p := decodePolicy(ctx, storeID, id, raw); p != nil {
			policies = append(policies, p)
		}
	}
	slices.SortFunc(policies, func(a, b *policyv1.Policy) int { return cmp.Compare(a.GetPolicyId(), b.GetPolicyId()) })
	return policies
}

// decodePolicy returns a document, or nil for one that cannot be decoded.
func decodePolicy(ctx context.Context, storeID, id, raw string) *policyv1.Policy {
	p := &policyv1.Policy{}
	if err := proto.Unmarshal([]byte(raw), p); err != nil {
		state.SkipRecord(ctx, "policy", storeID, id, err)
		return nil
	}
	return p
}
