package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// tag returns the part of a key that decides its cluster slot.
func tag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}

func TestOrdersSpreadOverACluster(t *testing.T) {
	attempt, _, err := attempts{}.keys("one", "Q-1", ProofOf("a@one.example", ""))
	if err != nil {
		t.Fatal(err)
	}
	if tag(attempt) != tag(orderKey("one", "Q-1")) {
		t.Errorf("an order and its attempts have the tags %s and %s", tag(orderKey("one", "Q-1")), tag(attempt))
	}
	seen := make(map[string]string)
	for _, key := range []string{
		orderKey("one", "Q-1"), orderKey("one", "Q-2"), orderKey("two", "Q-1"),
		customerKey("one", "ada"), customerKey("one", "bo"), customerKey("one", "Q-1"),
		withKey("one", "boots"), withKey("one", "socks"), withKey("one", "ada"), withKey("one", ""),
	} {
		if other, ok := seen[tag(key)]; ok {
			t.Errorf("%s and %s have the same tag", key, other)
		}
		seen[tag(key)] = key
	}
}

func TestOrdersInARealCluster(t *testing.T) {
	client, err := state.Open(t.Context(), redistest.Cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	r, err := New(client, servicetest.Sealer(t), nil, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	var orders []*orderv1.Order
	for i := range 40 {
		orders = append(orders, order(fmt.Sprintf("Q-%d", i), fmt.Sprintf("c%d", i%4), i, func(o *orderv1.Order) { o.PostalCode = "1010" }))
	}
	put(t, r, "one", orders...)
	put(t, r, "one", order("Q-0", "moved", 1))
	seen := make(map[string]bool)
	err = pagetoken.Each(func(token string) (string, error) {
		page, err := r.List(t.Context(), "one", "c0", token, 4)
		for _, o := range page.Orders {
			seen[o.GetOrderId()] = true
		}
		if err == nil && (page.Total != 9 || len(page.Orders) > 4) {
			err = fmt.Errorf("a page of %d orders of %d", len(page.Orders), page.Total)
		}
		return page.Next, err
	})
	if err != nil || len(seen) != 9 {
		t.Errorf("c0 has %d orders, %v; want 9", len(seen), err)
	}
	if f, err := r.Get(t.Context(), "one", "moved", "Q-0"); err != nil || f.Order.GetOrderId() != "Q-0" {
		t.Errorf("moved: %v, %v", f.Order, err)
	}
	if f, err := r.Guest(t.Context(), "one", "Q-1", ProofOf("", "1010")); err != nil || f.Order.GetOrderId() != "Q-1" {
		t.Errorf("guest: %v, %v", f.Order, err)
	}
	if _, err := r.CoPurchases(t.Context(), "one", []string{"boots", "socks"}, 5); err != nil {
		t.Errorf("co-purchases: %v", err)
	}
}

// crash lets pipelines with a command fail, as if the process had ended before them.
type crash struct {
	command string
	armed   bool
}

func (*crash) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*crash) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (c *crash) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if c.armed && slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool {
			return cmd.Name() == c.command || cmd.Name() == "eval" && strings.Contains(fmt.Sprint(cmd.Args()[1]), c.command)
		}) {
			return errors.New("the process ended")
		}
		return next(ctx, cmds)
	}
}

func TestAWriteThatEndsBeforeItsIndexesIsCompletedByTheNext(t *testing.T) {
	for _, command := range []string{"zadd", "HDEL"} { // before the indexes, and before the note on them is removed
		t.Run(command, func(t *testing.T) {
			client := servicetest.Redis(t)
			c := &crash{command: command}
			client.AddHook(c)
			r, err := New(client, servicetest.Sealer(t), nil, func() time.Time { return noon })
			if err != nil {
				t.Fatal(err)
			}
			put(t, r, "one", order("Q-1", "ada", 1))
			c.armed = true
			if err := r.Put(t.Context(), "one", []*orderv1.Order{order("Q-1", "bo", 1)}); err == nil {
				t.Fatal("a write that was not completed is acknowledged")
			}
			if found, err := r.List(t.Context(), "one", "ada", "", 5); err != nil || len(found.Orders) > 0 {
				t.Errorf("ada is shown an order of bo: %v, %v", found, err)
			}
			c.armed = false
			put(t, r, "one", order("Q-1", "cy", 1)) // of yet another customer: nothing but the note knows of ada and bo
			for customer, want := range map[string]int{"ada": 0, "bo": 0, "cy": 1} {
				page, err := r.List(t.Context(), "one", customer, "", 5)
				if err != nil || page.Total != want || len(page.Orders) != want {
					t.Errorf("%s has %d of %d orders, %v; want %d", customer, len(page.Orders), page.Total, err, want)
				}
			}
			if n, err := client.ZCard(t.Context(), withKey("one", "boots")).Result(); err != nil || n != 1 {
				t.Errorf("%d orders with boots, %v; want 1", n, err)
			}
		})
	}
}

// A write that ends before its indexes leaves an order of another customer in the index. The customer's own orders must be found
// behind it.
func TestAnEntryThatAWriteHasLeftHidesNoOtherOrder(t *testing.T) {
	client := servicetest.Redis(t)
	c := &crash{command: "zadd"}
	client.AddHook(c)
	r, err := New(client, servicetest.Sealer(t), nil, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	put(t, r, "one", order("Q-1", "ada", 1), order("Q-2", "ada", 2), order("Q-3", "ada", 3))
	newest, _, err := r.ListWithActions(t.Context(), "one", "ada", 1)
	if err != nil {
		t.Fatal(err)
	}
	moved := newest[0].Order.GetOrderId()
	day := 1
	if moved == "Q-3" {
		day = 3
	}
	c.armed = true
	if err := r.Put(t.Context(), "one", []*orderv1.Order{order(moved, "bo", day)}); err == nil {
		t.Fatal("a write that was not completed is acknowledged")
	}
	c.armed = false
	latest, total, err := r.ListWithActions(t.Context(), "one", "ada", 1)
	if err != nil || latest[0].Order.GetOrderId() != "Q-2" || total != 2 {
		t.Errorf("the latest is %q of %d, %v; want Q-2 of 2", latest[0].Order.GetOrderId(), total, err)
	}
	page, err := r.List(t.Context(), "one", "ada", "", 2)
	if err != nil || len(page.Orders) != 2 || page.Total != 2 || page.Next != "" {
		t.Errorf("%d of %d orders and the next page %q, %v; want both and no page", len(page.Orders), page.Total, page.Next, err)
	}
}

// failing lets the last command of each pipeline of hget fail, as if its node of the cluster did not answer.
type failing struct{ armed bool }

func (*failing) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (f *failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if last := cmds[len(cmds)-1]; f.armed && last.Name() == "hget" {
			last.SetErr(io.ErrUnexpectedEOF)
			return cmp.Or(err, last.Err())
		}
		return err
	}
}

// A missing order must not cover that a node did not answer: the orders there would silently be left out.
func TestANodeThatDoesNotAnswerIsAnErrorBesideAMissingOrder(t *testing.T) {
	client := servicetest.Redis(t)
	f := &failing{}
	client.AddHook(f)
	r, err := New(client, servicetest.Sealer(t), nil, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	put(t, r, "one", order("Q-1", "ada", 1), order("Q-2", "ada", 2))
	for _, id := range []string{"Q-1", "Q-2"} { // a missing order on either side
		if err := client.ZAdd(t.Context(), customerKey("one", "ada"), redis.Z{Score: 1e15, Member: "GONE"}, redis.Z{Score: 1, Member: id}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	f.armed = true
	var unavailable *fault.Unavailable
	if page, err := r.List(t.Context(), "one", "ada", "", 5); !errors.As(err, &unavailable) {
		t.Errorf("%d of %d orders, %v; want an error", len(page.Orders), page.Total, err)
	}
	if err := client.ZAdd(t.Context(), withKey("one", "boots"), redis.Z{Score: 1, Member: "GONE"}).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.CoPurchases(t.Context(), "one", []string{"boots"}, 5); !errors.As(err, &unavailable) {
		t.Errorf("co-purchases: %v; want an error", err)
	}
}
