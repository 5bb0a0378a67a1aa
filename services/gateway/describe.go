package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/offer"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

const (
	// describeTimeout bounds one Describe, which is a look into the specialist's own state, but never to more than a quarter
	// of what is left of the turn.
	describeTimeout = time.Second
	// firstDescribe is the same while nothing can stand in, since this specialist has not described itself to this gateway yet.
	// Services that start together keep each other waiting.
	firstDescribe = 5 * time.Second
	// describeTTL is how long a description is taken as it is.
	describeTTL = 30 * time.Second
	// describeRetry is how long the last known description stands in before a failed Describe is tried again.
	describeRetry = 5 * time.Second
)

// directory knows how each specialist describes itself for each store. The last description is kept for ever: a specialist
// that is down shall still get its sub-queries, so that the reply can say which part is missing.
type directory struct {
	peers []Peer

	mu     sync.Mutex
	known  map[describedFor]*described
	last   map[string]*specialistv1.Specialist // by name, for whichever store
	offers map[string]*offered                 // by store, the last one
	asking map[describedFor]chan struct{}      // closed when a first description has come or failed
}

type describedFor struct{ storeID, name string }

// offered is what a store's messages are routed by, with its version.
type offered struct {
	specialists []*specialistv1.Specialist
	version     string
}

type described struct {
	specialist *specialistv1.Specialist
	until      time.Time
}

func newDirectory(peers []Peer) *directory {
	return &directory{
		peers: peers, known: map[describedFor]*described{}, last: map[string]*specialistv1.Specialist{},
		asking: map[describedFor]chan struct{}{}, offers: map[string]*offered{},
	}
}

// client returns the client of a specialist.
func (d *directory) client(name string) (specialistv1.SpecialistServiceClient, bool) {
	for _, p := range d.peers {
		if p.Name == name {
			return p.Client, true
		}
	}
	return nil, false
}

// describe returns the specialists that can be offered to the router for a store, in the order of the configuration, and
// a note on each that can not. They come without their tools, which are large and of no use to a router. The context carries
// the store's scope and has a deadline. Callers must not change what they get.
func (d *directory) describe(ctx context.Context, storeID string) (found []*specialistv1.Specialist, notes []string) {
	all := make([]*specialistv1.Specialist, len(d.peers))
	errs := make([]error, len(d.peers))
	var wg sync.WaitGroup
	for i, p := range d.peers {
		if all[i] = d.fresh(storeID, p.Name); all[i] == nil {
			wg.Go(func() { all[i], errs[i] = d.get(ctx, storeID, p) })
		}
	}
	wg.Wait()
	for i, s := range all {
		if s == nil {
			notes = append(notes, fmt.Sprintf("specialist %q has not described itself yet and is left out: %s",
				d.peers[i].Name, rpc.Status(errs[i]).Message()))
			continue
		}
		found = append(found, s)
	}
	return found, notes
}

// version returns the version of what describe found for a store; "" if it can not be told. It is worked out when a
// description has changed.
func (d *directory) version(storeID string, found []*specialistv1.Specialist) string {
	d.mu.Lock()
	known := d.offers[storeID]
	d.mu.Unlock()
	if known != nil && slices.Equal(known.specialists, found) {
		return known.version
	}
	version, err := offer.Version(found)
	if err != nil {
		version = "" // they then travel with each message, and it shows there what is wrong
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.offers[storeID] = &offered{found, version}
	return version
}

// fresh returns a description that needs no asking, or nil. Of the turns that find an old one, the first is to ask; the
// others make do with it.
func (d *directory) fresh(storeID, name string) *specialistv1.Specialist {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, now := d.known[describedFor{storeID, name}], time.Now()
	switch {
	case k == nil:
		return nil
	case now.Before(k.until):
		return k.specialist
	}
	k.until = now.Add(describeTimeout)
	return nil
}

// get asks a specialist to describe itself. Turns that need a first description for the same store wait for the one that
// asks first, so that a crowd asks once.
func (d *directory) get(ctx context.Context, storeID string, p Peer) (*specialistv1.Specialist, error) {
	ctx, cancel := context.WithTimeout(ctx, share(ctx, d.patience(p.Name), 4))
	defer cancel()
	key := describedFor{storeID, p.Name}
	for {
		d.mu.Lock()
		others, first := d.asking[key], d.known[key] == nil
		if others == nil {
			if first {
				d.asking[key] = make(chan struct{})
			}
			d.mu.Unlock()
			return d.ask(ctx, storeID, p)
		}
		d.mu.Unlock()
		select {
		case <-others:
		case <-ctx.Done():
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.standIn(key, ctx.Err())
		}
		if s := d.fresh(storeID, p.Name); s != nil {
			return s, nil
		}
	}
}

// patience is how long a specialist may take to describe itself.
func (d *directory) patience(name string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last[name] == nil {
		return firstDescribe
	}
	return describeTimeout
}

// ask asks a specialist to describe itself. When it does not, the last description for this store stands in, or else the
// last for any store; the error is then nil.
func (d *directory) ask(ctx context.Context, storeID string, p Peer) (*specialistv1.Specialist, error) {
	resp, err := p.Client.Describe(ctx, &specialistv1.DescribeRequest{})
	d.mu.Lock()
	defer d.mu.Unlock()
	key := describedFor{storeID, p.Name}
	if others := d.asking[key]; others != nil {
		defer delete(d.asking, key)
		defer close(others)
	}
	if err == nil {
		s := proto.CloneOf(resp.GetSpecialist())
		if s == nil {
			s = &specialistv1.Specialist{}
		}
		s.Name, s.Tools = p.Name, nil
		if last := d.last[p.Name]; proto.Equal(s, last) {
			s = last // stores that are told the same share it
		} else if k := d.known[key]; k != nil && proto.Equal(s, k.specialist) {
			s = k.specialist // so that it is seen at once that nothing has changed
		}
		d.known[key] = &described{specialist: s, until: time.Now().Add(describeTTL)}
		d.last[p.Name] = s
		return s, nil
	}
	return d.standIn(key, err)
}

// standIn returns what stands in for a description that did not come, or else why it did not. d.mu is held.
func (d *directory) standIn(key describedFor, err error) (*specialistv1.Specialist, error) {
	if k := d.known[key]; k != nil {
		k.until = time.Now().Add(describeRetry)
		return k.specialist, nil
	}
	if s := d.last[key.name]; s != nil {
		s = proto.CloneOf(s)
		s.Available, s.UnavailableReason = true, "" // that was said of another store
		d.known[key] = &described{specialist: s, until: time.Now().Add(describeRetry)}
		return s, nil
	}
	return nil, err
}
