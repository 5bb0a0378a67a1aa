package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/publicdata"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// replayed sends the recorded messages of a class of models to the demo stores, and returns what became of them.
func replayed(t *testing.T, class string, ahead gateway.RunAhead, tune ...func(*suite.Config)) []bundle.Outcome {
	t.Helper()
	recording, err := bundle.ReadRecording(os.DirFS(filepath.Dir(publicdata.Path(t, "llm/"+class+"/messages.jsonl"))))
	if err != nil {
		t.Fatal(err)
	}
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := redisServer.Close(); err != nil {
			t.Error(err)
		}
	})
	m := &bundle.RecordedModel{}
	h := newSystemWith(t, redisServer.URL(), newBrain(t), func(cfg *suite.Config) {
		cfg.Model, cfg.FastModel, cfg.Now = &model.Traced{Model: m}, &model.Traced{Model: m}, recording.Clock()
		cfg.Gateway.RunAhead = ahead
		for _, change := range tune {
			change(cfg)
		}
	})
	outcomes, err := recording.Run(t.Context(), h.gateway, m)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

var dayLine = regexp.MustCompile(`Today is \w+day, \d+ \w+ 2026 \(\w+(?:/\w+)?\)\.`)

func TestEveryPromptNamesTheDayAndItsZone(t *testing.T) {
	if racedetector.On {
		t.Skip("one turn after another, as in TestRecordedMessages, and minutes under the race detector")
	}
	for _, o := range replayed(t, "strong", gateway.RunAheadOff) {
		for _, call := range o.Calls {
			named := slices.ContainsFunc(call.Request.Messages, func(m agentloop.Message) bool {
				return dayLine.MatchString(m.Text)
			})
			if !named {
				t.Errorf("message %s: a prompt of %s does not name the day", o.ID, call.Service)
			}
		}
	}
}

// TestRecordedMessages sends every recorded message to today's services, which get the recorded answers of the model.
func TestRecordedMessages(t *testing.T) {
	for _, class := range []string{"strong", "weak"} {
		t.Run(class, func(t *testing.T) {
			missed, calls := 0, 0
			for _, o := range replayed(t, class, gateway.RunAheadAlways) {
				calls += len(o.Calls)
				missed += len(o.Missed)
				if o.Err != nil && len(o.Missed) > 0 { // it is routed in another way than when it was recorded
					t.Logf("message %s: %v; missed %q", o.ID, o.Err, o.Missed)
					continue
				}
				if o.Err != nil {
					t.Errorf("message %s: %v", o.ID, o.Err)
					continue
				}
				t.Logf("%s %-6s %.2f (was %.2f) %s\n  %s\n  actions %v\n  missed %q", o.ID, o.Label, o.Now.GetConfidence(), o.Reply.GetConfidence(),
					o.Now.GetMergeMethod(), strings.ReplaceAll(o.Now.GetText(), "\n", "\n  "), o.Now.GetSuggestedActions(), o.Missed)
				if n := len(o.Now.GetSuggestedActions()); n > 4 {
					t.Errorf("message %s: %d actions", o.ID, n)
				}
				if class == "strong" && o.ID == "23" && len(o.Now.GetSuggestedActions()) > 0 {
					t.Errorf("message %s: the tent is on its way to the shopper, and offered again: %v", o.ID, o.Now.GetSuggestedActions())
				}
				if fault := unnamed(o.Now); fault != "" {
					t.Errorf("message %s: the text does not name what an action is about: %s", o.ID, fault)
				}
			}
			t.Logf("%d of %d model calls are not in the recording", missed, calls)
			if missed*10 > calls {
				t.Errorf("%d of %d model calls are not in the recording", missed, calls)
			}
		})
	}
}

// TestRecordedMessagesAsBundles records the turns of the recorded messages, and replays each as it was, without the demo stores.
func TestRecordedMessagesAsBundles(t *testing.T) {
	if racedetector.On {
		t.Skip("one turn after another, as in TestRecordedMessages, and minutes under the race detector")
	}
	for _, class := range []string{"strong", "weak"} {
		t.Run(class, func(t *testing.T) {
			dir, stop := t.TempDir(), func() {}
			outcomes := replayed(t, class, gateway.RunAheadOff, func(cfg *suite.Config) {
				folder, err := bundle.NewFolder(dir, bundle.DefaultTTL, cfg.Logger)
				if err != nil {
					t.Fatal(err)
				}
				r := bundle.NewRecorder(bundle.Config{Storage: folder, Keep: bundle.All, Settings: cfg.TapeSettings(), Logger: cfg.Logger})
				cfg.Tape, stop = r, r.Watch()
			})
			stop() // the spans of the replays are not for the folder
			for _, o := range outcomes {
				if o.Err != nil { // see TestRecordedMessages
					continue
				}
				p, err := bundle.OpenFile(filepath.Join(dir, "store-"+o.Ask.GetStoreId(), o.Now.GetTurnId()+".jsonl"), nil)
				if err != nil {
					t.Fatal(err)
				}
				_, differences, err := suite.Compare(t.Context(), p)
				if err != nil || len(differences) > 0 {
					t.Errorf("message %s: %v %s", o.ID, err, strings.Join(differences, "\n"))
				}
			}
		})
	}
}

// unnamed returns a suggested action whose product or code the text does not name, or "". A second promotion counts too.
func unnamed(reply *gatewayv1.AskResponse) string {
	promotions := 0
	for _, a := range reply.GetSuggestedActions() {
		named := true
		switch {
		case a.GetAddToCart() != nil:
			named = slices.Contains(productsOf(reply), a.GetAddToCart().GetProductId())
		case a.GetApplyPromotion() != nil:
			promotions++
			named = promotions == 1 && strings.Contains(reply.GetText(), a.GetApplyPromotion().GetCode())
		}
		if !named {
			return a.String()
		}
	}
	return ""
}
