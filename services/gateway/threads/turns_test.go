package threads

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// Turns come the newest first, each once, over midnight, in more than one batch, and those of the same instant too.
func TestTurnsOfSeveralDays(t *testing.T) {
	store, server := storeOf(t)
	store.cfg.TTL = 10 * 24 * time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	server.SetTime(midnight)
	record := func(id string, began, now time.Time) {
		t.Helper()
		l, err := store.Begin(ctx, Turn{Scope: scope.Scope{StoreID: "demo", ThreadID: "thr" + id}, ID: id}, now)
		if err != nil {
			t.Fatal(err)
		}
		reply := &gatewayv1.AskResponse{TurnId: l.Scope.TurnID, CreateTime: timestamppb.New(began)}
		if err := l.Record(ctx, id, reply, now); err != nil {
			t.Fatal(err)
		}
		l.Close(ctx, true)
	}
	var want, early []string
	for i := range 2*readBatch + 10 {
		began := midnight.Add(time.Duration(i-19) * time.Minute)
		if i%7 == 0 && i > 0 {
			began = began.Add(-time.Minute) // at the same instant as the one before
		}
		id := fmt.Sprintf("%04d", i)
		record(id, began, began.Add(time.Minute))
		want = append(want, id)
		if !began.Before(midnight) && began.Before(midnight.Add(2*time.Minute)) {
			early = append(early, id)
		}
	}
	// An attempt that was listed, failed and began anew on the next day is one turn.
	again := midnight.Add(-time.Hour)
	sc := scope.Scope{StoreID: "demo", ThreadID: "thrlast", TurnID: turnID("thrlast", "last")}
	if err := store.index(ctx, sc, &gatewayv1.AskResponse{CreateTime: timestamppb.New(again)}, again); err != nil {
		t.Fatal(err)
	}
	record("last", midnight.Add(20*time.Hour), midnight.Add(20*time.Hour))
	want = append(want, "last")

	visit := func(first, end time.Time, from pagetoken.Cursor, most int) (got []string, last pagetoken.Cursor, done bool) {
		t.Helper()
		done, err := store.Turns(ctx, "demo", first, end, from, func(turn *gatewayv1.Turn, at pagetoken.Cursor) bool {
			got, last = append(got, turn.GetMessage()), at
			return len(got) < most
		})
		if err != nil {
			t.Fatal(err)
		}
		return got, last, done
	}
	first, end := midnight.Add(-48*time.Hour), midnight.Add(48*time.Hour)
	all, _, done := visit(first, end, pagetoken.Cursor{}, 1000)
	if slices.Sort(want); !done || !slices.Equal(slices.Sorted(slices.Values(all)), want) {
		t.Fatalf("turns %v, want %v, each once", all, want)
	}
	for _, size := range []int{1, 7, readBatch} { // page by page it is the same
		var pages []string
		for from, done := (pagetoken.Cursor{}), false; !done; {
			var page []string
			before := from
			page, from, done = visit(first, end, from, size)
			if len(page) == 0 {
				from = before
			}
			pages = append(pages, page...)
		}
		if !slices.Equal(pages, all) {
			t.Errorf("in pages of %d: %v, want %v", size, pages, all)
		}
	}
	got, _, _ := visit(midnight, midnight.Add(2*time.Minute), pagetoken.Cursor{}, 1000)
	if slices.Reverse(got); len(early) != 3 || !slices.Equal(got, early) {
		t.Errorf("in two minutes from midnight on: %v, want %v", got, early)
	}
}
