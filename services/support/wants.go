package support

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// wantName is an action as a model names it: "change_address".
func wantName(kind orderv1.OrderActionKind) string {
	return strings.ToLower(strings.TrimPrefix(kind.String(), "ORDER_ACTION_KIND_"))
}

// withWants lets the schema of a tool take the names of actions in "wants", and nothing else.
func withWants(tool agentloop.Tool) agentloop.Tool {
	key := string(tool.Parameters)
	raw, ok := wantsSchemas.Load(key)
	if !ok {
		raw, _ = wantsSchemas.LoadOrStore(key, wantsSchema(tool))
	}
	tool.Parameters = raw.(json.RawMessage)
	return tool
}

// wantsSchemas remembers what wantsSchema made of a tool's parameters. There are two, of which every turn has one.
var wantsSchemas sync.Map // string -> json.RawMessage

func wantsSchema(tool agentloop.Tool) json.RawMessage {
	var schema map[string]any
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
		panic(fmt.Sprintf("support: schema of %s: %v", tool.Name, err)) // it was made from a type of this package
	}
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = wantName(kind)
	}
	properties := schema["properties"].(map[string]any)
	properties["wants"].(map[string]any)["items"].(map[string]any)["enum"] = names
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("support: schema of %s: %v", tool.Name, err))
	}
	return raw
}

// answerWants says of each action that the shopper wants whether the store's rules allow it for the order, in sentences, and
// proposes those that they allow to the backend, each once in a turn. What is allowed and not wanted is not proposed: it is in
// the order's actions for who asks.
func (t *turnTools) answerWants(f found, wants []string) []string {
	wanted := make(map[string]bool, len(wants))
	for _, w := range wants {
		wanted[w] = true
	}
	var said []string
	for _, a := range f.actions.GetAllowed() {
		if !wanted[wantName(a.GetKind())] {
			continue
		}
		said = append(said, sentence(allowedWords(f.order, a)))
		if t.first(a.GetKind().String() + " " + f.order.GetOrderId()) {
			t.turn.AddActions(proposal(f.order.GetOrderId(), a))
		}
	}
	for _, r := range f.actions.GetRefused() {
		if wanted[wantName(r.GetKind())] {
			said = append(said, sentence(refusedWords(f.order, r)))
		}
	}
	return said
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
