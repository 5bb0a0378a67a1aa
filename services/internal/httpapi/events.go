package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/anyjson"
)

// eventStreamType is the Accept header that asks for server-sent events.
const eventStreamType = "text/event-stream"

// messages writes messages as JSON, also those with an extension of a type that this program does not have.
type messages struct{ *runtime.JSONPb }

// Marshal implements runtime.Marshaler. The messages of streams come as maps with the key "result".
func (m messages) Marshal(v any) ([]byte, error) {
	switch known := v.(type) {
	case proto.Message:
		v = anyjson.Readable(known)
	case map[string]any:
		if message, ok := known["result"].(proto.Message); ok {
			v = map[string]any{"result": anyjson.Readable(message)}
		}
	}
	return m.JSONPb.Marshal(v)
}

// NewDecoder implements runtime.Marshaler. Its errors name what they are about.
func (m messages) NewDecoder(r io.Reader) runtime.Decoder {
	d := m.JSONPb.NewDecoder(r)
	return runtime.DecoderFunc(func(v any) error {
		err := d.Decode(v)
		if err == nil || errors.Is(err, io.EOF) {
			return err // EOF: the body is empty
		}
		name := "message"
		if message, ok := v.(proto.Message); ok {
			name = string(message.ProtoReflect().Descriptor().FullName())
		}
		return fmt.Errorf("the body is no JSON of %s: %w", name, err)
	})
}

// eventStream writes the messages of a stream as server-sent events, and all else as JSON. An event's name is that of the field that
// is set in the message's oneof, such as "text_delta", or "error", whose data is a google.rpc.Status. Its data is the message.
type eventStream struct{ messages }

var (
	_ runtime.StreamContentType = eventStream{}
	_ runtime.Delimited         = eventStream{}
)

// StreamContentType implements runtime.StreamContentType.
func (eventStream) StreamContentType(any) string { return eventStreamType }

// Delimiter implements runtime.Delimited.
func (eventStream) Delimiter() []byte { return []byte("\n\n") }

// Marshal implements runtime.Marshaler. The messages of streams come as maps with the key "result", or "error" for the last.
func (m eventStream) Marshal(v any) ([]byte, error) {
	name, message := "", proto.Message(nil)
	switch chunk := v.(type) {
	case map[string]any:
		message, _ = chunk["result"].(proto.Message)
		name = eventName(message)
	case map[string]proto.Message:
		name, message = "error", chunk["error"]
	}
	if message == nil {
		return m.messages.Marshal(v)
	}
	data, err := m.messages.Marshal(message)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s", name, strings.ReplaceAll(string(data), "\n", "")), nil
}

// eventName returns the name of the field that is set in a message's first oneof.
func eventName(m proto.Message) string {
	if m == nil {
		return "message"
	}
	r := m.ProtoReflect()
	if oneofs := r.Descriptor().Oneofs(); oneofs.Len() > 0 {
		if f := r.WhichOneof(oneofs.Get(0)); f != nil {
			return string(f.Name())
		}
	}
	return "message"
}

// client waits for the first event of AskStream, so that a turn which fails before it has the HTTP status of the error.
type client struct{ gatewayv1.GatewayServiceClient }

// AskStream implements gatewayv1.GatewayServiceClient.
func (c client) AskStream(ctx context.Context, in *gatewayv1.AskStreamRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[gatewayv1.AskStreamResponse], error) {
	stream, err := c.GatewayServiceClient.AskStream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	return &begunStream{stream, first}, nil
}

// begunStream is a stream whose first message was received already.
type begunStream struct {
	grpc.ServerStreamingClient[gatewayv1.AskStreamResponse]
	first *gatewayv1.AskStreamResponse // nil once it was returned
}

func (s *begunStream) Recv() (*gatewayv1.AskStreamResponse, error) {
	if first := s.first; first != nil {
		s.first = nil
		return first, nil
	}
	return s.ServerStreamingClient.Recv()
}
