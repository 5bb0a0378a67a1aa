package search

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// worn returns a catalog whose next write makes its index due for renewal, by what newIndex returns then.
func worn(t *testing.T, newIndex func() (Index, error)) *catalog {
	t.Helper()
	first := true
	c := newCatalog(store{rdb: servicetest.Redis(t)}, func() (Index, error) {
		if first {
			first = false
			return newBleveIndex()
		}
		return newIndex()
	})
	t.Cleanup(func() { _ = c.close() })
	put(t, c, "s1", thing("P-1", "green lamp"), thing("P-2", "red lamp"))
	search(t, c, "s1", "lamp")
	c.replicas["s1"].updates = maxUpdates - 1
	return c
}

func TestSearchesGoOnWhileTheIndexIsRenewed(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	c := worn(t, func() (Index, error) {
		begun <- true
		<-goOn
		return newBleveIndex()
	})
	old := c.replicas["s1"].view
	put(t, c, "s1", thing("P-3", "blue lamp"))
	expect(t, "the write that makes it due", search(t, c, "s1", "lamp"), "P-3", "P-1", "P-2")
	<-begun
	put(t, c, "s1", thing("P-4", "old lamp"), thing("P-2", "red chair"))
	expect(t, "a write meanwhile", search(t, c, "s1", "lamp"), "P-3", "P-1", "P-4")
	if _, err := c.store.remove(t.Context(), "s1", "P-1"); err != nil {
		t.Fatal(err)
	}
	expect(t, "a deletion meanwhile", search(t, c, "s1", "lamp"), "P-3", "P-4")
	put(t, c, "s1", thing("P-5", "new lamp")) // nobody has searched since
	close(goOn)
	c.renewals.Wait()
	if r := c.replicas["s1"]; r.view == old || r.updates != 0 {
		t.Errorf("the view is in use still, after %d updates", r.updates)
	}
	expect(t, "the new one", search(t, c, "s1", "lamp"), "P-3", "P-5", "P-4")
	expect(t, "what was reworded", search(t, c, "s1", "chair"), "P-2")
}

// A reader that has caught up must not find an older catalog when the new index takes the place of the old one just then.
func TestARenewedIndexIsNotOlder(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	c := worn(t, func() (Index, error) {
		begun <- true
		<-goOn
		return newBleveIndex()
	})
	put(t, c, "s1", thing("P-3", "blue lamp"))
	search(t, c, "s1", "lamp")
	<-begun
	r := c.replicas["s1"]
	r.catching <- struct{}{} // so that the renewal waits once it is built
	asked := make(chan bool, 10)
	c.store.rdb.AddHook(meddler(func(command string) {
		if command == "get" {
			asked <- true
		}
	}))
	close(goOn)
	<-asked // it has caught up with what there was
	put(t, c, "s1", thing("P-4", "old lamp"))
	<-r.catching
	c.renewals.Wait()
	if r.view.find("P-4") == nil {
		t.Error("the view in use lacks what was written before it was")
	}
}

func TestRenewalThatFailsIsTriedAgain(t *testing.T) {
	tries := 0
	c := worn(t, func() (Index, error) {
		if tries++; tries == 1 {
			return nil, errors.New("no room")
		}
		return newBleveIndex()
	})
	for n := range 3 {
		put(t, c, "s1", thing(fmt.Sprint("N-", n), "chair"))
		if got := len(search(t, c, "s1", "chair")); got != n+1 {
			t.Errorf("%d chairs after %d writes", got, n+1)
		}
		c.renewals.Wait()
	}
	if updates := c.replicas["s1"].updates; tries != 2 || updates != 1 {
		t.Errorf("%d tries, %d updates since; want 2 and 1", tries, updates)
	}
}

func TestCloseEndsARenewal(t *testing.T) {
	var c *catalog
	c = worn(t, func() (Index, error) {
		c.replicas["s1"].catching <- struct{}{} // somebody is catching up, and does not get done
		go func() { _ = c.close() }()
		return newBleveIndex()
	})
	put(t, c, "s1", thing("P-3", "blue lamp"))
	search(t, c, "s1", "lamp")
	c.renewals.Wait()
	if err := c.read(t.Context(), "s1", func(*view) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("error %v, want %v", err, errClosed)
	}
}

func TestAReplicaFarBehindReadsOnlyWhatIsDifferent(t *testing.T) {
	rdb := servicetest.Redis(t)
	index := &countingIndex{}
	reader := newCatalog(store{rdb: rdb}, func() (Index, error) {
		var err error
		index.Index, err = newBleveIndex()
		return index, err
	})
	t.Cleanup(func() { _ = reader.close() })
	writer := testCatalog(t, rdb)
	put(t, writer, "s1", thing("P-1", "green lamp"), thing("P-2", "red lamp"), thing("P-3", "blue lamp"), thing("P-4", "lamp"))
	search(t, reader, "s1", "lamp")
	index.put = 0
	dearer, chair := thing("P-2", "red lamp"), thing("P-3", "blue chair")
	dearer.Variants[0].Price = eur(999)
	put(t, writer, "s1", dearer, chair)
	if _, err := writer.store.remove(t.Context(), "s1", "P-1"); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Del(t.Context(), changesKey("s1")).Err(); err != nil {
		t.Fatal(err)
	}
	expect(t, "lamps", search(t, reader, "s1", "lamp"), "P-4", "P-2")
	expect(t, "chairs", search(t, reader, "s1", "chair"), "P-3")
	if index.put != 1 {
		t.Errorf("the index was told %d products, want the reworded one", index.put)
	}
	err := reader.read(t.Context(), "s1", func(v *view) error {
		if got := v.find("P-2").product.GetVariants()[0].GetPrice().GetAmountMinor(); got != 999 {
			t.Errorf("the price is %d", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
