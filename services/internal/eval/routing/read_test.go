package routing

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

var four = []string{"search", "recommend", "promotions", "support"}

func TestReadTakesWhatASetMayHold(t *testing.T) {
	in := strings.Join([]string{
		"\ufeff" + `{"id":"a","text":"hello","gold":["support"]}`,
		"",
		`{"id":"b","text":"x","gold":["support","search"],"kind":"two","language":"de","author":"someone","weight":2}`,
		`{"id":"c","text":"and in red?","gold":["search"],"history":["hats?",{"role":"assistant","text":"Two."},{"role":"user","text":"ok"}]}` + "\r",
		`{"id":"d","text":" ","gold":["search"],"history":null,"kind":null,"parts":[{"specialist":"search","sub_query":"a hat"}]}`,
	}, "\n")
	got, err := Read(strings.NewReader(in), four)
	if err != nil {
		t.Fatal(err)
	}
	user, assistant := commonv1.Role_ROLE_USER, commonv1.Role_ROLE_ASSISTANT
	want := []Message{
		{Line: 1, ID: "a", Text: "hello", Gold: []string{"support"}},
		{Line: 3, ID: "b", Text: "x", Gold: []string{"search", "support"}, Kind: "two", Language: "de"},
		{Line: 4, ID: "c", Text: "and in red?", Gold: []string{"search"}, History: []*commonv1.Message{
			{Role: user, Text: "hats?"}, {Role: assistant, Text: "Two."}, {Role: user, Text: "ok"},
		}},
		{Line: 5, ID: "d", Text: " ", Gold: []string{"search"}, Parts: []Part{{"search", "a hat"}}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestReadNamesWhatIsWrongWithALine(t *testing.T) {
	const names = "search, recommend, promotions, support"
	tests := []struct{ name, line, want string }{
		{"not JSON", `hello`, `line 2, column 1: syntax error: invalid value hello, in "hello"`},
		{"no object", `["a"]`, `line 2, column 1: a list; write one object a line, as jq -c '.[]' does, in "[\"a\"]"`},
		{"cut short", `{"id":"b"`, `line 2: the line ends before its message does, in "{\"id\":\"b\""`},
		{"nothing in it", `{}`, `line 2: id is required; text is required; gold is empty; give at least one of: ` + names},
		{"a number for an id", `{"id":7,"text":"x","gold":["search"]}`, `line 2: id is a number, must be a string`},
		{"an id that was there", `{"id":"a","text":"x","gold":["search"]}`, `line 2: id "a" is also the id of line 1, must be unique`},
		{"a text that no router takes", `{"id":"b","text":"` + strings.Repeat("x", 8001) + `","gold":["search"]}`,
			`line 2: text has 8001 characters, must have at most 8000`},
		{"an unknown specialist", `{"id":"b","text":"x","gold":["search","billing"]}`,
			`line 2: gold[1] "billing" is no specialist; the specialists are: ` + names},
		{"a specialist twice", `{"id":"b","text":"x","gold":["search","search"]}`, `line 2: gold[1] "search" is there twice`},
		{"gold as a string", `{"id":"b","text":"x","gold":"search"}`, `line 2: gold is a string, must be an array`},
		{"gold of other things", `{"id":"b","text":"x","gold":[true]}`, `line 2: gold[0] is true or false, must be a string`},
		{"an empty gold", `{"id":"b","text":"x","gold":[]}`, `line 2: gold is empty; give at least one of: ` + names},
		{"history as a string", `{"id":"b","text":"x","gold":["search"],"history":"hi"}`, `line 2: history is a string, must be an array`},
		{"history of numbers", `{"id":"b","text":"x","gold":["search"],"history":[1]}`, `line 2: history[0] is a number, must be a string`},
		{"an unknown role", `{"id":"b","text":"x","gold":["search"],"history":["hi",{"role":"bot","text":"x"}]}`,
			`line 2: history[1].role is "bot", must be "user" or "assistant"`},
		{"history without words", `{"id":"b","text":"x","gold":["search"],"history":[{"role":"user"}]}`, `line 2: history[0].text is required`},
		{"parts without a sub-query", `{"id":"b","text":"x","gold":["search"],"parts":[{"specialist":"search"}]}`,
			`line 2: parts[0].sub_query is required`},
		{"parts of strings", `{"id":"b","text":"x","gold":["search"],"parts":["x"]}`,
			`line 2: parts[0].specialist is required; parts[0].sub_query is required`},
		{"a kind that is a list", `{"id":"b","text":"x","gold":["search"],"kind":["a"]}`, `line 2: kind is an array, must be a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(`{"id":"a","text":"x","gold":["search"]}`+"\n"+tt.line), four)
			var wrong *SetError
			if !errors.As(err, &wrong) {
				t.Fatalf("error is %v, want a *SetError", err)
			}
			if diff := cmp.Diff([]string{tt.want}, wrong.Problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadReportsEveryWrongLineAndShowsTwenty(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Repeat("{}\n", 25)), four)
	var wrong *SetError
	if !errors.As(err, &wrong) || len(wrong.Problems) != 25 {
		t.Fatalf("error is %v, want 25 problems", err)
	}
	text := err.Error()
	if strings.Count(text, "\n  line ") != 20 || !strings.HasSuffix(text, "\n  ... and 5 more") || !strings.HasPrefix(text, "wrong lines: 25; ") {
		t.Errorf("text is:\n%s", text)
	}
}

func TestReadRefusesAnEmptySet(t *testing.T) {
	_, err := Read(strings.NewReader("\n \n"), four)
	if !errors.As(err, new(*SetError)) || !strings.Contains(err.Error(), `empty; want one JSON object a line`) {
		t.Errorf("error is %v", err)
	}
}

func TestReadReturnsAReadersError(t *testing.T) {
	broken := errors.New("disk on fire")
	if _, err := Read(iotest.ErrReader(broken), four); !errors.Is(err, broken) {
		t.Errorf("error is %v, want %v", err, broken)
	}
}

func TestReadCSV(t *testing.T) {
	got, err := ReadCSV(strings.NewReader("flags,text,kind\nB,where is it,track\n"), 1, 2, "support")
	if want := []Message{{Line: 2, ID: "2", Text: "where is it", Gold: []string{"support"}, Kind: "track"}}; err != nil || !cmp.Equal(want, got) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := ReadCSV(strings.NewReader(""), 0, -1, "support"); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}
