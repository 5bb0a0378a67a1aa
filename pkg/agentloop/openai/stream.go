package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

const (
	// maxEvent bounds one event of a stream, and an answer that does not stream, in bytes.
	maxEvent = 32 << 20
	// maxHead bounds what is kept of a response that is not a model's, in bytes.
	maxHead = 500
)

// errStreams ends go-openai's call for an answer that does not stream when the endpoint streams all the same.
var errStreams = errors.New("the endpoint streams")

// exchange is go-openai's HTTP client for one call. It keeps what go-openai drops: the headers of a failure, and an answer
// that streams although it should not, or does not although it should.
type exchange struct {
	client   *http.Client
	key      string // never repeated in an error
	noStream bool   // an answer that does not stream is asked for

	zeroTemperature bool // see sendZeroTemperature

	contentType string
	response    *http.Response // that streams, unasked
	events      *eventReader   // the body of a response that streams
	object      []byte         // an answer that does not stream
}

// Do implements goopenai.HTTPDoer. It makes one call; asked again, it returns the response that streams.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.response != nil {
		return x.response, nil
	}
	if x.zeroTemperature {
		if err := sendZeroTemperature(req); err != nil {
			return nil, err
		}
	}
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := x.receive(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	switch {
	case x.object != nil:
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(x.object))
	case x.noStream:
		x.response = resp
		return nil, errStreams
	}
	return resp, nil
}

// leastTemperature is the least temperature that go-openai sends. JSON strings cannot hold it, because they escape quotes.
var leastTemperature = []byte(`"temperature":1e-45`)

// sendZeroTemperature replaces leastTemperature in the body of a request by 0. Some endpoints refuse such a small number.
func sendZeroTemperature(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	body = bytes.Replace(body, leastTemperature, []byte(`"temperature":0`), 1)
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	req.Body, err = req.GetBody()
	return err
}

// receive reads the start of a response: all of an answer that does not stream, nothing of a stream. Content types are
// often wrong, so the first character decides.
func (x *exchange) receive(resp *http.Response) error {
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, endpoint.MaxErrorBody)) // what there is: the status says enough
		return endpoint.NewStatusError(resp.StatusCode, resp.Header, raw, x.key)
	}
	x.contentType = resp.Header.Get("Content-Type")
	in := bufio.NewReaderSize(resp.Body, 1<<10)
	first, err := firstCharacter(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if first == '{' {
		object, err := io.ReadAll(io.LimitReader(in, maxEvent))
		if err == nil {
			x.object = object
		}
		return err
	}
	media, _, err := mime.ParseMediaType(x.contentType)
	page := err != nil || media != "text/event-stream"
	if page && first == '<' { // do not wait for the end of a page
		head, _ := io.ReadAll(io.LimitReader(in, maxHead))
		return x.notAnAnswer(head)
	}
	x.events = &eventReader{Closer: resp.Body, in: in}
	if page {
		x.events.noEvents = x.notAnAnswer
	}
	resp.Body = x.events
	return nil
}

// notAnAnswer returns the error for a response that is not a model's, such as a proxy's page to sign in.
func (x *exchange) notAnAnswer(head []byte) error {
	text := fmt.Sprintf("content type %q: %s", x.contentType, head)
	return &endpoint.ResponseError{Reason: "the endpoint answered with something else than a chat completion", Message: endpoint.CleanMessage(text, x.key)}
}

// firstCharacter returns the first character that is neither space nor a byte order mark, and leaves it unread.
func firstCharacter(in *bufio.Reader) (byte, error) {
	const skip = "\xef\xbb\xbf \t\r\n"
	for {
		head, err := in.Peek(1)
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(skip, head[0]) < 0 {
			return head[0], nil
		}
		if _, err := in.Discard(1); err != nil {
			return 0, err
		}
	}
}

// eventReader is the body of a stream. It passes on only the lines with data, one in each read, and bounds their length.
// go-openai's reader would collect all other lines in memory, and lose some error events and a last line without a line feed.
type eventReader struct {
	io.Closer
	in       *bufio.Reader
	rest     []byte                  // of the current line
	long     []byte                  // a line that is longer than the buffer of in
	head     []byte                  // the start of what came before the first event
	begun    bool                    // there was an event
	ended    bool                    // Read has returned io.EOF; go-openai reads nothing after "[DONE]"
	noEvents func(head []byte) error // returns the error for a body with other lines but no event; nil: io.EOF
}

// Read implements io.Reader.
func (r *eventReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		switch {
		case errors.Is(err, io.EOF) && !r.begun && len(r.head) > 0 && r.noEvents != nil:
			return 0, r.noEvents(r.head)
		case err != nil:
			r.ended = errors.Is(err, io.EOF)
			return 0, err
		}
		r.rest = r.event(line)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// event returns the line of an event with data as go-openai reads it, and nothing for any other line.
func (r *eventReader) event(line []byte) []byte {
	data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
	data = bytes.TrimSpace(data)
	if !ok || len(data) == 0 {
		if !r.begun {
			r.head = append(r.head, line[:min(len(line), max(0, maxHead-len(r.head)))]...)
		}
		return nil
	}
	r.begun = true
	if bytes.HasPrefix(data, []byte(`{"error":`)) {
		// go-openai reads an error that it recognises, and loses one that is not quite OpenAI's. It does not recognise this.
		return fmt.Appendf(nil, "data: { %s\n", data[1:])
	}
	if line[len(line)-1] != '\n' {
		return fmt.Appendf(nil, "data: %s\n", data)
	}
	return line
}

// line returns the next line, until the next call. The last one may come without its end.
func (r *eventReader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = r.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if r.long = append(r.long, line...); len(r.long) > maxEvent {
				return nil, bufio.ErrTooLong
			}
			line, err = r.in.ReadSlice('\n')
		}
		r.long = append(r.long, line...)
		line = r.long
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return line, nil
	}
	return line, err
}
