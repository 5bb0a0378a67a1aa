package weaviate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/search/index"
)

const (
	// releaseTime bounds giving up a lease, which is done also when the time is up.
	releaseTime = time.Second
	// maxReload bounds how long a replica takes to catch up.
	maxReload = 10 * time.Minute
)

// catchUp brings the collection that is searched to the version of the catalog, or waits until another replica has done so. It
// is done for all readers to come, so it goes on when the one that began it has left.
func (c *Backend) catchUp(ctx context.Context, m manifest, s *storeState) error {
	select {
	case s.syncing <- struct{}{}:
	case <-ctx.Done():
		return timeoutError(ctx)
	}
	done := make(chan error, 1)
	work := func() {
		defer func() { <-s.syncing }()
		ctx, cancel := context.WithTimeout(c.ctx, maxReload)
		defer cancel()
		done <- c.catchUpNow(ctx, m)
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.work.Go(work)
	}
	c.mu.Unlock()
	if closed {
		<-s.syncing
		return index.ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return timeoutError(ctx)
	}
}

// timeoutError is the error of a reader whose time was up before the index was up to date.
func timeoutError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "search index: catch up", Err: ctx.Err()}
}

// catchUpNow takes turns with other replicas.
func (c *Backend) catchUpNow(ctx context.Context, m manifest) error {
	var late []string // products that a writer of this replica wrote when it had no lease any more, perhaps
	for {
		st, err := m.status(ctx)
		if err != nil {
			return err
		}
		collection := st.active
		if collection == "" {
			collection = c.collection()
		}
		if len(late) == 0 && (st.version == 0 || st.active != "" && st.indexed[collection] == st.version) {
			return nil
		}
		var touched []string
		done, err := c.leased(ctx, m, collection, func(ctx context.Context, w *writer) error {
			defer func() { touched = w.touched }()
			if now, err := m.status(ctx); err != nil || now.active != st.active {
				return err // another collection has taken its place
			}
			if len(late) > 0 {
				if err := w.rewrite(ctx, late); err != nil {
					return err
				}
			}
			if err := w.catchUp(ctx); err != nil || st.active != "" {
				return err
			}
			return m.activate(ctx, "", collection)
		})
		if done || err != nil {
			return err
		}
		late = append(late, touched...)
		if err := pause(ctx, leasePoll); err != nil {
			return err
		}
	}
}

// leased calls fn while no other replica writes to the collection. It returns false when one does.
func (c *Backend) leased(
	ctx context.Context, m manifest, collection string, fn func(context.Context, *writer) error,
) (done bool, err error) {
	m.token = uuid.NewString()
	w := &writer{Backend: c, manifest: m, collection: collection}
	ok, err := m.lease(ctx, collection)
	if err != nil || !ok {
		return false, err
	}
	held, lost := context.WithCancelCause(ctx)
	var beat sync.WaitGroup
	beat.Go(func() { w.keepLease(held, lost) })
	err = fn(held, w)
	if errors.Is(context.Cause(held), errLeaseLost) {
		err = errLeaseLost
	}
	lost(nil)
	beat.Wait()
	if errors.Is(err, errLeaseLost) {
		return false, nil // what it wrote may count or not; the other does it all
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return true, errors.Join(err, m.release(ctx, collection))
}

// keepLease extends the lease until ctx ends, and ends it when the lease was lost.
func (w *writer) keepLease(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(leaseTime / 5)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if held, err := w.extend(ctx, w.collection); err == nil && !held {
				lost(errLeaseLost)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// write calls fn once no other replica writes to the collection.
func (c *Backend) write(ctx context.Context, m manifest, collection string, fn func(context.Context, *writer) error) error {
	for {
		done, err := c.leased(ctx, m, collection, fn)
		if done || err != nil {
			return err
		}
		if err := pause(ctx, leasePoll); err != nil {
			return err
		}
	}
}

// pause waits, or returns the context's error if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replace fills the collection of this program's schema, switches searches over to it, and removes the old one.
func (c *Backend) replace(ctx context.Context, m manifest, old string) error {
	switched := false
	err := c.write(ctx, m, c.collection(), func(ctx context.Context, w *writer) error {
		for range maxTries { // what is written meanwhile is taken along
			if err := w.catchUp(ctx); err != nil {
				return err
			}
			st, err := m.status(ctx)
			if err != nil {
				return err
			}
			if st.active != old {
				return nil // another replica has done it
			}
			if st.indexed[c.collection()] == st.version {
				break
			}
		}
		switched = true
		return m.activate(ctx, old, c.collection())
	})
	if err != nil || !switched {
		return err
	}
	c.logger.Info("searches go by the new index", "store", m.storeID, "collection", c.collection(), "was", old)
	return c.write(ctx, m, old, func(ctx context.Context, w *writer) error { // after the last writer has finished
		return errors.Join(c.client.DeleteTenant(ctx, old, tenant(m.storeID)), w.forget(ctx, old))
	})
}
