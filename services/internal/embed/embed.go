// Package embed turns texts into vectors by any endpoint that speaks OpenAI's embeddings API. It imports no service.
package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
	"github.com/quartet-commerce/quartet/services/internal/httpjson"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

const (
	// batchSize is how many texts one request carries. Servers that one runs oneself often allow no more.
	batchSize = 32
	// maxInFlight bounds the requests at once of one call.
	maxInFlight = 4
	// maxText bounds a text, in bytes: about as much as the models with the shortest windows take.
	maxText = 2_000
	// maxDimension is more than any model's vectors have.
	maxDimension = 16_384
)

// Config names an endpoint and the model to ask there.
type Config struct {
	// URL of the API, such as "http://localhost:8000/v1"; "/embeddings" is added. Required.
	URL string
	// Key that the provider gave out. Empty: none.
	Key string
	// Model is the provider's name for it. Required.
	Model string
	// DocumentType and QueryType are sent as input_type, which models want that place questions and texts apart, such as
	// "passage" and "query". Empty: it is not sent.
	DocumentType, QueryType string
	// Cache keeps the vectors of documents. Nil: none does. Shoppers' queries are never kept.
	Cache Cache
}

// Vector is the direction of a text: of length 1, so that the product of two is their cosine.
type Vector []float32

// Dot is the cosine of two vectors, which must be of one length. Four sums at once keep the processor from waiting for the last.
func (a Vector) Dot(b Vector) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// Client embeds texts. It is safe for concurrent use.
type Client struct {
	cfg  Config
	post *httpjson.Client
}

// New returns a client, or one line that says what is wrong with the configuration. Nothing is sent yet.
func New(cfg Config) (*Client, error) {
	post, err := httpjson.New(endpoint.Config{
		Provider: "embeddings", BaseURL: strings.TrimRight(cfg.URL, "/") + "/embeddings", APIKey: cfg.Key, KeyOptional: true, Model: cfg.Model,
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

// Query returns the vector of what a shopper asks for.
func (c *Client) Query(ctx context.Context, text string) (Vector, error) {
	vs, err := c.ask(ctx, []string{text}, c.cfg.QueryType)
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// Queries returns the vector of each text that a shopper wrote, in order, with one request.
func (c *Client) Queries(ctx context.Context, texts []string) ([]Vector, error) {
	return c.ask(ctx, texts, c.cfg.QueryType)
}

// Documents returns the vector of each text, in order, from the cache where it has one. All are of one dimension. When some
// cannot be had the error says why, and those that came are in the cache for the next time.
func (c *Client) Documents(ctx context.Context, texts []string) ([]Vector, error) {
	out := make([]Vector, len(texts))
	if err := c.cached(ctx, texts, out); err != nil {
		return nil, err
	}
	var missing []int
	for i, v := range out {
		if v == nil {
			missing = append(missing, i)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxInFlight)
	for len(missing) > 0 {
		batch := missing[:min(batchSize, len(missing))]
		missing = missing[len(batch):]
		group.Go(func() error { return c.batch(ctx, texts, batch, out) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, sameDimension(out)
}

// batch asks for the texts at some positions, and keeps the answer.
func (c *Client) batch(ctx context.Context, texts []string, at []int, out []Vector) error {
	some := make([]string, len(at))
	for i, n := range at {
		some[i] = texts[n]
	}
	vs, err := c.ask(ctx, some, c.cfg.DocumentType)
	if err != nil {
		return err
	}
	fresh := make(map[string]Vector, len(at))
	for i, n := range at {
		out[n] = vs[i]
		fresh[c.key(texts[n])] = vs[i]
	}
	if c.cfg.Cache == nil {
		return nil
	}
	return c.cfg.Cache.Put(ctx, fresh)
}

// request and response are the API's.
type request struct {
	Model     string   `json:"model"`
	Input     []string `json:"input"`
	InputType string   `json:"input_type,omitempty"`
	// Some servers answer in base64 when it is left open.
	EncodingFormat string `json:"encoding_format"`
}

type response struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	} `json:"data"`
}

// ask sends one request.
func (c *Client) ask(ctx context.Context, texts []string, inputType string) ([]Vector, error) {
	req := request{Model: c.cfg.Model, InputType: inputType, EncodingFormat: "float"}
	for _, t := range texts {
		req.Input = append(req.Input, fit(t))
	}
	var resp response
	if err := c.post.Post(ctx, req, &resp); err != nil {
		return nil, err
	}
	vs, err := resp.vectors(len(texts))
	if err != nil {
		return nil, fmt.Errorf("embeddings: invalid response: %w", err)
	}
	return vs, nil
}

// fit cuts a text to what models take. Providers refuse an empty one.
func fit(input string) string {
	input = text.HeadBytes(text.OneLine(strings.ToValidUTF8(input, "")), maxText)
	if input == "" {
		return endpoint.NoContent
	}
	return input
}

// vectors returns the n vectors in the order of what was asked.
func (r response) vectors(n int) ([]Vector, error) {
	if len(r.Data) != n {
		return nil, fmt.Errorf("it has %d vectors for %d texts", len(r.Data), n)
	}
	out := make([]Vector, n)
	for _, d := range r.Data {
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil {
			return nil, fmt.Errorf("index %d is out of range or there twice", d.Index)
		}
		v, err := unit(d.Embedding)
		if err != nil {
			return nil, err
		}
		out[d.Index] = v
	}
	return out, sameDimension(out)
}

// unit returns a vector of length 1.
func unit(numbers []float64) (Vector, error) {
	if len(numbers) == 0 || len(numbers) > maxDimension {
		return nil, fmt.Errorf("a vector has %d dimensions", len(numbers))
	}
	var sum float64
	for _, n := range numbers {
		sum += n * n
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, errors.New("a vector has no direction")
	}
	v := make(Vector, len(numbers))
	for i, n := range numbers {
		v[i] = float32(n / length)
	}
	return v, nil
}

func sameDimension(vs []Vector) error {
	for _, v := range vs {
		if len(v) != len(vs[0]) {
			return fmt.Errorf("vectors have %d and %d dimensions", len(vs[0]), len(v))
		}
	}
	return nil
}
