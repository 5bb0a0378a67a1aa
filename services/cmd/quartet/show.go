package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/show"
	"github.com/quartet-commerce/quartet/services/suite"
)

const showAbout = `Shows a recorded turn: when each stage ran, tool calls, tokens, cost, and each claim of the reply with its evidence. The turn is
read from a gateway by its id, or from a file ("-": stdin) with one turn as JSON, as 'quartet ask --json' and 'quartet call' print it.
The page of a turn that --record has kept also has each prompt, each answer of a model and whole results of tools: name its file, or give
--recorded and where it is kept.

  quartet show turn_abc --html turn.html
  quartet show turn_abc --html turn.html --recorded --record-dir turns`

func runShow(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("show", "TURN|FILE|-", showAbout, env)
	addr := fs.String("addr", "127.0.0.1:7300", "`target` of the gateway")
	req := &gatewayv1.GetTurnRequest{}
	source := addTurnFlags(fs)
	recorded := fs.Bool("recorded", false, "read the turn from where --record has kept it, not from the gateway")
	fs.StringVar(&req.CustomerId, "customer", "", "`id` of the customer whose turn it is (default: a guest's, or anyone's if the token allows it)")
	fs.StringVar(&req.CartId, "cart", "", "`id` of the cart of a guest's thread")
	html := fs.String("html", "", "write the turn to this `file` as one HTML page that needs nothing else, and print nothing")
	timeout := fs.Duration("timeout", 10*time.Second, "deadline of the call")
	var token string
	tokenFlag(fs, &token)
	tls := addTLSFlags(fs, tlsUsageClient)
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usagef("give the id of one turn, or one file")
	}
	var turn *gatewayv1.Turn
	var inside *bundle.Inside
	if *recorded {
		turn, inside, err = source.show(ctx, rest[0])
	} else if strings.HasPrefix(rest[0], "turn_") {
		cfg := suite.Config{Peers: map[string]string{suite.Gateway: *addr}, Token: token}
		if err := tls.applyClient(&cfg, env); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		req.StoreId, req.TurnId = source.store, rest[0]
		turn, err = turnAt(ctx, cfg, req)
	} else {
		turn, err = turnIn(rest[0], env)
		if errors.Is(err, errNoTurn) && rest[0] != "-" {
			if t, in, notRecorded := source.show(ctx, rest[0]); notRecorded == nil {
				turn, inside, err = t, in, nil
			}
		}
	}
	if err != nil {
		return err
	}
	if *html == "" {
		return show.Text(env.out, turn)
	}
	f, err := os.Create(*html)
	if err != nil {
		return err
	}
	return errors.Join(show.HTML(f, turn, inside), f.Close())
}

// turnAt reads a turn from a gateway.
func turnAt(ctx context.Context, cfg suite.Config, req *gatewayv1.GetTurnRequest) (*gatewayv1.Turn, error) {
	conn, err := suite.Dial(suite.Gateway, cfg)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	resp, err := gatewayv1.NewGatewayServiceClient(conn).GetTurn(ctx, req)
	if err != nil {
		return nil, told(err)
	}
	return &gatewayv1.Turn{Message: resp.GetMessage(), Reply: resp.GetTurn(), Feedback: resp.GetFeedback()}, nil
}

// turnIn reads a turn from a file.
func turnIn(name string, env environment) (*gatewayv1.Turn, error) {
	in := env.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usagef("%w; the id of a turn begins with turn_", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	exported, turn, got, reply := &gatewayv1.ExportTurnsResponse{}, &gatewayv1.Turn{}, &gatewayv1.GetTurnResponse{}, &gatewayv1.AskResponse{}
	for _, m := range []proto.Message{turn, exported, got, reply} {
		if protojson.Unmarshal(raw, m) != nil || proto.Size(m) == 0 {
			continue
		}
		switch m {
		case exported:
			return exported.GetTurn(), nil
		case got:
			return &gatewayv1.Turn{Message: got.GetMessage(), Reply: got.GetTurn(), Feedback: got.GetFeedback()}, nil
		case reply:
			return &gatewayv1.Turn{Reply: reply}, nil
		}
		return turn, nil
	}
	return nil, fmt.Errorf("%s: %w", name, errNoTurn)
}

// errNoTurn is the error of a file that holds no turn.
var errNoTurn = errors.New("is no turn: a Turn, a GetTurnResponse or an AskResponse of quartet.gateway.v1 as JSON, or a recorded turn")

// show reads a recorded turn, by its id or from its file.
func (f *turnFlags) show(ctx context.Context, name string) (*gatewayv1.Turn, *bundle.Inside, error) {
	turns, err := f.open(ctx, []string{name})
	switch {
	case err != nil:
		return nil, nil, err
	case len(turns) > 1:
		return nil, nil, usagef("%s has %d turns; give one", name, len(turns))
	case turns[0].Reply == nil:
		return nil, nil, fmt.Errorf("turn %s has no reply, it failed: %s", turns[0].TurnID, turns[0].Failure)
	}
	p, inside := turns[0], turns[0].Inside()
	return &gatewayv1.Turn{Message: p.Start.Ask.GetMessage(), CustomerId: p.Start.Ask.GetCustomerId(), Reply: p.Reply}, &inside, nil
}
