package bundle_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
)

func recording(t *testing.T, class string) *bundle.Recording {
	t.Helper()
	r, err := bundle.ReadRecording(os.DirFS(filepath.Dir(publicdata.Path(t, "llm/"+class+"/messages.jsonl"))))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARecordedCallIsFoundByItsQuestion(t *testing.T) {
	for _, class := range []string{"strong", "weak"} {
		r := recording(t, class)
		if n := len(r.Turns); n != 26 {
			t.Errorf("%s: %d turns", class, n)
		}
		for _, turn := range r.Turns {
			if turn.Ask.GetStoreId() == "" || turn.Ask.GetMessage() == "" || turn.Reply.GetText() == "" || turn.Label == "" {
				t.Errorf("%s: turn %s lacks a field", class, turn.ID)
			}
		}
	}
	m := &bundle.RecordedModel{}
	m.Choose(recording(t, "strong").Turns[1])
	request := func(text string, answered int) *agentloop.Request {
		req := &agentloop.Request{Messages: []agentloop.Message{{Role: agentloop.RoleSystem}, {Role: agentloop.RoleUser, Text: text}}}
		for range answered {
			req.Messages = append(req.Messages, agentloop.Message{Role: agentloop.RoleAssistant}, agentloop.Message{Role: agentloop.RoleTool})
		}
		req.Tools = []agentloop.ToolSpec{{Name: "lookup_order"}, {Name: "search_policies"}}
		return req
	}
	const question = "I bought the Drystone boots and wore them outside once. Can I send them back?"
	for answered, want := range []string{"lookup_order search_policies", "goods must be unused"} {
		got := ""
		for c, err := range m.Generate(t.Context(), request(question, answered)) {
			if err != nil {
				t.Fatal(err)
			}
			got += c.Text
			for _, call := range c.ToolCalls {
				got += call.Name + " "
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("after %d answers: %q, want %q", answered, got, want)
		}
	}
	for _, err := range m.Generate(t.Context(), request("Buongiorno", 0)) {
		if !errors.Is(err, bundle.ErrNotRecorded) {
			t.Errorf("error %v", err)
		}
	}
	if calls, missed := m.Calls(); len(missed) != 1 || len(calls) != 3 {
		t.Errorf("missed %q, %d calls", missed, len(calls))
	}
}

func TestCallsOfToolsThatAreGoneAreLeftOut(t *testing.T) {
	m := &bundle.RecordedModel{}
	m.Choose(recording(t, "strong").Turns[2]) // in the recording, list_active_promotions, then choose_promotion, then the text
	req := &agentloop.Request{
		Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "Is there any discount code that works on my cart right now?"},
			{Role: agentloop.RoleAssistant}, {Role: agentloop.RoleTool}},
		Tools: []agentloop.ToolSpec{{Name: "list_active_promotions"}},
	}
	for _, want := range []bool{false, true} {
		text, calls := "", 0
		for c, err := range m.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			text, calls = text+c.Text, calls+len(c.ToolCalls)
		}
		if chose := calls > 0; chose != want || strings.Contains(text, "SAVE20") == want {
			t.Errorf("%d tools: %d calls, text %q", len(req.Tools), calls, text)
		}
		req.Tools = append(req.Tools, agentloop.ToolSpec{Name: "choose_promotion"})
	}
}
