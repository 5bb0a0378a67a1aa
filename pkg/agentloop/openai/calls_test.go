package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// events takes a recorded stream apart.
func events(t *testing.T, body string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data:")
		if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

// joined makes a stream of events.
func joined(t *testing.T, all []map[string]any) string {
	t.Helper()
	var body strings.Builder
	for _, ev := range all {
		raw, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		body.WriteString("data: " + string(raw) + "\n\n")
	}
	return body.String() + "data: [DONE]\n\n"
}

// piecesIn returns the pieces of calls in an event.
func piecesIn(ev map[string]any) (pieces []map[string]any) {
	choices, _ := ev["choices"].([]any)
	for _, c := range choices {
		delta, _ := c.(map[string]any)["delta"].(map[string]any)
		calls, _ := delta["tool_calls"].([]any)
		for _, p := range calls {
			pieces = append(pieces, p.(map[string]any))
		}
	}
	return pieces
}

// withoutIndexes removes the indexes of the pieces of calls. All else stays: the first piece of a call has its id and name,
// the others nothing, and they follow it.
func withoutIndexes(_ *testing.T, all []map[string]any) []map[string]any {
	for _, ev := range all {
		for _, p := range piecesIn(ev) {
			delete(p, "index")
		}
	}
	return all
}

// withIDsForIndexes does so too, with the id on every piece and the calls interleaved: each call's second piece follows the
// first pieces of all, and so on.
func withIDsForIndexes(t *testing.T, all []map[string]any) []map[string]any {
	t.Helper()
	var before, after, mixed []map[string]any
	var calls [][]map[string]any // the events of each
	for _, ev := range all {
		pieces := piecesIn(ev)
		switch {
		case len(pieces) == 0 && calls == nil:
			before = append(before, ev)
			continue
		case len(pieces) == 0:
			after = append(after, ev)
			continue
		}
		for _, p := range pieces {
			i := int(p["index"].(float64))
			delete(p, "index")
			if i == len(calls) {
				calls = append(calls, nil)
			} else {
				p["id"] = calls[i][0]["id"]
			}
			calls[i] = append(calls[i], p)
		}
	}
	for n := 0; ; n++ {
		var row []map[string]any
		for _, pieces := range calls {
			if n < len(pieces) {
				row = append(row, map[string]any{"choices": []any{
					map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{pieces[n]}}},
				}})
			}
		}
		if row == nil {
			break
		}
		mixed = append(mixed, row...)
	}
	return append(append(before, mixed...), after...)
}

// TestRecordedCallsWithoutIndexes plays the recorded calls as endpoints send them that number no pieces. The adapter passes
// the lack on and the loop puts the calls together: a piece belongs to the call with its id, and one without an id to the
// call that began last. So calls one after the other need ids or names on their first pieces only, and interleaved ones an
// id on every piece; interleaved without either there is no telling, and every piece goes to the call that began last.
func TestRecordedCallsWithoutIndexes(t *testing.T) {
	played := 0
	for _, r := range recordings(t, "chat_sse.jsonl.gz") {
		want := expected(t, r.Response)
		if len(want.Calls) == 0 || want.Failed {
			continue
		}
		played++
		for name, edit := range map[string]func(*testing.T, []map[string]any) []map[string]any{
			"one after the other": withoutIndexes, "interleaved, with ids": withIDsForIndexes,
		} {
			t.Run(r.name()+"/"+name, func(t *testing.T) {
				m := replayed(t, replay{status: 200, contentType: r.ContentType, body: strings.NewReader(joined(t, edit(t, events(t, r.Response))))}, false)
				loop, err := agentloop.New(agentloop.Config{Model: m})
				if err != nil {
					t.Fatal(err)
				}
				run := loop.Start(nil, "hi")
				for range run.Step(t.Context()) { // one step: the calls name tools that are not there
				}
				var got []agentloop.ToolCall
				for _, c := range run.Result().Calls {
					got = append(got, c.ToolCall)
				}
				if diff := cmp.Diff(want.Calls, got); diff != "" {
					t.Errorf("(-recorded +put together):\n%s", diff)
				}
			})
		}
	}
	if played == 0 {
		t.Error("no recording has a call")
	}
}
