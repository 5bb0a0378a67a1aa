package threads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// onEach runs a test with a store on the embedded Redis, on a real one, and on a real cluster.
func onEach(t *testing.T, test func(t *testing.T, store *Store)) {
	t.Run("embedded", func(t *testing.T) {
		store, _ := storeOf(t)
		test(t, store)
	})
	for name, url := range map[string]func(testing.TB) string{"real": redistest.Single, "cluster": redistest.Cluster} {
		t.Run(name, func(t *testing.T) {
			client, err := state.Open(t.Context(), url(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			test(t, New(Config{Redis: client, Sealer: servicetest.Sealer(t), TTL: time.Hour, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)}))
		})
	}
}

// begin begins a turn of a shopper in a thread.
func begin(ctx context.Context, s *Store, who Shopper, thread string) (*Lease, error) {
	return s.Begin(ctx, Turn{
		Scope: scope.Scope{StoreID: "demo", CustomerID: who.Customer, ThreadID: thread}, Cart: who.Cart, AnyGuest: who.AnyGuest,
		ID: fmt.Sprintf("%x", rand.Uint64()), Known: true,
	}, time.Now())
}

// say takes a turn of a shopper in a thread.
func say(ctx context.Context, s *Store, who Shopper, thread string) (*gatewayv1.AskResponse, error) {
	l, err := begin(ctx, s, who, thread)
	if err != nil {
		return nil, err
	}
	reply := &gatewayv1.AskResponse{Text: "for " + nameOf(who), TurnId: l.Scope.TurnID, ThreadId: thread}
	if err := l.Record(ctx, "from "+nameOf(who), reply, time.Now()); err != nil {
		l.Close(ctx, false)
		return nil, err
	}
	l.Close(ctx, true)
	return reply, nil
}

func nameOf(who Shopper) string {
	if who.Customer != "" {
		return who.Customer
	}
	return "guest"
}

// isNotFound reports whether err is the one for a thread or turn that is not there.
func isNotFound(err error) bool {
	var missing *fault.NotFound
	return errors.As(err, &missing) && missing.Instead == ""
}

// The first shopper has begun the thread. Who else may use it? Every operation must give the same answer.
func TestWhoseThreadItIs(t *testing.T) {
	customers, carts := []string{"", "ann", "bob"}, []string{"", "c1", "c2"}
	const early = "written by an earlier release"
	// rule says who may use a thread, in one sentence each, with the cart of its first turn.
	rules := []struct {
		owner, cart string
		may         func(s Shopper) bool
	}{
		{"", "", func(s Shopper) bool { return s.Customer == "" || s.AnyGuest }},
		{"", early, func(s Shopper) bool { return s.Customer == "" || s.AnyGuest }},
		{"", "c1", func(s Shopper) bool { return s.Cart == "c1" || s.AnyGuest }},
		{"ann", "", func(s Shopper) bool { return s.Customer == "ann" }},
		{"ann", early, func(s Shopper) bool { return s.Customer == "ann" }},
		{"ann", "c1", func(s Shopper) bool { return s.Customer == "ann" }},
	}
	onEach(t, func(t *testing.T, store *Store) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n := 0
		for _, rule := range rules {
			// thread begins a thread as the rule has it, and returns its id and its turn.
			thread := func() (id, turn string) {
				t.Helper()
				n++
				id = fmt.Sprintf("t%d", n)
				first := Shopper{Customer: rule.owner, Cart: strings.TrimPrefix(rule.cart, early)}
				reply, err := say(ctx, store, first, id)
				if err != nil {
					t.Fatal(err)
				}
				if rule.cart == early {
					if err := store.cfg.Redis.HDel(ctx, threadKey("demo", id), "cart").Err(); err != nil {
						t.Fatal(err)
					}
				}
				return id, reply.GetTurnId()
			}
			for i := range len(customers) * len(carts) * 2 {
				who := Shopper{Customer: customers[i%3], Cart: carts[i/3%3], AnyGuest: i >= 9}
				want := rule.may(who)
				check := func(what string, err error) {
					if (err == nil) != want || err != nil && !isNotFound(err) {
						t.Errorf("%s of a thread of %q with cart %q as %+v: %v; allowed is %v", what, rule.owner, rule.cart, who, err, want)
					}
				}
				id, turn := thread()
				_, _, err := store.Read(ctx, "demo", id, who, time.Now())
				check("read", err)
				_, err = store.Turn(ctx, "demo", turn, who)
				check("turn", err)
				_, err = say(ctx, store, who, id)
				check("turn more", err)
				after, err := store.Load(ctx, "demo", id, MaxMessages)
				if err != nil {
					t.Fatal(err)
				}
				wantOwner, wantCart := rule.owner, rule.cart
				if want && who.Customer != "" {
					wantOwner = who.Customer
				}
				if rule.owner != "" || rule.cart == early {
					wantCart = ""
				}
				if after.Customer != wantOwner || after.Cart != wantCart || (len(after.Messages) == 4) != want {
					t.Errorf("a thread of %q with cart %q after a turn as %+v: %+v", rule.owner, rule.cart, who, after)
				}
				id, _ = thread()
				_, err = store.Delete(ctx, "demo", id, who)
				check("deletion", err)
				if left, err := store.Load(ctx, "demo", id, 1); err != nil || (left == nil) != want {
					t.Errorf("deleted as %+v: %+v, %v", who, left, err)
				}
				// A turn that has begun before the thread was there, and whose lock does not keep others from writing it.
				id, _ = thread()
				stale := &Lease{store: store, turn: Turn{Cart: who.Cart, AnyGuest: who.AnyGuest}}
				stale.Scope = scope.Scope{StoreID: "demo", CustomerID: who.Customer, ThreadID: id, TurnID: turnID(id, fmt.Sprint("stale", n))}
				check("recording", stale.Record(ctx, "hi", &gatewayv1.AskResponse{}, time.Now()))
			}
			id, turn := thread()
			all := Shopper{All: true}
			_, _, err1 := store.Read(ctx, "demo", id, all, time.Now())
			_, err2 := store.Turn(ctx, "demo", turn, all)
			deleted, err3 := store.Delete(ctx, "demo", id, all)
			if err := errors.Join(err1, err2, err3); err != nil || !deleted {
				t.Errorf("a thread of %q with cart %q, for all: %v, %v", rule.owner, rule.cart, deleted, err)
			}
		}
	})
}

// Shoppers use a few threads at once, at random. Nobody may get a word of another shopper.
func TestNobodyReadsAnothersWordsInARace(t *testing.T) {
	onEach(t, func(t *testing.T, store *Store) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var turns sync.Map // id → true
		// mayHave checks texts that a shopper got. Guests' words may have become a customer's, never the other way round.
		mayHave := func(who Shopper, texts ...string) {
			for _, text := range texts {
				if !strings.HasSuffix(text, nameOf(who)) && !(strings.HasSuffix(text, "guest") && who.Cart == "c1") {
					t.Errorf("%+v got %q", who, text)
				}
			}
		}
		textsOf := func(messages []*commonv1.Message) (texts []string) {
			for _, m := range messages {
				texts = append(texts, m.GetText())
			}
			return texts
		}
		var wg sync.WaitGroup
		for i, who := range []Shopper{
			{Cart: "c1"}, {Customer: "ann", Cart: "c1"}, {Customer: "bob", Cart: "c1"}, {Customer: "cem"}, {Customer: "dan", Cart: "c2"},
		} {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for range 60 {
					thread := fmt.Sprintf("t%d", random.IntN(3))
					var err error
					switch random.IntN(6) {
					case 0, 1, 2:
						var l *Lease
						if l, err = begin(ctx, store, who, thread); err != nil {
							break
						}
						if l.Thread != nil {
							mayHave(who, textsOf(l.Thread.Messages)...)
							mayHave(who, l.Thread.Title)
						}
						l.Close(ctx, false)
						var reply *gatewayv1.AskResponse
						if reply, err = say(ctx, store, who, thread); err == nil {
							turns.Store(reply.GetTurnId(), true)
						}
					case 3:
						var th *Thread
						if th, _, err = store.Read(ctx, "demo", thread, who, time.Now()); err == nil {
							mayHave(who, textsOf(th.Messages)...)
							mayHave(who, th.Title)
						}
					case 4:
						turns.Range(func(id, _ any) bool {
							turn, err := store.Turn(ctx, "demo", id.(string), who)
							if err == nil {
								mayHave(who, turn.GetReply().GetText())
							}
							return err == nil || isNotFound(err)
						})
					case 5:
						_, err = store.Delete(ctx, "demo", thread, who)
					}
					if err != nil && !isNotFound(err) {
						t.Errorf("%+v: %v", who, err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Two customers sign in with one guest's cart at the same moment.
func TestOneOfTwoSignInsGetsTheGuestsThread(t *testing.T) {
	onEach(t, func(t *testing.T, store *Store) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for round := range 20 {
			id := fmt.Sprintf("t%d", round)
			if _, err := say(ctx, store, Shopper{Cart: "c1"}, id); err != nil {
				t.Fatal(err)
			}
			customers := []string{"ann", "bob", "cem"}
			errs := make([]error, len(customers))
			var wg sync.WaitGroup
			for i, customer := range customers {
				wg.Go(func() { _, errs[i] = say(ctx, store, Shopper{Customer: customer, Cart: "c1"}, id) })
			}
			wg.Wait()
			winner := slices.Index(errs, nil)
			got, err := store.Load(ctx, "demo", id, MaxMessages)
			if err != nil || winner < 0 || got.Customer != customers[winner] || len(got.Messages) != 4 {
				t.Fatalf("%v: %+v, %v", errs, got, err)
			}
			for i, err := range errs {
				if i != winner && !isNotFound(err) {
					t.Errorf("%s got %v, though the thread is %s's", customers[i], err, got.Customer)
				}
			}
			if _, err := say(ctx, store, Shopper{Cart: "c1"}, id); !isNotFound(err) {
				t.Errorf("the guest, afterwards: %v", err)
			}
			for _, customer := range customers { // the index of a loser may name the thread
				listed, _, err := store.List(ctx, "demo", customer, pagetoken.Cursor{}, 100, time.Now())
				has := slices.ContainsFunc(listed, func(t *Thread) bool { return t.ID == id })
				if err != nil || has != (customer == got.Customer) {
					t.Errorf("listed for %s: %v, %v", customer, has, err)
				}
			}
		}
	})
}

// A deletion for a shopper whose thread it is not must not join the queue, where it would hold up the thread's turns.
func TestAForeignDeletionDoesNotWait(t *testing.T) {
	store, _ := storeOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := say(ctx, store, Shopper{Customer: "ann"}, "t1"); err != nil {
		t.Fatal(err)
	}
	l, err := begin(ctx, store, Shopper{Customer: "ann"}, "t1")
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := store.Delete(soon, "demo", "t1", Shopper{Customer: "bob"}); !isNotFound(err) {
		t.Errorf("deleted: %v", err)
	}
	if n := store.cfg.Redis.LLen(ctx, threadQueue("demo", "t1")).Val(); n != 1 {
		t.Errorf("%d in the queue", n)
	}
	l.Close(ctx, false)
}

// A deletion may come while the first turn of a thread runs, when nothing says yet whose thread it is.
func TestADeletionThatWaitedLeavesAnothersThreadAlone(t *testing.T) {
	onEach(t, func(t *testing.T, store *Store) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l, err := begin(ctx, store, Shopper{Customer: "ann"}, "t1")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := store.Delete(ctx, "demo", "t1", Shopper{Customer: "bob"}); !isNotFound(err) {
				t.Errorf("deleted: %v", err)
			}
		})
		redistest.Eventually(t, func() error {
			if n := store.cfg.Redis.LLen(ctx, threadQueue("demo", "t1")).Val(); n != 2 {
				return fmt.Errorf("%d in the queue", n)
			}
			return nil
		})
		if err := l.Record(ctx, "hi", &gatewayv1.AskResponse{}, time.Now()); err != nil {
			t.Error(err)
		}
		l.Close(ctx, true)
		wg.Wait()
		if got, err := store.Load(ctx, "demo", "t1", 1); err != nil || got == nil || got.Customer != "ann" {
			t.Errorf("afterwards: %+v, %v", got, err)
		}
	})
}

// afterRead runs f after the next read of a turn.
type afterRead struct{ f func() }

func (a *afterRead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *afterRead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a *afterRead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if f := a.f; f != nil && cmd.Name() == "mget" {
			a.f = nil
			f()
		}
		return err
	}
}

// While somebody asks for another's turn, the thread is deleted and comes again as theirs.
func TestATurnOfADeletedThreadIsNotThatOfItsSuccessor(t *testing.T) {
	store, _ := storeOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := say(ctx, store, Shopper{Customer: "ann"}, "t1")
	if err != nil {
		t.Fatal(err)
	}
	hook := &afterRead{f: func() {
		_, err1 := store.Delete(ctx, "demo", "t1", Shopper{Customer: "ann"})
		_, err2 := say(ctx, store, Shopper{Customer: "bob"}, "t1")
		if err := errors.Join(err1, err2); err != nil {
			t.Error(err)
		}
	}}
	store.cfg.Redis.AddHook(hook)
	if got, err := store.Turn(ctx, "demo", reply.GetTurnId(), Shopper{Customer: "bob"}); !isNotFound(err) || hook.f != nil {
		t.Errorf("bob got %v, %v", got, err)
	}
}

// The callers send one id, in one thread. Their names may be any text, since they come from tokens of an identity provider.
func TestARequestIDIsBoundToItsCaller(t *testing.T) {
	onEach(t, func(t *testing.T, store *Store) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		names := []string{"", "web", "app", "a/b:{c}", strings.Repeat("n", 300)}
		for _, name := range names {
			for range 2 {
				turn := turnOf("r1", "t1", fmt.Sprintf("%x", rand.Uint64()))
				turn.Caller, turn.Hash = name, "hash of "+name // of another request, which the callers do not learn of each other
				l, err := store.Begin(ctx, turn, time.Now())
				if err != nil {
					t.Fatalf("%q: %v", name, err)
				}
				if l.Reply == nil {
					err = l.Record(ctx, "hi", &gatewayv1.AskResponse{Text: name, TurnId: l.Scope.TurnID, ThreadId: "t1"}, time.Now())
					l.Close(ctx, true)
				} else if l.Reply.GetText() != name {
					t.Errorf("caller %q got the reply to %q", name, l.Reply.GetText())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := store.Load(ctx, "demo", "t1", MaxMessages); err != nil || len(got.Messages) != 2*len(names) {
			t.Errorf("thread %+v, %v", got, err)
		}
		if _, err := store.Delete(ctx, "demo", "t1", Shopper{All: true}); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			for _, key := range []string{claimKey("demo", requestName(name, "r1")), journalKey("demo", "t1", requestName(name, "r1"))} {
				if store.cfg.Redis.Exists(ctx, key).Val() != 0 {
					t.Errorf("%s is left", key)
				}
			}
		}
	})
}
