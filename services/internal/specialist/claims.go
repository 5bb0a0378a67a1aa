package specialist

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/judge"
	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
)

// claimRules are the rules for the kinds that a request has no rule for. A shop loses more by a wrong price than by a sentence that
// is missing. A number without a unit and without support is often part of a name, or a count.
var claimRules = map[specialistv1.ClaimKind]specialistv1.ClaimAction{
	specialistv1.ClaimKind_CLAIM_KIND_NUMBER:     specialistv1.ClaimAction_CLAIM_ACTION_PASS,
	specialistv1.ClaimKind_CLAIM_KIND_AMOUNT:     specialistv1.ClaimAction_CLAIM_ACTION_CORRECT,
	specialistv1.ClaimKind_CLAIM_KIND_PERCENTAGE: specialistv1.ClaimAction_CLAIM_ACTION_DROP,
	specialistv1.ClaimKind_CLAIM_KIND_DATE:       specialistv1.ClaimAction_CLAIM_ACTION_DROP,
	specialistv1.ClaimKind_CLAIM_KIND_CODE:       specialistv1.ClaimAction_CLAIM_ACTION_DROP,
	specialistv1.ClaimKind_CLAIM_KIND_STATEMENT:  specialistv1.ClaimAction_CLAIM_ACTION_DROP,
	specialistv1.ClaimKind_CLAIM_KIND_MEASURE:    specialistv1.ClaimAction_CLAIM_ACTION_DROP,
	specialistv1.ClaimKind_CLAIM_KIND_ACTION:     specialistv1.ClaimAction_CLAIM_ACTION_PASS,
}

// claimChecker checks the sentences of an answer before they are sent, and carries out the rules for claims without support.
type claimChecker struct {
	turn    *Turn
	req     *specialistv1.AnswerRequest
	run     *agentloop.Conversation
	isHeld  bool           // a model is to decide on what code only doubts, once the answer is complete
	verdict *judge.Verdict // of that model; nil: it was not asked, or could not be

	evidence *grounding.Evidence
	reading  sync.WaitGroup     // of the evidence
	read     func()             // reads it, once
	checker  *grounding.Checker // of the text so far
	results  int                // of tools, that the evidence has

	lost     grounding.Claims // whose sentence was dropped or corrected; they have no place in the text any more
	revision string           // what the model is to be told; "": nothing
	revised  bool
}

// gather takes in what tools have returned since the last call. It reports whether there is anything new.
func (c *claimChecker) gather() bool {
	messages, results := c.run.Messages(), 0
	for _, m := range messages {
		if m.Role == agentloop.RoleTool {
			results++
		}
	}
	if c.evidence != nil && results == c.results {
		return false
	}
	c.evidence, c.results, c.checker = newEvidence(c.turn, c.req, messages), results, nil
	c.read = sync.OnceFunc(c.evidence.Read)
	return true
}

// prepare begins to read what tools have returned, while the model writes: half a millisecond for 1.7 KB. The caller waits for reading.
func (c *claimChecker) prepare() {
	if c.gather() {
		grounding.ReadAhead(&c.reading, c.read)
	}
}

// after prepares the checker for what follows a text: it has checked the text already if nothing was dropped or corrected, and no tool
// was called since.
func (c *claimChecker) after(text string) *grounding.Checker {
	c.gather()
	c.read()
	if c.checker == nil || c.checker.Text() != text {
		c.checker = c.evidence.NewChecker()
		c.checker.Write(text)
	}
	return c.checker
}

// check returns the claims of a text that the answer has, or would have.
func (c *claimChecker) check(text string) grounding.Claims {
	return c.verdict.Decide(text, c.after(text).Claims())
}

// sentence returns what of a sentence may follow the text before it. stop is true if the model is to write what comes next anew.
func (c *claimChecker) sentence(before, sentence string) (allowed string, stop bool) {
	if c.isQuestion(sentence) {
		return sentence, false
	}
	rejected := c.after(before).Add(sentence).Rejected()
	if c.isHeld {
		rejected = slices.DeleteFunc(rejected, func(claim grounding.Claim) bool { return !claim.Kind.IsLiteral() })
	}
	return c.carryOut(len(before), sentence, rejected)
}

// isQuestion reports whether a sentence is of the question with which the answer ends.
func (c *claimChecker) isQuestion(sentence string) bool {
	question, _ := c.turn.ending()
	return question != nil && strings.Contains(question.GetText(), strings.TrimSpace(sentence))
}

// carryOut returns what the rules leave of a sentence with rejected claims, which begins at a byte of their text. stop is as in sentence.
func (c *claimChecker) carryOut(start int, sentence string, rejected grounding.Claims) (allowed string, stop bool) {
	rejected = slices.DeleteFunc(rejected, func(claim grounding.Claim) bool {
		return c.action(claim.Kind) == specialistv1.ClaimAction_CLAIM_ACTION_PASS
	})
	c.lost = append(c.lost, rejected.WithoutPlaces()...)
	allowed = sentence
	for _, claim := range slices.Backward(rejected) { // from the end, so that the places of the others stay
		action := c.action(claim.Kind)
		if value, ok := c.evidence.Correction(claim); ok && action == specialistv1.ClaimAction_CLAIM_ACTION_CORRECT {
			allowed = allowed[:claim.Start-start] + value + allowed[claim.End-start:]
			continue
		}
		switch action {
		case specialistv1.ClaimAction_CLAIM_ACTION_HAND_OFF:
			c.turn.AddActions(handOffForClaim)
		case specialistv1.ClaimAction_CLAIM_ACTION_ASK_AGAIN:
			if !c.revised {
				c.revised = true
				c.revision = fmt.Sprintf(noteRevise, claim.Text)
			}
		}
		return "", c.revision != ""
	}
	return allowed, false
}

// handOffForClaim suggests a handover because of a claim.
var handOffForClaim = &specialistv1.SuggestedAction{Action: &specialistv1.SuggestedAction_HandOff{
	HandOff: &specialistv1.HandOff{Reason: "The model made a claim that the store's data does not support."},
}}

// noteRevise tells the model why its answer ends where it does.
const noteRevise = "Your next sentence said %q, which no tool result says. Go on from here by what the tools returned, without it: " +
	"no introduction, and nothing twice."

// action returns what becomes of claims of a kind.
func (c *claimChecker) action(kind grounding.Kind) specialistv1.ClaimAction {
	k := grounding.KindProto(kind)
	for _, r := range c.req.GetClaimRules() {
		if r.GetKind() == k {
			return r.GetAction()
		}
	}
	return claimRules[k]
}

// withoutLastWord returns a text that was cut without its last word: half a claim may stand there.
func withoutLastWord(text string) string { return text[:strings.LastIndexAny(text, " \n")+1] }

// newEvidence returns what the claims of an answer may rest on.
func newEvidence(turn *Turn, req *specialistv1.AnswerRequest, messages []agentloop.Message) *grounding.Evidence {
	e := grounding.Evidence{Language: turn.Language}
	for _, m := range messages {
		if m.Role == agentloop.RoleTool {
			e.AddResult(m.ToolCallID, unfenced(m.Text))
		}
	}
	for _, t := range given(turn, req) {
		e.AddText(t)
	}
	return &e
}

// caseOf returns a text with what it may rest on, for a model to judge.
func (c *claimChecker) caseOf(text string) judge.Case {
	out := judge.Case{Given: given(c.turn, c.req), Answer: text}
	for _, m := range c.run.Messages() {
		if m.Role == agentloop.RoleTool {
			out.Results = append(out.Results, unfenced(m.Text))
		}
	}
	return out
}

// given returns the texts of an assignment: what people wrote, and the data of the conversation.
func given(turn *Turn, req *specialistv1.AnswerRequest) []string {
	out := []string{req.GetSubQuery()}
	if m := req.GetMessage(); m != req.GetSubQuery() {
		out = append(out, m)
	}
	out = append(out, req.GetSummary())
	for _, m := range req.GetHistory() {
		out = append(out, m.GetText())
	}
	return append(out, givenData(turn, req))
}

// unfenced returns a tool's message without the lines that fence the result in: the id of a call supports nothing.
func unfenced(text string) string {
	_, inner, _ := strings.Cut(text, "\n")
	if end := strings.LastIndex(inner, "\n</"); end >= 0 {
		return inner[:end]
	}
	return inner
}

// givenData writes out what the assignment gives beside texts: the products that were shown, the cart, the store's name, the
// date.
func givenData(turn *Turn, req *specialistv1.AnswerRequest) string {
	var b strings.Builder
	for _, p := range req.GetShownProducts() {
		fmt.Fprintln(&b, p.GetProductId(), p.GetTitle(), money.Text(p.GetPrice()))
	}
	cart := turn.Cart
	for _, item := range cart.GetItems() {
		fmt.Fprintln(&b, item.GetProductId(), item.GetVariantId(), item.GetTitle(), item.GetOptions(), item.GetQuantity())
		if price := item.GetUnitPrice(); price != nil {
			total := &commonv1.Money{AmountMinor: price.GetAmountMinor() * int64(item.GetQuantity()), CurrencyCode: price.GetCurrencyCode()}
			fmt.Fprintln(&b, money.Text(price), money.Text(total))
		}
	}
	fmt.Fprintln(&b, len(cart.GetItems()), money.Text(cart.GetSubtotal()))
	fmt.Fprintln(&b, req.GetStoreName())
	fmt.Fprintln(&b, prompt.Today(turn.Now))
	for _, why := range turn.disabled {
		fmt.Fprintln(&b, why)
	}
	return b.String()
}
