package gateway

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/fanout"
	"github.com/quartet-commerce/quartet/services/internal/rpc"
)

// faultDeadline is the deadline of every message of the matrix, and slowness what "slow" adds to a call.
const (
	faultDeadline = 20 * time.Second
	slowness      = 3 * time.Second
)

// Tokens that every answer of a specialist and every merge use.
const (
	answerTokens = 15
	mergeTokens  = 20
)

// messages of one, two and four assignments.
var faultMessages = [3]string{
	"search: tents",
	"search: tents | support: returns",
	"search: tents | recommend: socks | promotions: codes | support: returns",
}

// faultRow is one part of a turn in one kind of trouble, and what becomes of messages of one, two and four assignments.
type faultRow struct {
	part, fault string
	// begin brings the trouble about; the returned function ends it.
	begin func(h *fixture) (end func())
}

// faultsPage has what is expected in each cell; docs/faults.md sums it up.
const faultsPage = "testdata/faults.md"

var update = flag.Bool("update", false, "write what was seen into the tables of the documentation; read the difference before you keep it")

// TestFaults walks the matrix: for every part of a turn and every kind of trouble, what becomes of the message, how long it
// takes, what it costs and what the thread holds. Then the trouble ends, and the same request is sent again.
func TestFaults(t *testing.T) {
	page, err := os.ReadFile(faultsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, after := outsideTable(t, string(page))
	want := string(page)[len(before) : len(page)-len(after)]
	var got strings.Builder
	var sound [len(faultMessages)]string // the cells of the first row, which has no trouble
	for at, row := range append([]faultRow{{part: "none", fault: "none", begin: func(*fixture) func() { return func() {} }}}, faultRows()...) {
		fmt.Fprintf(&got, "| %s | %s |", row.part, row.fault)
		for i, message := range faultMessages {
			t.Run(fmt.Sprintf("%s/%s/%d", row.part, row.fault, 1<<i), func(t *testing.T) {
				redis := miniredis.RunT(t)
				synctest.Test(t, func(t *testing.T) {
					h := newFixture(t, redis)
					cell := h.faultCell(message, row.begin)
					if at == 0 {
						sound[i] = cell
					} else if cell == sound[i] {
						cell = "="
					}
					fmt.Fprintf(&got, " %s |", cell)
				})
			})
		}
		got.WriteString("\n")
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(faultsPage, []byte(before+got.String()+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("the outcomes are not those of %s (-page +seen):\n%s", faultsPage, diff)
	}
}

// outsideTable returns what stands before the rows of the page's only table, and behind them.
func outsideTable(t *testing.T, page string) (before, after string) {
	t.Helper()
	const ruler = "|---|---|---|---|---|\n"
	start := strings.Index(page, ruler) + len(ruler)
	end := strings.Index(page[start:], "\n\n") + 1
	if start < len(ruler) || end == 0 {
		t.Fatalf("%s has no table", faultsPage)
	}
	return page[:start], page[start+end:]
}

// faultCell asks in the midst of a fault and afterwards, checks what must hold in every cell, and returns what is the
// cell's own.
func (h *fixture) faultCell(message string, begin func(h *fixture) (end func())) string {
	h.t.Helper()
	h.config.Model = &sectionsModel{}
	h.start()
	for _, s := range h.specialists {
		s.answer = s.priced
	}
	h.ask(faultMessages[2]) // so that all have described themselves
	end := begin(h)
	req := &gatewayv1.AskRequest{StoreId: "demo", ThreadId: "t1", RequestId: "r1", Message: message}
	ctx, cancel := context.WithTimeout(h.t.Context(), faultDeadline)
	defer cancel()
	begun := time.Now()
	events, err := h.askStream(ctx, req)
	took := time.Since(begun)
	if took >= faultDeadline && status.Code(err).String() != "DeadlineExceeded" {
		h.t.Errorf("answered after the deadline: %v, %v", took, err)
	}
	text, reply := textOf(events)
	if (reply == nil) == (err == nil) {
		h.t.Errorf("reply %v beside error %v", reply, err)
	}
	cell := cellOf(reply, err, took)
	if reply != nil {
		h.checkReply(reply, message, text)
	}
	end()
	h.checkRetry(req, reply)
	return cell
}

// cellOf says what became of a message.
func cellOf(reply *gatewayv1.AskResponse, err error, took time.Duration) string {
	when := "at once"
	if s := took.Round(time.Second); s > 0 {
		when = fmt.Sprintf("%.0f s", s.Seconds())
	}
	if err != nil {
		return fmt.Sprintf("%s %s · %s", fanout.Result{Err: err}.Proto().GetFailure().GetCode(), rpc.Reason(status.Convert(err)), when)
	}
	var parts []string
	usual := int64(0)
	for _, r := range reply.GetResults() {
		part := r.GetAssignment().GetSpecialist()
		if r.GetAnswer() != nil {
			usual += answerTokens
		}
		if f := r.GetFailure(); f != nil {
			part += " " + f.GetCode()
		} else if r.GetAnswer().GetFinishReason() == specialistv1.FinishReason_FINISH_REASON_DEADLINE {
			part += " cut"
		}
		parts = append(parts, part)
	}
	method := strings.ToLower(strings.TrimPrefix(reply.GetMergeMethod().String(), "MERGE_METHOD_"))
	if reply.GetMergeMethod() == gatewayv1.MergeMethod_MERGE_METHOD_MODEL {
		usual += mergeTokens
	}
	cell := fmt.Sprintf("%s · %s · %s", strings.Join(parts, ", "), strings.ReplaceAll(method, "_", " "), when)
	if used := reply.GetUsage().GetInputTokens() + reply.GetUsage().GetOutputTokens(); used != usual {
		cell += fmt.Sprintf(" · %d tokens", used)
	}
	return cell
}

// checkReply checks what holds of every reply: pieces that add up, a status for each assignment, and every sub-query either
// answered or named.
func (h *fixture) checkReply(reply *gatewayv1.AskResponse, message, streamed string) {
	h.t.Helper()
	if streamed != reply.GetText() || strings.TrimSpace(streamed) == "" {
		h.t.Errorf("streamed %q, replied %q", streamed, reply.GetText())
	}
	if len(reply.GetResults()) == 0 || len(reply.GetResults()) != len(reply.GetRouting().GetAssignments()) {
		h.t.Errorf("%d results for %d assignments", len(reply.GetResults()), len(reply.GetRouting().GetAssignments()))
	}
	for _, r := range reply.GetResults() {
		if (r.GetAnswer() == nil) == (r.GetFailure() == nil) {
			h.t.Errorf("assignment %s has neither an answer nor a failure, or both", r.GetAssignment().GetAssignmentId())
		}
		if q := r.GetAssignment().GetSubQuery(); !strings.Contains(reply.GetText(), q) {
			h.t.Errorf("%q is neither answered nor named in %q", q, reply.GetText())
		}
	}
	if failed := strings.Contains(fmt.Sprint(reply.GetResults()), "failure"); failed && !reply.GetHandoff().GetRecommended() {
		h.t.Errorf("no person is recommended although a part of %q failed", message)
	}
}

// checkRetry sends the request again in a sound gateway. What was replied is replied again; what was not, is answered now; and
// the thread has the message once.
func (h *fixture) checkRetry(req *gatewayv1.AskRequest, first *gatewayv1.AskResponse) {
	h.t.Helper()
	again, err := h.client.Ask(h.t.Context(), req)
	if err != nil {
		h.t.Fatalf("the same request afterwards: %v", err)
	}
	if first != nil && (again.GetTurnId() != first.GetTurnId() || again.GetText() != first.GetText()) {
		h.t.Errorf("the same request gave %q first and %q afterwards", first.GetText(), again.GetText())
	}
	thread, err := h.thread("t1")
	if err != nil {
		h.t.Fatal(err)
	}
	if m := thread.GetMessages(); len(m) != 2 || m[0].GetText() != req.GetMessage() || m[1].GetText() != again.GetText() {
		h.t.Errorf("the thread holds %v", m)
	}
	if n := len(thread.GetTurnIds()); n != 1 {
		h.t.Errorf("the thread has %d turns", n)
	}
}
