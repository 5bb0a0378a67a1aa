// Package bulk takes streams of items to write, which every service that owns data offers in the same words: the first
// message names the store, each message is written as it comes, and an item that is refused stops none of the others.
//
// It must not import a service: what an item must be, and where it is kept, is theirs.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// maxErrors is how many refusals of a stream are reported one by one.
const maxErrors = 1_000

// Upsert is one kind of bulk write: requests R that carry items T. All fields are required. It is immutable and may
// serve several streams at once.
type Upsert[R request, T any] struct {
	// Field is the name of the items in the request.
	Field string
	// MaxItems is how many items one message may have.
	MaxItems int
	// Items returns a request's items.
	Items func(R) []T
	// ID returns an item's identifier as sent.
	ID func(T) string
	// Check returns a *fault.Invalid for an item that must be refused, and else nil.
	Check func(T) error
	// Put writes the good items of one message, at least one. With a Refused it has written all but some of them.
	Put func(ctx context.Context, storeID string, items []T) error
}

// Refused are the items that only the writing of them shows to be wrong, by their position in what Put was given.
type Refused map[int]*fault.Invalid

// Error counts them.
func (r Refused) Error() string { return fmt.Sprintf("%d items were refused", len(r)) }

// Report is the outcome of a stream.
type Report struct {
	// StoreID is the store that was written to, or "" when no message came.
	StoreID string
	// Upserted counts the items written.
	Upserted int32
	// Errors are the first 1,000 refusals.
	Errors []*commonv1.ItemError
	// ErrorCount counts all refusals.
	ErrorCount int32

	next int32 // position of the next item over the whole stream

	validateOnly bool // nothing is written
}

// request is a message of a stream.
type request interface {
	GetStoreId() string
	GetValidateOnly() bool
}

// Run takes messages from recv until io.EOF. An error of recv or Put ends it, and so does a message that is invalid as
// a whole, with a *fault.Invalid; what was written before stays.
func (u Upsert[R, T]) Run(ctx context.Context, recv func() (R, error)) (Report, error) {
	var r Report
	for {
		req, err := recv()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("receive %s: %w", u.Field, err)
		}
		items := u.Items(req)
		if r.StoreID == "" {
			r.validateOnly = req.GetValidateOnly()
		}
		if err := u.checkMessage(&r, req.GetStoreId(), len(items)); err != nil {
			return r, err
		}
		refused, err := u.write(ctx, &r, items)
		if err != nil {
			return r, err
		}
		u.count(&r, items, refused)
	}
}

// write writes the good items of a message, unless they are only checked, and returns the violations of the others, by position.
func (u Upsert[R, T]) write(ctx context.Context, r *Report, items []T) (map[int]*fault.Invalid, error) {
	refused := make(map[int]*fault.Invalid)
	good, positions := make([]T, 0, len(items)), make([]int, 0, len(items))
	for i, item := range items {
		var invalid *fault.Invalid
		if errors.As(u.Check(item), &invalid) {
			refused[i] = invalid
		} else {
			good, positions = append(good, item), append(positions, i)
		}
	}
	if len(good) == 0 || r.validateOnly {
		return refused, nil
	}
	err := u.Put(ctx, r.StoreID, good)
	var late Refused
	if !errors.As(err, &late) {
		return refused, err
	}
	for i, invalid := range late {
		refused[positions[i]] = invalid
	}
	return refused, nil
}

// count takes the outcome of a message into the report.
func (u Upsert[R, T]) count(r *Report, items []T, refused map[int]*fault.Invalid) {
	for i, item := range items {
		if invalid := refused[i]; invalid == nil {
			r.Upserted++
		} else if r.ErrorCount++; len(r.Errors) < maxErrors {
			r.Errors = append(r.Errors, itemError(r.next+int32(i), u.ID(item), invalid))
		}
	}
	r.next += int32(len(items))
}

// checkMessage checks a message but for its items, and takes the store from the first.
func (u Upsert[R, T]) checkMessage(r *Report, storeID string, n int) error {
	var c fault.Checker
	switch {
	case r.StoreID == "":
		c.ID("store_id", storeID)
		r.StoreID = storeID
	case storeID != "" && storeID != r.StoreID:
		c.Addf("store_id", "must not change within a stream")
	}
	c.Count(u.Field, n, u.MaxItems)
	return c.Err()
}

const (
	// maxNamed is how many violations of one item are named.
	maxNamed = 5
	// maxChars bounds an id, a field and a violation, so that a report of many items fits a message.
	maxChars = 200
)

// itemError names the first violation as the field, and the others in the description.
func itemError(index int32, id string, invalid *fault.Invalid) *commonv1.ItemError {
	first := invalid.Violations[0]
	parts := []string{short(first.Description)}
	rest := invalid.Violations[1:]
	for _, v := range rest[:min(len(rest), maxNamed-1)] {
		parts = append(parts, short(v.Field)+": "+short(v.Description))
	}
	if more := len(invalid.Violations) - maxNamed + invalid.More; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return &commonv1.ItemError{Index: index, ItemId: short(id), Field: short(first.Field), Description: strings.Join(parts, "; ")}
}

// short cuts a text that the caller may have sent.
func short(s string) string { return text.Cut(s, maxChars) }
