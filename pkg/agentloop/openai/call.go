package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// exchange is what go-openai takes for its HTTP client. It makes no call, but keeps the request that go-openai has made and
// returns an answer that is there. So go-openai says where requests go and with which headers, and what a refusal means;
// all else passes it by. It drops an error beside choices, the reasoning of some endpoints and the lack of an index, and
// knows no answer that streams unasked or does not although asked.
type exchange struct {
	request *http.Request
	answer  *http.Response // nil: there is none
}

// errNoAnswer is where go-openai's call ends when only its request is wanted.
var errNoAnswer = errors.New("no call was made")

// Do implements goopenai.HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	x.request = req
	if x.answer == nil {
		return nil, errNoAnswer
	}
	return x.answer, nil
}

// call is go-openai's call of the model, by way of x.
func (cfg *Config) call(x *exchange) error {
	c := goopenai.DefaultConfig(cfg.APIKey)
	c.BaseURL, c.HTTPClient = cfg.BaseURL, x
	client, req := goopenai.NewClientWithConfig(c), goopenai.ChatCompletionRequest{Model: cfg.Model}
	var err error
	if cfg.NoStream {
		_, err = client.CreateChatCompletion(context.Background(), req)
	} else {
		_, err = client.CreateChatCompletionStream(context.Background(), req)
	}
	return err
}

// form returns the request that all calls are made of: method, URL and headers.
func (cfg *Config) form() (*http.Request, error) {
	var x exchange
	if err := cfg.call(&x); !errors.Is(err, errNoAnswer) {
		return nil, err
	}
	return x.request, nil
}

// send sends a request and returns the body of the answer.
func (m *Model) send(ctx context.Context, req *agentloop.Request) (*body, error) {
	call, err := m.fill(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, err := m.do(call)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode < http.StatusOK, resp.StatusCode >= http.StatusBadRequest:
		return nil, m.withHint(m.refusal(resp), req)
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body.Close()
		return nil, errors.New("the endpoint answered with a redirection that leads nowhere")
	}
	return newBody(resp.Body, resp.Header.Get("Content-Type"), m.cfg.APIKey), nil
}

// fill returns a call with a request in it.
func (m *Model) fill(ctx context.Context, req *agentloop.Request) (*http.Request, error) {
	sent, err := m.encode(req)
	if err != nil {
		return nil, err
	}
	call := m.form.WithContext(ctx)
	call.Body, call.ContentLength = sent, int64(sent.Len())
	call.GetBody = func() (io.ReadCloser, error) { return m.encode(req) }
	return call, nil
}

// do makes a call. A client that was configured makes it, for it may have cookies and rules of its own. Otherwise a client is
// asked only to follow a redirection: its frames are a fifth of a stack that waits for a model.
func (m *Model) do(call *http.Request) (*http.Response, error) {
	if m.cfg.HTTPClient != nil {
		call.Header = call.Header.Clone()
		return m.cfg.HTTPClient.Do(call)
	}
	resp, err := m.transport.RoundTrip(call)
	if err != nil {
		return nil, failed(call, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest {
		return m.follow(call, resp)
	}
	return resp, nil
}

// failed returns the error of a call as a client words it.
func failed(call *http.Request, err error) error {
	return &url.Error{Op: "Post", URL: call.URL.String(), Err: err}
}

// follow makes a call again that was redirected.
func (m *Model) follow(call *http.Request, resp *http.Response) (*http.Response, error) {
	resp.Body.Close()
	var err error
	if call.Body, err = call.GetBody(); err != nil {
		return nil, err
	}
	return (&http.Client{Transport: m.transport}).Do(call)
}

// refusal returns the error of an answer that is none.
func (m *Model) refusal(resp *http.Response) error {
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, endpoint.MaxErrorBody)) // as much as comes: the status says enough
	return endpoint.NewStatusError(resp.StatusCode, resp.Header, raw, m.cfg.APIKey)
}
