package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/suite"
	flag "github.com/spf13/pflag"
)

// endpointOf starts an endpoint that answers with its name, or fails with a status.
func endpointOf(t *testing.T, name string, status int) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		*asked = append(*asked, body.Model)
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":%q,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I am %s.\"},\"finish_reason\":\"stop\"}],"+
			"\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n", body.Model, name)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

func modelsOf(t *testing.T, args ...string) (suite.Config, error) {
	t.Helper()
	env := environment{get: func(string) string { return "" }, err: io.Discard}
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	flags := addModelFlags(fs)
	var cfg suite.Config
	if _, err := parse(fs, args, env); err != nil {
		return cfg, err
	}
	return cfg, flags.models(&cfg, env)
}

// say runs a loop with a model, and returns its text and cost.
func say(t *testing.T, m *model.Traced) (string, *agentloop.Cost) {
	t.Helper()
	loop, err := agentloop.New(agentloop.Config{Model: m.Model, Price: m.Price})
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context(), nil, "who are you?")
	if err != nil {
		t.Fatal(err)
	}
	return result.Text, result.Cost
}

func TestTheFallbackModelAnswersWhereTheFirstFails(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusTooManyRequests} {
		first, askedFirst := endpointOf(t, "first", status)
		second, askedSecond := endpointOf(t, "second", http.StatusOK)
		cfg, err := modelsOf(t, "--model-url", first, "--model", "a", "--fallback-model", "b@"+second, "--model-price", "1/1 USD")
		if err != nil {
			t.Fatal(err)
		}
		text, cost := say(t, cfg.Model)
		switch {
		case status == http.StatusOK && (text != "I am first." || cost == nil || cost.Micros != 15 || len(*askedSecond) > 0):
			t.Errorf("%q for %v, the fallback was asked %d times", text, cost, len(*askedSecond))
		case status != http.StatusOK && (text != "I am second." || cost != nil || len(*askedFirst) != 1 || (*askedSecond)[0] != "b"):
			t.Errorf("%d: %q for %v after %d calls of the first model, want no cost", status, text, cost, len(*askedFirst))
		}
	}
}

func TestASpecialistHasAModelOfItsOwn(t *testing.T) {
	common, askedCommon := endpointOf(t, "common", http.StatusOK)
	other, askedOther := endpointOf(t, "other", http.StatusOK)
	cfg, err := modelsOf(t, "--model-url", common, "--model", "a,search=b", "--model", "support=c@"+other,
		"--model-price", "1/1 USD", "--model-price", "search=2/2 USD")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		model *model.Traced
		text  string
		cost  int64 // zero: unknown
	}{
		{cfg.Model, "I am common.", 15}, {cfg.Models[suite.Search], "I am common.", 30}, {cfg.Models[suite.Support], "I am other.", 0},
	} {
		if text, cost := say(t, m.model); text != m.text || (cost == nil) != (m.cost == 0) || cost != nil && cost.Micros != m.cost {
			t.Errorf("%q for %v, want %+v", text, cost, m)
		}
	}
	if got := strings.Join(append(*askedCommon, *askedOther...), " "); got != "a b c" {
		t.Errorf("asked for %s", got)
	}
}

// Two endpoints of one API need not have one key.
func TestAnEndpointHasAKeyOfItsOwn(t *testing.T) {
	keys := make(map[string]string) // by name of the endpoint
	endpoint := func(name string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys[name] = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusUnauthorized)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	common, other := endpoint("common"), endpoint("other")
	env := environment{get: func(name string) string {
		return map[string]string{"OPENAI_API_KEY": "one", "OTHER_KEY": "two"}[name]
	}, err: io.Discard}
	open := func(variable string) (suite.Config, error) {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		flags := addModelFlags(fs)
		var cfg suite.Config
		if _, err := parse(fs, []string{"--model-url", common, "--model", "a,search=b@" + other, "--model-key-env", other + "=" + variable}, env); err != nil {
			return cfg, err
		}
		return cfg, flags.models(&cfg, env)
	}
	cfg, err := open("OTHER_KEY")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*model.Traced{cfg.Model, cfg.Models[suite.Search]} {
		loop, err := agentloop.New(agentloop.Config{Model: m.Model})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = loop.Run(t.Context(), nil, "who are you?") // the endpoint refuses every key
	}
	if keys["common"] != "Bearer one" || keys["other"] != "Bearer two" {
		t.Errorf("the endpoints got %v", keys)
	}
	if _, err := open("NO_KEY"); err == nil || !strings.Contains(err.Error(), `model "b": NO_KEY is not set`) {
		t.Errorf("without the key: %v", err)
	}
}

func TestModelFlagsThatCannotHold(t *testing.T) {
	for want, args := range map[string][]string{
		`there is no specialist "shoes"; the specialists are: search, recommend, promotions, support`: {"--model", "a", "--model", "shoes=b"},
		"search= wants a value":        {"--model", "a,search="},
		"ANTHROPIC_API_KEY is not set": {"--model-url", "http://x", "--model", "a", "--fallback-model", "claude-x@anthropic"},
		"the specialist has no model of its own; give --model search=NAME": {"--model-url", "http://x", "--model", "a", "--model-price", "search=1/1 USD"},
	} {
		if _, err := modelsOf(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

func TestModelFlagsReachTheEndpoint(t *testing.T) {
	const thinking, effort = `"chat_template_kwargs":{"enable_thinking":false}`, `"reasoning_effort":"none"`
	for name, c := range map[string]struct {
		args          []string
		env           map[string]string
		both, neither string // in what the two models are sent
		fastOnly      string // in what the fast model is sent, and not the other
	}{
		"nothing said":                   {both: `"type":"json_schema"`, neither: "enable_thinking"},
		"a fast model with a switch":     {args: []string{"--fast-model", "qwen3-4b"}, fastOnly: thinking},
		"which is let to reason":         {args: []string{"--fast-model", "qwen3-4b", "--fast-model-reasoning"}, neither: thinking},
		"another switch":                 {env: map[string]string{"QUARTET_MODEL_REASONING_SWITCH": "effort_none"}, fastOnly: effort},
		"no stream":                      {args: []string{"--model-no-stream"}, both: `"stream":false`, neither: "stream_options"},
		"tools in the prompt":            {args: []string{"--model-tools", "text"}, both: `\u003ctool_call\u003e`, neither: `"tools":`},
		"a response format":              {args: []string{"--model-response-format", "json_object"}, both: `"type":"json_object"`, neither: `"json_schema"`},
		"a response format from outside": {env: map[string]string{"QUARTET_MODEL_RESPONSE_FORMAT": "none"}, both: "JSON Schema", neither: "response_format"},
	} {
		t.Run(name, func(t *testing.T) {
			var body string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				body = string(raw)
				w.WriteHeader(http.StatusBadRequest)
			}))
			defer srv.Close()
			env := environment{get: func(key string) string { return c.env[key] }, err: io.Discard}
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			flags := addModelFlags(fs)
			if _, err := parse(fs, append([]string{"--model-url", srv.URL, "--model", "m"}, c.args...), env); err != nil {
				t.Fatal(err)
			}
			var cfg suite.Config
			if err := flags.models(&cfg, env); err != nil {
				t.Fatal(err)
			}
			sent := func(m *model.Traced) string {
				req := &agentloop.Request{
					Messages: []agentloop.Message{{Role: agentloop.RoleUser, Text: "hi"}},
					Tools:    []agentloop.ToolSpec{{Name: "find", Parameters: []byte(`{"type":"object","properties":{}}`)}},
					Output:   &agentloop.OutputSchema{Name: "x", Schema: []byte(`{"type":"object"}`)},
				}
				for range m.Generate(t.Context(), req) { // refused
				}
				return body
			}
			answerer, fast := sent(cfg.Model), sent(cfg.FastModel)
			for _, got := range []string{answerer, fast} {
				if !strings.Contains(got, c.both) || c.neither != "" && strings.Contains(got, c.neither) {
					t.Errorf("sent %s, want %s and not %s", got, c.both, c.neither)
				}
			}
			if c.fastOnly != "" && (strings.Contains(answerer, c.fastOnly) || !strings.Contains(fast, c.fastOnly)) {
				t.Errorf("sent %s and %s, want %s in the second only", answerer, fast, c.fastOnly)
			}
		})
	}
}

// What the banner of the offline model says to set is enough for a real model.
func TestTheBannersWaysToARealModelWork(t *testing.T) {
	_, list, _ := strings.Cut(strings.TrimSuffix(offlineNote, ")"), "set ")
	ways := strings.Split(strings.ReplaceAll(strings.ReplaceAll(list, ", or ", ", "), "-...", "-x"), ", ")
	if len(ways) != 4 {
		t.Fatalf("ways %q", ways)
	}
	for _, way := range ways {
		set := map[string]string{}
		words := strings.Fields(strings.NewReplacer(" with ", " ", " URL ", " http://127.0.0.1:1/v1 ").Replace(way))
		if strings.HasSuffix(words[0], "_KEY") {
			set[words[0]], words = "x", words[1:]
		}
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		flags := addModelFlags(fs)
		if err := fs.Parse(words); err != nil {
			t.Fatal(err)
		}
		env := environment{get: func(k string) string { return set[k] }}
		if err := flags.models(&suite.Config{}, env); err != nil || !flags.real(env) {
			t.Errorf("%s: a real model answers: %v, error %v", way, flags.real(env), err)
		}
	}
}
