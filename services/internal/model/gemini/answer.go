package gemini

import (
	"crypto/rand"
	"encoding/json"
	"sync"

	"google.golang.org/genai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// answer is what is known of an answer so far.
type answer struct {
	endpoint.Ending
	signatures *signatures
	model      string
}

// decode takes in one piece of an answer. The finish reason and the usage, which is counted up from piece to piece, are
// kept for the end.
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

// add takes in one part. Parts of other kinds were not asked for and mean nothing.
func (a *answer) add(p *genai.Part, c *agentloop.Chunk) {
	switch {
	case p == nil:
	case p.FunctionCall != nil:
		id := "call_" + rand.Text()
		if len(p.ThoughtSignature) > 0 {
			a.signatures.put(id, p.ThoughtSignature)
		}
		c.ToolCalls = append(c.ToolCalls, agentloop.ToolCallDelta{
			Index: a.Calls, ID: id, Name: p.FunctionCall.Name, Arguments: argumentsOf(p.FunctionCall.Args),
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
	return agentloop.FinishError // a malformed call, and whatever else comes up
}

// maxSignatures bounds the signatures that are kept: a few kilobytes each, for the calls of conversations that go on now.
const maxSignatures = 4096

// signatures are the signed thoughts behind function calls, by the id of the call. Models want them back with the results,
// in the same turn. A call is known only to the process that made it; see skipSignature for others. The zero value is
// ready.
type signatures struct {
	mu   sync.Mutex
	byID map[string][]byte
	ids  []string // a ring, the oldest at next
	next int
}

func (s *signatures) put(id string, signature []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string][]byte)
	}
	if len(s.ids) < maxSignatures {
		s.ids = append(s.ids, id)
	} else {
		delete(s.byID, s.ids[s.next])
		s.ids[s.next] = id
		s.next = (s.next + 1) % maxSignatures
	}
	s.byID[id] = signature
}

func (s *signatures) get(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}
