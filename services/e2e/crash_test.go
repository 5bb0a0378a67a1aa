package e2e

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/redistest"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/suite"
)

// crashSetup is the six services as processes on a real Redis, with a model that holds calls.
type crashSetup struct {
	*processes
	model *blockingModel
	redis redis.UniversalClient
}

func startCrashSetup(t *testing.T, url string) *crashSetup {
	t.Helper()
	client, err := state.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	c := &crashSetup{model: newBlockingModel(newBrain(t)), redis: client}
	c.processes = startProcesses(t, processConfig{redis: url, model: c.model, env: []string{"QUARTET_LEASE=1s"}})
	c.loadDemo()
	return c
}

// awaitAnswers waits until the journal of a request of ask holds that many answers of specialists: the journal is written in the
// background.
func (c *crashSetup) awaitAnswers(id string, want int) {
	c.t.Helper()
	redistest.Eventually(c.t, func() error {
		var fields []string
		keys, err := c.redis.Keys(c.t.Context(), "quartet:{demo*:thread:thread-"+id+":request:*/"+id).Result()
		if err == nil && len(keys) == 1 {
			fields, err = c.redis.HKeys(c.t.Context(), keys[0]).Result()
		}
		kept := slices.DeleteFunc(fields, func(f string) bool { return !strings.HasPrefix(f, "answer") })
		if err == nil && len(kept) < want {
			err = fmt.Errorf("the journal has %d answers, want %d", len(kept), want)
		}
		return err
	})
}

// restart serves again as name after a kill.
func (c *crashSetup) restart(name string) {
	c.t.Helper()
	c.startAs(name, suite.Gateway)
	c.awaitServing(name)
}

func (c *crashSetup) client(name string) gatewayv1.GatewayServiceClient {
	return gatewayv1.NewGatewayServiceClient(c.dial(name))
}

// secondGateway serves on the same Redis as the first.
const secondGateway = "second gateway"

func (c *crashSetup) startSecondGateway() {
	c.t.Helper()
	c.addr[secondGateway] = redistest.FreeAddr(c.t)
	c.restart(secondGateway)
}

// dieMerging asks a gateway, and kills it when all answers are in the journal.
func (c *crashSetup) dieMerging(name, id string) {
	c.t.Helper()
	held, release := c.model.set(func(caller string, _ int) bool { return caller == "merge" })
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, _ = c.ask(name, id) // fails with the gateway
	}()
	<-held
	c.awaitAnswers(id, 2)
	c.kill(name)
	release()
	c.model.set(nil)
	<-first
}

// ask sends a message of two parts under a request's id.
func (c *crashSetup) ask(name, id string) (*gatewayv1.AskResponse, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), startTimeout)
	defer cancel()
	return c.client(name).Ask(ctx, &gatewayv1.AskRequest{StoreId: "demo", RequestId: id, ThreadId: "thread-" + id, Message: twoParts})
}

// wantOnce wants a whole reply, and the message in its thread once.
func (c *crashSetup) wantOnce(reply *gatewayv1.AskResponse, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range reply.GetResults() {
		if r.GetFailure() != nil {
			c.t.Errorf("%s failed: %v", r.GetAssignment().GetSpecialist(), r.GetFailure())
		}
	}
	thread, err := c.client(suite.Gateway).GetThread(c.t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: reply.GetThreadId()})
	if err != nil {
		c.t.Fatal(err)
	}
	if m := thread.GetMessages(); len(m) != 2 || m[1].GetText() != reply.GetText() || len(thread.GetTurnIds()) != 1 {
		c.t.Errorf("the thread holds %v of turns %v", m, thread.GetTurnIds())
	}
}

// The gateway is killed at every stage of a turn. The same request, sent to its successor, is answered; what was done
// before is not done again.
func TestAGatewayKilledAtAnyStageIsResumed(t *testing.T) {
	c := startCrashSetup(t, redistest.Single(t))
	stages := []struct {
		name  string
		hold  func(caller string, nth int) bool
		holds int      // calls to wait for before the kill
		kept  int      // answers in the journal then
		done  []string // who must not ask a model again
	}{
		{"both specialists at work", func(caller string, nth int) bool { return nth == 1 && (caller == "search" || caller == "support") }, 2, 0, nil},
		{"one specialist done", func(caller string, _ int) bool { return caller == "support" }, 1, 1, []string{"search"}},
		{"merging", func(caller string, _ int) bool { return caller == "merge" }, 1, 2, []string{"search", "support"}},
		{"replied", nil, 0, 0, []string{"search", "support", "merge", "router"}},
	}
	for i, tt := range stages {
		t.Run(tt.name, func(t *testing.T) {
			id := fmt.Sprintf("kill-%d", i)
			held, release := c.model.set(tt.hold)
			first := make(chan *gatewayv1.AskResponse, 1)
			go func() {
				reply, _ := c.ask(suite.Gateway, id) // fails with the gateway, save at the last stage
				first <- reply
			}()
			for range tt.holds {
				<-held
			}
			var before *gatewayv1.AskResponse
			if tt.holds == 0 {
				before = <-first
			}
			c.awaitAnswers(id, tt.kept)
			c.kill(suite.Gateway)
			release()
			c.model.set(nil)
			c.restart(suite.Gateway)
			reply, err := c.ask(suite.Gateway, id)
			c.wantOnce(reply, err)
			for _, caller := range tt.done {
				if n := c.model.count(caller); n != 0 {
					t.Errorf("%s asked its model %d times again", caller, n)
				}
			}
			if before != nil && before.GetTurnId() != reply.GetTurnId() {
				t.Errorf("turn %s became %s", before.GetTurnId(), reply.GetTurnId())
			}
			if before == nil {
				<-first
			}
		})
	}
}

// A gateway stands still for longer than its lease while another takes its turn over. When it wakes, it must not finish it.
func TestAGatewayThatStoodStillDoesNotFinishWhatAnotherTookOver(t *testing.T) {
	c := startCrashSetup(t, redistest.Single(t))
	c.startSecondGateway()
	held, release := c.model.set(func(caller string, nth int) bool { return caller == "merge" && nth == 1 })
	type outcome struct {
		reply *gatewayv1.AskResponse
		err   error
	}
	first := make(chan outcome, 1)
	go func() {
		reply, err := c.ask(suite.Gateway, "pause")
		first <- outcome{reply, err}
	}()
	<-held
	paused := c.running[suite.Gateway].cmd.Process
	if err := paused.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	reply, err := c.ask(secondGateway, "pause")
	release()
	if err := paused.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.wantOnce(reply, err)
	switch got := <-first; {
	case got.err == nil && got.reply.GetTurnId() == reply.GetTurnId() && got.reply.GetText() == reply.GetText():
	case status.Code(got.err) == codes.Aborted:
	default:
		t.Errorf("the gateway that stood still said %v, %v", got.reply.GetTurnId(), got.err)
	}
	c.wantOnce(reply, nil)
}

// Many callers send the same request to two gateways at once: the work is done once, and all get the same turn.
func TestTwoGatewaysDoOneRequestOnce(t *testing.T) {
	c := startCrashSetup(t, redistest.Single(t))
	c.startSecondGateway()
	c.model.set(nil)
	const callers = 20
	replies := make([]*gatewayv1.AskResponse, callers)
	var group errgroup.Group
	for i := range callers {
		group.Go(func() (err error) {
			replies[i], err = c.ask([]string{suite.Gateway, secondGateway}[i%2], "once")
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range replies {
		if r.GetTurnId() != replies[0].GetTurnId() || r.GetText() != replies[0].GetText() {
			t.Errorf("turns %s and %s", r.GetTurnId(), replies[0].GetTurnId())
		}
	}
	c.wantOnce(replies[0], nil)
	if n := c.model.count("merge"); n != 1 {
		t.Errorf("the reply was worded %d times", n)
	}
}

// Redis goes away in the midst of a turn.
func TestATurnOutlivesItsRedis(t *testing.T) {
	tests := []struct {
		name  string
		start func(t testing.TB) (url string, lose func())
	}{
		{"killed and started again with its data", func(t testing.TB) (string, func()) {
			addr, dir := redistest.FreeAddr(t), t.TempDir()
			kept := []string{"--appendonly", "yes", "--appendfsync", "always", "--dir", dir}
			kill := redistest.Start(t, addr, kept...)
			return "redis://" + addr, func() { kill(); redistest.Start(t, addr, kept...) }
		}},
		{"killed, and its replica made the first by Sentinel", redistest.Sentinel},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, lose := tt.start(t)
			c := startCrashSetup(t, url)
			held, release := c.model.set(func(caller string, nth int) bool { return caller == "merge" && nth == 1 })
			id := fmt.Sprintf("redis-%d", i)
			done := make(chan error, 1)
			go func() {
				_, err := c.ask(suite.Gateway, id)
				done <- err
			}()
			<-held
			lose()
			release()
			if err := <-done; err != nil && status.Code(err) != codes.Aborted && status.Code(err) != codes.Unavailable {
				t.Errorf("in the midst of it: %v", err)
			}
			var reply *gatewayv1.AskResponse
			redistest.Eventually(t, func() (err error) {
				reply, err = c.ask(suite.Gateway, id)
				return err
			})
			c.wantOnce(reply, nil)
		})
	}
}

var release = flag.String("release", "", "the program of another release, which serves beside this one")

// A roll-out puts gateways of two releases on one Redis. What one has begun, the other finishes; both continue the same thread, and read
// the turns of the other.
func TestAGatewayOfAnotherReleaseResumes(t *testing.T) {
	if *release == "" {
		t.Skip("-release names no program")
	}
	c := startCrashSetup(t, redistest.Single(t))
	this := c.program
	const other = "gateway of another release"
	c.addr[other] = redistest.FreeAddr(t)
	c.program = *release
	c.restart(other)
	for _, pair := range [][2]string{{other, suite.Gateway}, {suite.Gateway, other}} {
		begins, finishes := pair[0], pair[1]
		t.Run(begins+" begins", func(t *testing.T) {
			id := fmt.Sprintf("release-%d", len(begins))
			c.dieMerging(begins, id)
			reply, err := c.ask(finishes, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, caller := range []string{"search", "support", "router"} {
				if n := c.model.count(caller); n != 0 {
					t.Errorf("%s asked its model %d times again", caller, n)
				}
			}
			c.program = map[bool]string{true: *release, false: this}[begins == other]
			c.startAs(begins, suite.Gateway)
			c.awaitServing(begins)
			got, err := c.client(begins).GetTurn(t.Context(), &gatewayv1.GetTurnRequest{StoreId: "demo", TurnId: reply.GetTurnId()})
			if err != nil || got.GetTurn().GetText() != reply.GetText() {
				t.Errorf("the turn is %v, %v", got, err)
			}
			next, err := c.client(begins).Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", ThreadId: reply.GetThreadId(), Message: "and in blue?"})
			if err != nil || next.GetThreadId() != reply.GetThreadId() {
				t.Errorf("the thread goes on with %v, %v", next, err)
			}
		})
	}
}
