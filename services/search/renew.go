package search

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/protobuf/proto"
)

// renew begins to build the store's view anew, beside the one that searches go on with. The caller holds the token.
func (c *catalog) renew(storeID string, r *replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !r.renewing.CompareAndSwap(false, true) {
		return
	}
	c.renewals.Go(func() {
		defer r.renewing.Store(false)
		ctx, cancel := context.WithTimeout(c.life, maxReload)
		defer cancel()
		if err := c.renewed(ctx, storeID, r); err != nil && c.life.Err() == nil {
			c.logger.Warn("an index could not be renewed; the next write tries again", slog.String("store", storeID), slog.Any("error", err))
		}
	})
}

// renewed builds a view and puts it in the place of the one in use as soon as it has caught up with it.
func (c *catalog) renewed(ctx context.Context, storeID string, r *replica) error {
	v, err := c.build(ctx, storeID)
	if err != nil {
		return err
	}
	// Most of what was written meanwhile is taken in before readers have to wait for it.
	if err := c.follow(ctx, storeID, v); err != nil {
		return errors.Join(err, v.index.Close())
	}
	select {
	case r.catching <- struct{}{}:
		defer func() { <-r.catching }()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), v.index.Close())
	}
	if err := c.follow(ctx, storeID, v); err != nil {
		return errors.Join(err, v.index.Close())
	}
	return r.replace(v)
}

// follow brings a view that nobody reads yet up to the store.
func (c *catalog) follow(ctx context.Context, storeID string, v *view) error {
	version, err := c.store.version(ctx, storeID)
	if err != nil || version == v.version {
		return err
	}
	changes, err := c.changes(ctx, storeID, v)
	if err != nil {
		return err
	}
	_, err = v.apply(ctx, changes)
	return err
}

// changes returns what has happened since the view: by the list of changes, or by comparing everything where that does not
// reach back so far.
func (c *catalog) changes(ctx context.Context, storeID string, v *view) (change, error) {
	since, complete, err := c.store.since(ctx, storeID, v.version)
	if err != nil || complete {
		return since, err
	}
	all, err := c.store.load(ctx, storeID)
	if err != nil {
		return change{}, err
	}
	return v.differing(all), nil
}

// build reads everything and returns a view of it.
func (c *catalog) build(ctx context.Context, storeID string) (*view, error) {
	all, err := c.store.load(ctx, storeID)
	if err != nil {
		return nil, err
	}
	index, err := c.newIndex()
	if err != nil {
		return nil, err
	}
	v := newView(index)
	if len(all.put) == 0 {
		v.version = all.version
		return v, nil
	}
	if _, err := v.apply(ctx, all); err != nil {
		return nil, errors.Join(err, index.Close())
	}
	return v, nil
}

// differing returns what must change for the view to hold all products of the store and no others. Most of them it has
// already, and it is reading products again that takes time.
func (v *view) differing(all change) change {
	out := change{version: all.version}
	there := make(map[string]bool, len(all.put))
	for _, p := range all.put {
		there[p.GetProductId()] = true
		if old := v.entries[p.GetProductId()]; old == nil || !proto.Equal(old.product, p) {
			out.put = append(out.put, p)
		}
	}
	for id := range v.entries {
		if !there[id] {
			out.removed = append(out.removed, id)
		}
	}
	return out
}
