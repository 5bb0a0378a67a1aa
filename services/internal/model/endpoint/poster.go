package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

const (
	// maxAttempts bounds how often one request is sent.
	maxAttempts = 4
	// firstWait bounds the wait before the second attempt; the bound doubles with each further one.
	firstWait = 200 * time.Millisecond
	// maxAnswer bounds what is read of an answer: 64 vectors of 4,096 numbers are 6 MB of text.
	maxAnswer = 32 << 20
	// maxMessage bounds what is quoted of a refusal.
	maxMessage = 300
)

// errTooLong says that an answer has no end.
var errTooLong = errors.New("the answer is longer than 32 MiB")

// Poster sends JSON to one address and reads JSON. It is safe for concurrent use.
type Poster struct {
	cfg    Config
	client *http.Client
}

// NewPoster returns a poster to cfg.BaseURL, or one line that says what is wrong with the configuration. Nothing is sent yet.
func NewPoster(cfg Config) (*Poster, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Poster{cfg: cfg, client: Client(nil)}, nil
}

// Model is the name of the model that is asked.
func (p *Poster) Model() string { return p.cfg.Model }

// Close lets go of idle connections.
func (p *Poster) Close() { p.client.CloseIdleConnections() }

// Post sends in and decodes the answer into out. What may pass (429, 5xx, a broken connection) is tried again, after the time
// that the endpoint asks for, unless that would outlast the context. The error of a refusal is an *openai.StatusError.
func (p *Poster) Post(ctx context.Context, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", p.cfg.Provider, err)
	}
	for failed := 1; ; failed++ {
		err := p.once(ctx, body, out)
		if err == nil {
			return nil
		}
		wait, again := wrap.Retryable(err)
		if wait <= 0 {
			wait = rand.N(firstWait << (failed - 1))
		}
		deadline, bounded := ctx.Deadline()
		if !again || failed == maxAttempts || ctx.Err() != nil || bounded && time.Until(deadline) <= wait {
			return fmt.Errorf("%s: attempt %d: %w", p.cfg.Provider, failed, err)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%s: %w, after: %w", p.cfg.Provider, ctx.Err(), err)
		}
	}
}

// once sends one request.
func (p *Poster) once(ctx context.Context, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.cfg.BaseURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if p.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+p.cfg.APIKey)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return p.refusal(resp, answer)
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case len(answer) > maxAnswer:
		return errTooLong
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("the answer is not the JSON that was expected: %w", err)
	}
	return nil
}

// refusal is the error of an answer that is none.
func (p *Poster) refusal(resp *http.Response, answer []byte) error {
	message := strings.Join(strings.Fields(strings.ToValidUTF8(string(answer[:min(maxMessage, len(answer))]), "")), " ")
	if p.cfg.APIKey != "" {
		message = strings.ReplaceAll(message, p.cfg.APIKey, "[key]")
	}
	return &openai.StatusError{StatusCode: resp.StatusCode, RetryAfter: retryAfter(resp.Header, time.Now()), Message: message}
}

// retryAfter reads the header of that name: seconds, or a date. Zero: it says nothing of use.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	seconds, err := strconv.ParseFloat(v, 64)
	if err != nil || !(seconds > 0 && seconds < 24*60*60) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
