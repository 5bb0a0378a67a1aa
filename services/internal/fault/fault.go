// Package fault holds the domain errors that Quartet's services share.
//
// A service returns them from its handlers, wrapped with what was attempted; the interceptors of
// services/internal/rpc turn them into gRPC statuses by one table. The package must not import gRPC
// or any other internal package: it knows errors, not how they travel.
//
// Every fault implements error on its pointer. Check for one with errors.As:
//
//	var nf *fault.NotFound
//	if errors.As(err, &nf) { ... }
package fault

import (
	"fmt"
	"strings"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// DefaultRetryAfter is how long callers are asked to wait when an Unavailable or Exhausted names no delay.
const DefaultRetryAfter = time.Second

// NoRetry is the delay of an Unavailable or Exhausted that no waiting helps.
const NoRetry time.Duration = -1

// Violation is one bad field of a request. It reaches the caller as written.
type Violation struct {
	// Field is the path of the field, such as "variants[1].price.currency_code".
	Field string
	// Description says what is wrong and what would be right.
	Description string
}

// Bounds of the violations of one request. A caller can send more of them than any reply could list.
const (
	// MaxViolations is how many violations are described. Others are counted.
	MaxViolations = 20
	// maxListed bounds the text that lists violations, in bytes.
	maxListed = 1_000
)

// Invalid says that a request cannot be served as it is, whatever the state of the system: INVALID_ARGUMENT.
type Invalid struct {
	// Violations has one entry or more for each bad field, in the order in which they were found.
	Violations []Violation
	// More counts violations that Violations leaves out.
	More int
}

// Error lists violations on one line of about a thousand bytes at most, and counts the others.
func (e *Invalid) Error() string {
	var b strings.Builder
	b.WriteString("invalid request: ")
	for i, v := range e.Violations {
		part := v.Field + ": " + v.Description
		if i > 0 && (i == MaxViolations || b.Len()+len(part) > maxListed) {
			fmt.Fprintf(&b, "; and %d more", len(e.Violations)-i+e.More)
			return b.String()
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(part)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// NotFound says that a named resource does not exist for the caller: NOT_FOUND.
type NotFound struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_PRODUCT_NOT_FOUND.
	Reason commonv1.ErrorReason
	// Resource is the kind of thing in lower case, such as "product".
	Resource string
	// Name is the identifier that was looked up.
	Name string
	// Instead says what may have been meant or what to do, such as "the nearest ids are A-1, A-2". May be empty.
	Instead string
}

// Error names the resource, and what there is instead.
func (e *NotFound) Error() string {
	text := fmt.Sprintf("%s %q not found", e.Resource, e.Name)
	if e.Instead != "" {
		text += "; " + e.Instead
	}
	return text
}

// Precondition says that the request needs the system in another state: FAILED_PRECONDITION.
// Repeating it unchanged does not help.
type Precondition struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_VERSION_MISMATCH.
	Reason commonv1.ErrorReason
	// Subject is what is in the wrong state, such as "cart/c-17".
	Subject string
	// Description says how the state differs and what to do. It reaches the caller.
	Description string
	// Metadata are facts for the caller's code, such as "current_version": "4". May be nil.
	Metadata map[string]string
}

// Error names the subject and what is wrong with it.
func (e *Precondition) Error() string {
	return e.Subject + ": " + e.Description
}

// Exists says that the name of something new stands for something else already: ALREADY_EXISTS. Repeating it unchanged does
// not help.
type Exists struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_REQUEST_ID_REUSED.
	Reason commonv1.ErrorReason
	// Resource is the kind of thing in lower case, such as "request".
	Resource string
	// Name is the identifier that is taken.
	Name string
	// Description says what it stands for and what to do. It reaches the caller.
	Description string
}

// Error names the resource and what it stands for.
func (e *Exists) Error() string {
	return fmt.Sprintf("%s %q: %s", e.Resource, e.Name, e.Description)
}

// Aborted says that somebody else has taken the work over: ABORTED. Repeating the request unchanged helps.
type Aborted struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_TURN_TAKEN_OVER.
	Reason commonv1.ErrorReason
	// Description says what happened and what to do. It reaches the caller.
	Description string
}

// Error is the description.
func (e *Aborted) Error() string { return e.Description }

// Unavailable says that the call needs something that cannot be reached now: UNAVAILABLE. Waiting may help, but for NoRetry.
type Unavailable struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_STATE_UNAVAILABLE.
	Reason commonv1.ErrorReason
	// What names the missing part or the attempt, such as "load cart". It reaches the caller.
	What string
	// RetryAfter is how long the caller should wait; zero means DefaultRetryAfter, and NoRetry that it does not help.
	RetryAfter time.Duration
	// Err is the cause. It is logged, and never reaches the caller. May be nil.
	Err error
}

// Public is the message without its cause, fit for callers.
func (e *Unavailable) Public() string {
	if e.RetryAfter == NoRetry {
		return e.What + ": unavailable until its configuration changes"
	}
	return e.What + ": temporarily unavailable"
}

// Error is the public message and the cause.
func (e *Unavailable) Error() string { return withCause(e.Public(), e.Err) }

// Unwrap returns the cause, or nil.
func (e *Unavailable) Unwrap() error { return e.Err }

// Exhausted says that a quota or a rate limit was reached: RESOURCE_EXHAUSTED. Waiting helps, but for NoRetry.
type Exhausted struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_MODEL_RATE_LIMITED.
	Reason commonv1.ErrorReason
	// What names the limited part, such as "model endpoint". It reaches the caller.
	What string
	// RetryAfter is how long the caller should wait; zero means DefaultRetryAfter, and NoRetry that it does not help.
	RetryAfter time.Duration
	// Err is the cause. It is logged, and never reaches the caller. May be nil.
	Err error
}

// Public is the message without its cause, fit for callers.
func (e *Exhausted) Public() string { return e.What + ": limit reached" }

// Error is the public message and the cause.
func (e *Exhausted) Error() string { return withCause(e.Public(), e.Err) }

// Unwrap returns the cause, or nil.
func (e *Exhausted) Unwrap() error { return e.Err }

// Unauthenticated says that the caller did not prove who it is: UNAUTHENTICATED. Repeating the call unchanged does not help.
type Unauthenticated struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_CREDENTIALS_MISSING.
	Reason commonv1.ErrorReason
	// Description says what is wrong with the credentials and what to do. It reaches the caller, so it must not quote them.
	Description string
	// Err is the cause. It is logged, and never reaches the caller. May be nil.
	Err error
}

// Public is the message without its cause, fit for callers.
func (e *Unauthenticated) Public() string { return e.Description }

// Error is the public message and the cause.
func (e *Unauthenticated) Error() string { return withCause(e.Public(), e.Err) }

// Unwrap returns the cause, or nil.
func (e *Unauthenticated) Unwrap() error { return e.Err }

// Denied says that the caller may not do what it asks for, whether or not the thing exists: PERMISSION_DENIED.
type Denied struct {
	// Description names the right that is missing. It reaches the caller, so it must not tell what exists.
	Description string
}

// Error is the description.
func (e *Denied) Error() string { return e.Description }

// DataLoss says that stored data cannot be used: it was changed by others, or its key is missing. DATA_LOSS. Repeating the call
// does not help.
type DataLoss struct {
	// Reason is the machine-readable reason, such as ERROR_REASON_STATE_CORRUPT.
	Reason commonv1.ErrorReason
	// Description says what is wrong. It reaches the caller.
	Description string
	// Err is the cause. It is logged, and never reaches the caller. May be nil.
	Err error
}

// Public is the message without its cause, fit for callers.
func (e *DataLoss) Public() string { return e.Description }

// Error is the public message and the cause.
func (e *DataLoss) Error() string { return withCause(e.Public(), e.Err) }

// Unwrap returns the cause, or nil.
func (e *DataLoss) Unwrap() error { return e.Err }

func withCause(public string, err error) string {
	if err == nil {
		return public
	}
	return public + ": " + err.Error()
}
