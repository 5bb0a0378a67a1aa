package weaviate

import (
	"context"
	"maps"
	"slices"

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
	touched    []string // products that it wrote or deleted
	force      bool     // to write products that the manifest has
}

// catchUp brings the collection to the version of the catalog.
func (w *writer) catchUp(ctx context.Context) error {
	st, err := w.status(ctx)
	if err != nil {
		return err
	}
	have := st.indexed[w.collection]
	if have == 0 || have > st.version {
		return w.fill(ctx, have == 0)
	}
	if have == st.version {
		return nil
	}
	return w.take(ctx, st.positions[w.collection])
}

// fill writes everything, into an empty tenant unless it goes on with what an earlier fill has left: a large store takes longer than
// maxReload.
func (w *writer) fill(ctx context.Context, goOn bool) error {
	copies, err := w.client.Members(ctx)
	if err != nil {
		return err
	}
	name := tenant(w.storeID)
	if err := w.client.CreateCollection(ctx, w.collection, min(copies, maxCopies), properties()); err != nil {
		return err
	}
	if goOn {
		if goOn, err = w.begun(ctx, w.collection); err != nil {
			return err
		}
	}
	if !goOn {
		if err := w.client.DeleteTenant(ctx, w.collection, name); err != nil {
			return err
		}
		if err := w.forget(ctx, w.collection); err != nil {
			return err
		}
	}
	if err := w.client.CreateTenant(ctx, w.collection, name); err != nil {
		return err
	}
	return w.take(ctx, catalog.Position{})
}

// take writes what has changed since a position, and then says that the collection has it.
func (w *writer) take(ctx context.Context, position catalog.Position) error {
	var known map[string]bool // products that the collection had; nil: not read yet
	for more := true; more; {
		var c catalog.Change
		var err error
		if c, more, err = w.Backend.store.NextChanges(ctx, w.storeID, position); err != nil {
			return err
		}
		gone := c.Removed
		if !c.Complete() {
			if known == nil {
				if known, err = w.known(ctx); err != nil {
					return err
				}
			}
			gone = c.Gone(maps.Keys(known))
		}
		if err := w.writeAll(ctx, c.Put, gone); err != nil {
			return err
		}
		position = c.Position
	}
	return w.setPosition(ctx, w.collection, position)
}

// known are the ids of products that the manifest has.
func (w *writer) known(ctx context.Context) (map[string]bool, error) {
	known := make(map[string]bool)
	for cursor := uint64(0); ; {
		fields, next, err := w.rdb.HScan(ctx, w.keys(w.collection)[4], cursor, "", batchSize).Result() // the smallest that has the ids
		if err != nil {
			return nil, state.Error("read index", err)
		}
		for i := 0; i+1 < len(fields); i += 2 {
			known[decodeIdentity(fields[i+1]).productID] = true
		}
		if cursor = next; cursor == 0 {
			return known, nil
		}
	}
}

// rewrite writes products again as they are now, whatever the manifest says.
func (w *writer) rewrite(ctx context.Context, ids []string) error {
	products, err := w.Backend.store.Get(ctx, w.storeID, ids)
	if err != nil {
		return err
	}
	var there []*catalogv1.Product
	var gone []string
	for i, p := range products {
		if p != nil {
			there = append(there, p)
		} else {
			gone = append(gone, ids[i])
		}
	}
	w.force = true
	defer func() { w.force = false }()
	return w.writeAll(ctx, there, gone)
}

// absent are records of products that are gone.
func absent(ids []string) map[string]*record {
	out := make(map[string]*record, len(ids))
	for _, id := range ids {
		out[id] = nil
	}
	return out
}

// writeAll writes and deletes products. It notes them first: if the lease is lost meanwhile, a late call may have undone what
// another replica wrote.
func (w *writer) writeAll(ctx context.Context, put []*catalogv1.Product, gone []string) error {
	for _, p := range put {
		w.touched = append(w.touched, p.GetProductId())
	}
	w.touched = append(w.touched, gone...)
	group, batches := errgroup.WithContext(ctx)
	group.SetLimit(writersAtOnce)
	for batch := range slices.Chunk(put, writeBatch) {
		group.Go(func() error { return w.put(batches, batch) })
	}
	for batch := range slices.Chunk(gone, writeBatch) {
		group.Go(func() error { return w.delete(batches, batch) })
	}
	return group.Wait()
}

// delete deletes products. The manifest goes first: the cluster then never has less than it says.
func (w *writer) delete(ctx context.Context, ids []string) error {
	objects := make([]string, len(ids))
	for i, id := range ids {
		objects[i] = objectID(w.storeID, id).String()
	}
	if err := w.commit(ctx, w.collection, absent(ids)); err != nil {
		return err
	}
	return w.client.Delete(ctx, w.collection, tenant(w.storeID), objects)
}

// put writes products, and then says so in the manifest. What breaks off in between is written again.
func (w *writer) put(ctx context.Context, products []*catalogv1.Product) error {
	ids := make([]string, len(products))
	for i, p := range products {
		ids[i] = p.GetProductId()
	}
	old, err := w.records(ctx, w.collection, ids)
	if err != nil {
		return err
	}
	batch, objects := make(map[string]*record), make([]weaviate.Object, 0, len(products))
	stems, counts := make(map[string]bool), make(map[string]int)
	for i, p := range products {
		if old[i] != nil && old[i].Hash == productHash(p) && !w.force {
			continue // it says what it said
		}
		object, l, terms, err := w.prepare(p, stems)
		if err != nil {
			return err
		}
		if index.InSample(p.GetProductId()) && (old[i] == nil || old[i].Text != l.Text) {
			count(counts, p, terms)
		}
		batch[p.GetProductId()] = &l
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil
	}
	if err := w.keepVectors(ctx, objects, batch, old, ids); err != nil {
		return err
	}
	if err := w.client.Put(ctx, w.collection, tenant(w.storeID), objects); err != nil {
		return err
	}
	if err := w.addStems(ctx, w.collection, stems); err != nil {
		return err
	}
	if err := w.countSample(ctx, w.collection, counts); err != nil {
		return err
	}
	return w.commit(ctx, w.collection, batch)
}

// count adds a product of the sample to the counts.
func count(counts map[string]int, p *catalogv1.Product, terms index.FieldTerms) {
	counts[countedProducts]++
	for g := range index.Grams(p) {
		counts[g]++
	}
	all := make(map[string]bool)
	for i, f := range index.Fields {
		for _, s := range terms[i] {
			if f.Weight > 0 {
				all[s] = true
			}
		}
	}
	for s := range all {
		counts[countedStem(s)]++
	}
}

// prepare makes the object of a product, what the manifest says of it, and its stems.
func (w *writer) prepare(p *catalogv1.Product, stems map[string]bool) (weaviate.Object, record, index.FieldTerms, error) {
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
	l, err := newRecord(e, ps)
	return newObject(w.storeID, e, ps), l, ps, err
}
