package specialist_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

func TestOnceReadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		once := specialist.NewOnce(func(context.Context) (int, error) {
			reads++
			time.Sleep(time.Second) // in the bubble
			if reads == 1 {
				return 0, errors.New("not yet")
			}
			return reads, nil
		})
		if _, err := once.Get(t.Context()); err == nil {
			t.Fatal("the first read did not fail")
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got, err := once.Get(t.Context()); got != 2 || err != nil {
					t.Errorf("got %d, %v; want what the second read returned", got, err)
				}
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait() // until one of the three reads
		if _, err := once.Get(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller without time got %v", err)
		}
		wg.Wait()
		if reads != 2 {
			t.Errorf("%d reads", reads)
		}
	})
}
