package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	flag "github.com/spf13/pflag"
	"golang.org/x/term"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/anyjson"
	"github.com/quartet-commerce/quartet/services/suite"
)

// askFlags are the fields of the question and where it goes.
type askFlags struct {
	models  *modelFlags
	gateway *gateway.Settings
	request gatewayv1.AskRequest
	groups  string
	addr    string
	tls     *tlsFlags
	token   string
	redis   string
	seal    *sealFlags
	json    bool
	timeout time.Duration
	level   *slog.Level
}

// demoCustomer has a cart and orders in the demo stores.
const demoCustomer = "ava"

func addAskFlags(fs *flag.FlagSet) *askFlags {
	f := &askFlags{models: addModelFlags(fs), gateway: addGatewayFlags(fs), tls: addTLSFlags(fs, tlsUsageClient), seal: addSealFlags(fs), level: logLevel(fs, slog.LevelWarn)}
	fs.StringVar(&f.addr, "addr", "", "`target` of a running gateway, such as 127.0.0.1:7300 (default: start all six services here, with the demo stores)")
	tokenFlag(fs, &f.token)
	fs.StringVar(&f.request.StoreId, "store", "demo", "`id` of the store")
	fs.StringVar(&f.request.CustomerId, "customer", "", "`id` of the signed-in customer (default: a guest; ava in the demo stores that this command starts)")
	fs.StringVar(&f.groups, "groups", "", "comma-separated `groups` of the customer, such as members")
	fs.StringVar(&f.request.CartId, "cart", "", "`id` of the cart (default: the customer's)")
	fs.StringVar(&f.request.ThreadId, "thread", "", "`id` of the conversation to continue (default: a new one)")
	fs.StringVar(&f.request.Locale, "locale", "", "language of the shopper, such as es-MX (default: detected from the message)")
	fs.StringVar(&f.redis, "redis", "", "`URL` of a Redis with stores (default: an embedded server with the demo stores, which forgets on exit)")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "deadline of the turn")
	return f
}

func runAsk(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("ask", "MESSAGE", "Asks one message and shows what the services do. Without --addr all six services run in this process.", env)
	f := addAskFlags(fs)
	fs.StringVar(&f.request.RequestId, "request-id", "", "`id` of this request: the same message with the same id gets the same reply without being answered twice (default: none)")
	fs.BoolVar(&f.json, "json", false, "print only the whole reply, as JSON")
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if f.request.Message = strings.Join(rest, " "); strings.TrimSpace(f.request.Message) == "" {
		return usagef("give a message, such as: quartet ask \"where is my order?\"")
	}
	f.complete(fs)
	cfg, banner, closeSuite, err := f.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite()) }()
	conn, err := dial(ctx, suite.Gateway, cfg, env)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client := gatewayv1.NewGatewayServiceClient(conn)
	if f.json {
		return printJSON(ctx, env.out, client, &f.request)
	}
	p := newPrinter(env.out, terminalWidth(env))
	p.banner(banner)
	_, err = stream(ctx, client, &f.request, p)
	return err
}

// stream asks, prints the events of the turn and returns the reply.
func stream(ctx context.Context, client gatewayv1.GatewayServiceClient, req *gatewayv1.AskRequest, p *printer) (*gatewayv1.AskResponse, error) {
	events, err := client.AskStream(ctx, &gatewayv1.AskStreamRequest{Ask: req})
	if err != nil {
		return nil, told(err)
	}
	var ended error
	received := make(chan *gatewayv1.AskStreamResponse)
	go func() { // ends with the stream, whose events are all taken below
		defer close(received)
		for {
			var ev *gatewayv1.AskStreamResponse
			if ev, ended = events.Recv(); ended != nil {
				return
			}
			received <- ev
		}
	}()
	l := newLive(p)
	tick := time.NewTicker(l.every())
	defer tick.Stop()
	var reply *gatewayv1.AskResponse
	for {
		select {
		case <-tick.C:
			l.show()
		case ev, ok := <-received:
			l.event(ev)
			if !ok && errors.Is(ended, io.EOF) {
				return reply, nil
			}
			if !ok {
				return reply, told(ended)
			}
			p.event(ev)
			if a := ev.GetAnswer(); a != nil {
				reply = a
			}
		}
	}
}

// complete fills in what follows from other flags.
func (f *askFlags) complete(fs *flag.FlagSet) {
	if !given(fs, "customer") && f.addr == "" && f.redis == "" {
		f.request.CustomerId = demoCustomer
	}
	if f.groups != "" {
		f.request.CustomerGroups = strings.Split(f.groups, ",")
	}
}

// open returns how to reach a running gateway, or starts all six services. The caller calls the returned function at the end.
func (f *askFlags) open(ctx context.Context, env environment) (suite.Config, string, func() error, error) {
	if f.addr != "" {
		cfg := suite.Config{Peers: map[string]string{suite.Gateway: f.addr}, Token: f.token}
		err := f.tls.applyClient(&cfg, env)
		return cfg, "gateway at " + f.addr + " · " + f.who(), func() error { return nil }, err
	}
	l, err := openLocal(ctx, localConfig{
		models: f.models, gateway: *f.gateway, redis: f.redis, seal: f.seal, logger: newLogger(env, *f.level), demo: f.redis == "",
	}, env)
	if err != nil {
		return suite.Config{}, "", nil, err
	}
	return l.cfg, "six services in this process · " + f.who() + " · " + strings.Join(l.notes, " · "), l.close, nil
}

func (f *askFlags) who() string {
	if f.request.CustomerId == "" {
		return "store " + f.request.StoreId + " · guest"
	}
	return "store " + f.request.StoreId + " · customer " + f.request.CustomerId
}

// printJSON prints the reply of Ask, whole and nothing else.
func printJSON(ctx context.Context, w io.Writer, client gatewayv1.GatewayServiceClient, req *gatewayv1.AskRequest) error {
	reply, err := client.Ask(ctx, req)
	if err != nil {
		return told(err)
	}
	text, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(anyjson.Readable(reply))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}

// told formats the status in an error for a person: its code, what was done, its message and details.
func told(err error) error {
	var inner interface {
		error
		GRPCStatus() *status.Status
	}
	if !errors.As(err, &inner) {
		return err
	}
	st := inner.GRPCStatus()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s%s", st.Code(), strings.TrimSuffix(err.Error(), inner.Error()), st.Message())
	if st.Code() == codes.Unavailable && len(st.Details()) == 0 {
		b.WriteString("\n  is the service running, and is this its address? 'quartet up' starts all services")
	}
	for _, d := range st.Details() {
		for _, line := range detailLines(d) {
			b.WriteString("\n  " + line)
		}
	}
	return errors.New(b.String())
}

// terminalWidth is the width of a terminal, or zero when the output is piped or NO_COLOR is set: then it is plain.
func terminalWidth(env environment) int {
	file, ok := env.out.(*os.File)
	if !ok || env.get("NO_COLOR") != "" || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 40 {
		return 80
	}
	return width
}
