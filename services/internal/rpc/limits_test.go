package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// callRaw calls a method of one request with bytes, and returns the status.
func callRaw(ctx context.Context, conn *grpc.ClientConn, method string, raw []byte) *status.Status {
	stream, err := conn.NewStream(signed(ctx), &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(rawCodec{}))
	if err == nil {
		err = stream.SendMsg(&raw)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil || errors.Is(err, io.EOF) { // an EOF of SendMsg: the status follows
		var reply []byte
		if err = stream.RecvMsg(&reply); errors.Is(err, io.EOF) {
			return status.New(codes.OK, "")
		}
	}
	return status.Convert(err)
}

func TestRequestsAreCheckedBeforeTheyAreDecoded(t *testing.T) {
	const limit = 4 << 10
	history := func(n int, text string) []byte {
		entry := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), text)
		var raw []byte
		for range n {
			raw = protowire.AppendBytes(protowire.AppendTag(raw, 4, protowire.BytesType), entry)
		}
		return raw
	}
	unknown := func(n int) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, n))
	}
	text := func(s string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), s)
	}
	tests := map[string]struct {
		raw    []byte
		code   codes.Code
		reason string
	}{
		"nothing":               {nil, codes.OK, ""},
		"as much as is allowed": {unknown(limit - 4), codes.OK, ""},
		"more bytes":            {unknown(limit - 3), codes.ResourceExhausted, "MESSAGE_TOO_LARGE"},
		"more than gRPC takes":  {unknown(64 << 10), codes.ResourceExhausted, "MESSAGE_TOO_LARGE"},
		"as many elements":      {history(limit/bytesPerElement, ""), codes.OK, ""},
		"more elements":         {history(limit/bytesPerElement+1, ""), codes.ResourceExhausted, "MESSAGE_TOO_LARGE"},
		"no UTF-8":              {text("\xff\xfe"), codes.InvalidArgument, "MALFORMED_MESSAGE"},
		"no message":            {[]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), codes.InvalidArgument, "MALFORMED_MESSAGE"},
		"half a message":        {history(1, "heliotrope")[:6], codes.InvalidArgument, "MALFORMED_MESSAGE"},
		"another wire type":     {protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1), codes.OK, ""}, // an unknown field
	}
	for name, method := range map[string]string{"unary": describeMethod, "stream": answerMethod} {
		for what, tt := range tests {
			t.Run(name+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := newRecorder()
					h := newFixture()
					h.server.Logger = slog.New(log)
					h.server.MaxMessageBytes = 32 << 10
					h.server.MaxRequestBytes = map[string]int{describeMethod: limit, answerMethod: limit}
					begun := false
					h.start(t, &fake{describe: func(context.Context) error { begun = true; return nil },
						answer: func(grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error { begun = true; return nil }})
					raw := tt.raw
					if name == "unary" && (strings.Contains(what, "elements") || what == "no UTF-8" || what == "half a message") {
						t.Skip("a DescribeRequest has no fields")
					}
					st := callRaw(t.Context(), h.conn(t), method, raw)
					wantReason := tt.reason
					if what == "more than gRPC takes" {
						wantReason = "" // gRPC itself refuses it
					}
					if st.Code() != tt.code || Reason(st) != wantReason || begun != (tt.code == codes.OK) {
						t.Errorf("got %v, reason %q, begun %v; want %v and %q", st, Reason(st), begun, tt.code, wantReason)
					}
					synctest.Wait()
					if lines := log.drain()["call"]; len(lines) != 1 && wantReason != "" {
						t.Errorf("%d lines", len(lines))
					}
				})
			})
		}
	}
}

func TestElementsAreCounted(t *testing.T) {
	raw, err := proto.Marshal(&catalogv1.UpsertProductsRequest{StoreId: "s", Products: []*catalogv1.Product{
		{Tags: []string{"", ""}, Variants: []*catalogv1.Variant{{Options: map[string]string{"a": "b"}}, {}}},
		{},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := (&catalogv1.UpsertProductsRequest{}).ProtoReflect().Descriptor()
	if n := countElements(d, raw, 100); n != 7 {
		t.Errorf("%d elements, want 2 products, 2 tags, 2 variants and 1 option", n)
	}
	if n := countElements(d, raw, 3); n != 4 {
		t.Errorf("counted to %d, want to stop after 4", n)
	}
}

// open opens a stream of a method and sends nothing.
func open(t *testing.T, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(signed(t.Context()), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestAClientThatSendsNothingIsCutOff(t *testing.T) {
	for name, method := range map[string]string{"unary": describeMethod, "stream": answerMethod} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFixture()
				h.dial.DefaultDeadline = time.Hour
				h.start(t, &fake{})
				begun := time.Now()
				stream := open(t, h.conn(t), method)
				err := stream.RecvMsg(&specialistv1.AnswerResponse{})
				if took := time.Since(begun); took != DefaultIdleTimeout || status.Code(err) != codes.DeadlineExceeded {
					t.Errorf("after %v: %v, want DEADLINE_EXCEEDED after %v", took, err, DefaultIdleTimeout)
				}
			})
		})
	}
}

func TestAClientThatReadsNothingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 16 << 10
		ended := make(chan error, 1)
		sent := 0
		h := newFixture()
		h.dial.DefaultDeadline = time.Hour
		h.start(t, &fake{answer: func(s grpc.ServerStreamingServer[specialistv1.AnswerResponse]) (err error) {
			text := &specialistv1.AnswerResponse_TextDelta{TextDelta: &specialistv1.TextDelta{Text: strings.Repeat("x", size)}}
			for err == nil {
				if err = s.Send(&specialistv1.AnswerResponse{Event: text}); err == nil {
					sent++
				}
			}
			ended <- err
			return err
		}})
		begun := time.Now()
		stream, err := specialistv1.NewSpecialistServiceClient(h.conn(t)).Answer(signed(t.Context()), &specialistv1.AnswerRequest{})
		if err != nil {
			t.Fatal(err)
		}
		err = <-ended
		if took := time.Since(begun); took != DefaultIdleTimeout || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("after %v: %v", took, err)
		}
		if held := sent * size; held > 4*window {
			t.Errorf("%d bytes wait for the reader", held)
		}
		for err = nil; err == nil; {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the client that reads at last gets %v", err)
		}
	})
}

// A slow client that goes on is served: the time begins anew with each message.
func TestASlowClientIsNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture()
		h.dial.DefaultDeadline, h.server.DefaultDeadline = time.Hour, time.Hour
		h.start(t, &fake{answer: func(s grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error {
			<-time.After(2 * DefaultIdleTimeout) // the server's own time does not count
			return s.Send(&specialistv1.AnswerResponse{})
		}})
		stream := open(t, h.conn(t), answerMethod)
		<-time.After(DefaultIdleTimeout - time.Second)
		if err := errors.Join(stream.SendMsg(&specialistv1.AnswerRequest{}), stream.CloseSend()); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&specialistv1.AnswerResponse{}); err != nil {
			t.Error(err)
		}
	})
}

// A body that never ends, a client that ignores the limits of HTTP/2: only a client of our own makes these.
func TestAnUnfinishedBodyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := false
		h := newFixture()
		h.start(t, &fake{describe: func(context.Context) error { begun = true; return nil }})
		conn, err := h.network.dial(t.Context(), "fake")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		framer := http2.NewFramer(conn, conn)
		var headers bytes.Buffer
		enc := hpack.NewEncoder(&headers)
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", describeMethod}, {":authority", "fake"},
			{"content-type", "application/grpc"}, {"te", "trailers"}} {
			if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		err = errors.Join(framer.WriteSettings(), framer.WriteSettingsAck(),
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers.Bytes(), EndHeaders: true}),
			framer.WriteData(1, false, []byte{0, 0, 0, 0, 100, 1, 2, 3})) // three of a hundred bytes
		if err != nil {
			t.Fatal(err)
		}
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if frame.Header().StreamID == 1 && frame.Header().Flags.Has(http2.FlagHeadersEndStream) {
				break
			}
		}
		if took := time.Since(start); took != DefaultIdleTimeout || begun {
			t.Errorf("the call ended after %v, begun %v", took, begun)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	bare := func(t *testing.T, h *fixture) *grpc.ClientConn { // does not watch health, so that it may be idle
		conn, err := grpc.NewClient("passthrough:///fake", grpc.WithContextDialer(h.network.dial), insecureCreds())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	t.Run("streams", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			started := 0
			h := newFixture()
			h.server.MaxStreams = 2
			h.start(t, &fake{describe: func(ctx context.Context) error { started++; <-ctx.Done(); return ctx.Err() }})
			conn := bare(t, h)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			done := make(chan error, 3)
			for range 3 {
				go func() { done <- describe(ctx, conn) }()
				synctest.Wait()
			}
			if started != 2 {
				t.Errorf("%d calls run, want 2", started)
			}
			cancel()
			for range 3 {
				<-done
			}
		})
	})
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture()
			h.start(t, &fake{})
			conn := bare(t, h)
			if err := describe(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			<-time.After(DefaultMaxConnectionIdle - time.Second)
			synctest.Wait()
			if s := conn.GetState(); s != connectivity.Ready {
				t.Errorf("a second early it is %v", s)
			}
			<-time.After(2 * time.Second)
			synctest.Wait()
			if s := conn.GetState(); s != connectivity.Idle {
				t.Errorf("after %v it is %v", DefaultMaxConnectionIdle, s)
			}
		})
	})
	t.Run("metadata", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture()
			h.start(t, &fake{})
			conn := bare(t, h)
			for size, code := range map[int]codes.Code{DefaultMaxHeaderBytes / 2: codes.OK, DefaultMaxHeaderBytes: codes.Internal} {
				ctx := metadata.AppendToOutgoingContext(t.Context(), "x-long", strings.Repeat("x", size))
				if err := describe(ctx, conn); status.Code(err) != code {
					t.Errorf("%d bytes: %v, want %v", size, err, code)
				}
			}
		})
	})
}
