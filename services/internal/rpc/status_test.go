package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func info(reason string, metadata map[string]string) *errdetails.ErrorInfo {
	return &errdetails.ErrorInfo{Reason: reason, Domain: "quartet", Metadata: metadata}
}

func retry(d time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(d)}
}

// isWithoutWrapping claims to be a context error, as some network errors do.
type isWithoutWrapping struct{}

func (isWithoutWrapping) Error() string        { return "timed out somewhere" }
func (isWithoutWrapping) Is(target error) bool { return target == context.DeadlineExceeded }

func TestStatus(t *testing.T) {
	notFound := &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_PRODUCT_NOT_FOUND, Resource: "product", Name: "p-1"}
	secret := errors.New("dial tcp 10.0.0.7:6379: connect: connection refused")
	tests := map[string]struct {
		err     error
		code    codes.Code
		message string
		details []proto.Message
	}{
		"an invalid request names every field": {
			err:  &fault.Invalid{Violations: []fault.Violation{{Field: "a", Description: "is required"}, {Field: "b", Description: "is bad"}}},
			code: codes.InvalidArgument, message: "invalid request: a: is required; b: is bad",
			details: []proto.Message{info("INVALID_FIELD", nil), &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: "a", Description: "is required"}, {Field: "b", Description: "is bad"}}}},
		},
		"a wrapped not found keeps its own text": {
			err: fmt.Errorf("read catalog: %w", notFound), code: codes.NotFound, message: `product "p-1" not found`,
			details: []proto.Message{info("PRODUCT_NOT_FOUND", nil), &errdetails.ResourceInfo{
				ResourceType: "product", ResourceName: "p-1", Description: `product "p-1" not found`}},
		},
		"the cause of refused credentials stays inside": {
			err: fmt.Errorf("authenticate: %w", &fault.Unauthenticated{
				Reason: commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_INVALID, Description: "the token is unknown", Err: secret}),
			code: codes.Unauthenticated, message: "the token is unknown", details: []proto.Message{info("CREDENTIALS_INVALID", nil)},
		},
		"a denied call names the right": {
			err:  &fault.Denied{Description: `the caller lacks the right "orders" for this store`},
			code: codes.PermissionDenied, message: `the caller lacks the right "orders" for this store`,
			details: []proto.Message{info("PERMISSION_DENIED", nil)},
		},
		"the cause of lost data stays inside": {
			err: fmt.Errorf("load cart: %w", &fault.DataLoss{
				Reason: commonv1.ErrorReason_ERROR_REASON_STATE_CORRUPT, Description: "stored data was changed", Err: secret}),
			code: codes.DataLoss, message: "stored data was changed", details: []proto.Message{info("STATE_CORRUPT", nil)},
		},
		"a precondition carries its metadata": {
			err: &fault.Precondition{Reason: commonv1.ErrorReason_ERROR_REASON_VERSION_MISMATCH, Subject: "cart/c1",
				Description: "is at version 4", Metadata: map[string]string{"current_version": "4"}},
			code: codes.FailedPrecondition, message: "cart/c1: is at version 4",
			details: []proto.Message{info("VERSION_MISMATCH", map[string]string{"current_version": "4"}),
				&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
					{Type: "VERSION_MISMATCH", Subject: "cart/c1", Description: "is at version 4"}}}},
		},
		"a name that is taken": {
			err: &fault.Exists{Reason: commonv1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED, Resource: "request", Name: "r1",
				Description: "stands for another message"},
			code: codes.AlreadyExists, message: `request "r1": stands for another message`,
			details: []proto.Message{info("REQUEST_ID_REUSED", nil), &errdetails.ResourceInfo{
				ResourceType: "request", ResourceName: "r1", Description: `request "r1": stands for another message`}},
		},
		"work that another has taken over": {
			err:  &fault.Aborted{Reason: commonv1.ErrorReason_ERROR_REASON_TURN_TAKEN_OVER, Description: "taken over"},
			code: codes.Aborted, message: "taken over",
			details: []proto.Message{info("TURN_TAKEN_OVER", nil)},
		},
		"an unavailable part is told without its cause": {
			err:  &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_STATE_UNAVAILABLE, What: "load cart", Err: secret},
			code: codes.Unavailable, message: "load cart: temporarily unavailable",
			details: []proto.Message{info("STATE_UNAVAILABLE", nil), retry(time.Second)},
		},
		"an exhausted quota says when to return": {
			err:  &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_MODEL_RATE_LIMITED, What: "model", RetryAfter: 7 * time.Second},
			code: codes.ResourceExhausted, message: "model: limit reached",
			details: []proto.Message{info("MODEL_RATE_LIMITED", nil), retry(7 * time.Second)},
		},
		"a quota that no waiting helps says nothing of returning": {
			err:  &fault.Exhausted{Reason: commonv1.ErrorReason_ERROR_REASON_BUDGET_EXHAUSTED, What: "budget", RetryAfter: fault.NoRetry},
			code: codes.ResourceExhausted, message: "budget: limit reached",
			details: []proto.Message{info("BUDGET_EXHAUSTED", nil)},
		},
		"the outermost fault decides": {
			err:  &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_NOTHING_ANSWERED, What: "turn", Err: notFound},
			code: codes.Unavailable, message: "turn: temporarily unavailable",
			details: []proto.Message{info("NOTHING_ANSWERED", nil), retry(time.Second)},
		},
		"of joined errors the first known one decides": {
			err: errors.Join(secret, fmt.Errorf("b: %w", context.Canceled), notFound), code: codes.Canceled, message: textCanceled,
			details: []proto.Message{info("CANCELED", nil)},
		},
		"a deadline": {
			err: fmt.Errorf("ask model: %w", context.DeadlineExceeded), code: codes.DeadlineExceeded, message: textDeadline,
			details: []proto.Message{info("DEADLINE", nil)},
		},
		"an error that only claims to be a deadline": {
			err: isWithoutWrapping{}, code: codes.DeadlineExceeded, message: textDeadline,
			details: []proto.Message{info("DEADLINE", nil)},
		},
		"a peer's full status passes as it is, however wrapped": {
			err: fmt.Errorf("search catalog: %w", Status(notFound).Err()), code: codes.NotFound, message: `product "p-1" not found`,
			details: []proto.Message{info("PRODUCT_NOT_FOUND", nil), &errdetails.ResourceInfo{
				ResourceType: "product", ResourceName: "p-1", Description: `product "p-1" not found`}},
		},
		"a transport's unavailability becomes a missing peer": {
			err: status.Error(codes.Unavailable, secret.Error()), code: codes.Unavailable, message: textPeerMissing,
			details: []proto.Message{info("PEER_UNAVAILABLE", nil), retry(time.Second)},
		},
		"a client's own deadline": {
			err: status.Error(codes.DeadlineExceeded, "context deadline exceeded"), code: codes.DeadlineExceeded, message: textDeadline,
			details: []proto.Message{info("DEADLINE", nil)},
		},
		"a bare status keeps code and message": {
			err: status.Error(codes.PermissionDenied, "not this store"), code: codes.PermissionDenied, message: "not this store",
			details: []proto.Message{info("INTERNAL", nil)},
		},
		"a foreign unknown error is internal": {
			err: status.Error(codes.Unknown, secret.Error()), code: codes.Internal, message: textInternal,
			details: []proto.Message{info("INTERNAL", nil)},
		},
		"anything else is internal, with a fixed text": {
			err: fmt.Errorf("index: %w", secret), code: codes.Internal, message: textInternal,
			details: []proto.Message{info("INTERNAL", nil)},
		},
		"a network error that nobody mapped is internal": {
			err: &net.OpError{Op: "dial", Err: secret}, code: codes.Internal, message: textInternal,
			details: []proto.Message{info("INTERNAL", nil)},
		},
		"a forgotten reason is internal, not unspecified": {
			err: &fault.NotFound{Resource: "x", Name: "y"}, code: codes.NotFound, message: `x "y" not found`,
			details: []proto.Message{info("INTERNAL", nil), &errdetails.ResourceInfo{
				ResourceType: "x", ResourceName: "y", Description: `x "y" not found`}},
		},
		"a detail that can not be sent costs only itself": {
			err:  &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_NOT_FOUND, Resource: "\xff", Name: "y"},
			code: codes.NotFound, message: "\uFFFD \"y\" not found",
			details: []proto.Message{info("ORDER_NOT_FOUND", nil)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			st := Status(tt.err)
			if st.Code() != tt.code || st.Message() != tt.message {
				t.Errorf("got %v %q, want %v %q", st.Code(), st.Message(), tt.code, tt.message)
			}
			var details []proto.Message
			for _, d := range st.Details() {
				details = append(details, d.(proto.Message))
			}
			if diff := cmp.Diff(tt.details, details, protocmp.Transform()); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusOfNilIsOK(t *testing.T) {
	if st := Status(nil); st.Code() != codes.OK || st.Err() != nil || Reason(st) != "" {
		t.Errorf("got %v", st)
	}
}

func TestStatusIsStable(t *testing.T) {
	once := Status(errors.New("x"))
	if diff := cmp.Diff(once.Proto(), Status(once.Err()).Proto(), protocmp.Transform()); diff != "" {
		t.Errorf("a second translation changed the status:\n%s", diff)
	}
}

func TestEveryReasonLosesItsPrefix(t *testing.T) {
	for n := range commonv1.ErrorReason_name {
		if text := reasonText(commonv1.ErrorReason(n)); text == "" || strings.HasPrefix(text, "ERROR_") {
			t.Errorf("reason %d is %q", n, text)
		}
	}
}

// A status travels in trailers. Many clients and proxies take about 8 KB of those.
func TestStatusesAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 50_000)
	var many fault.Checker
	for i := range 100_000 {
		many.Addf(fault.At("items", i), "must be 1 to %d characters of A-Z a-z 0-9 . _ -", 64)
	}
	var longFields fault.Checker
	for i := range 30 {
		longFields.Addf(fault.At(long, i), "is %s", long)
	}
	foreign, err := status.New(codes.NotFound, long).WithDetails(&errdetails.DebugInfo{Detail: long},
		&errdetails.ErrorInfo{Reason: "CART_NOT_FOUND", Domain: "quartet"})
	if err != nil {
		t.Fatal(err)
	}
	foreignInfo, err := status.New(codes.NotFound, "x").WithDetails(&errdetails.ErrorInfo{Reason: long, Domain: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		err    error
		reason string
		more   string
	}{
		"many violations":            {many.Err(), "INVALID_FIELD", "99980"},
		"long fields":                {longFields.Err(), "INVALID_FIELD", "27"},
		"a long name":                {&fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_ORDER_NOT_FOUND, Resource: "order", Name: long}, "ORDER_NOT_FOUND", ""},
		"long metadata":              {&fault.Precondition{Reason: commonv1.ErrorReason_ERROR_REASON_NO_CART, Subject: "cart", Metadata: map[string]string{"x": long}}, "NO_CART", ""},
		"a peer's status":            {foreign.Err(), "CART_NOT_FOUND", ""},
		"a peer's long reason":       {foreignInfo.Err(), "INTERNAL", ""},
		"a status without ErrorInfo": {status.Error(codes.InvalidArgument, long), "INVALID_FIELD", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			st := Status(tt.err)
			if size := proto.Size(st.Proto()); size > maxStatusBytes || len(st.Message()) > 1_100 {
				t.Errorf("%d bytes, %d of them in the message", size, len(st.Message()))
			}
			if info := errorInfo(st); info.GetReason() != tt.reason || info.GetMetadata()["more_violations"] != tt.more {
				t.Errorf("info %v, want reason %s and %q more violations", info, tt.reason, tt.more)
			}
			if st.Code() != status.Code(Status(tt.err).Err()) || !utf8.ValidString(st.Message()) {
				t.Errorf("got %v", st)
			}
		})
	}
}
