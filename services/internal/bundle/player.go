package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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

// ErrNotRecorded is the error of a call that the bundle has no answer to.
var ErrNotRecorded = errors.New("replay: not recorded")

// Player is the [Tape] that answers one turn from its bundle. It has no other source.
type Player struct {
	// Name is the file or the id of the turn.
	Name string
	// Start is how the turn began.
	Start Start
	// Settings of the services that recorded.
	Settings Settings
	// Reply that was recorded. Nil: the turn failed with Failure.
	Reply *gatewayv1.AskResponse
	// Failure is the recorded error. Empty: none.
	Failure string
	// TurnID and ThreadID are the recorded ones.
	TurnID, ThreadID string
	// Config is a hash of the settings of the services and of the store.
	Config string
	// Prompts are other prompts than the recorded ones, by agent, for the replay to show what they change. Set it before the replay.
	Prompts map[string]string
	// Live are models that answer the calls of agents with other prompts. Without one, an agent gets the recorded answers.
	Live map[string]agentloop.Model

	specialists map[string]*specialistv1.Specialist

	mu          sync.Mutex
	lines       []line
	used        []bool
	findings    map[Findings]int64 // the number of the call that an assignment's findings are of
	divergences []string
	spans, now  []span // of the recorded turn, and of the replay
	turn        Turn   // of the replay
	loose       bool   // answers model calls by their place; see Shrink
	exchanges   []line // of a loose replay
	end         *end   // of the replay

	*spanLog
}

var _ Tape = (*Player)(nil)

// OpenFile reads a bundle from a file. The sealer is that of the services that recorded it; nil: the bundle is plaintext. With a sealer, the
// store's id is that of the folder and the turn's that of the file.
func OpenFile(name string, sealer *seal.Sealer) (*Player, error) {
	sealed, err := fileLines(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	base := filepath.Base(name)
	t := Turn{Store: strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "store-"), ID: strings.TrimSuffix(base, filepath.Ext(base))}
	return open(name, t, sealed, sealer, func(d Turn) ([]string, error) {
		return fileLines(filepath.Join(filepath.Dir(name), d.ID+extension))
	})
}

// Open reads a bundle from where a Recorder has kept it.
func Open(ctx context.Context, s Storage, t Turn, sealer *seal.Sealer) (*Player, error) {
	sealed, err := s.Lines(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("turn %s of store %s: %w", t.ID, t.Store, err)
	}
	return open(t.ID, t, sealed, sealer, func(d Turn) ([]string, error) { return s.Lines(ctx, d) })
}

// open parses a turn, and puts the descriptions that it refers to in their place.
func open(name string, t Turn, sealed []string, sealer *seal.Sealer, described func(Turn) ([]string, error)) (*Player, error) {
	lines, err := parse(name, t, sealed, sealer)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if l.Offer == nil {
			continue
		}
		for _, id := range l.Offer.Descriptions {
			d := Turn{Store: t.Store, ID: id}
			sealed, err := described(d)
			if err != nil {
				return nil, fmt.Errorf("%s: a specialist's description: %w", name, err)
			}
			text, err := sealer.OpenLine(d.place(), sealed[0])
			if err != nil {
				return nil, fmt.Errorf("%s: a specialist's description: %w", name, err)
			}
			l.Offer.Specialists = append(l.Offer.Specialists, json.RawMessage(text))
		}
		l.Offer.Descriptions = nil
	}
	return newPlayer(name, lines)
}

func newPlayer(name string, lines []line) (_ *Player, err error) {
	p := &Player{Name: name, lines: lines, used: make([]bool, len(lines)), specialists: make(map[string]*specialistv1.Specialist), findings: make(map[Findings]int64)}
	p.spanLog = newSpanLog(func(_ context.Context, t Turn, all []span) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if t == p.turn {
			p.now = append(p.now, all...)
		}
	})
	begun, ended := false, false
	for _, l := range lines {
		switch {
		case l.Start != nil:
			begun, err = true, p.begin(l.Start)
		case l.Spans != nil:
			p.spans = append(p.spans, l.Spans...)
		case l.Offer != nil:
			for _, raw := range l.Offer.Specialists {
				s := &specialistv1.Specialist{}
				err = errors.Join(err, decode(raw, s))
				p.specialists[s.GetName()] = s
			}
		case l.End != nil:
			ended, p.Failure = true, l.End.Error
			if l.End.Reply != nil {
				p.Reply = &gatewayv1.AskResponse{}
				err = decode(l.End.Reply, p.Reply)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case !begun:
		return nil, fmt.Errorf("%s: %w", name, errNoTurn)
	case !ended:
		return nil, fmt.Errorf("%s: the turn has not ended, or its gateway has died", name)
	}
	return p, nil
}

func (p *Player) begin(s *start) error {
	p.TurnID, p.ThreadID, p.Config, p.Settings = s.Turn, s.Thread, s.Config, s.Settings
	p.Start = Start{Ask: &gatewayv1.AskRequest{}, Store: &gatewayv1.Store{}, Began: s.Began}
	err := errors.Join(decode(s.Ask, p.Start.Ask), decode(s.Store, p.Start.Store))
	if s.Conversation != nil {
		p.Start.Conversation = &specialistv1.AnswerRequest{}
		err = errors.Join(err, decode(s.Conversation, p.Start.Conversation))
	}
	p.Start.Prompts = make(map[string]*specialistv1.Prompt)
	for agent, raw := range s.Prompts {
		p.Start.Prompts[agent] = &specialistv1.Prompt{}
		err = errors.Join(err, decode(raw, p.Start.Prompts[agent]))
	}
	return err
}

// decode reads a message. Fields that have gone since are left out.
func decode(raw json.RawMessage, m proto.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, m)
}

// Write writes the turn in plaintext, as OpenFile reads it.
func (p *Player) Write(w io.Writer) error {
	var last []line // services may add lines after the gateway has ended the turn
	for _, l := range p.lines {
		if l.End != nil {
			last = append(last, l)
			continue
		}
		if err := writeLine(w, l); err != nil {
			return err
		}
	}
	return writeLine(w, last[len(last)-1])
}

func writeLine(w io.Writer, l line) error {
	raw, err := encode(l)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// Divergences returns what the replay asked for and the recorded turn did not, in the order in which it happened.
func (p *Player) Divergences() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.divergences)
}

// Begin implements [Tape].
func (p *Player) Begin(ctx context.Context, s *Start) {
	prompts := maps.Clone(p.Start.Prompts)
	for agent := range p.Prompts { // the store of the replay has them
		prompts[agent] = s.Prompts[agent]
	}
	s.Conversation, s.Prompts = p.Start.Conversation, prompts
	sc, _ := scope.FromContext(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = turnOf(sc)
}

// Specialists implements [Tape].
func (p *Player) Specialists(context.Context, []*specialistv1.Specialist) {}

// End implements [Tape].
func (p *Player) End(_ context.Context, reply *gatewayv1.AskResponse, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = newEnd(reply, err)
}

// diverge notes a divergence and returns the error of the call. It needs the lock.
func (p *Player) diverge(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	p.divergences = append(p.divergences, what)
	return fmt.Errorf("%w: %s", ErrNotRecorded, what)
}

// take returns the first line of a service that matches and was not used, or else one that was: calls may be made again. It needs the
// lock. At is -1 if there is none.
func (p *Player) take(service string, matches func(l line) bool) (at int) {
	at = -1
	for i, l := range p.lines {
		if l.Service != service || !matches(l) {
			continue
		}
		if !p.used[i] {
			p.used[i] = true
			return i
		}
		if at < 0 {
			at = i
		}
	}
	return at
}

// agentOf returns the name that prompts have for the models of a service.
func agentOf(service string) string {
	if service == gatewayService {
		return "merge"
	}
	return service
}

// Model implements [Tape]. A call is answered by the recorded call with the same messages.
func (p *Player) Model(service string, _ agentloop.Model) agentloop.Model {
	return modelFunc(func(ctx context.Context, req *agentloop.Request) iter.Seq2[agentloop.Chunk, error] {
		p.call(ctx, chat)
		x, err := p.exchange(service, req)
		if live := p.Live[agentOf(service)]; err != nil && live != nil {
			return live.Generate(ctx, req)
		}
		if err != nil {
			return failing(err)
		}
		return wrap.Replay([]wrap.Exchange{{Request: *req, Chunks: x.Chunks, Error: x.Error}}).Generate(ctx, req)
	})
}

// failing is the answer of a call that fails.
func failing(err error) iter.Seq2[agentloop.Chunk, error] {
	return func(yield func(agentloop.Chunk, error) bool) { yield(agentloop.Chunk{}, err) }
}

func (p *Player) exchange(service string, req *agentloop.Request) (wrap.Exchange, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.takeExchange(service, req.Messages, 0)
	if p.loose && at < 0 {
		at = looseMatch(p.lines, service, req)
	}
	if p.loose && at >= 0 {
		x := *p.lines[at].Exchange
		x.Request = *req.Clone()
		p.exchanges = append(p.exchanges, line{Service: service, Exchange: &x})
	}
	if at >= 0 {
		return *p.lines[at].Exchange, nil
	}
	nearest, most := (*wrap.Exchange)(nil), -1
	for _, l := range p.lines { // the recorded call that is the same for longest
		if l.Service == service && l.Exchange != nil {
			if n := common(l.Exchange.Request.Messages, req.Messages); n > most {
				nearest, most = l.Exchange, n
			}
		}
	}
	if nearest == nil {
		return wrap.Exchange{}, p.diverge("%s: a model call, where the recorded turn made none", service)
	}
	err := p.diverge("%s: model call, message %d\n  recorded %s\n  now      %s", service, most,
		from(nearest.Request.Messages, req.Messages, most), from(req.Messages, nearest.Request.Messages, most))
	if agent := agentOf(service); p.Prompts[agent] != "" && p.Live[agent] == nil {
		if at := p.takeExchange(service, req.Messages, 1); at >= 0 {
			return *p.lines[at].Exchange, nil
		}
	}
	return wrap.Exchange{}, err
}

// takeExchange takes the recorded call of a model with the same messages from number first on, rather one that was not cancelled. At is -1
// if there is none.
func (p *Player) takeExchange(service string, messages []agentloop.Message, first int) (at int) {
	same := func(x *wrap.Exchange) bool {
		return x != nil && len(x.Request.Messages) >= first && len(messages) >= first &&
			slices.EqualFunc(x.Request.Messages[first:], messages[first:], equal)
	}
	canceled := func(x *wrap.Exchange) bool { return x.Error != nil && x.Error.Kind == wrap.KindCanceled }
	at = p.take(service, func(l line) bool { return same(l.Exchange) && !canceled(l.Exchange) })
	if at < 0 {
		at = p.take(service, func(l line) bool { return same(l.Exchange) })
	}
	return at
}

// equal reports whether two messages read the same for a model.
func equal(a, b agentloop.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.ToolCallID == b.ToolCallID && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// common returns how many messages two conversations begin with that are the same.
func common(a, b []agentloop.Message) int {
	n := 0
	for n < len(a) && n < len(b) && equal(a[n], b[n]) {
		n++
	}
	return n
}

// shownBytes is what is shown of a text from a little before the first difference on.
const shownBytes = 160

// from shows message n of one conversation from where it differs from that of another.
func from(of, other []agentloop.Message, n int) string {
	if n >= len(of) {
		return "no message"
	}
	show := func(m agentloop.Message) string { return fmt.Sprintf("%s: %s %s", m.Role, m.Text, calls(m.ToolCalls)) }
	text, at := show(of[n]), 0
	if n < len(other) {
		second := show(other[n])
		for at < len(text) && at < len(second) && text[at] == second[at] {
			at++
		}
	}
	at = max(0, at-shownBytes/4)
	return fmt.Sprintf("%q", strings.ToValidUTF8(text[at:min(len(text), at+shownBytes)], ""))
}

func calls(all []agentloop.ToolCall) string {
	var s []string
	for _, c := range all {
		s = append(s, c.Name+" "+c.Arguments)
	}
	return strings.Join(s, "; ")
}

// Setup implements [Tape].
func (p *Player) Setup(_ context.Context, service string, live Setup) Setup {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.take(service, func(l line) bool { return l.Setup != nil }); at >= 0 {
		return *p.lines[at].Setup
	}
	return live // an assignment for a specialist that the recorded turn did not ask; its model call diverges
}

// Call implements [Tape]. Of several recorded calls, that of the same sub-query answers.
func (p *Player) Call(_ context.Context, service, subQuery string, call agentloop.ToolCall, findings Findings, _ func() (any, error)) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := func(l line) bool {
		return l.Tool != nil && l.Tool.Name == call.Name && l.Tool.Arguments == call.Arguments
	}
	at := p.take(service, func(l line) bool { return same(l) && l.Tool.SubQuery == subQuery })
	if at < 0 {
		at = p.take(service, same)
	}
	if at < 0 {
		return nil, p.diverge("%s: tool call %s %s, which the recorded turn did not make", service, call.Name, call.Arguments)
	}
	t := p.lines[at].Tool
	if last, ok := p.findings[findings]; !ok || last < t.Number { // those of a later call include those of an earlier one
		p.findings[findings] = t.Number
		if err := findings.UnmarshalJSON(t.Findings); err != nil {
			return nil, p.diverge("%s: findings of %s: %v", service, call.Name, err)
		}
	}
	switch {
	case t.Error != "":
		return nil, errors.New(t.Error)
	case t.Text != nil:
		return *t.Text, nil
	case t.Summary != "":
		return summarized{t.Result, t.Summary}, nil
	case t.Result == nil:
		return nil, nil
	}
	return t.Result, nil
}

// summarized is a result with the summary that it had.
type summarized struct {
	json.RawMessage
	summary string
}

// Summary is for the call log.
func (s summarized) Summary() string { return s.summary }

// Conn implements [Tape]. Calls that stream pass on, to the services of the replay.
func (p *Player) Conn(service string, conn grpc.ClientConnInterface) grpc.ClientConnInterface {
	return &playedConn{ClientConnInterface: conn, player: p, service: service}
}

type playedConn struct {
	grpc.ClientConnInterface
	player  *Player
	service string
}

// Invoke implements [grpc.ClientConnInterface].
func (c *playedConn) Invoke(ctx context.Context, method string, req, resp any, _ ...grpc.CallOption) error {
	p := c.player
	if method == specialistv1.SpecialistService_Describe_FullMethodName {
		s := p.specialists[c.service]
		if s == nil {
			return status.Error(codes.Unavailable, "not in the bundle")
		}
		resp.(*specialistv1.DescribeResponse).Specialist = proto.CloneOf(s)
		return nil
	}
	p.call(ctx, method)
	p.mu.Lock()
	defer p.mu.Unlock()
	same := func(l line) bool {
		recorded := req.(proto.Message).ProtoReflect().New().Interface()
		return l.RPC != nil && l.RPC.Method == method && decode(l.RPC.Request, recorded) == nil && proto.Equal(recorded, req.(proto.Message))
	}
	at := p.take(c.service, same)
	if at < 0 {
		return status.Error(codes.Unavailable, p.diverge("%s: %s, which the recorded turn did not call", c.service, method).Error())
	}
	call := p.lines[at].RPC
	if call.Status != nil {
		st := &spb.Status{}
		if err := proto.Unmarshal(call.Status, st); err != nil {
			return err
		}
		return status.ErrorProto(st)
	}
	return decode(call.Response, resp.(proto.Message))
}
