// Package registry knows the specialists of a gateway: how to reach each of them, and how each describes itself for each
// store. Descriptions are cached, so a turn seldom waits for one.
//
// The package must not import a service.
package registry

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/proto"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/offer"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// TTL is how long a description is used without asking again.
	TTL = 30 * time.Second
	// Timeout bounds one Describe, a read of the specialist's own state. A turn waits for at most a quarter of the time that it
	// has left.
	Timeout = time.Second
	// firstTimeout is Timeout for a specialist that has never described itself, so that no description can stand in. Services
	// that start together keep each other waiting.
	firstTimeout = 5 * time.Second
	// retryDelay is how long an old description stands in after a failed Describe.
	retryDelay = 5 * time.Second
)

// Peer is one specialist.
type Peer struct {
	// Name of the specialist, unique, such as "search". It overrides the name in the specialist's description. Required.
	Name string
	// Client reaches the specialist. Required.
	Client specialistv1.SpecialistServiceClient
	// Reads are the kinds of data that the specialist may read. Of the shopper it gets only what these are about: see
	// scope.Narrow.
	Reads []scope.Read
}

// Registry knows the specialists. Descriptions are never forgotten: a specialist that is down must still get its sub-queries,
// so that the reply can say which part is missing. A Registry is safe for concurrent use.
type Registry struct {
	peers  []Peer
	signer *scope.Signer
	log    *slog.Logger
	calls  singleflight.Group

	mu       sync.Mutex
	entries  map[entryKey]*entry
	last     map[string]*specialistv1.Specialist // by name, for any store
	prompts  map[string]*specialistv1.Prompt     // by name
	versions map[string]version                  // by store
}

type entryKey struct{ storeID, name string }

// entry is a description, which is fresh until a time.
type entry struct {
	specialist *specialistv1.Specialist
	until      time.Time
}

// version identifies a list of specialists to the router.
type version struct {
	specialists []*specialistv1.Specialist
	id          string
}

// New returns a registry of peers. It makes no call. The signer signs the scopes of Describe. The logger gets the stacks of
// panics.
func New(peers []Peer, signer *scope.Signer, log *slog.Logger) *Registry {
	return &Registry{
		peers: peers, signer: signer, log: log, entries: map[entryKey]*entry{}, last: map[string]*specialistv1.Specialist{},
		prompts:  map[string]*specialistv1.Prompt{},
		versions: map[string]version{},
	}
}

// Peer returns the specialist of a name, and false if there is no such specialist.
func (r *Registry) Peer(name string) (Peer, bool) {
	for _, p := range r.peers {
		if p.Name == name {
			return p, true
		}
	}
	return Peer{}, false
}

// Names returns the names of all specialists, in the order of the peers.
func (r *Registry) Names() []string {
	names := make([]string, len(r.peers))
	for i, p := range r.peers {
		names[i] = p.Name
	}
	return names
}

// Prompt returns the built-in prompt of a specialist, as it said when it last described itself. Nil: it has not.
func (r *Registry) Prompt(name string) *specialistv1.Prompt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prompts[name]
}

// ReadsCart reports whether the tools of a specialist read the cart, as the specialist said when it last described itself for
// the store, or else for any store. A specialist that may not read carts reads none, whatever it says.
func (r *Registry) ReadsCart(storeID, name string) bool {
	if p, ok := r.Peer(name); !ok || !slices.Contains(p.Reads, scope.ReadCarts) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[entryKey{storeID, name}]; e != nil {
		return e.specialist.GetReadsCart()
	}
	return r.last[name].GetReadsCart()
}

// Available returns the names of the specialists that can serve a store, as they said when they last described themselves for it, in the
// order of the peers.
func (r *Registry) Available(storeID string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, p := range r.peers {
		if e := r.entries[entryKey{storeID, p.Name}]; e != nil && e.specialist.GetAvailable() {
			names = append(names, p.Name)
		}
	}
	return names
}

// Describe returns the specialists of a store for the router, in the order of the peers, and a note on each that has never described
// itself. Of that one only the name is known: a part of a message that is its own must go to it, and be named as not answered, rather
// than be answered by another specialist that knows nothing of it. Tools and prompts are left out: they are large, and the router does not
// need them. The context has a deadline. Callers must not modify what they get.
func (r *Registry) Describe(ctx context.Context, storeID string) (found []*specialistv1.Specialist, notes []string) {
	all := make([]*specialistv1.Specialist, len(r.peers))
	errs := make([]error, len(r.peers))
	var wg sync.WaitGroup
	for i, p := range r.peers {
		if all[i] = r.fresh(entryKey{storeID, p.Name}); all[i] == nil {
			wg.Go(func() { all[i], errs[i] = r.describe(ctx, storeID, p) })
		}
	}
	wg.Wait()
	for i, s := range all {
		if s == nil {
			notes = append(notes, fmt.Sprintf("specialist %q has not described itself yet, so it is known by its name only: %s",
				r.peers[i].Name, rpc.Status(errs[i]).Message()))
			s = &specialistv1.Specialist{Name: r.peers[i].Name, Purpose: "Known by its name only.", Available: true}
		}
		found = append(found, s)
	}
	return found, notes
}

// fresh returns a cached description, or nil if the caller must ask. When a description has expired, only the first caller
// must ask; the others go on with the old one.
func (r *Registry) fresh(key entryKey) *specialistv1.Specialist {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, now := r.entries[key], time.Now()
	switch {
	case e == nil:
		return nil
	case now.Before(e.until):
		return e.specialist
	}
	e.until = now.Add(Timeout)
	return nil
}

// describe asks a specialist to describe itself, once for all turns that wait for the same store. A turn that ends, or whose
// share of time is over, stops waiting; the call goes on for the others.
func (r *Registry) describe(ctx context.Context, storeID string, p Peer) (*specialistv1.Specialist, error) {
	key, timeout := entryKey{storeID, p.Name}, r.timeout(p.Name)
	call := r.calls.DoChan(storeID+"\x00"+p.Name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		s, err := r.ask(ctx, storeID, p)
		if err != nil {
			return r.fallback(key, err)
		}
		return r.store(key, s), nil
	})
	due, _ := ctx.Deadline()
	wait, cancel := context.WithTimeout(ctx, min(timeout, time.Until(due)/4))
	defer cancel()
	select {
	case result := <-call:
		s, _ := result.Val.(*specialistv1.Specialist)
		return s, result.Err
	case <-wait.Done():
		return r.fallback(key, wait.Err())
	}
}

// timeout is how long a specialist may take to describe itself.
func (r *Registry) timeout(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[name] == nil {
		return firstTimeout
	}
	return Timeout
}

// ask calls Describe, with a scope that names the store and no shopper: the description is for all turns. A panic becomes an
// error: the call has no turn of its own that would recover.
func (r *Registry) ask(ctx context.Context, storeID string, p Peer) (s *specialistv1.Specialist, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.ErrorContext(ctx, "panic in Describe", "specialist", p.Name, "panic", telemetry.PanicText(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("describe %s: panic", p.Name)
		}
	}()
	if ctx, err = r.signer.Outgoing(ctx, scope.Scope{StoreID: storeID}.Narrow(p.Name, p.Reads)); err != nil {
		return nil, err
	}
	resp, err := p.Client.Describe(ctx, &specialistv1.DescribeRequest{})
	if err != nil {
		return nil, err
	}
	s = &specialistv1.Specialist{}
	proto.Merge(s, resp.GetSpecialist())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompts[p.Name] = s.GetPrompt()
	s.Name, s.Tools, s.Prompt = p.Name, nil, nil
	return s, nil
}

// store caches a description and returns it. Equal descriptions are the same value, which saves memory where there are many
// stores, and lets Version compare pointers.
func (r *Registry) store(key entryKey, s *specialistv1.Specialist) *specialistv1.Specialist {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.last[key.name]; proto.Equal(s, last) {
		s = last
	} else if e := r.entries[key]; e != nil && proto.Equal(s, e.specialist) {
		s = e.specialist
	}
	r.entries[key] = &entry{specialist: s, until: time.Now().Add(TTL)}
	r.last[key.name] = s
	return s
}

// fallback returns the description that stands in for one that did not come: the last one for the store, or else the last one
// for any store. Without one, it returns err.
func (r *Registry) fallback(key entryKey, err error) (*specialistv1.Specialist, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[key]; e != nil {
		e.until = time.Now().Add(retryDelay)
		return e.specialist, nil
	}
	if s := r.last[key.name]; s != nil {
		s = proto.CloneOf(s)
		s.Available, s.UnavailableReason = true, "" // these were said of another store
		r.entries[key] = &entry{specialist: s, until: time.Now().Add(retryDelay)}
		return s, nil
	}
	return nil, err
}

// Version returns the version of specialists that Describe returned for a store, or "" if they cannot be encoded. The version
// is computed anew when a description has changed.
func (r *Registry) Version(storeID string, specialists []*specialistv1.Specialist) string {
	r.mu.Lock()
	known, ok := r.versions[storeID]
	r.mu.Unlock()
	if ok && slices.Equal(known.specialists, specialists) {
		return known.id
	}
	id, err := offer.Version(specialists)
	if err != nil {
		id = "" // the specialists then travel with each message, where the error shows
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions[storeID] = version{specialists, id}
	return id
}
