// Package rerank asks a cross-encoder how well texts answer a query. It imports no service.
package rerank

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/services/internal/httpjson"
)

// Style is the API that an endpoint speaks.
type Style string

// The styles.
const (
	// Cohere is that of Cohere, Jina and vLLM: documents in, results with a relevance_score out.
	Cohere Style = "cohere"
	// TEI is that of Hugging Face's text-embeddings-inference: texts in, a list of scores out.
	TEI Style = "tei"
	// NIM is that of NVIDIA's: passages in, rankings with a logit out.
	NIM Style = "nim"
)

// maxText bounds a text, in bytes: cross-encoders take the time of its length.
const maxText = 2_000

// Config names an endpoint and the model to ask there.
type Config struct {
	// URL is the whole address, such as "http://localhost:8000/v1/rerank". Required.
	URL string
	// Key that the provider gave out. Empty: none.
	Key string
	// Model is the provider's name for it. Required but for TEI, which serves one.
	Model string
	// Style of the API. Empty: Cohere.
	Style Style
}

// Client scores texts. It is safe for concurrent use.
type Client struct {
	cfg  Config
	post *httpjson.Client
}

// New returns a client, or one line that says what is wrong with the configuration. Nothing is sent yet.
func New(cfg Config) (*Client, error) {
	cfg.Style = cmp.Or(cfg.Style, Cohere)
	switch cfg.Style {
	case TEI:
		cfg.Model = cmp.Or(cfg.Model, "default") // it is not sent
	case Cohere, NIM:
	default:
		return nil, fmt.Errorf("rerank: unknown style %q: want %s, %s or %s", cfg.Style, Cohere, TEI, NIM)
	}
	post, err := httpjson.New(endpoint.Config{
		Provider: "rerank", BaseURL: cfg.URL, APIKey: cfg.Key, KeyOptional: true, Model: cfg.Model,
	})
	if err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, post: post}, nil
}

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.post.Model() }

// Close lets go of idle connections.
func (c *Client) Close() { c.post.Close() }

// Scores returns how well each text answers the query, in order; higher is better. Scores of different queries do not compare.
func (c *Client) Scores(ctx context.Context, query string, texts []string) ([]float64, error) {
	cut := make([]string, len(texts))
	for i, t := range texts {
		cut[i] = strings.ToValidUTF8(t[:min(maxText, len(t))], "")
	}
	var answer json.RawMessage
	if err := c.post.Post(ctx, c.request(query, cut), &answer); err != nil {
		return nil, err
	}
	scores, err := scoresOf(c.cfg.Style, answer, len(texts))
	if err != nil {
		return nil, fmt.Errorf("rerank: invalid response: %w", err)
	}
	return scores, nil
}

// request is the body in the endpoint's style.
func (c *Client) request(query string, texts []string) any {
	switch c.cfg.Style {
	case TEI:
		return map[string]any{"query": query, "texts": texts, "truncate": true}
	case NIM:
		type text struct {
			Text string `json:"text"`
		}
		passages := make([]text, len(texts))
		for i, t := range texts {
			passages[i].Text = t
		}
		return map[string]any{"model": c.cfg.Model, "query": text{query}, "passages": passages, "truncate": "END"}
	}
	return map[string]any{"model": c.cfg.Model, "query": query, "documents": texts, "top_n": len(texts)}
}

// scored is one text's score, under the name that its style has for it.
type scored struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"`
	Logit     *float64 `json:"logit"`
}

// scoresOf reads the scores of n texts.
func scoresOf(style Style, answer json.RawMessage, n int) ([]float64, error) {
	var list []scored
	var object struct {
		Results  []scored `json:"results"`
		Rankings []scored `json:"rankings"`
	}
	var err error
	if style == TEI {
		err = json.Unmarshal(answer, &list)
	} else {
		err = json.Unmarshal(answer, &object)
		list = append(object.Results, object.Rankings...)
	}
	if err != nil {
		return nil, err
	}
	if len(list) != n {
		return nil, fmt.Errorf("it has %d scores for %d texts", len(list), n)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	for _, s := range list {
		score := cmp.Or(s.Relevance, s.Score, s.Logit)
		if s.Index == nil || score == nil || *s.Index < 0 || *s.Index >= n || !math.IsNaN(out[*s.Index]) {
			return nil, fmt.Errorf("a score is missing, or its index is out of range or there twice")
		}
		out[*s.Index] = *score
	}
	return out, nil
}
