package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Bounds of a status. It travels in trailers, which proxies and clients limit to about 8 KB: a larger one kills the call with an
// error that tells nobody anything. Message and details are sent in base64, and the message once more.
const (
	maxMessageBytes   = 1 << 10
	maxStatusBytes    = 4 << 10
	maxViolationBytes = 2 << 10 // of all violations
	maxFieldBytes     = 300     // of a field path, and of a description
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
//	*fault.DataLoss          DATA_LOSS
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
	case *fault.DataLoss:
		return with(codes.DataLoss, e.Public(), e.Reason, nil)
	case *fault.Unavailable:
		if e.RetryAfter == fault.NoRetry {
			return with(codes.Unavailable, e.Public(), e.Reason, nil)
		}
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
		return bounded(st)
	}
	st = status.New(st.Code(), cut(strings.ToValidUTF8(st.Message(), "\uFFFD"), maxMessageBytes))
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

// invalid lists the first violations; their number is up to the caller. Metadata "more_violations" counts the others.
func invalid(e *fault.Invalid) *status.Status {
	bad := &errdetails.BadRequest{}
	size := 0
	for _, v := range e.Violations[:min(len(e.Violations), fault.MaxViolations)] {
		fv := &errdetails.BadRequest_FieldViolation{Field: cut(v.Field, maxFieldBytes), Description: cut(v.Description, maxFieldBytes)}
		if size += proto.Size(fv); size > maxViolationBytes {
			break
		}
		bad.FieldViolations = append(bad.FieldViolations, fv)
	}
	var metadata map[string]string
	if more := len(e.Violations) - len(bad.FieldViolations) + e.More; more > 0 {
		metadata = map[string]string{"more_violations": strconv.Itoa(more)}
	}
	return with(codes.InvalidArgument, e.Error(), commonv1.ErrorReason_ERROR_REASON_INVALID_FIELD, metadata, bad)
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
	return attach(status.New(code, cut(strings.ToValidUTF8(message, "\uFFFD"), maxMessageBytes)), reason, metadata, more...)
}

// cut cuts valid UTF-8 to at most n bytes, the mark included.
func cut(s string, n int) string {
	const mark = " [cut]"
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}

// bounded returns a peer's status, which may be of any size, with the details that fit, the ErrorInfo before others.
func bounded(st *status.Status) *status.Status {
	p := st.Proto() // a copy
	if len(p.GetMessage()) <= maxMessageBytes && proto.Size(p) <= maxStatusBytes {
		return st
	}
	p.Message = cut(p.GetMessage(), maxMessageBytes)
	all := p.GetDetails()
	slices.SortStableFunc(all, func(a, b *anypb.Any) int { return cmp.Compare(rank(a), rank(b)) })
	p.Details = nil
	for _, d := range all {
		if p.Details = append(p.Details, d); proto.Size(p) > maxStatusBytes {
			p.Details = p.Details[:len(p.Details)-1]
		}
	}
	if short := status.FromProto(p); errorInfo(short) != nil {
		return short
	}
	return attach(status.New(st.Code(), p.GetMessage()), commonv1.ErrorReason_ERROR_REASON_INTERNAL, nil)
}

// rank is 0 for an ErrorInfo and 1 for other details.
func rank(d *anypb.Any) int {
	if d.MessageIs((*errdetails.ErrorInfo)(nil)) {
		return 0
	}
	return 1
}

// attach adds an ErrorInfo and further details to st. An unset reason is a forgotten one, hence a fault of ours.
func attach(st *status.Status, reason commonv1.ErrorReason, metadata map[string]string, more ...protoadapt.MessageV1) *status.Status {
	if reason == commonv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		reason = commonv1.ErrorReason_ERROR_REASON_INTERNAL
	}
	info := &errdetails.ErrorInfo{Reason: reasonText(reason), Domain: Domain, Metadata: metadata}
	detailed, err := st.WithDetails(append([]protoadapt.MessageV1{info}, more...)...)
	if err == nil && proto.Size(detailed.Proto()) <= maxStatusBytes {
		return detailed
	}
	if len(metadata) == 0 && len(more) == 0 {
		return st
	}
	return attach(st, reason, nil) // some detail is too large or not valid UTF-8; the reason never is
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
