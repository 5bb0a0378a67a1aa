package rpc

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Domain is the domain of every ErrorInfo that Quartet makes.
const Domain = "quartet"

// The texts that callers see in place of causes, which are only logged.
const (
	textInternal    = "internal error; the cause is in the service's log under the trace id"
	textPeerMissing = "a service that this call needs is temporarily unavailable"
	textDeadline    = "out of time"
	textCanceled    = "canceled by the caller"
)

// Status is the table from errors to statuses. The outermost error that it knows decides:
//
//	*fault.Invalid           INVALID_ARGUMENT     BadRequest
//	*fault.NotFound          NOT_FOUND            ResourceInfo
//	*fault.Precondition      FAILED_PRECONDITION  PreconditionFailure
//	*fault.Exists            ALREADY_EXISTS       ResourceInfo
//	*fault.Aborted           ABORTED
//	*fault.Unauthenticated   UNAUTHENTICATED
//	*fault.Denied            PERMISSION_DENIED
//	*fault.Unavailable       UNAVAILABLE          RetryInfo
//	*fault.Exhausted         RESOURCE_EXHAUSTED   RetryInfo, if waiting helps
//	a gRPC status            as it is, if it has an ErrorInfo; else see fromPeer
//	context errors           DEADLINE_EXCEEDED or CANCELED
//	anything else            INTERNAL with a fixed text
//
// Every status but OK has an ErrorInfo. A nil err is OK. Causes never reach the status's message.
func Status(err error) *status.Status { return translate(err, "") }

// Reason returns the reason in the ErrorInfo of st, such as "PRODUCT_NOT_FOUND", or "" if it has none.
func Reason(st *status.Status) string {
	if info := errorInfo(st); info != nil {
		return info.GetReason()
	}
	return ""
}

// translate is Status for a call to method, which the status names if it was the one that ran out of time.
func translate(err error, method string) *status.Status {
	if err == nil {
		return status.New(codes.OK, "")
	}
	if st := walk(err, method); st != nil {
		return st
	}
	// Some errors claim to be context errors without wrapping one.
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return late(method)
	case errors.Is(err, context.Canceled):
		return canceled()
	}
	return internal()
}

// walk finds the outermost error in the tree of err that has a status, or returns nil.
func walk(err error, method string) *status.Status {
	switch e := err.(type) {
	case nil:
		return nil
	case *fault.Invalid:
		return invalid(e)
	case *fault.NotFound:
		return with(codes.NotFound, e.Error(), e.Reason, nil,
			&errdetails.ResourceInfo{ResourceType: e.Resource, ResourceName: e.Name, Description: e.Error()})
	case *fault.Precondition:
		return precondition(e)
	case *fault.Exists:
		return with(codes.AlreadyExists, e.Error(), e.Reason, nil,
			&errdetails.ResourceInfo{ResourceType: e.Resource, ResourceName: e.Name, Description: e.Error()})
	case *fault.Aborted:
		return with(codes.Aborted, e.Error(), e.Reason, nil)
	case *fault.Unauthenticated:
		return with(codes.Unauthenticated, e.Public(), e.Reason, nil)
	case *fault.Denied:
		return with(codes.PermissionDenied, e.Error(), commonv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, nil)
	case *fault.Unavailable:
		return with(codes.Unavailable, e.Public(), e.Reason, nil, retryInfo(e.RetryAfter))
	case *fault.Exhausted:
		if e.RetryAfter == fault.NoRetry {
			return with(codes.ResourceExhausted, e.Public(), e.Reason, nil)
		}
		return with(codes.ResourceExhausted, e.Public(), e.Reason, nil, retryInfo(e.RetryAfter))
	case interface{ GRPCStatus() *status.Status }:
		return fromPeer(e.GRPCStatus(), method)
	}
	switch err {
	case context.DeadlineExceeded:
		return late(method)
	case context.Canceled:
		return canceled()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return walk(e.Unwrap(), method)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if st := walk(inner, method); st != nil {
				return st
			}
		}
	}
	return nil
}

// fromPeer passes on a status that a peer, or gRPC itself, answered. One without an ErrorInfo gets one; its message
// is replaced where it would tell of addresses and causes.
func fromPeer(st *status.Status, method string) *status.Status {
	if st == nil || st.Code() == codes.OK {
		return internal() // an error that says OK is a fault of ours
	}
	if errorInfo(st) != nil {
		return st
	}
	switch st.Code() {
	case codes.Unavailable:
		return with(codes.Unavailable, textPeerMissing,
			commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, nil, retryInfo(0))
	case codes.DeadlineExceeded:
		return late(method)
	case codes.Canceled:
		return canceled()
	case codes.Internal, codes.Unknown:
		return internal()
	case codes.InvalidArgument, codes.OutOfRange:
		return attach(st, commonv1.ErrorReason_ERROR_REASON_INVALID_FIELD, nil)
	default:
		return attach(st, commonv1.ErrorReason_ERROR_REASON_INTERNAL, nil)
	}
}

func invalid(e *fault.Invalid) *status.Status {
	bad := &errdetails.BadRequest{}
	for _, v := range e.Violations {
		bad.FieldViolations = append(bad.FieldViolations,
			&errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Description})
	}
	return with(codes.InvalidArgument, e.Error(), commonv1.ErrorReason_ERROR_REASON_INVALID_FIELD, nil, bad)
}

func precondition(e *fault.Precondition) *status.Status {
	return with(codes.FailedPrecondition, e.Error(), e.Reason, e.Metadata,
		&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
			{Type: reasonText(e.Reason), Subject: e.Subject, Description: e.Description},
		}})
}

// late is the status of a call that ran out of time; a named method is the one that did.
func late(method string) *status.Status {
	if method == "" {
		return with(codes.DeadlineExceeded, textDeadline, commonv1.ErrorReason_ERROR_REASON_DEADLINE, nil)
	}
	return with(codes.DeadlineExceeded, textDeadline+" in "+method,
		commonv1.ErrorReason_ERROR_REASON_DEADLINE, map[string]string{"method": method})
}

func canceled() *status.Status {
	return with(codes.Canceled, textCanceled, commonv1.ErrorReason_ERROR_REASON_CANCELED, nil)
}

func internal() *status.Status {
	return with(codes.Internal, textInternal, commonv1.ErrorReason_ERROR_REASON_INTERNAL, nil)
}

func with(code codes.Code, message string, reason commonv1.ErrorReason, metadata map[string]string, more ...protoadapt.MessageV1) *status.Status {
	return attach(status.New(code, strings.ToValidUTF8(message, "\uFFFD")), reason, metadata, more...)
}

// attach adds an ErrorInfo and further details to st. An unset reason is a forgotten one, hence a fault of ours.
func attach(st *status.Status, reason commonv1.ErrorReason, metadata map[string]string, more ...protoadapt.MessageV1) *status.Status {
	if reason == commonv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		reason = commonv1.ErrorReason_ERROR_REASON_INTERNAL
	}
	info := &errdetails.ErrorInfo{Reason: reasonText(reason), Domain: Domain, Metadata: metadata}
	detailed, err := st.WithDetails(append([]protoadapt.MessageV1{info}, more...)...)
	if err == nil {
		return detailed
	}
	if len(metadata) == 0 && len(more) == 0 {
		return st
	}
	return attach(st, reason, nil) // some detail is not valid UTF-8; the reason always is
}

func retryInfo(after time.Duration) *errdetails.RetryInfo {
	if after <= 0 {
		after = fault.DefaultRetryAfter
	}
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
}

func reasonText(r commonv1.ErrorReason) string {
	return strings.TrimPrefix(r.String(), "ERROR_REASON_")
}

func errorInfo(st *status.Status) *errdetails.ErrorInfo {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}
