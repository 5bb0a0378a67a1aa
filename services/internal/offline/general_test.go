package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tools that no store has, to see that the rules hold for any.
var (
	changeTool = fn("change_money", "Changes a sum of money into another currency.",
		`{"type":"object","properties":{"sum":{"type":"number"},"source":{"type":"string","description":"ISO 4217 code"},"target":{"type":"string","description":"ISO 4217 code"}},"required":["sum","source","target"]}`)
	concertTool = fn("find_concerts", "Finds concerts by their music, with prices.",
		`{"type":"object","properties":{"music":{"type":"string"},"town":{"type":"string"}},"required":["music"]}`)
	museumTool = fn("list_museums", "The museums of a town.", `{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}`)
	ferryTool  = fn("find_ferries", "Ferries between two ports.",
		`{"type":"object","properties":{"origin":{"type":"string"},"destination":{"type":"string"}},"required":["origin","destination"]}`)
	tideTool = fn("get_tides", "The tides of a port on a day.",
		`{"type":"object","properties":{"place":{"type":"string"},"day":{"type":"string","format":"date"}},"required":["place"]}`)
)

const concerts = `{"concerts":[{"name":"Blue Hour","price":"18.00 EUR"},{"name":"Low Tide","price":"12.50 EUR"}]}`

func TestMoneyIsChangedTheRightWayRound(t *testing.T) {
	for question, want := range map[string]string{
		"how many pounds are 20 dollars?":            `change_money{"sum":20,"source":"USD","target":"GBP"}`,
		"what is €30 in yen?":                        `change_money{"sum":30,"source":"EUR","target":"JPY"}`,
		"change 45€ into CHF":                        `change_money{"sum":45,"source":"EUR","target":"CHF"}`,
		"for 3 people, what are 100 euros in pounds": `change_money{"sum":100,"source":"EUR","target":"GBP"}`,
		"what are 100 euros worth?":                  ``,
	} {
		if got := firstCalls([]tool{changeTool, museumTool, tideTool}, question); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", question, got, want)
		}
	}
}

func TestAPriceThatWasFoundIsChanged(t *testing.T) {
	tools := []tool{concertTool, changeTool, museumTool}
	got := play(t, tools, "what does the cheapest jazz concert cost in pounds?", concerts, "12.50 EUR = 10.75 GBP")
	want := []string{`find_concerts{"music":"jazz concert"}`, `change_money{"sum":12.5,"source":"EUR","target":"GBP"}`,
		"The cheapest is Low Tide, 12.50 EUR. The next ones:\n- Blue Hour, 18.00 EUR.\n\n12.50 EUR = 10.75 GBP."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPriceOfAnEarlierAnswerIsChanged(t *testing.T) {
	req := ask("", "any jazz concerts?", []tool{concertTool, changeTool, museumTool})
	req = after(req, respond(req, today), concerts)
	req.Messages = append(req.Messages, message{Role: "assistant", Content: "Two."}, message{Role: "user", Content: "how much is the second one in pounds?"})
	calls := respond(req, today).calls
	if want := `{"sum":12.5,"source":"EUR","target":"GBP"}`; len(calls) != 1 || calls[0].Function.Arguments != want {
		t.Errorf("calls %+v, want %s", calls, want)
	}
}

func TestThereIsThePlaceNamedBefore(t *testing.T) {
	tools := []tool{museumTool, ferryTool, tideTool, changeTool}
	asked := func(earlier, question string) string {
		req := ask("", earlier, tools)
		rep := respond(req, today)
		req = after(req, rep, strings.Split(strings.Repeat("none today\n", len(rep.calls)), "\n")[:len(rep.calls)]...)
		req.Messages = append(req.Messages, message{Role: "assistant", Content: "None today."}, message{Role: "user", Content: content(question)})
		var out []string
		for _, c := range respond(req, today).calls {
			out = append(out, c.Function.Name+c.Function.Arguments)
		}
		return strings.Join(out, " ")
	}
	for _, tc := range []struct{ earlier, question, want string }{
		{"what are the tides in Split?", "and in Hvar on Friday?", `get_tides{"place":"Hvar","day":"2026-03-06"}`},
		{"what are the tides in Split?", "and tomorrow?", `get_tides{"place":"Split","day":"2026-03-05"}`},
		{"ferries from Split to Hvar", "and on Friday?", `find_ferries{"origin":"Split","destination":"Hvar"}`},
		{"which museums are in Porto?", "and the tides there tomorrow?", `get_tides{"place":"Porto","day":"2026-03-05"}`},
		{"ferries from Split to Hvar", "what are the tides there on Friday?", `get_tides{"place":"Hvar","day":"2026-03-06"}`},
		{"ferries from Split to Hvar", "are there ferries from there to Vis?", `find_ferries{"origin":"Hvar","destination":"Vis"}`},
		{"ferries from Split to Hvar", "how many euros are 30 dollars, and which museums are there?", `change_money{"sum":30,"source":"USD","target":"EUR"} list_museums{"town":"Hvar"}`},
		{"hello", "any ferries from Split to Hvar, and what are the tides there?", `find_ferries{"origin":"Split","destination":"Hvar"} get_tides{"place":"Hvar"}`},
	} {
		if got := asked(tc.earlier, tc.question); got != tc.want {
			t.Errorf("%s | %s\ngot  %s\nwant %s", tc.earlier, tc.question, got, tc.want)
		}
	}
}

func TestThePromptsAdviceIsGivenWithoutATool(t *testing.T) {
	const prompt = `You run a garden desk. Never mention the owner.

Advice that needs no tool:
- Watering tomatoes: in the morning, at the root, and not on the leaves.
- Pruning roses: in late winter, above a bud that points outwards.

Rules:
- Never give advice on roses to owners of tomatoes.`
	for question, want := range map[string]string{
		"When should I be watering my tomatoes?": "Watering tomatoes: in the morning, at the root, and not on the leaves.",
		"how are roses pruned":                   "Pruning roses: in late winter, above a bud that points outwards.",
		"who is the owner of the desk?":          phrases[english].unknown,
		"can tomatoes be frozen?":                phrases[english].unknown,
	} {
		rep := respond(ask(prompt, question, []tool{museumTool, ferryTool, tideTool}), today)
		if len(rep.calls) > 0 || rep.text != want {
			t.Errorf("%s\ngot  %q %v\nwant %q", question, rep.text, rep.calls, want)
		}
	}
}

func TestAnAnswerThatHadToStopSaysSo(t *testing.T) {
	for _, tc := range []struct {
		tools            []tool
		question, result string
		stopped          bool
	}{
		{[]tool{concertTool, changeTool, museumTool}, "what does the cheapest jazz concert cost in pounds?", concerts, true},
		{libraryTools, "please renew my loan of the mushroom book", `{"loans":[{"id":"L9","title":"The mushroom guide"}]}`, true},
		{[]tool{concertTool, changeTool, museumTool}, "which is the cheapest jazz concert?", concerts, false},
		{supportTools, "where is order QT-7?", `{"order_id":"QT-7","status":"shipped"}`, false},
	} {
		req := ask("", tc.question, tc.tools)
		req = after(req, respond(req, today), tc.result)
		req.ToolChoice = []byte(`"none"`)
		if text := respond(req, today).text; strings.Contains(text, phrases[english].stopped) != tc.stopped {
			t.Errorf("%s\ngot %q, stopped: want %v", tc.question, text, tc.stopped)
		}
	}
}

func TestResultsOfUnknownShapeAreReadable(t *testing.T) {
	for result, want := range map[string]string{
		`12.50 EUR = 10.75 GBP`: "12.50 EUR = 10.75 GBP.",
		`42`:                    "42.",
		`{"place":"Hvar","day":"2026-03-05","high":"06:10","low":"12:24"}`: "Hvar, 2026-03-05: high 06:10, low 12:24.",
		`{"place":"Hvar"}`:                   "Place: Hvar.",
		`{"place":"Hvar","message":"Calm."}`: "Calm. Place: Hvar.",
	} {
		got := play(t, []tool{tideTool}, "tides in Hvar", result)
		if got[len(got)-1] != want {
			t.Errorf("%s\ngot  %q\nwant %q", result, got[len(got)-1], want)
		}
	}
}
