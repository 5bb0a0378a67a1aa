package support

import (
	"context"
	"errors"
	"fmt"
	"io"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// maxErrors is how many refusals of a bulk write are reported one by one.
const maxErrors = 1_000

// bulk is a stream of items to write: the good ones of each message are written, the bad ones are reported.
type bulk[R interface{ GetStoreId() string }, T any] struct {
	field    string // of the items in the request
	maxBatch int    // items in one message
	items    func(R) []T
	id       func(T) string
	check    func(T) error // a *fault.Invalid for a bad item
	write    func(ctx context.Context, storeID string, items []T) error
}

// report is the outcome of a bulk write.
type report struct {
	upserted   int32
	errors     []*commonv1.ItemError
	errorCount int32
}

// run takes messages from recv until io.EOF.
func (b bulk[R, T]) run(ctx context.Context, recv func() (R, error)) (report, error) {
	var rep report
	var storeID string
	var index int
	for {
		req, err := recv()
		if errors.Is(err, io.EOF) {
			return rep, nil
		}
		if err != nil {
			return rep, fmt.Errorf("receive %s: %w", b.field, err)
		}
		items := b.items(req)
		if storeID, err = b.checkBatch(storeID, req.GetStoreId(), len(items)); err != nil {
			return rep, err
		}
		good := b.takeValid(items, index, &rep)
		if err := b.write(ctx, storeID, good); err != nil {
			return rep, err
		}
		rep.upserted += int32(len(good))
		index += len(items)
	}
}

// checkBatch returns the store of the stream, which the first message names and no later one may change.
func (b bulk[R, T]) checkBatch(storeID, named string, n int) (string, error) {
	var c fault.Checker
	switch {
	case storeID == "":
		c.ID("store_id", named)
		storeID = named
	case named != "" && named != storeID:
		c.Addf("store_id", "must not change within a stream")
	}
	if n > b.maxBatch {
		c.Addf(b.field, "has %d entries, must have at most %d in one message", n, b.maxBatch)
	}
	return storeID, c.Err()
}

// takeValid returns the valid items and reports the others, each with its first violation.
func (b bulk[R, T]) takeValid(items []T, start int, rep *report) []T {
	good := make([]T, 0, len(items))
	for i, item := range items {
		var invalid *fault.Invalid
		if !errors.As(b.check(item), &invalid) {
			good = append(good, item)
			continue
		}
		rep.errorCount++
		if len(rep.errors) < maxErrors {
			rep.errors = append(rep.errors, &commonv1.ItemError{
				Index:       int32(start + i),
				ItemId:      b.id(item),
				Field:       invalid.Violations[0].Field,
				Description: invalid.Violations[0].Description,
			})
		}
	}
	return good
}
