package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// Keep says which turns are kept.
type Keep string

// The values of Keep.
const (
	// Off keeps none.
	Off Keep = "off"
	// Failures keeps turns that failed, or whose reply lacks a part or has a claim without support.
	Failures Keep = "failures"
	// Sample keeps one turn in a hundred.
	Sample Keep = "sample"
	// All keeps all turns.
	All Keep = "all"
)

// Valid reports whether k is one of the values.
func (k Keep) Valid() bool { return k == Off || k == Failures || k == Sample || k == All }

// sampled is the share of turns that Sample keeps: one in so many.
const sampled = 100

// writeTimeout bounds the writing of a line. A turn waits for it.
const writeTimeout = time.Second

// Config configures a [Recorder].
type Config struct {
	// Storage of the bundles. Required.
	Storage Storage
	// Keep says which turns are kept. Empty: Off.
	Keep Keep
	// Stores says it for single stores, by id.
	Stores map[string]Keep
	// Sealer encrypts bundles. Nil: plaintext.
	Sealer *seal.Sealer
	// Redact replaces e-mail addresses, phone numbers and card numbers by others of the same form.
	Redact bool
	// Settings of the services, which go into each bundle.
	Settings Settings
	// Logger gets errors. Nil: slog.Default().
	Logger *slog.Logger
}

// Recorder is the [Tape] that keeps turns. An error in keeping a turn goes to the log; the turn goes on.
type Recorder struct {
	*spanLog
	cfg Config

	counting sync.Mutex
	calls    int64 // of tools

	describing sync.Mutex
	ids        map[*specialistv1.Specialist]string // of descriptions; the gateway shares them between turns
	described  map[Turn]time.Time                  // when a description was kept
}

var _ Tape = (*Recorder)(nil)

// NewRecorder returns a recorder.
func NewRecorder(cfg Config) *Recorder {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	r := &Recorder{cfg: cfg, ids: make(map[*specialistv1.Specialist]string), described: make(map[Turn]time.Time)}
	r.spanLog = newSpanLog(func(ctx context.Context, _ Turn, all []span) { r.write(ctx, line{Spans: all}) })
	return r
}

// keep returns what is kept of a store.
func (r *Recorder) keep(storeID string) Keep {
	if k, ok := r.cfg.Stores[storeID]; ok {
		return k
	}
	return r.cfg.Keep
}

// turn returns the scope of a turn that may be kept.
func (r *Recorder) turn(ctx context.Context) (scope.Scope, bool) {
	sc, ok := scope.FromContext(ctx)
	if !ok || sc.TurnID == "" {
		return sc, false
	}
	switch r.keep(sc.StoreID) {
	case All, Failures:
		return sc, true
	case Sample: // every service decides the same
		h := fnv.New32a()
		_, _ = h.Write([]byte(sc.TurnID))
		return sc, h.Sum32()%sampled == 0
	}
	return sc, false
}

// write appends a line to the bundle of a turn.
func (r *Recorder) write(ctx context.Context, l line) {
	sc, ok := r.turn(ctx)
	if !ok {
		return
	}
	if r.cfg.Redact && l.Exchange != nil {
		exchange := *l.Exchange
		exchange.Chunks = joined(exchange.Chunks)
		l.Exchange = &exchange
	}
	raw, err := encode(l)
	if r.cfg.Redact {
		raw = redact(raw, sc.TurnID)
	}
	if err == nil {
		err = r.seal(ctx, turnOf(sc), raw, r.cfg.Storage.Append)
	}
	if err != nil {
		r.cfg.Logger.ErrorContext(ctx, "turn not kept", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
	}
}

// config returns a hash of what is configured: the settings of the services and of the store, and the prompts that are not built in. Turns
// with the same hash ran alike.
func (r *Recorder) config(s *Start) string {
	h := sha256.New()
	settings, _ := json.Marshal(r.cfg.Settings)                              // plain fields only
	settled, _ := proto.MarshalOptions{Deterministic: true}.Marshal(s.Store) // came as a message
	h.Write(settings)
	h.Write(settled)
	for _, agent := range slices.Sorted(maps.Keys(s.Prompts)) {
		fmt.Fprintf(h, "%s %s\n", agent, s.Prompts[agent].GetVersion())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Begin implements [Tape].
func (r *Recorder) Begin(ctx context.Context, s *Start) {
	sc, ok := r.turn(ctx)
	if !ok {
		return
	}
	l := start{Turn: sc.TurnID, Thread: sc.ThreadID, Config: r.config(s), Ask: message(s.Ask), Store: message(s.Store), Began: s.Began, Settings: r.cfg.Settings}
	if s.Conversation != nil {
		l.Conversation = message(s.Conversation)
	}
	l.Prompts = make(map[string]json.RawMessage)
	for agent, p := range s.Prompts {
		l.Prompts[agent] = message(p)
	}
	r.write(ctx, line{Start: &l})
}

// Specialists implements [Tape]. A description has the words of a catalog, so it is kept once for all turns of a store.
func (r *Recorder) Specialists(ctx context.Context, all []*specialistv1.Specialist) {
	sc, ok := r.turn(ctx)
	if !ok {
		return
	}
	o := &offer{}
	for _, s := range all {
		id, err := r.describe(ctx, sc.StoreID, s)
		if err != nil {
			r.cfg.Logger.ErrorContext(ctx, "specialist not kept", "store", sc.StoreID, "specialist", s.GetName(), "error", err)
		}
		o.Descriptions = append(o.Descriptions, id)
	}
	r.write(ctx, line{Offer: o})
}

// maxDescriptions bounds what a recorder remembers of descriptions.
const maxDescriptions = 10_000

// describe keeps a description unless this recorder has kept it within describeInterval, and returns its id.
func (r *Recorder) describe(ctx context.Context, storeID string, s *specialistv1.Specialist) (id string, err error) {
	r.describing.Lock()
	defer r.describing.Unlock()
	if len(r.ids)+len(r.described) > maxDescriptions {
		clear(r.ids)
		clear(r.described)
	}
	id, known := r.ids[s]
	at := Turn{Store: storeID, ID: id}
	if known && time.Since(r.described[at]) < describeInterval {
		return id, nil
	}
	raw := message(s)
	sum := sha256.Sum256(raw)
	at.ID = descriptionPrefix + hex.EncodeToString(sum[:8])
	r.ids[s] = at.ID
	if time.Since(r.described[at]) < describeInterval {
		return at.ID, nil
	}
	err = r.seal(ctx, at, raw, r.cfg.Storage.Describe)
	if err == nil {
		r.described[at] = time.Now()
	}
	return at.ID, err
}

// seal gives a line to a method of the storage, also when the turn has been cancelled.
func (r *Recorder) seal(ctx context.Context, at Turn, raw []byte, keep func(context.Context, Turn, string) error) error {
	sealed, err := r.cfg.Sealer.SealLine(at.place(), string(raw))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return keep(ctx, at, sealed)
}

// End implements [Tape].
func (r *Recorder) End(ctx context.Context, reply *gatewayv1.AskResponse, err error) {
	sc, ok := r.turn(ctx)
	if !ok {
		return
	}
	if r.keep(sc.StoreID) == Failures && err == nil && !failed(reply) {
		if err := r.cfg.Storage.Delete(ctx, turnOf(sc)); err != nil {
			r.cfg.Logger.ErrorContext(ctx, "bundle not deleted", "store", sc.StoreID, "turn", sc.TurnID, "error", err)
		}
		return
	}
	r.write(ctx, line{End: newEnd(reply, err)})
}

// failed reports whether a reply lacks a part, is not kept, or has a claim without support.
func failed(reply *gatewayv1.AskResponse) bool {
	for _, result := range reply.GetResults() {
		if result.GetAnswer() == nil {
			return true
		}
	}
	for _, c := range reply.GetClaims() {
		if c.GetVerdict() == specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED {
			return true
		}
	}
	return reply.GetUnrecorded()
}

// Model implements [Tape].
func (r *Recorder) Model(service string, m agentloop.Model) agentloop.Model {
	return modelFunc(func(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
		if _, ok := r.turn(ctx); !ok {
			return m.Generate(ctx, req)
		}
		r.call(ctx, chat)
		return wrap.Record(m, func(x wrap.Exchange) { r.write(ctx, line{Service: service, Exchange: &x}) }).Generate(ctx, req)
	})
}

// modelFunc is a model made of a function.
type modelFunc func(context.Context, *agentloop.Request) iter.Seq2[agentloop.Chunk, error]

// Generate implements [agentloop.Model].
func (f modelFunc) Generate(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
	return f(ctx, req)
}

// Setup implements [Tape].
func (r *Recorder) Setup(ctx context.Context, service string, live Setup) Setup {
	r.write(ctx, line{Service: service, Setup: &live})
	return live
}

// Call implements [Tape].
func (r *Recorder) Call(ctx context.Context, service, subQuery string, call agentloop.ToolCall, findings Findings, live func() (any, error)) (any, error) {
	value, err := live()
	if _, ok := r.turn(ctx); !ok {
		return value, err
	}
	t := &toolCall{Name: call.Name, Arguments: call.Arguments, SubQuery: subQuery}
	var failure error
	r.counting.Lock()
	t.Findings, failure = findings.MarshalJSON()
	r.calls++
	t.Number = r.calls
	r.counting.Unlock()
	if s, ok := value.(interface{ Summary() string }); ok {
		t.Summary = s.Summary()
	}
	switch v := value.(type) {
	case string:
		t.Text = &v
	case nil:
	default:
		var e error
		t.Result, e = encode(v)
		failure = errors.Join(failure, e)
	}
	if err != nil {
		t.Error, t.Result, t.Text = err.Error(), nil, nil
	}
	if failure != nil {
		r.cfg.Logger.ErrorContext(ctx, "tool call not kept", "tool", call.Name, "error", failure)
		return value, err
	}
	r.write(ctx, line{Service: service, Tool: t})
	return value, err
}

// Conn implements [Tape]. What specialists say of themselves is kept by Specialists, since it is cached across turns.
func (r *Recorder) Conn(service string, conn grpc.ClientConnInterface) grpc.ClientConnInterface {
	return &recordedConn{ClientConnInterface: conn, recorder: r, service: service}
}

type recordedConn struct {
	grpc.ClientConnInterface
	recorder *Recorder
	service  string
}

// Invoke implements [grpc.ClientConnInterface].
func (c *recordedConn) Invoke(ctx context.Context, method string, req, resp any, opts ...grpc.CallOption) error {
	if method != specialistv1.SpecialistService_Describe_FullMethodName {
		c.recorder.call(ctx, method)
	}
	err := c.ClientConnInterface.Invoke(ctx, method, req, resp, opts...)
	in, isMessage := req.(proto.Message)
	out, alsoMessage := resp.(proto.Message)
	if _, ok := c.recorder.turn(ctx); !ok || !isMessage || !alsoMessage || method == specialistv1.SpecialistService_Describe_FullMethodName {
		return err
	}
	call := &rpcCall{Method: method, Request: message(in)}
	if err == nil {
		call.Response = message(out)
	} else if raw, e := proto.Marshal(status.Convert(err).Proto()); e == nil {
		call.Status = raw
	}
	c.recorder.write(ctx, line{Service: c.service, RPC: call})
	return err
}

// message returns a message as JSON, or null for one that cannot be encoded, which a Player then reports.
func message(m proto.Message) json.RawMessage {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// encode returns a value as JSON as models read it, without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
