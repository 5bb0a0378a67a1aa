package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// bytesPerElement bounds the elements of a request: a method that takes n bytes takes n/bytesPerElement elements of lists and
// maps. Two bytes on the wire are enough for an empty element, which takes hundreds of bytes once decoded.
const bytesPerElement = 32

// request carries the limit of a request to the codec, and back why the request was refused.
type request struct {
	message  proto.Message
	maxBytes int
	refused  error // a status, nil for a good request
}

// requestCodec is gRPC's codec, but it checks a *request before decoding it. It returns no error for a bad one, because gRPC
// would send a status of its own.
type requestCodec struct{ encoding.CodecV2 }

func newRequestCodec() requestCodec { return requestCodec{encoding.GetCodecV2(protocodec.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c requestCodec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*request)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	d := r.message.ProtoReflect().Descriptor()
	if data.Len() > r.maxBytes {
		r.refused = tooLarge("%s: the request has %d bytes, the method takes %d", d.FullName(), data.Len(), r.maxBytes)
		return nil
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	raw, most := buf.ReadOnlyData(), r.maxBytes/bytesPerElement
	if len(raw)/2 > most && countElements(d, raw, most) > most { // an element has two bytes or more
		r.refused = tooLarge("%s: the request has more than the %d elements that the method takes", d.FullName(), most)
		return nil
	}
	if err := proto.Unmarshal(raw, r.message); err != nil {
		r.refused = with(codes.InvalidArgument, fmt.Sprintf("the bytes of the request are not a valid %s, or a text is not UTF-8", d.FullName()),
			commonv1.ErrorReason_ERROR_REASON_MALFORMED_MESSAGE, nil).Err()
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return with(codes.ResourceExhausted, fmt.Sprintf(format, args...), commonv1.ErrorReason_ERROR_REASON_MESSAGE_TOO_LARGE, nil).Err()
}

// countElements counts the elements of all lists and maps in the encoding of a message, up to atMost and one more. What cannot
// be read, it leaves to the decoder.
func countElements(d protoreflect.MessageDescriptor, raw []byte, atMost int) int {
	n := 0
	for len(raw) > 0 && n <= atMost {
		number, kind, size := protowire.ConsumeTag(raw)
		if size < 0 {
			break
		}
		raw = raw[size:]
		if size = protowire.ConsumeFieldValue(number, kind, raw); size < 0 {
			break
		}
		value := raw[:size]
		raw = raw[size:]
		field := d.Fields().ByNumber(number)
		if field == nil {
			continue
		}
		if field.Cardinality() == protoreflect.Repeated {
			n++
		}
		if kind != protowire.BytesType {
			continue
		}
		value, _ = protowire.ConsumeBytes(value)
		switch {
		case field.Message() != nil:
			n += countElements(field.Message(), value, atMost-n)
		case field.IsList() && field.Kind() != protoreflect.StringKind && field.Kind() != protoreflect.BytesKind:
			n += len(value) // packed numbers take a byte or more each
		}
	}
	return n
}

// maxRequestBytes returns the largest request of a method.
func (s *Server) maxRequestBytes(method string) int {
	if n, ok := s.cfg.MaxRequestBytes[method]; ok {
		return min(n, s.cfg.MaxMessageBytes)
	}
	return s.cfg.MaxMessageBytes
}

// limitRequests returns desc with unary methods that check a request before they decode it, and bound the wait for it. gRPC
// decodes the request of a unary call before interceptors see the call, so the line of one that is refused is logged here.
func (s *Server) limitRequests(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	limited := *desc
	limited.Methods = make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		handle, method := m.Handler, "/"+desc.ServiceName+"/"+m.MethodName
		m.Handler = func(srv any, ctx context.Context, decode func(any) error, i grpc.UnaryServerInterceptor) (any, error) {
			info := callInfo{method: method, begun: time.Now()}
			var refused error
			resp, err := handle(srv, ctx, func(v any) error {
				refused = s.receive(ctx, method, v, decode)
				return refused
			}, i)
			if refused != nil {
				return nil, s.report(ctx, info, refused)
			}
			return resp, err
		}
		limited.Methods[i] = m
	}
	return &limited
}

// receive reads a request into v with decode, which waits for the client.
func (s *Server) receive(ctx context.Context, method string, v any, decode func(any) error) error {
	message, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", v)
	}
	r := &request{message: message, maxBytes: s.maxRequestBytes(method)}
	wait := waitOf(ctx)
	wait.begin()
	err := decode(r)
	wait.end()
	if err == nil {
		return r.refused
	}
	return idleCause(ctx, err)
}

// limitStream returns a stream that checks each request before it decodes it, and bounds the waits for the client.
func (s *Server) limitStream(ss grpc.ServerStream, method string) grpc.ServerStream {
	return &limitedStream{ServerStream: ss, server: s, method: method}
}

type limitedStream struct {
	grpc.ServerStream
	server *Server
	method string
}

// RecvMsg implements grpc.ServerStream.
func (s *limitedStream) RecvMsg(v any) error {
	return s.server.receive(s.Context(), s.method, v, s.ServerStream.RecvMsg)
}

// SendMsg implements grpc.ServerStream.
func (s *limitedStream) SendMsg(v any) error {
	wait := waitOf(s.Context())
	wait.begin()
	err := s.ServerStream.SendMsg(v)
	wait.end()
	return idleCause(s.Context(), err)
}

// errIdle ends the context of a call whose client keeps it waiting.
var errIdle = with(codes.DeadlineExceeded, "the client sent no whole message, or took none, for too long",
	commonv1.ErrorReason_ERROR_REASON_DEADLINE, nil).Err()

// idleCause returns errIdle in place of err if that is why ctx has ended.
func idleCause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errIdle) {
		return errIdle
	}
	return err
}

// clientWait cancels a call when the call waits for its client for too long. A nil one does nothing.
type clientWait struct {
	timeout time.Duration
	timer   *time.Timer
}

// begin starts the time. Send and Recv of Quartet's methods take turns, so that one timer is enough.
func (w *clientWait) begin() {
	if w != nil {
		w.timer.Reset(w.timeout)
	}
}

// end stops the time.
func (w *clientWait) end() {
	if w != nil {
		w.timer.Stop()
	}
}

type clientWaitKey struct{}

func waitOf(ctx context.Context) *clientWait {
	w, _ := ctx.Value(clientWaitKey{}).(*clientWait)
	return w
}

// idleContext is the context of a call. gRPC makes the status from its error when the client keeps the call waiting.
type idleContext struct{ context.Context }

// Err implements context.Context.
func (c idleContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), errIdle) {
		return context.DeadlineExceeded
	}
	return err
}

// tap puts a clientWait into the context of each call. gRPC's transport waits with this context; one that an interceptor makes
// would not end the wait. Health is exempt, because a client watches it for as long as a connection lasts.
func (s *Server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if isHealth(info.FullMethodName) {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx) // gRPC ends the outer context with the call
	w := &clientWait{timeout: s.cfg.IdleTimeout, timer: time.AfterFunc(s.cfg.IdleTimeout, func() { cancel(errIdle) })}
	return idleContext{context.WithValue(ctx, clientWaitKey{}, w)}, nil
}
