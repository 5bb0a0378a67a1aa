package e2e

import (
	"bufio"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/load"
)

//go:embed testdata/standin
var standinFiles embed.FS

var showScenarios = flag.String("scenarios", "", "print the replies that miss in this half: seen, held or both")

// scenario is a line of a file of scenarios.
type scenario struct {
	store, customer string
	messages        []string
	wants, bans     []string
}

func scenarios(t *testing.T, name string) []scenario {
	t.Helper()
	f, err := standinFiles.Open("testdata/standin/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []scenario
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, checks, ok := strings.Cut(line, " => ")
		who, messages, ok2 := strings.Cut(head, ": ")
		store, customer, ok3 := strings.Cut(who, " ")
		if !ok || !ok2 || !ok3 {
			t.Fatalf("not a scenario: %s", line)
		}
		s := scenario{store: store, customer: strings.TrimPrefix(customer, "-"), messages: strings.Split(messages, " >> ")}
		for c := range strings.SplitSeq(checks, ";") {
			if c = strings.ToLower(strings.TrimSpace(c)); strings.HasPrefix(c, "!") {
				s.bans = append(s.bans, c[1:])
			} else {
				s.wants = append(s.wants, c)
			}
		}
		out = append(out, s)
	}
	return out
}

// judge returns the wants that a reply lacks, and what it says although it must not.
func (s scenario) judge(reply string) (misses, bans []string) {
	reply = strings.ToLower(reply)
	for _, want := range s.wants {
		if !containsAny(reply, strings.Split(want, "|")...) {
			misses = append(misses, want)
		}
	}
	for _, ban := range s.bans {
		if strings.Contains(reply, ban) {
			bans = append(bans, ban)
		}
	}
	return misses, bans
}

// The offline model answers most everyday messages in three stores of different trades, and none absurdly: with an order,
// a price or a promise that was not asked for.
func TestEverydayMessagesToTheOfflineModel(t *testing.T) {
	h := newSystem(t)
	files, err := fs.Sub(standinFiles, "testdata/standin")
	if err != nil {
		t.Fatal(err)
	}
	sets, err := demo.Read(files, h.cfg.Time())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if err := load.Demo(t.Context(), h.data, set); err != nil {
			t.Fatal(err)
		}
	}
	for _, half := range []string{"seen", "held"} {
		type figure struct{ right, absurd, all int }
		figures := map[string]*figure{}
		for i, s := range scenarios(t, half) {
			f := figures[s.store]
			if f == nil {
				f = &figure{}
				figures[s.store] = f
			}
			f.all++
			thread := ""
			if len(s.messages) > 1 {
				thread = fmt.Sprint(half, i)
			}
			var reply *gatewayv1.AskResponse
			for _, m := range s.messages {
				if reply, err = h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: s.store, CustomerId: s.customer, ThreadId: thread, Message: m}); err != nil {
					t.Fatalf("%s: %v", m, err)
				}
			}
			misses, bans := s.judge(reply.GetText())
			if len(bans) > 0 {
				f.absurd++
			} else if len(misses) == 0 {
				f.right++
			}
			if len(misses)+len(bans) > 0 && (*showScenarios == half || *showScenarios == "both") {
				t.Logf("%s %s: %s\nlacks %q, says %q:\n%s\n", s.store, s.customer, s.messages, misses, bans, reply.GetText())
				for _, r := range reply.GetResults() {
					t.Log(r.GetAssignment().GetSpecialist(), r.GetAnswer().GetToolCalls())
				}
			}
		}
		for store, f := range figures {
			// The floors leave room for a message or two that a change to search or routing moves.
			if 100*f.right < 85*f.all {
				t.Errorf("%s, %s: %d of %d are right, want 85 %%", store, half, f.right, f.all)
			}
			if f.absurd > 0 {
				t.Errorf("%s, %s: %d replies are absurd", store, half, f.absurd)
			}
			t.Logf("%s, %s: %d of %d right, %d absurd", store, half, f.right, f.all, f.absurd)
		}
	}
}
