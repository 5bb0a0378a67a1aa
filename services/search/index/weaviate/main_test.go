package weaviate

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// bleve starts its workers when it is imported.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}
