package specialist_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/specialist"
)

func TestAnAnswerIsOneLineOfTheLogWithoutWhatWasSaid(t *testing.T) {
	var log bytes.Buffer
	client := serveWith(t, lamps, specialist.Deps{
		Logger: slog.New(slog.NewJSONHandler(&log, nil)),
		Model:  scripted.New(look("lamp"), scripted.Step{Text: "The Dune Lamp costs 39.00 EUR, and 7 are left."}),
	})
	_, err := ask(t, client, &specialistv1.AnswerRequest{AssignmentId: "a1", SubQuery: "Which of the 7 lamps is Walburga's?"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(log.Bytes(), &got); err != nil {
		t.Fatalf("want one line: %v\n%s", err, &log)
	}
	want := map[string]any{
		"level": "INFO", "msg": "answered", "agent": "lamps", "cost": "unknown", "tool_calls": 1.0, "finish_reason": "FINISH_REASON_STOP",
		"claims": 2.0, "unsupported_claims": 1.0,
	}
	for _, measured := range []string{"time", "model", "duration", "input_tokens", "output_tokens", "confidence"} {
		if _, ok := got[measured]; !ok {
			t.Errorf("the line lacks %q", measured)
		}
		delete(got, measured)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, said := range []string{"Dune", "Walburga", "39.00"} {
		if strings.Contains(log.String(), said) {
			t.Errorf("the line quotes %q", said)
		}
	}
}
