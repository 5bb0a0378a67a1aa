package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ergochat/readline"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/show"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/suite"
)

const chatHelp = `/show         how the last message was answered: stages, tool calls, tokens, claims
/cart         the cart
/good, /bad   say whether the last reply helped: /bad it was sold out
/as CUSTOMER  go on as another customer, in a new conversation; without a customer as a guest
/help         this list
/quit         end (also Ctrl-D)
`

// chat is a conversation in the terminal.
type chat struct {
	env     environment
	flags   *askFlags
	gateway gatewayv1.GatewayServiceClient
	carts   cartv1.CartServiceClient
	last    *gatewayv1.AskResponse // nil before the first
}

func runChat(ctx context.Context, args []string, env environment) (err error) {
	fs := newFlags("chat", "", "Talks to a store in the terminal. Without --addr all six services run in this process.\n\n"+chatHelp, env)
	f := addAskFlags(fs)
	history := fs.String("history", "", "`file` that keeps the messages typed (default: they are forgotten at the end)")
	rest, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("takes no arguments; type the messages, or use: quartet ask MESSAGE")
	}
	f.complete(fs)
	cfg, banner, closeSuite, err := f.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite()) }()
	gateway, err := dial(ctx, suite.Gateway, cfg, env)
	if err != nil {
		return err
	}
	defer gateway.Close()
	in, err := readline.NewFromConfig(&readline.Config{Prompt: "> ", HistoryFile: *history, Stdin: env.in, Stdout: env.out, Stderr: env.err})
	if err != nil {
		return err
	}
	defer in.Close()
	c := &chat{env: env, flags: f, gateway: gatewayv1.NewGatewayServiceClient(gateway), carts: cartv1.NewCartServiceClient(gateway)}
	newPrinter(env.out, terminalWidth(env)).banner(banner + " · /help lists the commands")
	for {
		line, err := in.ReadLine()
		if errors.Is(err, io.EOF) || errors.Is(err, readline.ErrInterrupt) {
			return nil
		}
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if line == "/quit" || ctx.Err() != nil {
			return nil
		}
		if line == "" {
			continue
		}
		if err := c.take(ctx, line); err != nil {
			fmt.Fprintln(env.out, err)
		}
	}
}

// take answers one line. An error concerns the line alone.
func (c *chat) take(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeout(ctx, c.flags.timeout)
	defer cancel()
	req := &c.flags.request
	command, argument, _ := strings.Cut(line, " ")
	switch {
	case !strings.HasPrefix(line, "/"):
		req.Message = line
		return c.ask(ctx)
	case command == "/help":
		fmt.Fprint(c.env.out, chatHelp)
	case command == "/as":
		req.CustomerId, req.CartId, req.ThreadId, req.CustomerGroups, c.last = strings.TrimSpace(argument), "", "", nil, nil
		fmt.Fprintln(c.env.out, c.flags.who())
	case command == "/good":
		return c.rate(ctx, gatewayv1.Rating_RATING_HELPFUL, argument)
	case command == "/bad":
		return c.rate(ctx, gatewayv1.Rating_RATING_NOT_HELPFUL, argument)
	case command == "/cart":
		return c.cart(ctx)
	case command == "/show":
		if c.last == nil {
			return errors.New("nothing was answered yet")
		}
		return show.Text(c.env.out, &gatewayv1.Turn{Message: req.GetMessage(), Reply: c.last})
	default:
		return fmt.Errorf("there is no command %s; /help lists them", command)
	}
	return nil
}

// ask sends the message, prints the turn and goes on with its conversation.
func (c *chat) ask(ctx context.Context) error {
	reply, err := stream(ctx, c.gateway, &c.flags.request, newPrinter(c.env.out, terminalWidth(c.env)))
	if err != nil || reply == nil {
		return err
	}
	c.last, c.flags.request.ThreadId = reply, reply.GetThreadId()
	for _, p := range reply.GetProducts() {
		fmt.Fprintf(c.env.out, "  [%s] %s · %s · %d in stock\n", p.GetProductId(), p.GetTitle(), money.Text(p.GetPrice()), p.GetStock())
	}
	if p := reply.GetPromotion(); p != nil {
		fmt.Fprintf(c.env.out, "  [%s] %s\n", p.GetCode(), p.GetTitle())
	}
	for _, o := range reply.GetOrders() {
		status := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(o.GetStatus().String(), "ORDER_STATUS_"), "_", " "))
		fmt.Fprintf(c.env.out, "  [%s] %s · %s · %s\n", o.GetOrderId(), status, text.Count(len(o.GetItems()), "item"), money.Text(o.GetTotal()))
	}
	for _, a := range reply.GetSuggestedActions() {
		fmt.Fprintf(c.env.out, "  → %s\n", actionText(a))
	}
	for _, answer := range reply.GetClarifyingQuestion().GetQuickReplies() {
		fmt.Fprintf(c.env.out, "  ? %s\n", answer)
	}
	return nil
}

// actionText is what the button of a suggested action would say. Here nothing acts.
func actionText(a *specialistv1.SuggestedAction) string {
	switch a := a.GetAction().(type) {
	case *specialistv1.SuggestedAction_AddToCart:
		return "add to cart: " + strings.TrimSuffix(a.AddToCart.GetProductId()+" "+a.AddToCart.GetVariantId(), " ")
	case *specialistv1.SuggestedAction_ApplyPromotion:
		return "apply " + a.ApplyPromotion.GetCode()
	case *specialistv1.SuggestedAction_StartReturn:
		return "return from " + a.StartReturn.GetOrderId()
	case *specialistv1.SuggestedAction_ChangeOrder:
		return "change " + a.ChangeOrder.GetOrderId()
	}
	return "talk to a person"
}

// rate says whether the last reply helped.
func (c *chat) rate(ctx context.Context, rating gatewayv1.Rating, reason string) error {
	if c.last == nil {
		return errors.New("nothing was answered yet")
	}
	req := &c.flags.request
	_, err := c.gateway.RecordFeedback(ctx, &gatewayv1.RecordFeedbackRequest{
		StoreId: req.GetStoreId(), TurnId: c.last.GetTurnId(), CustomerId: req.GetCustomerId(), CartId: req.GetCartId(),
		Feedback: &gatewayv1.Feedback{Rating: rating, Reason: strings.TrimSpace(reason)},
	})
	if err != nil {
		return told(err)
	}
	fmt.Fprintln(c.env.out, "thank you")
	return nil
}

func (c *chat) cart(ctx context.Context) error {
	req := &c.flags.request
	id := cmp.Or(req.GetCartId(), req.GetCustomerId())
	if id == "" {
		return errors.New("a guest has no cart: start with --cart, or say /as CUSTOMER")
	}
	reply, err := c.carts.GetCart(ctx, &cartv1.GetCartRequest{StoreId: req.GetStoreId(), CartId: id})
	if err != nil {
		return told(err)
	}
	for _, item := range reply.GetCart().GetItems() {
		fmt.Fprintf(c.env.out, "  %d × %s · %s\n", item.GetQuantity(), cmp.Or(item.GetTitle(), item.GetProductId()), money.Text(item.GetUnitPrice()))
	}
	fmt.Fprintf(c.env.out, "  %s, %s\n", text.Count(len(reply.GetCart().GetItems()), "item"), money.Text(reply.GetCart().GetSubtotal()))
	return nil
}
