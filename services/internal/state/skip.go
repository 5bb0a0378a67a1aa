package state

import (
	"context"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// maxSkipped bounds the records that are remembered as logged.
const maxSkipped = 10_000

// skipped are the records that were logged, so that a list that is read for each turn fills no log.
var skipped struct {
	sync.Mutex
	logged map[string]bool
}

// skippedCounter counts the reads of records that cannot be decoded.
var skippedCounter = sync.OnceValue(func() metric.Int64Counter {
	return telemetry.Counter("github.com/quartet-commerce/quartet/services/internal/state", telemetry.MetricRecordsSkipped, "{record}",
		"Reads of stored records that cannot be decoded.")
})

// SkipRecord reports a stored record that cannot be decoded and that its reader passes over, so that the others of its store can be
// used. kind is what it is, such as "product". Each record is logged once in a process, as an error, and counted at each read.
func SkipRecord(ctx context.Context, kind, storeID, id string, err error) {
	skippedCounter().Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyRecordKind, kind)))
	record := kind + " " + storeID + " " + id
	skipped.Lock()
	isNew := !skipped.logged[record] && len(skipped.logged) < maxSkipped
	if isNew {
		if skipped.logged == nil {
			skipped.logged = make(map[string]bool)
		}
		skipped.logged[record] = true
	}
	skipped.Unlock()
	if isNew {
		slog.ErrorContext(ctx, "stored record skipped: it cannot be decoded; write it again or delete it",
			"kind", kind, "store", storeID, "id", id, "error", err)
	}
}
