package threads

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// secretTurn records a turn of a customer in the thread "t-CUSTOMER", with a secret in each of its parts and in its journal,
// and a summary.
func secretTurn(t *testing.T, s *Store, customer string) (turnID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	turn := Turn{
		Scope: scope.Scope{StoreID: "demo", CustomerID: customer, ThreadID: "t-" + customer}, ID: customer, RequestID: "r-" + customer,
		Hash: "hash-of-a-secret", Known: true,
	}
	l, err := s.Begin(ctx, turn, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if l.Reply != nil {
		return l.Reply.GetTurnId()
	}
	l.Journal.KeepDecision(&routerv1.RoutingDecision{Model: "secret"})
	l.Journal.KeepAnswer("a1", &specialistv1.Answer{Text: "secret " + customer})
	l.Journal.close(false)
	contents(t, s)
	if l, err = s.Begin(ctx, turn, time.Now()); err != nil { // another gateway resumes the turn
		t.Fatal(err)
	}
	if got := l.Journal.Answer("a1").GetText(); l.Journal.Decision().GetModel() != "secret" || got != "secret "+customer {
		t.Errorf("the journal holds %v and %q", l.Journal.Decision(), got)
	}
	err = l.Record(ctx, "secret question", &gatewayv1.AskResponse{
		Text: "secret " + customer, ThreadId: l.Scope.ThreadID, TurnId: l.Scope.TurnID,
		Products: []*specialistv1.ProductChoice{{ProductId: "secret-boots"}},
	}, time.Now())
	l.Close(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	known, err := s.Load(ctx, "demo", l.Scope.ThreadID, 5)
	if err != nil {
		t.Fatal(err)
	}
	if known.Title != "secret question" || known.Shown[0].GetProductId() != "secret-boots" || known.Messages[1].GetText() != "secret "+customer {
		t.Errorf("loaded %+v", known)
	}
	if err := s.SetSummary(ctx, "demo", known, "secret summary"); err != nil {
		t.Fatal(err)
	}
	if known, err = s.Load(ctx, "demo", l.Scope.ThreadID, 5); err != nil || known.Summary != "secret summary" {
		t.Errorf("loaded %+v, %v", known, err)
	}
	return l.Scope.TurnID
}

// contents checks that Redis holds no secret.
func contents(t *testing.T, s *Store) {
	t.Helper()
	if kept := servicetest.Contents(t, s.cfg.Redis); strings.Contains(kept, "secret") {
		t.Errorf("Redis holds a secret:\n%q", kept)
	}
}

func TestRedisHoldsNoTextOfAThread(t *testing.T) {
	s, _ := storeOf(t)
	secretTurn(t, s, "ann")
	contents(t, s)
	s.cfg.Sealer = nil
	if _, err := s.Load(t.Context(), "demo", "t-ann", 5); !lost(err) {
		t.Errorf("without keys: %v", err)
	}
}

func lost(err error) bool {
	var l *fault.DataLoss
	return errors.As(err, &l)
}

// Whoever can write to Redis must not give ann's thread to bob.
func TestAThreadDoesNotOpenForAnOwnerThatWasChangedInRedis(t *testing.T) {
	ctx := t.Context()
	bob := Shopper{Customer: "bob"}
	field := func(key, from, name string) func(*testing.T, redis.UniversalClient) {
		return func(t *testing.T, r redis.UniversalClient) {
			value, err := r.HGet(ctx, from, name).Result()
			if err == nil {
				err = r.HSet(ctx, key, name, value).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ann, his := threadKey("demo", "t-ann"), threadKey("demo", "t-bob")
	for name, tamper := range map[string]func(*testing.T, redis.UniversalClient){
		"the owner":   field(ann, his, "customer"),
		"the title":   field(his, ann, "title"),
		"the summary": field(his, ann, "summary"),
		"the list":    field(his, ann, "shown"),
		"the messages": func(t *testing.T, r redis.UniversalClient) {
			list, err := r.LRange(ctx, messagesKey("demo", "t-ann"), 0, -1).Result()
			if err == nil {
				err = r.RPush(ctx, messagesKey("demo", "t-bob"), list).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"all of it": func(t *testing.T, r redis.UniversalClient) {
			all, err := r.HGetAll(ctx, ann).Result()
			if err == nil {
				all["customer"] = "bob"
				err = r.HSet(ctx, his, all).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := storeOf(t)
			turn := secretTurn(t, s, "ann")
			secretTurn(t, s, "bob")
			tamper(t, s.cfg.Redis)
			id := "t-bob"
			if name == "the owner" {
				id = "t-ann"
				if got, err := s.Turn(ctx, "demo", turn, bob); !lost(err) {
					t.Errorf("Turn: %v, %v", got, err)
				}
			}
			if got, _, err := s.Read(ctx, "demo", id, bob, time.Now()); !lost(err) {
				t.Errorf("Read: %+v, %v", got, err)
			}
			if name != "the messages" && name != "the owner" { // the list shows no messages, and its index does not name ann's thread
				if got, _, err := s.List(ctx, "demo", "bob", pagetoken.Cursor{}, 5, time.Now()); !lost(err) {
					t.Errorf("List: %+v, %v", got, err)
				}
			}
			within, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if got, err := begin(within, s, bob, id); !lost(err) {
				t.Errorf("Begin: %+v, %v", got, err)
			}
			if _, err := s.Delete(within, "demo", id, Shopper{All: true}); err != nil { // what cannot be read can be erased
				t.Errorf("Delete: %v", err)
			}
		})
	}
}

// A repeated request must not fetch the reply of another one, whatever Redis says.
func TestARequestThatWasTurnedToAnotherReplyFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, tamper := range map[string]func(s *Store, ann, bob string) error{
		"another turn": func(s *Store, ann, _ string) error {
			return s.cfg.Redis.HSet(ctx, journalKey("demo", "t-bob", requestName("", "r-bob")), "turn", ann).Err()
		},
		"another turn's reply": func(s *Store, ann, bob string) error {
			reply, err := s.cfg.Redis.Get(ctx, turnKey("demo", ann)).Result()
			return errors.Join(err, s.cfg.Redis.Set(ctx, turnKey("demo", bob), reply, time.Hour).Err())
		},
	} {
		s, _ := storeOf(t)
		ann, bob := secretTurn(t, s, "ann"), secretTurn(t, s, "bob")
		if err := tamper(s, ann, bob); err != nil {
			t.Fatal(err)
		}
		l, err := s.Begin(ctx, Turn{
			Scope: scope.Scope{StoreID: "demo", CustomerID: "bob", ThreadID: "t-bob"}, ID: "again", RequestID: "r-bob", Hash: "hash-of-a-secret",
			Known: true,
		}, time.Now())
		if err == nil {
			t.Errorf("%s: bob gets %v", name, l.Reply)
		}
	}
}

// The clocks of replicas need not agree on which key seals.
func TestReplicasShareThreadsWhileKeysRotate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	add := func(from time.Time) {
		if _, err := seal.AddKey(file, "demo", from); err != nil {
			t.Fatal(err)
		}
	}
	add(time.Time{})
	plain, server := storeOf(t)
	plain.cfg.Sealer = nil
	replica := func(now time.Time, migrating bool) *Store {
		sealer, err := seal.New(seal.Config{File: file, AcceptPlaintext: migrating, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
		t.Cleanup(func() { client.Close() })
		return New(Config{Redis: client, Sealer: sealer, TTL: time.Hour, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	}
	say := func(s *Store, turns int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l, err := begin(ctx, s, Shopper{Customer: "ann"}, "t1")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close(ctx, true)
		if n := len(l.Scope.CustomerID); n == 0 || (l.Thread == nil) != (turns == 0) || l.Thread != nil && len(l.Thread.Messages) != 2*turns {
			t.Errorf("after %d turns the thread is %+v", turns, l.Thread)
		}
		if err := l.Record(ctx, "secret", &gatewayv1.AskResponse{Text: "secret", ThreadId: "t1", TurnId: l.Scope.TurnID}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	say(plain, 0) // before encryption is turned on
	if _, err := replica(now, false).Load(t.Context(), "demo", "t1", 5); !lost(err) {
		t.Errorf("plaintext is read without being accepted: %v", err)
	}
	add(now.Add(time.Hour))
	first, second := replica(now, true), replica(now, true)
	later := replica(now.Add(2*time.Hour), true) // seals with the new key
	say(first, 1)
	say(second, 2)
	say(later, 3)
	say(first, 4)
	say(second, 5)
	if got, err := later.Load(t.Context(), "demo", "t1", 0); err != nil || got.Title != "secret" {
		t.Errorf("loaded %+v, %v", got, err)
	}
	title, err := first.cfg.Redis.HGet(t.Context(), threadKey("demo", "t1"), "title").Result()
	if err != nil || strings.Contains(title, "secret") { // each turn seals what is written anew
		t.Errorf("the title is kept as %q, %v", title, err)
	}
}
