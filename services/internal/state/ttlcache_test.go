package state

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestTTLCacheReadsOncePerTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reads := NewTTLCache[int](time.Second), 0
		get := func(key string) int {
			t.Helper()
			v, err := c.Get(t.Context(), key, func(context.Context) (int, error) {
				reads++
				return reads, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if a, b := get("a"), get("a"); a != 1 || b != 1 {
			t.Errorf("got %d and %d of one key", a, b)
		}
		if b := get("b"); b != 2 {
			t.Errorf("got %d of another key", b)
		}
		time.Sleep(time.Second)
		if a := get("a"); a != 3 {
			t.Errorf("got %d after the TTL", a)
		}
		c.Forget("a")
		if a := get("a"); a != 4 {
			t.Errorf("got %d after it was forgotten", a)
		}
	})
}

func TestTTLCacheKeepsNeitherErrorsNorValuesReadBeforeAChange(t *testing.T) {
	c := NewTTLCache[int](time.Hour)
	broken := errors.New("broken")
	if _, err := c.Get(t.Context(), "a", func(context.Context) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	old, err := c.Get(t.Context(), "a", func(context.Context) (int, error) {
		c.Forget("a") // somebody changes it meanwhile
		return 1, nil
	})
	if old != 1 || err != nil {
		t.Fatal(old, err)
	}
	if v, err := c.Get(t.Context(), "a", func(context.Context) (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("got %d, %v: what was read before the change", v, err)
	}
}

func TestTTLCacheIsBounded(t *testing.T) {
	c := NewTTLCache[int](time.Hour)
	for i := range 3 * maxCached {
		_, _ = c.Get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { return i, nil })
	}
	if n := len(c.entries); n == 0 || n > maxCached {
		t.Errorf("keeps %d", n)
	}
}
