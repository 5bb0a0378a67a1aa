package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// both runs a test for a unary and for a streaming call of handle.
func both(t *testing.T, test func(t *testing.T, svc func(handle func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error)) {
	t.Run("unary", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, func(h func(context.Context) error) *fake { return &fake{describe: h} }, describe)
		})
	})
	t.Run("stream", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, func(h func(context.Context) error) *fake {
				return &fake{answer: func(s grpc.ServerStreamingServer[specialistv1.AnswerResponse]) error { return h(s.Context()) }}
			}, func(ctx context.Context, conn *grpc.ClientConn) error {
				if err := answer(ctx, conn); !errors.Is(err, io.EOF) {
					return err
				}
				return nil
			})
		})
	})
}

func TestPanicBecomesInternalAndItsStackIsLoggedOnce(t *testing.T) {
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		log := newRecorder()
		h := newFixture()
		h.server.Logger = slog.New(log)
		stop := h.start(t, svc(func(context.Context) error { panic("kaboom") }))
		st := status.Convert(call(t.Context(), h.conn(t)))
		if st.Code() != codes.Internal || st.Message() != textInternal || Reason(st) != "INTERNAL" {
			t.Errorf("got %v, reason %q", st, Reason(st))
		}
		stop()
		records := log.drain()
		if len(records["panic"]) != 1 || len(records["call"]) != 1 {
			t.Fatalf("got %d panic records and %d call records, want one of each", len(records["panic"]), len(records["call"]))
		}
		got := attrs(records["panic"][0])
		if got["panic"] != "string" || !strings.Contains(got["stack"], "interceptors_test.go") {
			t.Errorf("panic record has not the type and the stack alone: %v", got)
		}
		if line := attrs(records["call"][0]); line["cause"] != "" {
			t.Errorf("the panic is told a second time: %v", line)
		}
	})
}

func TestHandlerGetsAMarginLessThanTheCaller(t *testing.T) {
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		start := time.Now()
		var left time.Duration
		h := newFixture()
		h.start(t, svc(func(ctx context.Context) error {
			<-ctx.Done()
			left = time.Since(start)
			return ctx.Err()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		st := status.Convert(call(ctx, h.conn(t)))
		if want := 3*time.Second - lateMargin; left != want {
			t.Errorf("the handler had %v, want %v", left, want)
		}
		if st.Code() != codes.DeadlineExceeded || !strings.Contains(st.Message(), "SpecialistService/") || Reason(st) != "DEADLINE" {
			t.Errorf("the server did not report its own lateness: %v, reason %q", st, Reason(st))
		}
	})
}

func TestHopelessWorkIsNotBegun(t *testing.T) {
	tests := map[string]struct {
		timeout time.Duration
		begun   bool
	}{
		"with 49 ms left it is refused": {49 * time.Millisecond, false},
		"with 51 ms left it is begun":   {51 * time.Millisecond, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := false
				h := newFixture()
				h.start(t, &fake{describe: func(context.Context) error { begun = true; return nil }})
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				st := status.Convert(describe(ctx, h.conn(t)))
				if begun != tt.begun {
					t.Errorf("begun: %v, want %v", begun, tt.begun)
				}
				if !tt.begun && (st.Code() != codes.DeadlineExceeded || Reason(st) != "DEADLINE") {
					t.Errorf("got %v, reason %q", st, Reason(st))
				}
			})
		})
	}
}

func TestCallsWithoutDeadlineGetOne(t *testing.T) {
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		var left time.Duration
		h := newFixture()
		h.dial.DefaultDeadline = 5 * time.Second
		h.start(t, svc(func(ctx context.Context) error {
			due, _ := ctx.Deadline()
			left = time.Until(due)
			return nil
		}))
		if err := call(t.Context(), h.conn(t)); err != nil {
			t.Fatal(err)
		}
		if want := 5*time.Second - lateMargin; left != want {
			t.Errorf("the handler had %v, want the client's default less the margin, %v", left, want)
		}
	})
}

func TestServerBoundsCallsThatArriveWithoutDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerConfig{DefaultDeadline: 7 * time.Second})
		ctx, cancel, err := s.deadline(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		due, ok := ctx.Deadline()
		if left := time.Until(due); !ok || left != 7*time.Second {
			t.Errorf("the handler has %v, want the server's default of 7s", left)
		}
	})
}

func TestOneLinePerCall(t *testing.T) {
	both(t, func(t *testing.T, svc func(func(context.Context) error) *fake, call func(context.Context, *grpc.ClientConn) error) {
		var result error
		log := newRecorder()
		h := newFixture()
		h.server.Logger = slog.New(log)
		h.start(t, svc(func(context.Context) error { return result }))
		conn := h.conn(t)
		tests := []struct {
			err   error
			level slog.Level
			want  map[string]string
		}{
			{nil, slog.LevelDebug, map[string]string{"code": "OK"}},
			{errors.New("disk is full"), slog.LevelError, map[string]string{"code": "Internal", "reason": "INTERNAL", "cause": "disk is full"}},
			{&fault.Invalid{Violations: []fault.Violation{{Field: "f", Description: "is bad"}}}, slog.LevelInfo,
				map[string]string{"code": "InvalidArgument", "reason": "INVALID_FIELD"}},
			{context.Canceled, slog.LevelDebug, map[string]string{"code": "Canceled", "reason": "CANCELED"}},
		}
		for _, tt := range tests {
			result = tt.err
			_ = call(t.Context(), conn)
			synctest.Wait()
			lines := log.drain()["call"]
			if len(lines) != 1 {
				t.Fatalf("%v: %d lines", tt.err, len(lines))
			}
			got := attrs(lines[0])
			if got["duration"] == "" || !strings.HasPrefix(got["method"], "/quartet.specialist.v1.") || got["store"] != "demo" {
				t.Errorf("the line lacks something: %v", got)
			}
			for _, k := range []string{"duration", "method", "store", "trace_id", "span_id"} { // the ids come once a test has set a tracer
				delete(got, k)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || lines[0].Level != tt.level {
				t.Errorf("level %v, want %v; attributes (-want +got):\n%s", lines[0].Level, tt.level, diff)
			}
		}
	})
}

func TestHealthChecksAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newRecorder()
		h := newFixture()
		h.server.Logger = slog.New(log)
		h.start(t, &fake{})
		if _, err := healthv1.NewHealthClient(h.conn(t)).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if records := log.drain(); len(records) != 0 {
			t.Errorf("got %v", records)
		}
	})
}

func TestDetailsSurviveTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture()
		h.start(t, &fake{describe: func(context.Context) error {
			return &fault.Exhausted{What: "model", RetryAfter: 4 * time.Second}
		}})
		for _, d := range status.Convert(describe(t.Context(), h.conn(t))).Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok {
				if got := r.GetRetryDelay().AsDuration(); got != 4*time.Second {
					t.Errorf("retry after %v", got)
				}
				return
			}
		}
		t.Error("no RetryInfo arrived")
	})
}
