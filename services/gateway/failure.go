package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// failure says why a branch was not answered. Causes inside Quartet stay in the log.
func failure(err error) *gatewayv1.Failure {
	st := rpc.Status(err)
	return &gatewayv1.Failure{
		Code:    codeName(st.Code()),
		Reason:  commonv1.ErrorReason(commonv1.ErrorReason_value["ERROR_REASON_"+rpc.Reason(st)]),
		Message: st.Message(),
	}
}

// codeName is the canonical name of a code, such as "UNAVAILABLE".
func codeName(c codes.Code) string { return code.Code(c).String() }

// nothingAnswered returns the error of a turn in which no assignment was answered, and nil if any was. A turn whose
// caller has left, or whose time is up, has that error whatever its branches say.
func nothingAnswered(ctx context.Context, branches []*branch) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ask specialists: %w", err)
	}
	e := &nothingError{codes: map[string]string{}, retryAfter: fault.DefaultRetryAfter}
	late := true
	for _, b := range branches {
		if b.err == nil {
			return nil
		}
		st := rpc.Status(b.err)
		late = late && st.Code() == codes.DeadlineExceeded
		e.codes[b.assignment.GetAssignmentId()] = codeName(st.Code())
		e.errs = append(e.errs, b.err)
		for _, d := range st.Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok {
				e.retryAfter = max(e.retryAfter, r.GetRetryDelay().AsDuration())
			}
		}
	}
	if late {
		return fmt.Errorf("ask specialists: %w", context.DeadlineExceeded)
	}
	return e
}

// nothingError says that no specialist could answer any part of a message.
type nothingError struct {
	codes      map[string]string // by assignment id
	retryAfter time.Duration
	errs       []error
}

// Error names the causes, for the log.
func (e *nothingError) Error() string {
	return "no specialist could answer: " + errors.Join(e.errs...).Error()
}

// GRPCStatus is UNAVAILABLE with the code of each assignment. No table of errors knows of assignments, so it is made here.
func (e *nothingError) GRPCStatus() *status.Status {
	st, err := status.New(codes.Unavailable, "no specialist could answer any part of the message").WithDetails(
		&errdetails.ErrorInfo{Reason: "NOTHING_ANSWERED", Domain: rpc.Domain, Metadata: e.codes},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(e.retryAfter)},
	)
	if err != nil {
		return status.New(codes.Unavailable, "no specialist could answer any part of the message")
	}
	return st
}
