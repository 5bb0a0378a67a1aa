package gemini

import (
	"crypto/rand"
	"encoding/json"

	"google.golang.org/genai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// answer is the state of an answer so far.
type answer struct {
	endpoint.Ending
	model string
}

// decode takes in one piece of an answer. It keeps the finish reason and the usage, which grows from piece to piece, for
// the end.
func (a *answer) decode(r *genai.GenerateContentResponse) agentloop.Chunk {
	var c agentloop.Chunk
	if r == nil {
		return c
	}
	if r.ModelVersion != a.model {
		a.model, c.Model = r.ModelVersion, r.ModelVersion
	}
	if u := r.UsageMetadata; u != nil && u.PromptTokenCount+u.CandidatesTokenCount+u.ThoughtsTokenCount > 0 {
		a.Usage = &agentloop.Usage{
			InputTokens: int64(u.PromptTokenCount), CachedInputTokens: int64(u.CachedContentTokenCount),
			OutputTokens: int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount), ReasoningTokens: int64(u.ThoughtsTokenCount),
		}
	}
	if f := r.PromptFeedback; f != nil && f.BlockReason != "" {
		a.Finish = agentloop.FinishContentFilter
	}
	if len(r.Candidates) == 0 || r.Candidates[0] == nil {
		return c
	}
	candidate := r.Candidates[0] // only one is ever asked for
	if candidate.Content != nil {
		for _, p := range candidate.Content.Parts {
			a.add(p, &c)
		}
	}
	if candidate.FinishReason != "" && candidate.FinishReason != genai.FinishReasonUnspecified {
		a.Finish = a.finishOf(candidate.FinishReason)
	}
	return c
}

// add takes in one part. It ignores parts of other kinds, which were not asked for.
func (a *answer) add(p *genai.Part, c *agentloop.Chunk) {
	switch {
	case p == nil:
	case p.FunctionCall != nil:
		c.ToolCalls = append(c.ToolCalls, agentloop.ToolCallDelta{
			Index: a.Calls, ID: "call_" + rand.Text(), Name: p.FunctionCall.Name, Arguments: argumentsOf(p.FunctionCall.Args),
			ProviderData: dataOf(p.ThoughtSignature),
		})
		a.Calls++
	case p.Thought:
		c.Reasoning += p.Text
	default:
		c.Text += p.Text
		a.Text = a.Text || p.Text != ""
	}
}

func argumentsOf(args map[string]any) string {
	raw, err := json.Marshal(args)
	if err != nil || args == nil {
		return "{}"
	}
	return string(raw)
}

// finishOf translates a finish reason. The API says STOP also of an answer that calls functions.
func (a *answer) finishOf(reason genai.FinishReason) agentloop.FinishReason {
	switch reason {
	case genai.FinishReasonStop:
		if a.Calls > 0 {
			return agentloop.FinishToolCalls
		}
		return agentloop.FinishStop
	case genai.FinishReasonMaxTokens:
		return agentloop.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII:
		return agentloop.FinishContentFilter
	}
	return agentloop.FinishError // a malformed call and unknown reasons
}

// providerData is what a tool call carries from the answer to the requests that follow: the signed reasoning behind it, which
// the model wants back with the result.
type providerData struct {
	Gemini struct {
		ThoughtSignature []byte `json:"thought_signature"`
	} `json:"gemini"`
}

// dataOf returns the ProviderData of a call with a signature, "" without one.
func dataOf(signature []byte) string {
	if len(signature) == 0 {
		return ""
	}
	var d providerData
	d.Gemini.ThoughtSignature = signature
	raw, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return string(raw)
}

// signatureOf returns the signature in a call's ProviderData; nil if there is none, or the data is another adapter's.
func signatureOf(data string) []byte {
	var d providerData
	if data == "" || json.Unmarshal([]byte(data), &d) != nil {
		return nil
	}
	return d.Gemini.ThoughtSignature
}
