package bundle_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

var turn = bundle.Turn{Store: "shop", ID: "turn_1"}

// inTurn is the context of a turn.
func inTurn(t *testing.T) context.Context {
	return scope.NewContext(t.Context(), scope.Scope{StoreID: turn.Store, ThreadID: "thr_1", TurnID: turn.ID})
}

func folder(t *testing.T) (*bundle.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := bundle.NewFolder(dir, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func embedded(t *testing.T, ttl time.Duration) *bundle.Redis {
	t.Helper()
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	client, err := state.Open(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return bundle.NewRedis(client, ttl)
}

func TestStorages(t *testing.T) {
	files, _ := folder(t)
	for name, s := range map[string]bundle.Storage{"folder": files, "redis": embedded(t, time.Hour)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if _, err := s.Lines(ctx, turn); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an unknown turn: %v", err)
			}
			other := bundle.Turn{Store: "other", ID: turn.ID}
			err := errors.Join(s.Append(ctx, turn, "one"), s.Append(ctx, turn, "two"), s.Append(ctx, other, "three"))
			if err != nil {
				t.Fatal(err)
			}
			if lines, err := s.Lines(ctx, turn); err != nil || !slices.Equal(lines, []string{"one", "two"}) {
				t.Errorf("lines %q, error %v", lines, err)
			}
			if err := errors.Join(s.Delete(ctx, turn), s.Delete(ctx, turn)); err != nil {
				t.Error(err)
			}
			if lines, err := s.Lines(ctx, turn); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after Delete: %q, %v", lines, err)
			}
			if lines, err := s.Lines(ctx, other); err != nil || len(lines) != 1 {
				t.Errorf("the same id in another store: %q, %v", lines, err)
			}
		})
	}
}

func TestTurnsAreForgottenAfterTheTTL(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "store-shop", "turn_old.jsonl")
	long := time.Now().Add(-3 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, nil, 0o600), os.Chtimes(old, long, long)); err != nil {
		t.Fatal(err)
	}
	f, err := bundle.NewFolder(dir, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Append(t.Context(), turn, "line"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old file: %v", err)
	}
	r := embedded(t, time.Second)
	if err := r.Append(t.Context(), turn, "line"); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := r.Lines(t.Context(), turn); errors.Is(err, fs.ErrNotExist) {
			break
		} else if time.Now().After(until) {
			t.Fatal("the list in Redis does not expire")
		}
	}
}

// results are the findings of the recorded assignment.
type results struct{ IDs []string }

func (r *results) MarshalJSON() ([]byte, error)   { return json.Marshal(r.IDs) }
func (r *results) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &r.IDs) }

// conn answers each call with a cart, or with an error.
type conn struct{ err error }

func (c conn) Invoke(_ context.Context, _ string, _, resp any, _ ...grpc.CallOption) error {
	if c.err == nil {
		resp.(*cartv1.GetCartResponse).Cart = &cartv1.Cart{CartId: "c1"}
	}
	return c.err
}

func (conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no streams")
}

var ask = &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleSystem, Text: "Be brief."}, {Role: agentloop.RoleUser, Text: "boots?"}}}

// run is a turn with each kind of call, against a tape.
type run struct {
	text, product, cart string
	toolErr, cartErr    error
	setup               bundle.Setup
	found               results
	conversation        *specialistv1.AnswerRequest
}

func play(ctx context.Context, tape bundle.Tape, c conn) (r run) {
	start := &bundle.Start{
		Ask:   &gatewayv1.AskRequest{StoreId: "shop", Message: "boots?"},
		Store: &gatewayv1.Store{StoreId: "shop", DefaultLocale: "de"}, Began: time.Unix(1000, 0).UTC(),
		Conversation: &specialistv1.AnswerRequest{Summary: "Asked for tents."},
	}
	tape.Begin(ctx, start)
	r.conversation = start.Conversation
	tape.Specialists(ctx, []*specialistv1.Specialist{{Name: "search"}})
	r.setup = tape.Setup(ctx, "search", bundle.Setup{Tools: []agentloop.ToolSpec{{Name: "find"}}, Disabled: map[string]string{"rate": "off"}})
	for chunk := range tape.Model("search", scripted.New(scripted.Step{Text: "The Drystone boots."})).Generate(ctx, ask) {
		r.text += chunk.Text
	}
	value, err := tape.Call(ctx, "search", "boots?", agentloop.ToolCall{Name: "find", Arguments: `{"q":"boots"}`}, &r.found, func() (any, error) {
		r.found.IDs = append(r.found.IDs, "P1")
		return map[string]string{"id": "P1"}, nil
	})
	raw, _ := json.Marshal(value)
	r.product, r.toolErr = string(raw), err
	out := &cartv1.GetCartResponse{}
	r.cartErr = tape.Conn("cart", c).Invoke(ctx, cartv1.CartService_GetCart_FullMethodName, &cartv1.GetCartRequest{CartId: "c1"}, out)
	r.cart = out.GetCart().GetCartId()
	return r
}

func recorder(s bundle.Storage, sealer *seal.Sealer, keep bundle.Keep) *bundle.Recorder {
	return bundle.NewRecorder(bundle.Config{
		Storage: s, Keep: keep, Sealer: sealer, Settings: bundle.Settings{RulesOnly: true}, Logger: slog.New(slog.DiscardHandler),
	})
}

func sealer(t *testing.T) *seal.Sealer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	if _, err := seal.AddKey(file, seal.AnyStore, time.Time{}); err != nil {
		t.Fatal(err)
	}
	s, err := seal.New(seal.Config{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatWasRecordedIsPlayed(t *testing.T) {
	for _, keys := range []*seal.Sealer{nil, sealer(t)} {
		for _, refused := range []error{nil, status.Error(codes.NotFound, "no cart")} {
			s, ctx := embedded(t, time.Hour), inTurn(t)
			r := recorder(s, keys, bundle.All)
			want := play(ctx, r, conn{refused})
			r.End(ctx, &gatewayv1.AskResponse{Text: "Boots."}, nil)
			p, err := bundle.Open(t.Context(), s, turn, keys)
			if err != nil {
				t.Fatal(err)
			}
			if p.TurnID != turn.ID || p.ThreadID != "thr_1" || len(p.Config) != 16 || !p.Settings.RulesOnly || p.Reply.GetText() != "Boots." {
				t.Errorf("player %+v", p)
			}
			got := play(ctx, p, conn{errors.New("a replay calls nothing")})
			if got.text != want.text || got.product != want.product || got.cart != want.cart || got.found.IDs[0] != "P1" ||
				got.conversation.GetSummary() != want.conversation.GetSummary() || got.setup.Disabled["rate"] != "off" || len(got.setup.Tools) != 1 {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if got.toolErr != nil || status.Code(got.cartErr) != status.Code(refused) {
				t.Errorf("errors %v, %v", got.toolErr, got.cartErr)
			}
			if all := p.Divergences(); len(all) > 0 {
				t.Errorf("divergences %q", all)
			}
			if _, err := bundle.Open(t.Context(), s, turn, nil); keys != nil && err == nil {
				t.Error("an encrypted turn is read without keys")
			}
		}
	}
}

// A description is kept once for all turns of a store, and is no turn.
func TestTurnsShareDescriptions(t *testing.T) {
	files, dir := folder(t)
	for name, s := range map[string]bundle.Storage{"folder": files, "redis": embedded(t, time.Hour)} {
		r, all := recorder(s, nil, bundle.All), []*specialistv1.Specialist{{Name: "search", Purpose: "Finds products."}}
		for _, id := range []string{"turn_1", "turn_2"} {
			ctx := scope.NewContext(t.Context(), scope.Scope{StoreID: "shop", TurnID: id})
			r.Begin(ctx, &bundle.Start{Ask: &gatewayv1.AskRequest{}, Store: &gatewayv1.Store{}})
			r.Specialists(ctx, all)
			r.End(ctx, &gatewayv1.AskResponse{}, nil)
			p, err := bundle.Open(ctx, s, bundle.Turn{Store: "shop", ID: id}, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := &specialistv1.DescribeResponse{}
			err = p.Conn("search", nil).Invoke(ctx, specialistv1.SpecialistService_Describe_FullMethodName, &specialistv1.DescribeRequest{}, got)
			if err != nil || got.GetSpecialist().GetPurpose() != "Finds products." {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			if lines, err := s.Lines(ctx, bundle.Turn{Store: "shop", ID: id}); err != nil || strings.Contains(strings.Join(lines, ""), "Finds products.") {
				t.Errorf("%s: the description is in the turn: %q, %v", name, lines, err)
			}
		}
	}
	found, err := bundle.Files(dir)
	if all, _ := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(found) != 2 || len(all) != 3 {
		t.Errorf("turns %q of files %q, error %v", found, all, err)
	}
}

// Two assignments of a specialist may make the same call at the same time. Each gets its own findings back, those of its last call.
func TestFindingsAreThoseOfTheAssignment(t *testing.T) {
	s, ctx := embedded(t, time.Hour), inTurn(t)
	r := recorder(s, nil, bundle.All)
	r.Begin(ctx, &bundle.Start{Ask: &gatewayv1.AskRequest{}, Store: &gatewayv1.Store{}})
	call := func(tape bundle.Tape, subQuery, arguments string, found *results) {
		_, err := tape.Call(ctx, "search", subQuery, agentloop.ToolCall{Name: "find", Arguments: arguments}, found, func() (any, error) {
			found.IDs = append(found.IDs, subQuery+arguments)
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	var boots, tents results
	call(r, "boots?", "1", &boots)
	call(r, "tents?", "2", &tents)
	call(r, "tents?", "1", &tents)
	r.End(ctx, &gatewayv1.AskResponse{}, nil)
	p, err := bundle.Open(ctx, s, turn, nil)
	if err != nil {
		t.Fatal(err)
	}
	var again, other results
	call(p, "tents?", "1", &again) // in another order
	call(p, "boots?", "1", &other)
	call(p, "tents?", "2", &again)
	if !slices.Equal(again.IDs, tents.IDs) || !slices.Equal(other.IDs, boots.IDs) {
		t.Errorf("findings %q and %q, want %q and %q", again.IDs, other.IDs, tents.IDs, boots.IDs)
	}
}

// With the same settings two turns have the same hash, and with others another one.
func TestTheHashNamesTheConfiguration(t *testing.T) {
	hash := func(settings bundle.Settings, store *gatewayv1.Store) string {
		s, ctx := embedded(t, time.Hour), inTurn(t)
		r := bundle.NewRecorder(bundle.Config{Storage: s, Keep: bundle.All, Settings: settings})
		r.Begin(ctx, &bundle.Start{Ask: &gatewayv1.AskRequest{}, Store: store, Began: time.Now()})
		r.End(ctx, &gatewayv1.AskResponse{}, nil)
		p, err := bundle.Open(ctx, s, turn, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Config
	}
	first := hash(bundle.Settings{}, &gatewayv1.Store{StoreId: "shop"})
	if again := hash(bundle.Settings{}, &gatewayv1.Store{StoreId: "shop"}); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if hash(bundle.Settings{RulesOnly: true}, &gatewayv1.Store{StoreId: "shop"}) == first || hash(bundle.Settings{}, &gatewayv1.Store{StoreId: "shop", DefaultLocale: "de"}) == first {
		t.Error("other settings have the same hash")
	}
}

func TestDivergences(t *testing.T) {
	s, ctx := embedded(t, time.Hour), inTurn(t)
	r := recorder(s, nil, bundle.All)
	play(ctx, r, conn{})
	r.End(ctx, &gatewayv1.AskResponse{}, nil)
	p, err := bundle.Open(ctx, s, turn, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := ask.Clone()
	other.Messages[0].Text = "Be polite."
	for _, err := range p.Model("search", nil).Generate(ctx, other) {
		if !errors.Is(err, bundle.ErrNotRecorded) {
			t.Errorf("model call: %v", err)
		}
	}
	for _, err := range p.Model("support", nil).Generate(ctx, ask) {
		if !errors.Is(err, bundle.ErrNotRecorded) {
			t.Errorf("model call of another service: %v", err)
		}
	}
	_, err = p.Call(ctx, "search", "tents?", agentloop.ToolCall{Name: "find", Arguments: `{"q":"tents"}`}, &results{}, nil)
	if !errors.Is(err, bundle.ErrNotRecorded) {
		t.Errorf("tool call: %v", err)
	}
	err = p.Conn("cart", conn{}).Invoke(ctx, cartv1.CartService_GetCart_FullMethodName, &cartv1.GetCartRequest{CartId: "c2"}, &cartv1.GetCartResponse{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("call of the cart: %v", err)
	}
	all := p.Divergences()
	for i, want := range []string{
		`search: model call, message 0`, `support: a model call, where the recorded turn made none`,
		`search: tool call find {"q":"tents"}`, "cart: " + cartv1.CartService_GetCart_FullMethodName,
	} {
		if i >= len(all) || !strings.HasPrefix(all[i], want) {
			t.Fatalf("divergence %d of %q, want %q", i, all, want)
		}
	}
	if !strings.Contains(all[0], `"system: Be brief. "`) || !strings.Contains(all[0], `"system: Be polite. "`) {
		t.Errorf("both sides are not in %q", all[0])
	}
}

func TestWhichTurnsAreKept(t *testing.T) {
	good := &gatewayv1.AskResponse{Text: "Boots."}
	for _, c := range []struct {
		keep  bundle.Keep
		store bundle.Keep
		reply *gatewayv1.AskResponse
		err   error
		kept  bool
	}{
		{keep: bundle.Off, reply: good},
		{keep: bundle.All, reply: good, kept: true},
		{keep: bundle.All, store: bundle.Off, reply: good},
		{keep: bundle.Off, store: bundle.All, reply: good, kept: true},
		{keep: bundle.Failures, reply: good},
		{keep: bundle.Failures, err: errors.New("failed"), kept: true},
		{keep: bundle.Failures, reply: &gatewayv1.AskResponse{Unrecorded: true}, kept: true},
		{keep: bundle.Failures, reply: &gatewayv1.AskResponse{Results: []*gatewayv1.AssignmentResult{{}}}, kept: true},
		{keep: bundle.Failures, kept: true, reply: &gatewayv1.AskResponse{
			Claims: []*specialistv1.Claim{{Verdict: specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED}},
		}},
	} {
		s, _ := folder(t)
		cfg := bundle.Config{Storage: s, Keep: c.keep}
		if c.store != "" {
			cfg.Stores = map[string]bundle.Keep{turn.Store: c.store}
		}
		r, ctx := bundle.NewRecorder(cfg), inTurn(t)
		play(ctx, r, conn{})
		r.End(ctx, c.reply, c.err)
		p, err := bundle.Open(ctx, s, turn, nil)
		if (err == nil) != c.kept {
			t.Errorf("%+v: %v", c, err)
		}
		if c.err != nil && err == nil && (p.Failure != c.err.Error() || p.Reply != nil) {
			t.Errorf("%+v: %q, %v", c, p.Failure, p.Reply)
		}
	}
}

// One turn in a hundred is a sample.
func TestASample(t *testing.T) {
	s, _ := folder(t)
	r, kept := recorder(s, nil, bundle.Sample), 0
	for n := range 1000 {
		at := bundle.Turn{Store: "shop", ID: "turn_" + time.Unix(int64(n), 0).UTC().Format("150405")}
		ctx := scope.NewContext(t.Context(), scope.Scope{StoreID: at.Store, TurnID: at.ID})
		r.End(ctx, &gatewayv1.AskResponse{}, nil)
		if _, err := s.Lines(ctx, at); err == nil {
			kept++
		}
	}
	if kept < 2 || kept > 30 {
		t.Errorf("%d of 1000 kept", kept)
	}
}

func TestWhatIsNoTurnIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		"":     "no bundle",
		"{}\n": "no bundle",
		`{"start":{"Turn":"turn_1","Ask":{},"Store":{}}}` + "\n": "has not ended",
		"not json\n": "line 1",
	} {
		name := filepath.Join(t.TempDir(), "turn.jsonl")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bundle.OpenFile(name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

func TestDifference(t *testing.T) {
	reply := func(text string, took time.Duration) *gatewayv1.AskResponse {
		answer := &specialistv1.Answer{ToolCalls: []*specialistv1.ToolCall{{Duration: durationpb.New(took)}}}
		return &gatewayv1.AskResponse{TurnId: text + "1", Text: text, Results: []*gatewayv1.AssignmentResult{{
			Outcome: &gatewayv1.AssignmentResult_Answer{Answer: answer},
		}}}
	}
	got, err := bundle.Difference(reply("a", time.Second), reply("a", time.Minute))
	if err != nil || got != "" {
		t.Errorf("durations differ: %q, %v", got, err)
	}
	got, err = bundle.Difference(reply("a", time.Second), reply("b", time.Second))
	if want := "reply.text\n  recorded \"a\"\n  now      \"b\""; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	got, err = bundle.Difference(reply("a", 0), &gatewayv1.AskResponse{Text: "a"})
	if err != nil || !strings.HasPrefix(got, "reply.results[0]\n") {
		t.Errorf("%q, %v", got, err)
	}
}
