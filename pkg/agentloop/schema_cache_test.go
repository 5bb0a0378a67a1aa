package agentloop

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestParsedSchemasAreCached(t *testing.T) {
	text := func(n int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"a%d":{"type":"string"}}}`, n))
	}
	first, err := parseSchema(text(0), false, false)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parseSchema(text(0), false, false); err != nil || again != first {
		t.Errorf("the same schema was compiled twice, error %v", err)
	}
	for n := range 3 * maxCachedSchemas {
		if _, err := parseSchema(text(n), false, false); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(schemaCache.schemas); n > maxCachedSchemas {
		t.Errorf("%d schemas are kept", n)
	}
}
