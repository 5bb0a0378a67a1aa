// Package replaytest runs recorded turns as tests, without models, data or a network:
//
//	func TestRecordedTurns(t *testing.T) { replaytest.Run(t, "testdata/turns") }
//
// 'quartet capture' writes the files.
package replaytest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
	"github.com/quartet-commerce/quartet/services/suite"
)

// timeout bounds one turn.
const timeout = time.Minute

// Run replays each turn in a folder, as a test of its own that is named after the file. It fails if the reply or the spans are not those
// that were recorded, or if there is no turn. It installs a tracer provider unless there is one of the OpenTelemetry SDK.
func Run(t *testing.T, folder string) {
	t.Helper()
	files, err := bundle.Files(folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded turns in %s: %v", folder, err)
	}
	if _, ok := otel.GetTracerProvider().(*sdktrace.TracerProvider); !ok {
		if _, err := telemetry.Setup(t.Context(), telemetry.Config{Sample: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			differences, err := compare(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range differences {
				t.Error(d)
			}
		})
	}
}

// compare says in what a turn differs today.
func compare(ctx context.Context, file string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, err := bundle.OpenFile(file, nil)
	if err != nil {
		return nil, err
	}
	_, differences, err := suite.Compare(ctx, p)
	return differences, err
}
