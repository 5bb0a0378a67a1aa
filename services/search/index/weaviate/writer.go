package weaviate

import (
	"context"
	"maps"

	"golang.org/x/sync/errgroup"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/index"
)

const (
	// batchSize is how many entries of the manifest one command reads.
	batchSize = 500
	// writeBatch is how many objects are written at once.
	writeBatch = 200
	// writersAtOnce is how many batches are under way.
	writersAtOnce = 3
	// shortestMeant is the length of the shortest stem that is offered for a misspelt word, in bytes.
	shortestMeant = 3
	// maxCopies bounds the nodes that keep each object.
	maxCopies = 3
)

// writer writes to a collection, under a lease.
type writer struct {
	*Backend
	manifest
	collection string
}

// catchUp brings the collection to the version of the catalog.
func (w *writer) catchUp(ctx context.Context) error {
	st, err := w.status(ctx)
	if err != nil {
		return err
	}
	have := st.indexed[w.collection]
	if have == 0 || have > st.version {
		return w.fill(ctx)
	}
	if have == st.version {
		return nil
	}
	if err := w.deleteOrphans(ctx); err != nil {
		return err
	}
	c, err := w.Backend.store.Changes(ctx, w.storeID, st.positions[w.collection])
	if err != nil {
		return err
	}
	gone, err := w.gone(ctx, c)
	if err != nil {
		return err
	}
	return w.apply(ctx, c, gone)
}

// fill writes everything into an empty tenant.
func (w *writer) fill(ctx context.Context) error {
	copies, err := w.client.Members(ctx)
	if err != nil {
		return err
	}
	name := tenant(w.storeID)
	if err := w.client.CreateCollection(ctx, w.collection, min(copies, maxCopies), properties()); err != nil {
		return err
	}
	if err := w.client.DeleteTenant(ctx, w.collection, name); err != nil {
		return err
	}
	if err := w.forget(ctx, w.collection); err != nil {
		return err
	}
	if err := w.client.CreateTenant(ctx, w.collection, name); err != nil {
		return err
	}
	all, err := w.Backend.store.Changes(ctx, w.storeID, catalog.Position{})
	if err != nil {
		return err
	}
	return w.apply(ctx, all, nil)
}

// gone returns the ids that the manifest has and that no product has any more.
func (w *writer) gone(ctx context.Context, c catalog.Change) ([]string, error) {
	if c.Complete() {
		return c.Removed, nil
	}
	known := make(map[string]bool)
	for cursor := uint64(0); ; {
		fields, next, err := w.rdb.HScan(ctx, w.keys(w.collection)[0], cursor, "", batchSize).Result()
		if err != nil {
			return nil, state.Error("read index", err)
		}
		for i := 0; i+1 < len(fields); i += 2 {
			known[fields[i]] = true
		}
		if cursor = next; cursor == 0 {
			return c.Gone(maps.Keys(known)), nil
		}
	}
}

// deleteOrphans deletes the objects of writers that did not finish.
func (w *writer) deleteOrphans(ctx context.Context) error {
	begun, err := w.pending(ctx, w.collection)
	if err != nil || len(begun) == 0 {
		return err
	}
	var objects, products []string
	for object, product := range begun {
		objects, products = append(objects, object), append(products, product)
	}
	records, err := w.records(ctx, w.collection, products)
	if err != nil {
		return err
	}
	var orphans []string
	for i, l := range records {
		if l == nil || l.Row != objects[i] {
			orphans = append(orphans, objects[i])
		}
	}
	if err := w.drop(ctx, orphans); err != nil {
		return err
	}
	return w.clearPending(ctx, w.collection)
}

// apply writes a change, and then says that the collection has it.
func (w *writer) apply(ctx context.Context, c catalog.Change, gone []string) error {
	group, batches := errgroup.WithContext(ctx)
	group.SetLimit(writersAtOnce)
	for put := c.Put; len(put) > 0; {
		batch := put[:min(writeBatch, len(put))]
		put = put[len(batch):]
		group.Go(func() error { return w.put(batches, c.Position.Version, batch) })
	}
	for removed := gone; len(removed) > 0; {
		batch := make(map[string]record)
		for _, id := range removed[:min(writeBatch, len(removed))] {
			batch[id] = record{}
		}
		removed = removed[min(writeBatch, len(removed)):]
		group.Go(func() error { return w.commitBatch(batches, c.Position.Version, batch) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := w.clearPending(ctx, w.collection); err != nil {
		return err
	}
	return w.setPosition(ctx, w.collection, c.Position)
}

// put writes products as of a version: first their objects, then the manifest, and then it deletes the old objects. What
// breaks off in between leaves orphans only.
func (w *writer) put(ctx context.Context, version int64, products []*catalogv1.Product) error {
	ids := make([]string, len(products))
	for i, p := range products {
		ids[i] = p.GetProductId()
	}
	old, err := w.records(ctx, w.collection, ids)
	if err != nil {
		return err
	}
	batch, objects := make(map[string]record), make([]weaviate.Object, 0, len(products))
	begun, stems := make(map[string]string), make(map[string]bool)
	for i, p := range products {
		object, l, err := w.prepare(p, version, stems)
		if err != nil {
			return err
		}
		if old[i] != nil && old[i].Row != "" && old[i].Hash == l.Hash {
			continue // it says what it said
		}
		batch[p.GetProductId()], begun[object.ID] = l, p.GetProductId()
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil
	}
	if err := w.keepVectors(ctx, objects, batch, old); err != nil {
		return err
	}
	if err := w.addPending(ctx, w.collection, begun); err != nil {
		return err
	}
	if err := w.client.Put(ctx, w.collection, tenant(w.storeID), objects); err != nil {
		return err
	}
	if err := w.addStems(ctx, w.collection, stems); err != nil {
		return err
	}
	return w.commitBatch(ctx, version, batch)
}

// prepare makes the object of a product, and what the manifest says of it.
func (w *writer) prepare(p *catalogv1.Product, version int64, stems map[string]bool) (weaviate.Object, record, error) {
	e, ps := index.NewEntry(p), index.Analyze(p, stemAll)
	for i, f := range index.Fields {
		if f.Weight == 0 || !f.Strong {
			continue
		}
		for _, s := range ps[i] {
			if len(s) >= shortestMeant {
				stems[s] = true
			}
		}
	}
	object := w.object(w.storeID, e, ps, version)
	l, err := newRecord(object.ID, e, ps)
	return object, l, err
}

// commitBatch takes products into the manifest and deletes the objects that do not count any more.
func (w *writer) commitBatch(ctx context.Context, version int64, batch map[string]record) error {
	orphans, err := w.commit(ctx, w.collection, version, batch)
	if err != nil {
		return err
	}
	return w.drop(ctx, orphans)
}

// drop deletes objects.
func (w *writer) drop(ctx context.Context, objects []string) error {
	for len(objects) > 0 {
		batch := objects[:min(writeBatch, len(objects))]
		objects = objects[len(batch):]
		if err := w.client.Delete(ctx, w.collection, tenant(w.storeID), batch); err != nil {
			return err
		}
	}
	return nil
}
