package search

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
)

const (
	// writeBatch is how many rows are written at once.
	writeBatch = 200
	// writersAtOnce is how many batches are under way.
	writersAtOnce = 3
	// shortestMeant is the length of the shortest stem that a misspelt word may have meant, in bytes.
	shortestMeant = 3
	// maxCopies bounds the nodes that keep each row.
	maxCopies = 3
)

// writer writes to a collection, under a lease.
type writer struct {
	*cluster
	manifest
	collection string
}

// catchUp brings the collection to the version of the catalog.
func (w *writer) catchUp(ctx context.Context) error {
	st, err := w.standing(ctx)
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
	if err := w.settle(ctx); err != nil {
		return err
	}
	c, complete, err := w.cluster.store.since(ctx, w.storeID, have)
	if err != nil {
		return err
	}
	if !complete {
		if c, err = w.difference(ctx); err != nil {
			return err
		}
	}
	return w.apply(ctx, c)
}

// fill writes everything into an empty tenant.
func (w *writer) fill(ctx context.Context) error {
	copies, err := w.client.Members(ctx)
	if err != nil {
		return err
	}
	name := tenant(w.storeID)
	if err := w.client.CreateCollection(ctx, w.collection, min(copies, maxCopies), rowProperties()); err != nil {
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
	all, err := w.cluster.store.load(ctx, w.storeID)
	if err != nil {
		return err
	}
	return w.apply(ctx, all)
}

// difference is what the catalog and the collection differ in, when the changes are no longer all known.
func (w *writer) difference(ctx context.Context) (change, error) {
	c, err := w.cluster.store.load(ctx, w.storeID)
	if err != nil {
		return c, err
	}
	there := make(map[string]bool, len(c.put))
	for _, p := range c.put {
		there[p.GetProductId()] = true
	}
	for cursor := uint64(0); ; {
		var fields []string
		if fields, cursor, err = w.rdb.HScan(ctx, w.keys(w.collection)[0], cursor, "", readBatch).Result(); err != nil {
			return c, fmt.Errorf("read index: %w", err)
		}
		for i := 0; i+1 < len(fields); i += 2 {
			if !there[fields[i]] {
				there[fields[i]] = true // HSCAN may return a field twice
				c.removed = append(c.removed, fields[i])
			}
		}
		if cursor == 0 {
			return c, nil
		}
	}
}

// settle deletes rows that a writer has left behind that did not come to their end.
func (w *writer) settle(ctx context.Context) error {
	begun, err := w.begun(ctx, w.collection)
	if err != nil || len(begun) == 0 {
		return err
	}
	var rows, products []string
	for row, product := range begun {
		rows, products = append(rows, row), append(products, product)
	}
	listings, err := w.listings(ctx, w.collection, products)
	if err != nil {
		return err
	}
	var loose []string
	for i, l := range listings {
		if l == nil || l.Row != rows[i] {
			loose = append(loose, rows[i])
		}
	}
	if err := w.drop(ctx, loose); err != nil {
		return err
	}
	return w.settled(ctx, w.collection)
}

// apply writes a change, and then says that the collection has it.
func (w *writer) apply(ctx context.Context, c change) error {
	group, batches := errgroup.WithContext(ctx)
	group.SetLimit(writersAtOnce)
	for put := c.put; len(put) > 0; {
		batch := put[:min(writeBatch, len(put))]
		put = put[len(batch):]
		group.Go(func() error { return w.put(batches, c.version, batch) })
	}
	for removed := c.removed; len(removed) > 0; {
		batch := make(map[string]listing)
		for _, id := range removed[:min(writeBatch, len(removed))] {
			batch[id] = listing{}
		}
		removed = removed[min(writeBatch, len(removed)):]
		group.Go(func() error { return w.commitBatch(batches, c.version, batch) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := w.settled(ctx, w.collection); err != nil {
		return err
	}
	return w.reach(ctx, w.collection, c.version)
}

// put writes products as of a version: first their rows, then that these count, and then the old ones go. Whatever is broken off
// in between leaves rows that count for nothing.
func (w *writer) put(ctx context.Context, version int64, products []*catalogv1.Product) error {
	ids := make([]string, len(products))
	for i, p := range products {
		ids[i] = p.GetProductId()
	}
	old, err := w.listings(ctx, w.collection, ids)
	if err != nil {
		return err
	}
	batch, rows := make(map[string]listing), make([]weaviate.Object, 0, len(products))
	begun, stems := make(map[string]string), make(map[string]bool)
	for i, p := range products {
		row, l, err := w.prepare(p, version, stems)
		if err != nil {
			return err
		}
		if old[i] != nil && old[i].Row != "" && old[i].Hash == l.Hash {
			continue // it says what it said
		}
		batch[p.GetProductId()], begun[row.ID] = l, p.GetProductId()
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := w.keepVectors(ctx, rows, batch, old); err != nil {
		return err
	}
	if err := w.begin(ctx, w.collection, begun); err != nil {
		return err
	}
	if err := w.client.Put(ctx, w.collection, tenant(w.storeID), rows); err != nil {
		return err
	}
	if err := w.addStems(ctx, w.collection, stems); err != nil {
		return err
	}
	return w.commitBatch(ctx, version, batch)
}

// prepare makes the row of a product, and what the manifest says of it.
func (w *writer) prepare(p *catalogv1.Product, version int64, stems map[string]bool) (weaviate.Object, listing, error) {
	e, ps := newEntry(p), partsOf(p, stemAll)
	for i, f := range fields {
		if f.weight == 0 || !f.strong {
			continue
		}
		for _, s := range ps[i] {
			if len(s) >= shortestMeant {
				stems[s] = true
			}
		}
	}
	row := w.row(w.storeID, e, ps, version)
	l, err := newListing(row.ID, e, ps)
	return row, l, err
}

// commitBatch takes products into the manifest and deletes the rows that do not count any more.
func (w *writer) commitBatch(ctx context.Context, version int64, batch map[string]listing) error {
	loose, err := w.commit(ctx, w.collection, version, batch)
	if err != nil {
		return err
	}
	return w.drop(ctx, loose)
}

// drop deletes rows.
func (w *writer) drop(ctx context.Context, rows []string) error {
	for len(rows) > 0 {
		batch := rows[:min(writeBatch, len(rows))]
		rows = rows[len(batch):]
		if err := w.client.Delete(ctx, w.collection, tenant(w.storeID), batch); err != nil {
			return err
		}
	}
	return nil
}
