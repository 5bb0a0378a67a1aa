package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// Result is the outcome of one assignment. Exactly one of Answer and Err is set.
type Result struct {
	// Assignment names the specialist that was asked last.
	Assignment *routerv1.Assignment
	Answer     *specialistv1.Answer
	Err        error
	// PassedOnBy is the specialist of the routing if it passed the assignment on. Empty: it did not.
	PassedOnBy string
	// Streamed is the text that was passed on before the end. It is empty if there are several assignments.
	Streamed string

	spent *commonv1.Usage // as reported before a failure
	began time.Time       // when the specialist was asked; zero: it was not
	took  time.Duration
}

// Proto returns the result as it is reported.
func (r Result) Proto() *gatewayv1.AssignmentResult {
	result := &gatewayv1.AssignmentResult{Assignment: r.Assignment, PassedOnBy: r.PassedOnBy}
	if !r.began.IsZero() {
		result.StartTime, result.Duration = timestamppb.New(r.began), durationpb.New(r.took)
	}
	if r.Err != nil {
		result.Outcome = &gatewayv1.AssignmentResult_Failure{Failure: failure(r.Err)}
	} else {
		result.Outcome = &gatewayv1.AssignmentResult_Answer{Answer: r.Answer}
	}
	return result
}

// Usage returns what the model calls of the assignment used, and whether that is all: a specialist that was cut off may have
// been in the middle of a call.
func (r Result) Usage() (used *commonv1.Usage, complete bool) {
	return usageOf(r.Answer, r.spent, r.Err)
}

// usageOf is Result.Usage for an answer, or for an error and the usage that was reported before.
func usageOf(answer *specialistv1.Answer, reported *commonv1.Usage, err error) (used *commonv1.Usage, complete bool) {
	if err == nil {
		return answer.GetUsage(), true
	}
	switch rpc.Reason(rpc.Status(err)) {
	case "DEADLINE", "CANCELED", "PEER_UNAVAILABLE":
		return reported, false
	}
	return reported, reported != nil
}

// failure says why an assignment was not answered. Causes inside Quartet stay in the log.
func failure(err error) *gatewayv1.Failure {
	st := rpc.Status(err)
	return &gatewayv1.Failure{
		Code:    codeName(st.Code()),
		Reason:  commonv1.ErrorReason(commonv1.ErrorReason_value["ERROR_REASON_"+rpc.Reason(st)]),
		Message: output.Visible(st.Message()),
	}
}

// codeName is the canonical name of a code, such as "UNAVAILABLE".
func codeName(c codes.Code) string { return code.Code(c).String() }

// budgetExhausted is the reason with which a specialist refuses a share that pays for no call of a model.
var budgetExhausted = strings.TrimPrefix(commonv1.ErrorReason_ERROR_REASON_BUDGET_EXHAUSTED.String(), "ERROR_REASON_")

// OutOfBudget reports whether all assignments failed because their share of the budget pays for no call of a model.
func OutOfBudget(results []Result) bool {
	return len(results) > 0 && !slices.ContainsFunc(results, func(r Result) bool {
		return r.Err == nil || rpc.Reason(rpc.Status(r.Err)) != budgetExhausted
	})
}

// nothingAnswered returns the error of a turn in which no assignment was answered, and nil if any was. If the context has
// ended, its error counts, whatever the results are.
func nothingAnswered(ctx context.Context, results []Result) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ask specialists: %w", err)
	}
	e := &nothingError{codes: map[string]string{}}
	late := true
	for _, r := range results {
		if r.Err == nil {
			return nil
		}
		st := rpc.Status(r.Err)
		if st.Code() == codes.DeadlineExceeded {
			e.retryAfter = max(e.retryAfter, fault.DefaultRetryAfter)
		} else {
			late = false
		}
		e.codes[r.Assignment.GetAssignmentId()] = codeName(st.Code())
		e.errs = append(e.errs, r.Err)
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
	retryAfter time.Duration     // zero: trying again helps no assignment
	errs       []error
}

// Error names the causes, for the log.
func (e *nothingError) Error() string {
	return "no specialist could answer: " + errors.Join(e.errs...).Error()
}

// GRPCStatus is UNAVAILABLE with the code of each assignment. It has a RetryInfo if trying again may help one of them.
func (e *nothingError) GRPCStatus() *status.Status {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: "NOTHING_ANSWERED", Domain: rpc.Domain, Metadata: e.codes}}
	if e.retryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.retryAfter)})
	}
	st := status.New(codes.Unavailable, "no specialist could answer any part of the message")
	if detailed, err := st.WithDetails(details...); err == nil {
		return detailed
	}
	return st
}
