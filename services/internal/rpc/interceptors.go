package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/quartet-commerce/quartet/services/internal/scope"
)

const (
	// lateMargin is taken off the caller's deadline, so that a server can still say that it was late, and where.
	lateMargin = 20 * time.Millisecond
	// leastUseful is the shortest time in which a call is worth starting.
	leastUseful = 50 * time.Millisecond
)

// step is an interceptor, written once for unary and streaming calls. It calls next at most once.
type step func(ctx context.Context, method string, next func(context.Context) error) error

// chain makes one step of several, the first one outermost. gRPC's own chains would have two more frames for each of them on
// the stack of every call that waits.
func chain(first step, more ...step) step {
	if len(more) == 0 {
		return first
	}
	rest := chain(more[0], more[1:]...)
	return func(ctx context.Context, method string, next func(context.Context) error) error {
		return first(ctx, method, func(ctx context.Context) error { return rest(ctx, method, next) })
	}
}

// unary adapts a step to unary calls.
func unary(do step) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if isHealth(info.FullMethod) {
			return handle(ctx, req)
		}
		var resp any
		err := do(ctx, info.FullMethod, func(ctx context.Context) (err error) {
			resp, err = handle(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
}

// stream adapts a step to streaming calls.
func stream(do step) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if isHealth(info.FullMethod) {
			return handle(srv, ss)
		}
		return do(ss.Context(), info.FullMethod, func(ctx context.Context) error {
			return handle(srv, &contextStream{ServerStream: ss, ctx: ctx})
		})
	}
}

// contextStream is a stream whose handler sees another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *contextStream) Context() context.Context { return s.ctx }

// isHealth reports whether method belongs to the health service. Its Watch streams last as long as a connection,
// so deadlines and log lines would be wrong for them.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// report turns the error of a call into its status and writes the call's one log line, without payloads.
func (s *Server) report(ctx context.Context, method string, next func(context.Context) error) error {
	start := time.Now()
	err := next(ctx)
	st := translate(err, method)
	attrs := []slog.Attr{
		slog.String("method", method),
		slog.String("code", st.Code().String()),
		slog.Duration("duration", time.Since(start)),
	}
	if store := incomingStore(ctx); store != "" {
		attrs = append(attrs, slog.String("store", store))
	}
	if err != nil {
		attrs = append(attrs, slog.String("reason", Reason(st)))
	}
	if causeMatters(st.Code()) && !errors.Is(err, errPanic) {
		attrs = append(attrs, slog.String("cause", err.Error()))
	}
	s.log.LogAttrs(ctx, levelOf(st.Code()), "call", attrs...)
	return st.Err()
}

// levelOf is how much an outcome matters to who runs the service: a fault of ours most, a caller's mistake little.
func levelOf(c codes.Code) slog.Level {
	switch c {
	case codes.OK, codes.Canceled:
		return slog.LevelDebug
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		return slog.LevelInfo
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	}
	return slog.LevelWarn
}

// causeMatters reports whether the error behind a status belongs in the log, because the caller does not get to see it.
// The errors behind other codes may quote the request, and say no more than the status does.
func causeMatters(c codes.Code) bool {
	return c == codes.Internal || c == codes.Unavailable || c == codes.ResourceExhausted
}

// errPanic stands for a panic whose stack has been logged.
var errPanic = errors.New("panic in handler")

// recover turns a panic of the handler into errPanic, and logs its stack.
func (s *Server) recover(ctx context.Context, method string, next func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "panic",
				slog.String("method", method), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = errPanic
		}
	}()
	return next(ctx)
}

// deadline gives the handler a little less time than the caller has, and refuses hopeless work.
func (s *Server) deadline(ctx context.Context, method string, next func(context.Context) error) error {
	due, ok := ctx.Deadline()
	if !ok {
		due = time.Now().Add(s.cfg.DefaultDeadline + lateMargin)
	}
	if left := time.Until(due); left < leastUseful {
		return fmt.Errorf("%v left, which is too little to begin: %w", left, context.DeadlineExceeded)
	}
	ctx, cancel := context.WithDeadline(ctx, due.Add(-lateMargin))
	defer cancel()
	return next(ctx)
}

// scope puts the scope that the caller sent, if any, into the handler's context.
func (s *Server) scope(ctx context.Context, _ string, next func(context.Context) error) error {
	sc, ok, err := incomingScope(ctx)
	if err != nil {
		return err
	}
	if ok {
		ctx = scope.NewContext(ctx, sc)
	}
	return next(ctx)
}

// callDeadline returns ctx with a deadline. The caller must call cancel when the call is over.
func callDeadline(ctx context.Context, fallback time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, fallback)
}

// unaryClient gives outgoing unary calls a deadline and the scope of ctx.
func unaryClient(fallback time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		ctx, cancel := callDeadline(outgoingScope(ctx), fallback)
		defer cancel()
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// streamClient gives outgoing streams a deadline and the scope of ctx.
func streamClient(fallback time.Duration) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
		open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, cancel := callDeadline(outgoingScope(ctx), fallback)
		cs, err := open(ctx, desc, cc, method, append(opts, grpc.OnFinish(func(error) { cancel() }))...)
		if err != nil {
			cancel()
			return nil, err
		}
		return cs, nil
	}
}
