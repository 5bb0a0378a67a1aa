package agentloop

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestRenderOfDeeplyNestedResults(t *testing.T) {
	const depth = 8000
	nested := "[" + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `,"` + strings.Repeat("a", 4<<10) + `"]`
	done := make(chan string, 1)
	go func() {
		content, _, _ := render(json.RawMessage(nested), 2*depth+100)
		done <- content
	}()
	select {
	case content := <-done:
		head, _, _ := strings.Cut(content, "\n[cut:")
		if !json.Valid([]byte(head)) {
			t.Errorf("the cut result is no JSON: it ends in %q", head[max(0, len(head)-20):])
		}
	case <-time.After(20 * time.Second): // generous: it takes a fraction of a second
		t.Fatal("render takes far more than linear time")
	}
}
