// Package bundle keeps all that a turn read from outside, and answers a later run of the turn from it: model calls, tool results, the
// cart, the open orders, the store, the conversation and the clock.
//
// A bundle is the JSON lines of one turn, in a file or in Redis. Every service of the turn appends to it, so services in several processes
// need one Redis or a shared folder. A bundle holds what shoppers and stores said: its lines are sealed if there are keys.
//
// A [Recorder] keeps turns in a [Storage], a [Player] answers a turn from one, and [Shrink] makes a turn smaller. A [Recording] is older
// exchanges with language models, which have no tool results: their tools run again.
//
// The package must not import a service.
package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// Tape stands between a turn and what it reads from outside. A [Recorder] passes everything on and keeps it; a [Player] answers from a
// bundle and passes nothing on. All methods are safe for concurrent use. The turn is that of the scope in the context.
type Tape interface {
	// Model returns the model of a service.
	Model(service string, m agentloop.Model) agentloop.Model
	// Conn returns the gateway's connection to a service.
	Conn(service string, conn grpc.ClientConnInterface) grpc.ClientConnInterface
	// Begin is called when a turn's scope, store and conversation are known. A Player puts the recorded conversation into start.
	Begin(ctx context.Context, start *Start)
	// Specialists is called with the specialists that the turn may ask.
	Specialists(ctx context.Context, all []*specialistv1.Specialist)
	// End is called when all work on the turn has ended, with the reply or the error.
	End(ctx context.Context, reply *gatewayv1.AskResponse, err error)
	// Setup returns what an assignment of a specialist can do. Live is how it is today.
	Setup(ctx context.Context, service string, live Setup) Setup
	// Call returns the result of a tool call of the assignment with a sub-query, and changes the findings as the call does. Live runs it.
	Call(ctx context.Context, service, subQuery string, call agentloop.ToolCall, findings Findings, live func() (any, error)) (any, error)
}

// Findings are the typed results of the tool calls of an assignment.
type Findings interface {
	json.Marshaler
	json.Unmarshaler
}

// Start is how a turn begins.
type Start struct {
	// Ask is the request.
	Ask *gatewayv1.AskRequest
	// Store that it is for.
	Store *gatewayv1.Store
	// Began is the clock of the turn.
	Began time.Time
	// Conversation has history, summary, shown_products and pending_question before the turn. Nil: the thread is new.
	Conversation *specialistv1.AnswerRequest
	// Prompts of the turn by agent, of those that use others than their own.
	Prompts map[string]*specialistv1.Prompt
}

// Setup is what an assignment of a specialist can do.
type Setup struct {
	// Disabled are the tools that are switched off, with the reason.
	Disabled map[string]string `json:"disabled,omitempty"`
	// Tools as the model reads them.
	Tools []agentloop.ToolSpec `json:"tools,omitempty"`
	// Further are the names of the tools that the deployment has added. A replay has none of them but their calls.
	Further []string `json:"further,omitempty"`
}

// Settings are the settings of the services that change what a turn does.
type Settings struct {
	// Version of the program that recorded.
	Version string `json:"version,omitempty"`
	// RulesOnly and AlwaysAskModel are the router's.
	RulesOnly      bool `json:"rules_only,omitempty"`
	AlwaysAskModel bool `json:"always_ask_model,omitempty"`
	// NoFastModel says that the router has no model.
	NoFastModel bool `json:"no_fast_model,omitempty"`
	// Prices of models by service. A service that is missing has no price.
	Prices map[string]agentloop.Price `json:"prices,omitempty"`
}

// line is one line of a bundle. One of the fields after Service is set.
type line struct {
	Service  string         `json:"service,omitempty"`
	Start    *start         `json:"start,omitempty"`
	Offer    *offer         `json:"offer,omitempty"`
	Exchange *wrap.Exchange `json:"exchange,omitempty"`
	Setup    *Setup         `json:"setup,omitempty"`
	Tool     *toolCall      `json:"tool,omitempty"`
	RPC      *rpcCall       `json:"rpc,omitempty"`
	Spans    []span         `json:"spans,omitempty"`
	End      *end           `json:"end,omitempty"`
}

// Messages of protobuf are kept as protojson.
type (
	start struct {
		Turn, Thread string
		Config       string // see [Recorder.config]
		Ask, Store   json.RawMessage
		Conversation json.RawMessage            `json:",omitempty"`
		Prompts      map[string]json.RawMessage `json:",omitempty"` // by agent
		Began        time.Time
		Settings     Settings
	}
	offer struct {
		Specialists  []json.RawMessage `json:",omitempty"`
		Descriptions []string          `json:",omitempty"` // the ids under which a Recorder keeps the specialists, instead
	}
	toolCall struct {
		Name, Arguments string
		SubQuery        string          `json:",omitempty"` // of the assignment
		Result          json.RawMessage `json:",omitempty"`
		Text            *string         `json:",omitempty"` // instead of Result
		Summary         string          `json:",omitempty"`
		Error           string          `json:",omitempty"`
		Findings        json.RawMessage `json:",omitempty"` // of the assignment, after the call
		Number          int64           `json:",omitempty"` // calls run at the same time: a higher one has the later findings
	}
	rpcCall struct {
		Method            string
		Request, Response json.RawMessage `json:",omitempty"`
		Status            []byte          `json:",omitempty"` // google.rpc.Status of an error
	}
	end struct {
		Reply json.RawMessage `json:",omitempty"`
		Error string          `json:",omitempty"`
	}
)

// parse reads the lines of a turn. Name is for errors.
func parse(name string, t Turn, sealed []string, sealer *seal.Sealer) ([]line, error) {
	var lines []line
	for i, s := range sealed {
		text, err := sealer.OpenLine(t.place(), s)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, i+1, err)
		}
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, i+1, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// errNoTurn is the error of a file that is not a bundle, or one of a turn whose gateway did not record.
var errNoTurn = errors.New("no bundle: it does not say how the turn begins")
