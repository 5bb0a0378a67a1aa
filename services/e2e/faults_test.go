package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

// faultsPage says what becomes of a message while the model endpoint fails, row by row.
const faultsPage = "testdata/faults.md"

var update = flag.Bool("update", false, "write what was seen into the table of the documentation; read the difference before you keep it")

// endpointDeadline is the deadline of each message: time is real here.
const endpointDeadline = 5 * time.Second

// faultMessages have one, two and four parts.
var faultMessages = []string{
	"Do you have trail running shoes in size 42?",
	twoParts,
	"Do you have trail running shoes in size 42, what goes with what is in my cart, which discount codes can I use, and what is your return policy?",
}

// endpointFaults are the ways in which a model endpoint fails, for all models at once.
var endpointFaults = []struct {
	name string
	do   func(g *blockingModel, w http.ResponseWriter, r *http.Request)
}{
	{"down", func(_ *blockingModel, _ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }},
	{"hangs", func(_ *blockingModel, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	{"slow", func(g *blockingModel, w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(200 * time.Millisecond): // of real time, as everything here
			g.model.ServeHTTP(w, r)
		}
	}},
	{"429", func(_ *blockingModel, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
	}},
	{"500", func(_ *blockingModel, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"oops"}}`, http.StatusInternalServerError)
	}},
	{"garbage", func(_ *blockingModel, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>It works!</html>"))
	}},
	{"dies midway", func(_ *blockingModel, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"We have "}}]}` + "\n\n"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}},
}

// TestFaultsOfTheModelEndpoint lets the endpoint of all models fail in every way. A reply comes before the deadline, says what
// is missing, and the thread holds the message once after the same request was sent again.
func TestFaultsOfTheModelEndpoint(t *testing.T) {
	redisServer, err := state.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	g := newBlockingModel(newBrain(t))
	h := newSystemWith(t, redisServer.URL(), g)
	var got strings.Builder
	for _, f := range endpointFaults {
		fmt.Fprintf(&got, "| %s |", f.name)
		for i, message := range faultMessages {
			t.Run(fmt.Sprintf("%s/%d", f.name, 1<<i), func(t *testing.T) {
				g.setFault(func(w http.ResponseWriter, r *http.Request) { f.do(g, w, r) })
				req := &gatewayv1.AskRequest{
					StoreId: "demo", CustomerId: "ava", Message: message, RequestId: fmt.Sprintf("r-%s-%d", strings.ReplaceAll(f.name, " ", "-"), i),
				}
				req.ThreadId = req.GetRequestId()
				ctx, cancel := context.WithTimeout(t.Context(), endpointDeadline)
				defer cancel()
				reply, err := h.gateway.Ask(ctx, req)
				fmt.Fprintf(&got, " %s |", endpointCell(reply, err))
				g.setFault(nil)
				h.checkAgain(t, req, reply)
			})
		}
		got.WriteString("\n")
	}
	checkFaultsPage(t, got.String())
}

// endpointCell says what became of a message.
func endpointCell(reply *gatewayv1.AskResponse, err error) string {
	if err != nil {
		reason := ""
		for _, d := range status.Convert(err).Details() {
			if info, ok := d.(*errdetails.ErrorInfo); ok {
				reason = info.GetReason()
			}
		}
		return fmt.Sprintf("%s %s", code.Code(status.Code(err)), reason)
	}
	var parts []string
	for _, r := range reply.GetResults() {
		parts = append(parts, strings.TrimSpace(r.GetAssignment().GetSpecialist()+" "+r.GetFailure().GetCode()))
	}
	method := strings.ToLower(strings.TrimPrefix(reply.GetMergeMethod().String(), "MERGE_METHOD_"))
	return strings.Join(parts, ", ") + " · " + strings.ReplaceAll(method, "_", " ")
}

// checkAgain sends a request again once the endpoint is sound.
func (h *system) checkAgain(t *testing.T, req *gatewayv1.AskRequest, first *gatewayv1.AskResponse) {
	t.Helper()
	again, err := h.gateway.Ask(t.Context(), req)
	if err != nil {
		t.Fatalf("the same request afterwards: %v", err)
	}
	if first != nil && first.GetTurnId() != again.GetTurnId() {
		t.Errorf("turn %s became %s", first.GetTurnId(), again.GetTurnId())
	}
	thread, err := h.gateway.GetThread(t.Context(), &gatewayv1.GetThreadRequest{StoreId: "demo", ThreadId: req.GetThreadId()})
	if err != nil || len(thread.GetMessages()) != 2 || thread.GetMessages()[1].GetText() != again.GetText() {
		t.Errorf("the thread holds %v, %v", thread.GetMessages(), err)
	}
}

// checkFaultsPage compares rows with those of the page's last table, or writes them there.
func checkFaultsPage(t *testing.T, rows string) {
	t.Helper()
	raw, err := os.ReadFile(faultsPage)
	if err != nil {
		t.Fatal(err)
	}
	const ruler = "|---|---|---|---|\n"
	page := string(raw)
	start := strings.LastIndex(page, "\n"+ruler) + len(ruler) + 1
	if *update && !t.Failed() {
		if err := os.WriteFile(faultsPage, []byte(page[:start]+rows), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if page[start:] != rows {
		t.Errorf("the outcomes are not those of %s. It says\n%s\nand this was seen:\n%s", faultsPage, page[start:], rows)
	}
}
