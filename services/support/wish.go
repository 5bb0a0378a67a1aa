package support

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/support/orders"
)

// wish is what a shopper wants done with an order, as far as they said.
type wish struct {
	Item       string         `json:"item,omitempty"`
	Wants      []string       `json:"wants,omitempty"`
	Quantity   int32          `json:"quantity,omitempty"`
	Condition  string         `json:"condition,omitempty"`
	Reason     string         `json:"reason,omitempty"`
	NewAddress string         `json:"new_address,omitempty"`
	Options    map[string]any `json:"options,omitempty" jsonschema:"wanted instead"`
}

// Values of wish.Condition.
const (
	conditionUnused = "unused"
	conditionUsed   = "used"
	conditionOpened = "opened"
	conditionFaulty = "faulty"
)

// actionName is an action as a model names it: "change_address".
func actionName(kind orderv1.OrderActionKind) string {
	return strings.ToLower(strings.TrimPrefix(kind.String(), "ORDER_ACTION_KIND_"))
}

// withActionNames lets the schema of a tool take the names of actions in "wants", and nothing else.
func withActionNames(tool agentloop.Tool) agentloop.Tool {
	key := string(tool.Parameters)
	raw, ok := actionSchemas.Load(key)
	if !ok {
		raw, _ = actionSchemas.LoadOrStore(key, actionSchema(tool))
	}
	tool.Parameters = raw.(json.RawMessage)
	return tool
}

// actionSchemas remembers what wantsSchema made of a tool's parameters. There are two, of which every turn has one.
var actionSchemas sync.Map // string -> json.RawMessage

func actionSchema(tool agentloop.Tool) json.RawMessage {
	var schema map[string]any
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
		panic(fmt.Sprintf("support: schema of %s: %v", tool.Name, err)) // it was made from a type of this package
	}
	names := make([]string, len(orders.Kinds))
	for i, kind := range orders.Kinds {
		names[i] = actionName(kind)
	}
	properties := schema["properties"].(map[string]any)
	properties["wants"].(map[string]any)["items"].(map[string]any)["enum"] = names
	properties["condition"].(map[string]any)["enum"] = []string{conditionUnused, conditionUsed, conditionOpened, conditionFaulty}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("support: schema of %s: %v", tool.Name, err))
	}
	return raw
}

// answerWish says of each action that the shopper wants whether the store's rules allow it for the order, and proposes to the
// backend those that they allow. What is allowed and not wanted is not proposed, but shown.
func (t *turnTools) answerWish(ctx context.Context, f orders.WithActions, in wish, r *orderResult) {
	wanted := func(kind orderv1.OrderActionKind) bool { return slices.Contains(in.Wants, actionName(kind)) }
	meant := t.meant(f.Order, in)
	conditions := make(map[string]bool) // that are said
	for _, a := range f.Actions.GetAllowed() {
		words, condition := allowedText(f.Order, a), conditionText(a)
		if condition != "" && conditions[condition] {
			words = strings.Replace(words, condition, "; on the same condition", 1)
		}
		conditions[condition] = true
		if !wanted(a.GetKind()) {
			r.Order.Possible = append(r.Order.Possible, words)
			continue
		}
		r.Order.Asked = append(r.Order.Asked, sentence(words))
		units := unitsMeant(a, meant, in.Quantity)
		why := ""
		if comesBack(a.GetKind()) {
			a, units, why = t.withoutExcluded(ctx, f.Order, a, units)
		}
		switch {
		case why != "" && len(a.GetItems()) == 0:
			r.Instruction = "Say that the store's documents exclude it: \"" + strings.TrimRight(why, ".") + "\"."
		case comesBack(a.GetKind()) && t.used(in):
			r.Instruction = "Say from the store's documents (search_policies), without a button, whether used or opened goods can come back."
		case len(meant) > 0 && len(a.GetItems()) > 0 && len(units) == 0:
			r.Instruction = "Say that it is not possible for the item that the shopper means."
		default:
			t.propose(f.Order, a, units, in)
			r.Buttons = append(r.Buttons, actionName(a.GetKind()))
		}
	}
	for _, refused := range f.Actions.GetRefused() {
		if wanted(refused.GetKind()) {
			r.Order.Asked = append(r.Order.Asked, sentence(refusedText(f.Order, refused)))
		}
	}
}

// comesBack reports whether goods come back to the store with an action.
func comesBack(kind orderv1.OrderActionKind) bool {
	return kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN || kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE
}

// used reports whether the shopper says that the goods were used or opened: by the model's account, or else in their own words.
// Code cannot tell what the store's documents say of such goods, so it proposes no return of them.
func (t *turnTools) used(in wish) bool {
	if in.Condition != "" {
		return in.Condition == conditionUsed || in.Condition == conditionOpened
	}
	return t.service.policies.SaysUsed(t.turn.SubQuery)
}

// withoutExcluded leaves out of an action, and of the units that are meant, what the store's documents exclude, and returns the sentence
// that says so. If all that is meant is excluded, the action has no items.
func (t *turnTools) withoutExcluded(
	ctx context.Context, o *orderv1.Order, a *orderv1.AllowedAction, units []*orderv1.ItemQuantity,
) (*orderv1.AllowedAction, []*orderv1.ItemQuantity, string) {
	asked := units
	if len(asked) == 0 {
		asked = a.GetItems()
	}
	excluded, why := t.excluded(ctx, o, asked)
	if len(excluded) == 0 {
		return a, units, ""
	}
	is := func(u *orderv1.ItemQuantity) bool { return excluded[u.GetItemIndex()] }
	left := proto.CloneOf(a)
	left.Items = slices.DeleteFunc(left.GetItems(), is)
	units = slices.DeleteFunc(units, is)
	if len(excluded) == len(asked) {
		left.Items = nil
	}
	return left, units, why
}

// unitsMeant returns the units of an action that are of the items meant. A quantity above zero bounds those of a single item.
func unitsMeant(a *orderv1.AllowedAction, meant []int32, quantity int32) []*orderv1.ItemQuantity {
	var units []*orderv1.ItemQuantity
	for _, u := range a.GetItems() {
		if slices.Contains(meant, u.GetItemIndex()) {
			units = append(units, proto.CloneOf(u))
		}
	}
	if len(units) == 1 && quantity > 0 {
		units[0].Quantity = min(units[0].GetQuantity(), quantity)
	}
	return units
}

// propose adds an action to the findings, filled in as far as the shopper said. A second call for the same action of the same order
// adds its items and what the first left out.
func (t *turnTools) propose(o *orderv1.Order, a *orderv1.AllowedAction, units []*orderv1.ItemQuantity, in wish) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := a.GetKind().String() + " " + o.GetOrderId()
	old := t.proposed[key]
	action := proposal(o.GetOrderId(), a)
	if old != nil {
		action = proto.CloneOf(old)
	}
	reason := ""
	if i := slices.IndexFunc(a.GetReasons(), func(r string) bool { return text.Fold(r) == text.Fold(strings.TrimSpace(in.Reason)) }); i >= 0 {
		reason = a.GetReasons()[i]
	}
	if start := action.GetStartReturn(); start != nil {
		start.Items = mergeUnits(start.GetItems(), units)
		if reason != "" {
			start.Reason = reason
		}
	} else {
		if !t.wrote(in.NewAddress) {
			in.NewAddress = ""
		}
		fillChange(action.GetChangeOrder(), units, in)
		if reason != "" {
			action.GetChangeOrder().Reason = reason
		}
	}
	if old == nil {
		t.turn.AddActions(action)
	} else {
		t.turn.ReplaceAction(old, action)
	}
	t.proposed[key] = action
}

// wrote reports whether the shopper wrote all words of an address: goods must not go where a document says.
func (t *turnTools) wrote(address string) bool {
	known := make(map[string]bool)
	for _, w := range text.Words(t.turn.SubQuery + " " + t.turn.Message) {
		known[w.Text] = true
	}
	return !slices.ContainsFunc(text.Words(address), func(w text.Word) bool { return !known[w.Text] })
}

// Limits of what a proposal takes from a model.
const (
	maxAddress = 500 // characters
	maxOption  = 100 // characters
	maxOptions = 20
)

// fillChange adds items, their new options and a new address to the change of an order, where the action has such.
func fillChange(change *specialistv1.ChangeOrder, units []*orderv1.ItemQuantity, in wish) {
	kind := change.GetAction().GetKind()
	if kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_CANCEL {
		return // it is for all items
	}
	var options map[string]string
	if kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ITEMS || kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_EXCHANGE {
		for _, name := range slices.Sorted(maps.Keys(in.Options))[:min(len(in.Options), maxOptions)] {
			if options == nil {
				options = make(map[string]string)
			}
			options[text.Cut(name, maxOption)] = text.Cut(fmt.Sprint(in.Options[name]), maxOption)
		}
	}
	for _, u := range units {
		change.Items = slices.DeleteFunc(change.GetItems(), func(c *specialistv1.ItemChange) bool { return c.GetItemIndex() == u.GetItemIndex() })
		change.Items = append(change.Items, &specialistv1.ItemChange{ItemIndex: u.GetItemIndex(), Quantity: u.GetQuantity(), Options: options})
	}
	if in.NewAddress != "" && kind == orderv1.OrderActionKind_ORDER_ACTION_KIND_CHANGE_ADDRESS {
		change.NewAddress = text.Cut(addressLine(in.NewAddress), maxAddress)
	}
}

// addressLine writes the lines of an address in one, with commas.
func addressLine(address string) string {
	var lines []string
	for line := range strings.Lines(address) {
		if line = strings.Trim(text.OneLine(line), " ,"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ", ")
}

// mergeUnits returns the units with more of other items.
func mergeUnits(units, more []*orderv1.ItemQuantity) []*orderv1.ItemQuantity {
	for _, u := range more {
		units = slices.DeleteFunc(units, func(old *orderv1.ItemQuantity) bool { return old.GetItemIndex() == u.GetItemIndex() })
		units = append(units, u)
	}
	return units
}

// proposal is an allowed action as the backend gets it.
func proposal(orderID string, a *orderv1.AllowedAction) *specialistv1.SuggestedAction {
	if a.GetKind() == orderv1.OrderActionKind_ORDER_ACTION_KIND_RETURN {
		return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_StartReturn{
			StartReturn: &specialistv1.StartReturn{OrderId: orderID, Action: a},
		}}
	}
	return &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_ChangeOrder{
		ChangeOrder: &specialistv1.ChangeOrder{OrderId: orderID, Action: a},
	}}
}

// sentence makes one of a clause.
func sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
