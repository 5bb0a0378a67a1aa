package promotions

import (
	"context"
	_ "embed" // the prompt and the examples
	"errors"
	"fmt"
	"strings"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/carttool"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/promotions/engine"
)

//go:embed prompt.md
var prompt string

// examples are requests that are this specialist's, one a line, the most telling first. They were invented for this: they
// are no shopper's, and none is of the sets that the router is measured with.
//
//go:embed examples.txt
var examples string

// definition is the promotions specialist.
func (s *server) definition() specialist.Definition {
	return specialist.Definition{
		Name: "promotions",
		Purpose: "Promotions, discounts, codes, deals and free shipping: what they save on the cart, also if it were changed (\"what " +
			"would I pay with this code if I add ...\"). Not product prices, refunds or shipping times.",
		Examples:    strings.Split(strings.TrimSpace(examples), "\n"),
		Keywords:    vocabulary,
		Prompt:      prompt,
		Tools:       s.tools,
		ToolReads:   map[string][]scope.Read{listTool: {scope.ReadPromotions}, carttool.Name: {scope.ReadCarts}},
		Unavailable: s.unavailable,
		ReadsCart:   true,
	}
}

// unavailable says why the specialist cannot serve a store without promotions.
func (s *server) unavailable(ctx context.Context, sc scope.Scope) (string, error) {
	has, err := s.repository.has(ctx, sc.StoreID)
	if err != nil || has {
		return "", err
	}
	return "This store has no promotions.", nil
}

const listTool = "list_active_promotions"

const (
	maxListed    = 4  // promotions that a model is shown unless it asks for all
	maxListedAll = 20 // promotions that it is shown then
	maxCodes     = 10 // codes that are tried together
)

// tools makes the tools of one turn.
func (s *server) tools(t *specialist.Turn) []agentloop.Tool {
	read := specialist.Memoise(func(ctx context.Context) (offers, error) { return s.offersFor(ctx, t) })
	tools := []agentloop.Tool{
		agentloop.NewTool(listTool,
			"Lists offers and codes: what each saves on the cart, or why it does not apply.",
			s.listPromotions(t, read)),
	}
	if t.Cart != nil { // for what each category of it comes to
		tools = append(tools, carttool.New(t, carttool.Config{}))
	}
	return tools
}

type listArgs struct {
	Query   string            `json:"query,omitempty" jsonschema:"a kind of product, in English"`
	Codes   []string          `json:"codes,omitempty"`
	Changes []carttool.Change `json:"changes,omitempty" jsonschema:"what if"`
	All     bool              `json:"all,omitempty" jsonschema:"every offer, with terms"`
}

// listResult begins with the subtotal, so that the best saving follows it: the total with the best code is then the difference of
// two neighbours, which an answer may state.
type listResult struct {
	CartSubtotal string            `json:"cart_subtotal,omitempty"`
	Promotions   []listedPromotion `json:"promotions"`
	BestCode     string            `json:"best_code,omitempty"`
	Together     *together         `json:"best_combination,omitempty"`
	Cart         []string          `json:"cart,omitempty"` // only with changes
	WithCodes    *codesResult      `json:"with_codes,omitempty"`
	Total        int               `json:"total,omitempty"`
	ExpiredCount int               `json:"expired_count,omitempty"`
	Note         string            `json:"note,omitempty"`
}

// together is the best combination, when it is of several codes.
type together struct {
	Codes  []string `json:"codes"`
	Saving string   `json:"saving"`
}

// codesResult is the cart with codes. The total is without shipping.
type codesResult struct {
	Entered []string `json:"entered"`
	Saving  string   `json:"saving,omitempty"`
	Total   string   `json:"total,omitempty"`
	Refused []string `json:"refused,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r listResult) Summary() string {
	eligible := 0
	for _, p := range r.Promotions {
		if p.Eligible {
			eligible++
		}
	}
	return text.Count(len(r.Promotions), "promotion") + fmt.Sprintf(", %d apply", eligible)
}

type listedPromotion struct {
	Code        string `json:"code"`
	Eligible    bool   `json:"eligible"`
	Saving      string `json:"saving,omitempty"`
	Title       string `json:"title,omitempty"`
	Offer       string `json:"offer"`
	Terms       string `json:"terms,omitempty"`
	Refused     string `json:"refused,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	Missing     string `json:"missing,omitempty"`
	Starts      string `json:"starts,omitempty"`
	Ends        string `json:"ends,omitempty"`
	Combinable  bool   `json:"combinable"`
}

func (s *server) listPromotions(t *specialist.Turn, read *specialist.Memo[offers]) func(context.Context, listArgs) (listResult, error) {
	return func(ctx context.Context, in listArgs) (listResult, error) {
		if len(in.Codes) > maxCodes {
			return listResult{}, fmt.Errorf("codes has %d codes; give at most %d", len(in.Codes), maxCodes)
		}
		o, err := read.Get(ctx)
		if err != nil {
			return listResult{}, err
		}
		t.AddPromotions(o.choices(in.Codes)...)
		if len(in.Changes) > 0 {
			if s.catalog == nil {
				return listResult{}, errors.New("carts cannot be changed in thought here: there is no catalog; leave out changes")
			}
			cart, err := carttool.With(ctx, s.catalog, t, o.cart, in.Changes)
			if err != nil {
				return listResult{}, err
			}
			o = s.evaluated(ctx, t, o, cart)
		}
		most := maxListed
		if in.All {
			most = maxListedAll
		}
		shown, expired := o.listed(in.Query, in.Codes)
		t.Found(len(shown))
		r := listResult{
			Promotions:   make([]listedPromotion, 0, min(len(shown), most)),
			BestCode:     o.BestCode,
			CartSubtotal: money.Text(o.basket.Subtotal()),
			ExpiredCount: expired,
			Note:         o.note(shown),
		}
		if codes := o.Combination.GetCodes(); len(codes) > 1 {
			r.Together = &together{Codes: codes, Saving: money.Text(o.Combination.GetSaving())}
		}
		if len(in.Changes) > 0 {
			r.Cart = carttool.Lines(o.cart)
			r.Note = strings.TrimSpace("This is for the cart with the changes; today's cart is as before. " + r.Note)
		}
		if len(in.Codes) > 0 && o.hasCart {
			r.WithCodes = o.withCodes(in.Codes)
		}
		if len(shown) > most {
			r.Total = len(shown)
			shown = shown[:most]
		}
		for _, e := range shown {
			l := listEntry(e, in.All || len(shown) == 1 || engine.ContainsCode(in.Codes, e.GetPromotion().GetCode()))
			if !o.hasCart && e.GetRefusalReason() == promotionv1.RefusalReason_REFUSAL_REASON_EMPTY_CART {
				l.Refused, l.Explanation = "", "" // the note says it: that the cart is empty is not known
			}
			r.Promotions = append(r.Promotions, l)
		}
		return r, nil
	}
}

// listEntry is a promotion as a model reads it: in full or, to save tokens, without what the other fields say.
func listEntry(e *promotionv1.Evaluation, full bool) listedPromotion {
	p := e.GetPromotion()
	l := listedPromotion{
		Code:        p.GetCode(),
		Title:       p.GetTitle(),
		Offer:       engine.Offer(p),
		Terms:       p.GetDescription(),
		Eligible:    e.GetEligible(),
		Saving:      money.Text(e.GetSaving()),
		Explanation: e.GetExplanation(),
		Refused:     reasonWord(e.GetRefusalReason()),
		Missing:     money.Text(e.GetMissingAmount()),
		Combinable:  p.GetStackable(),
	}
	if p.GetFreeShipping() != nil && e.GetSaving().GetAmountMinor() == 0 {
		l.Saving = "" // the fee is not known: "0.00 EUR" would say that it saves nothing
	}
	if n := e.GetMissingQuantity(); n > 0 {
		l.Missing = text.Count(int(n), "unit")
	}
	if e.GetRefusalReason() == promotionv1.RefusalReason_REFUSAL_REASON_NOT_STARTED {
		l.Starts = engine.Day(p.GetStartTime().AsTime())
	}
	if p.GetEndTime() != nil {
		l.Ends = engine.Day(engine.LastDay(p))
	}
	switch {
	case full:
	case e.GetEligible():
		l.Title, l.Terms, l.Explanation = "", "", ""
	default:
		l.Title, l.Terms, l.Missing, l.Refused = "", "", "", "" // the explanation says it
	}
	return l
}

// reasonWord is a reason as a model reads it, such as "minimum_not_met"; empty for none.
func reasonWord(r promotionv1.RefusalReason) string {
	if r == promotionv1.RefusalReason_REFUSAL_REASON_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(r.String(), "REFUSAL_REASON_"))
}
