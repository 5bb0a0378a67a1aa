package e2e

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/replaytest"
	"github.com/quartet-commerce/quartet/services/suite"
)

// recordingSystem is a system with the demo stores that keeps turns in a folder.
func recordingSystem(t *testing.T, keep bundle.Keep) (h *system, dir string) {
	t.Helper()
	return recordingSystemWith(t, bundle.Config{Keep: keep}, newBrain(t))
}

func recordingSystemWith(t *testing.T, record bundle.Config, brain http.Handler) (h *system, dir string) {
	t.Helper()
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	dir = t.TempDir()
	h = newSystemWith(t, server.URL(), brain, func(cfg *suite.Config) {
		folder, err := bundle.NewFolder(dir, bundle.DefaultTTL, cfg.Logger)
		if err != nil {
			t.Fatal(err)
		}
		record.Storage, record.Settings, record.Logger = folder, cfg.TapeSettings(), cfg.Logger
		cfg.Tape = bundle.NewRecorder(record)
	})
	return h, dir
}

// askRecorded asks, and records the spans of the turn; not those of the replay after it.
func askRecorded(t *testing.T, h *system, ask *gatewayv1.AskRequest) *gatewayv1.AskResponse {
	t.Helper()
	defer h.cfg.Tape.(*bundle.Recorder).Watch()()
	reply, err := h.gateway.Ask(t.Context(), proto.CloneOf(ask))
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func bundleOf(dir string, reply *gatewayv1.AskResponse) string {
	return filepath.Join(dir, "store-demo", reply.GetTurnId()+".jsonl")
}

// Turns of every specialist, of several at once, of a guest, in German, and in a running conversation replay to the same reply, without
// the data of the store.
func TestARecordedTurnReplays(t *testing.T) {
	h, dir := recordingSystem(t, bundle.All)
	thread := ""
	for _, ask := range []*gatewayv1.AskRequest{
		{Message: "waterproof hiking boots under 150", CustomerId: "ava"},
		{Message: "Where is my order, and which code saves me most on my cart?", CustomerId: "ava"},
		{Message: "what goes with what is in my cart?", CustomerId: "ava"},
		{Message: "Can I return boots that I wore outside?"},
		{Message: "Zeig mir Zelte, und wie lange dauert der Versand?", Locale: "de"},
		{Message: "show me a headlamp", CustomerId: "ava"},
		{Message: "is the second one in stock?", CustomerId: "ava", ThreadId: "the last"},
	} {
		ask.StoreId = "demo"
		if ask.GetThreadId() != "" {
			ask.ThreadId = thread
		}
		reply := askRecorded(t, h, ask)
		thread = reply.GetThreadId()
		t.Run(ask.GetMessage(), func(t *testing.T) { checkReplay(t, bundleOf(dir, reply), reply) })
	}
}

// checkReplay checks that a recorded turn replays to its reply.
func checkReplay(t *testing.T, file string, reply *gatewayv1.AskResponse) {
	t.Helper()
	p, err := bundle.OpenFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := suite.Replay(t.Context(), p)
	if err != nil {
		t.Errorf("%v\n%s", err, strings.Join(p.Divergences(), "\n"))
		return
	}
	if all := p.Divergences(); len(all) > 0 {
		t.Error(strings.Join(all, "\n"))
	}
	if difference, err := bundle.Difference(reply, again); err != nil || difference != "" {
		t.Errorf("%v %s", err, difference)
	}
	if difference := p.SpanDifference(again); difference != "" {
		t.Error(difference)
	}
	if len(again.GetResults()) == 0 || again.GetText() == "" {
		t.Error("no reply")
	}
}

// A redacted turn holds no address or number of the shopper's, and replays.
func TestARedactedTurnReplays(t *testing.T) {
	h, dir := recordingSystemWith(t, bundle.Config{Keep: bundle.All, Redact: true}, newBrain(t))
	thread := ""
	for _, message := range []string{
		"My mail is ava.lindt@mail.example and my phone +49 171 5550123: where is my order, and do you have trail running shoes in size 42?",
		"I paid with 4111 1111 1111 1111. Can I return worn boots?",
	} {
		reply := askRecorded(t, h, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", ThreadId: thread, Message: message})
		thread = reply.GetThreadId()
		raw, err := os.ReadFile(bundleOf(dir, reply))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"ava.lindt", "5550123", "4111 1111"} {
			if strings.Contains(string(raw), secret) {
				t.Errorf("the bundle has %q", secret)
			}
		}
		p, err := bundle.OpenFile(bundleOf(dir, reply), nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := suite.Replay(t.Context(), p)
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(p.Divergences(), "\n"))
		}
		if again.GetText() != p.Reply.GetText() || len(p.Divergences()) > 0 { // the classifier's confidence is of the words
			t.Errorf("%q: %q, recorded %q; %s", message, again.GetText(), p.Reply.GetText(), strings.Join(p.Divergences(), "\n"))
		}
	}
}

// A bundle whose tool result was changed replays to a first divergence: the model call that reads the result.
func TestAReplaySaysWhatDivergesFirst(t *testing.T) {
	h, dir := recordingSystem(t, bundle.All)
	reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: "waterproof hiking boots under 150"})
	if err != nil {
		t.Fatal(err)
	}
	name := bundleOf(dir, reply)
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, `"tool":`) {
			line = strings.Replace(line, `"Result":{"products":[`, `"Result":{"products":["one more",`, 1)
		}
		changed = append(changed, line)
	}
	if err := os.WriteFile(name, []byte(strings.Join(changed, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := bundle.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = suite.Replay(t.Context(), p); err != nil {
		t.Log(err)
	}
	all := p.Divergences()
	if len(all) == 0 || !strings.HasPrefix(all[0], "search: model call") || !strings.Contains(all[0], "one more") {
		t.Errorf("divergences %q", all)
	}
}

// A span that the recorded turn had, and the replay has not, is named with its place on both sides.
func TestAReplayComparesSpans(t *testing.T) {
	h, dir := recordingSystem(t, bundle.All)
	name := bundleOf(dir, askRecorded(t, h, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: "waterproof hiking boots under 150"}))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(raw), `"Name":"execute_tool search_catalog"`, `"Name":"execute_tool rate_product"`, 1)
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := bundle.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := suite.Replay(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	const above = "invoke_workflow shopping_turn > invoke_agent search > invoke_agent search > execute_tool "
	got := p.SpanDifference(again)
	if !strings.Contains(got, "recorded "+above+"rate_product\n") || !strings.HasSuffix(got, "now      "+above+"search_catalog") {
		t.Errorf("difference %q", got)
	}
}

// With another prompt, the model call that reads it is the first divergence, and the tools answer as recorded, whichever model answers.
func TestAReplayWithAnotherPrompt(t *testing.T) {
	h, dir := recordingSystem(t, bundle.All)
	reply := askRecorded(t, h, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: "waterproof hiking boots under 150"})
	changed := func(live map[string]agentloop.Model) (*bundle.Player, []string) {
		t.Helper()
		p, err := bundle.OpenFile(bundleOf(dir, reply), nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Prompts, p.Live = map[string]string{"search": "You find products for {{.StoreName}}. Be very brief."}, live
		_, differences, err := suite.Compare(t.Context(), p)
		if err != nil || len(differences) == 0 {
			t.Fatalf("error %v, differences %q", err, differences)
		}
		return p, differences
	}
	p, differences := changed(nil)
	all := p.Divergences()
	if len(all) == 0 || !strings.HasPrefix(all[0], "search: model call, message 0\n  recorded ") || !strings.Contains(all[0], "Be very brief.") {
		t.Errorf("divergences %q", all)
	}
	if len(differences) != 1 {
		t.Errorf("with the recorded answers the reply differs: %q", differences)
	}
	var asked []string
	_, differences = changed(map[string]agentloop.Model{"search": scripted.Func(func(req *agentloop.Request) scripted.Step {
		last := req.Messages[len(req.Messages)-1]
		asked = append(asked, string(last.Role))
		if last.Role == agentloop.RoleTool {
			return scripted.Step{Text: "The Velloway Dale fits."}
		}
		call := reply.GetResults()[0].GetAnswer().GetToolCalls()[0]
		return scripted.Step{ToolCalls: []agentloop.ToolCall{{ID: "1", Name: call.GetToolName(), Arguments: call.GetArgumentsJson()}}}
	})})
	if !strings.Contains(differences[len(differences)-1], "The Velloway Dale fits.") || len(asked) != 2 {
		t.Errorf("the live model was asked after %q, and the differences are %q", asked, differences)
	}
}

// A tool that the deployment has added answers from the recording, where nothing has added it.
func TestAReplayHasTheToolsOfTheDeployment(t *testing.T) {
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	dir := t.TempDir()
	waiting := agentloop.NewTool("waiting_time", "How long a repair takes.", func(context.Context, struct{}) (map[string]int, error) {
		return map[string]int{"days": 17}, nil
	})
	answers := scripted.Func(func(req *agentloop.Request) scripted.Step {
		if req.Messages[len(req.Messages)-1].Role == agentloop.RoleTool {
			return scripted.Step{Text: "A repair takes 17 days."}
		}
		return scripted.Step{ToolCalls: []agentloop.ToolCall{{ID: "c1", Name: "waiting_time", Arguments: "{}"}}}
	})
	h := newSystemWith(t, server.URL(), newBrain(t), func(cfg *suite.Config) {
		cfg.Tools = map[string][]agentloop.Tool{suite.Support: {waiting}}
		cfg.Models, cfg.RulesOnly = map[string]*model.Traced{suite.Support: {Model: answers}}, true
		folder, err := bundle.NewFolder(dir, bundle.DefaultTTL, cfg.Logger)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Tape = bundle.NewRecorder(bundle.Config{Storage: folder, Keep: bundle.All, Settings: cfg.TapeSettings(), Logger: cfg.Logger})
	})
	reply := askRecorded(t, h, &gatewayv1.AskRequest{StoreId: "demo", Message: "Can I return boots that I wore outside?"})
	if !strings.Contains(reply.GetText(), "17 days") {
		t.Fatalf("the reply is %q", reply.GetText())
	}
	p, err := bundle.OpenFile(bundleOf(dir, reply), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, differences, err := suite.Compare(t.Context(), p); err != nil || len(differences) > 0 {
		t.Errorf("error %v, differences %q", err, differences)
	}
}

// A captured turn runs as a test.
func TestACapturedTurnRunsAsATest(t *testing.T) {
	h, dir := recordingSystem(t, bundle.All)
	reply := askRecorded(t, h, &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Message: twoParts})
	p, err := bundle.OpenFile(bundleOf(dir, reply), nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	if err := p.Write(&lines); err != nil {
		t.Fatal(err)
	}
	cases := t.TempDir()
	if err := os.WriteFile(filepath.Join(cases, "two parts.json"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	replaytest.Run(t, cases)
}

// With a thread, what Redis has recorded of its turns is deleted.
func TestADeletedThreadHasNoRecording(t *testing.T) {
	var storage bundle.Storage
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	h := newSystemWith(t, server.URL(), newBrain(t), func(cfg *suite.Config) {
		storage = bundle.NewRedis(cfg.Redis, bundle.DefaultTTL)
		cfg.Tape = bundle.NewRecorder(bundle.Config{Storage: storage, Keep: bundle.All, Logger: cfg.Logger})
	})
	reply := h.ask(t, "waterproof hiking boots under 150")
	turn := bundle.Turn{Store: "demo", ID: reply.GetTurnId()}
	if _, err := storage.Lines(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if _, err := h.gateway.DeleteThread(t.Context(), &gatewayv1.DeleteThreadRequest{StoreId: "demo", ThreadId: reply.GetThreadId(), CustomerId: "ava"}); err != nil {
		t.Fatal(err)
	}
	if lines, err := storage.Lines(t.Context(), turn); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// With failures, a turn that went well leaves nothing behind.
func TestOnlyFailuresAreKept(t *testing.T) {
	h, dir := recordingSystem(t, bundle.Failures)
	reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "waterproof hiking boots under 150"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bundleOf(dir, reply)); !os.IsNotExist(err) {
		t.Errorf("bundle of a good turn: %v", err)
	}
}

// Six processes and a second gateway keep the turns of a thread in Redis; the command finds them there by their ids.
func TestProcessesRecordInRedis(t *testing.T) {
	server, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	p := startProcesses(t, processConfig{redis: server.URL(), env: []string{"QUARTET_RECORD=all"}})
	const second = "second gateway"
	p.addr[second] = redistest.FreeAddr(t)
	p.startAs(second, suite.Gateway)
	p.awaitServing(second)
	p.loadDemo()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	thread, last := "", ""
	for _, c := range []struct{ gateway, message string }{
		{suite.Gateway, twoParts}, {second, "is the second one waterproof?"},
	} {
		reply, err := gatewayv1.NewGatewayServiceClient(p.dial(c.gateway)).Ask(ctx, &gatewayv1.AskRequest{
			StoreId: "demo", CustomerId: "ava", ThreadId: thread, Message: c.message,
		})
		if err != nil {
			t.Fatal(err)
		}
		thread = reply.GetThreadId()
		replay := exec.CommandContext(ctx, p.program, "replay", reply.GetTurnId())
		replay.Env = p.env
		out, err := replay.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "the same reply and spans as recorded") {
			t.Errorf("%q: %v\n%s", c.message, err, out)
		}
		last = reply.GetTurnId()
	}
	made, err := gatewayv1.NewPromptServiceClient(p.dial(suite.Gateway)).CreatePromptVersion(ctx, &gatewayv1.CreatePromptVersionRequest{
		StoreId: "demo", Agent: "search", Version: &gatewayv1.PromptVersion{Text: "Be very brief."},
	})
	if err != nil {
		t.Fatal(err)
	}
	replay := exec.CommandContext(ctx, p.program, "replay", "--addr="+p.addr[suite.Gateway], "--set=prompt=search@"+made.GetVersion().GetVersion(), last)
	replay.Env = p.env
	if out, err := replay.CombinedOutput(); err == nil || !strings.Contains(string(out), "Be very brief.") {
		t.Errorf("with another version of the prompt: %v\n%s", err, out)
	}
}
