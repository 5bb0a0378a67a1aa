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

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// lateMargin is taken off the caller's deadline, so that a late server has time to report itself.
	lateMargin = 20 * time.Millisecond
	// leastUseful is the shortest time in which a call is worth starting.
	leastUseful = 50 * time.Millisecond
)

// unary is what every unary call passes.
func (s *Server) unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if isHealth(info.FullMethod) {
			return handle(ctx, req)
		}
		var resp any
		err := s.call(ctx, info.FullMethod, func(ctx context.Context) (err error) {
			if err = s.authorize(ctx, info.FullMethod, req); err != nil {
				return err
			}
			resp, err = handle(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
}

// stream is what every streaming call passes.
func (s *Server) stream() grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if isHealth(info.FullMethod) {
			return handle(srv, ss)
		}
		ss = s.limitStream(ss, info.FullMethod)
		return s.call(ss.Context(), info.FullMethod, func(ctx context.Context) error {
			return handle(srv, &authorizedStream{ServerStream: ss, ctx: ctx, server: s, method: info.FullMethod})
		})
	}
}

// isHealth reports whether method belongs to the health service. Its Watch streams last as long as a connection,
// so deadlines and log lines would be wrong for them.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// call bounds a call, puts its caller and its scope into the context, turns its error into a status, and writes its one log line.
func (s *Server) call(ctx context.Context, method string, handle func(context.Context) error) (err error) {
	info := callInfo{method: method, begun: time.Now()}
	defer s.finish(ctx, &info, &err)
	if err = s.checkPeer(ctx, method); err != nil {
		return err
	}
	ctx, cancel, err := s.deadline(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if isReflection(method) {
		return handle(ctx)
	}
	if ctx, err = s.authenticate(ctx, &info); err != nil {
		return err
	}
	return handle(ctx)
}

// callInfo is what the line of a call says of it.
type callInfo struct {
	method string
	begun  time.Time
	caller string // name; "" if it is not known
	store  string // of the call's scope; "" if it has none
}

// finish, when deferred, turns a panic into errPanic, logs its stack, and makes a status of the error.
func (s *Server) finish(ctx context.Context, info *callInfo, err *error) {
	if p := recover(); p != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "panic",
			slog.String("method", info.method), slog.String("panic", telemetry.PanicText(p)), slog.String("stack", string(debug.Stack())))
		*err = errPanic
	}
	*err = s.report(ctx, *info, *err)
}

// report returns the status of a call that is over, and writes its line, without payloads.
func (s *Server) report(ctx context.Context, info callInfo, err error) error {
	err = idleCause(ctx, err)
	st := translate(err, info.method)
	s.refusals.count(ctx, st)
	level := levelOf(st.Code())
	if !s.log.Enabled(ctx, level) {
		return st.Err()
	}
	attrs := []slog.Attr{
		slog.String("method", info.method),
		slog.String("code", st.Code().String()),
		slog.Duration("duration", time.Since(info.begun)),
	}
	if info.caller != "" && info.caller != localCaller.Name {
		attrs = append(attrs, slog.String("caller", info.caller))
	}
	if info.store != "" {
		attrs = append(attrs, slog.String("store", info.store))
	}
	if err != nil {
		attrs = append(attrs, slog.String("reason", Reason(st)))
	}
	if causeMatters(st.Code()) && !errors.Is(err, errPanic) {
		attrs = append(attrs, slog.String("cause", err.Error()))
	}
	s.log.LogAttrs(ctx, level, "call", attrs...)
	return st.Err()
}

// levelOf returns the log level of an outcome: a fault of the service is an error, a mistake of the caller only information.
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
	switch c {
	case codes.Internal, codes.DataLoss, codes.Unavailable, codes.ResourceExhausted, codes.Unauthenticated:
		return true
	}
	return false
}

// errPanic stands for a panic whose stack has been logged.
var errPanic = errors.New("panic in handler")

// deadline gives the handler a little less time than the caller has, and refuses hopeless work. Without an error, the caller
// must call cancel when the call is over.
func (s *Server) deadline(ctx context.Context) (_ context.Context, cancel context.CancelFunc, err error) {
	due, ok := ctx.Deadline()
	if !ok {
		due = time.Now().Add(s.cfg.DefaultDeadline + lateMargin)
	}
	if left := time.Until(due); left < leastUseful {
		return nil, nil, fmt.Errorf("%v left, which is too little to begin: %w", left, context.DeadlineExceeded)
	}
	ctx, cancel = context.WithDeadline(ctx, due.Add(-lateMargin))
	return ctx, cancel, nil
}

// callDeadline returns ctx with a deadline. The caller must call cancel when the call is over.
func callDeadline(ctx context.Context, fallback time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, fallback)
}

// unaryClient gives outgoing unary calls a deadline, and the signed scope of ctx or else a token.
func unaryClient(cfg DialConfig) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		ctx, cancel := callDeadline(outgoing(ctx, cfg), cfg.DefaultDeadline)
		defer cancel()
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// streamClient gives outgoing streams what unaryClient gives unary calls.
func streamClient(cfg DialConfig) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
		open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, cancel := callDeadline(outgoing(ctx, cfg), cfg.DefaultDeadline)
		cs, err := open(ctx, desc, cc, method, append(opts, grpc.OnFinish(func(error) { cancel() }))...)
		if err != nil {
			cancel()
			return nil, err
		}
		return cs, nil
	}
}
