package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

func TestPagesOfAHash(t *testing.T) { withEach(t, pagesOfAHash) }

func pagesOfAHash(t *testing.T, client redis.UniversalClient) {
	key := state.Key("demo", "pages")
	var want []string
	for i := range 450 { // more than one batch
		field := fmt.Sprintf("f%03d", i)
		value := field
		switch {
		case i == 7:
			value = "" // cannot be decoded
		case i < 6: // six of them are too much for one page
			value = field + strings.Repeat("x", 400_000)
		}
		if value != "" {
			want = append(want, field)
		}
		if err := client.HSet(t.Context(), key, field, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for limit, pages := range map[int]int{0: 2, 1: 449, 100: 6, 449: 2} {
		var got []string
		read := 0
		err := pagetoken.Each(func(token string) (string, error) {
			after, _ := pagetoken.ParseID(token)
			records, next, err := state.HashPage(t.Context(), client, key, after, limit, func(_, raw string) *wrapperspb.StringValue {
				if raw == "" {
					return nil
				}
				return wrapperspb.String(raw)
			})
			size := 0
			for _, r := range records {
				got = append(got, r.GetValue()[:4])
				size += len(r.GetValue())
			}
			if size > 3<<20 || limit > 0 && len(records) > limit {
				t.Errorf("limit %d: a page of %d records and %d bytes", limit, len(records), size)
			}
			read++
			return pagetoken.ID(next), err
		})
		if err != nil || !slices.Equal(got, want) || read != pages {
			t.Errorf("limit %d: %d records on %d pages, %v; want %d on %d, by field", limit, len(got), read, err, len(want), pages)
		}
	}
}

func TestEntriesByTime(t *testing.T) { withEach(t, entriesByTime) }

func entriesByTime(t *testing.T, client redis.UniversalClient) {
	key := state.Key("demo", "times")
	var want []string
	for i := range 20 { // four of each time
		want = append(want, fmt.Sprintf("e%02d", 19-i))
		if err := client.ZAdd(t.Context(), key, redis.Z{Score: float64((19 - i) / 4), Member: want[i]}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, batch := range []int{1, 3, 20, 50} {
		for _, page := range []int{1, 3, 20} {
			var got []string
			var at pagetoken.Cursor
			for last := false; !last; {
				taken, err := 0, error(nil)
				last, err = state.ByTime(t.Context(), client, key, 0, 100, at, batch, func(entries []pagetoken.Cursor) (more bool, err error) {
					for _, e := range entries {
						if taken == page {
							return false, nil
						}
						got, at, taken = append(got, e.ID), e, taken+1
					}
					return true, nil
				})
				if err != nil || len(got) > len(want) {
					t.Fatal(got, err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("batches of %d, pages of %d: %v, want %v", batch, page, got, want)
			}
		}
	}
}
