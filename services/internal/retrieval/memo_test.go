package retrieval

import (
	"fmt"
	"sync"
	"testing"
)

func TestMemoIsBoundedAndShared(t *testing.T) {
	m := NewMemo[int](10)
	var wg sync.WaitGroup
	for i := range 25 {
		wg.Go(func() {
			m.Put(i, fmt.Sprint(i))
			if made, ok := m.Get(i); ok && made != fmt.Sprint(i) {
				t.Errorf("of %d it has %q", i, made)
			}
		})
	}
	wg.Wait()
	if n := len(m.known); n == 0 || n > 10 {
		t.Errorf("it remembers %d", n)
	}
	m.Put(7, "seven")
	if made, ok := m.Get(7); !ok || made != "seven" {
		t.Errorf("got %q, %v", made, ok)
	}
	if _, ok := m.Get(100); ok {
		t.Error("it remembers what was never made")
	}
}
