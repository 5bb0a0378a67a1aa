package e2e

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/quartet-commerce/quartet/services/internal/certs/certstest"
	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/suite"
)

const shopOrigin = "https://shop.example"

// serveHTTP serves the JSON API of a system's gateway until the test ends, and returns its URL.
func serveHTTP(t *testing.T, cfg suite.Config, origins ...string) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- suite.ServeHTTP(ctx, cfg, origins, lis) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve HTTP: %v", err)
		}
	})
	return "http://" + lis.Addr().String()
}

// request calls the API. Headers are "Name: value".
func request(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestHTTP asks, streams, reads and deletes a thread as a web page would.
func TestHTTP(t *testing.T) {
	h := newSystem(t)
	store := serveHTTP(t, h.cfg) + "/v1/stores/demo"

	resp, body := request(t, "POST", store+"/ask", `{"message": "where is my order?", "customer_id": "ava", "storeId": "tea"}`)
	var reply struct {
		Text, ThreadID, TurnID string
		Orders                 []struct{ OrderID string }
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil || resp.StatusCode != 200 || reply.Text == "" || len(reply.Orders) == 0 {
		t.Fatalf("ask: %s, %v: %s", resp.Status, err, body)
	}

	resp, body = request(t, "POST", store+"/ask/stream", `{"message": "do you have tents, and what is your return policy?"}`, "Accept: text/event-stream")
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the stream's type is %q", got)
	}
	var events []string
	var text strings.Builder
	var answer struct{ Answer struct{ Text string } }
	for scanner := bufio.NewScanner(strings.NewReader(body)); scanner.Scan(); {
		if name, ok := strings.CutPrefix(scanner.Text(), "event: "); ok {
			events = append(events, name)
		}
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			var delta struct{ TextDelta struct{ Text string } }
			if err := json.Unmarshal([]byte(data), &delta); err != nil {
				t.Fatal(err)
			}
			text.WriteString(delta.TextDelta.Text)
			if err := json.Unmarshal([]byte(data), &answer); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(events) < 5 || events[0] != "routed" || events[len(events)-1] != "answer" || !slices.Contains(events, "tool_call_finished") {
		t.Errorf("events %q", events)
	}
	if text.String() == "" || text.String() != answer.Answer.Text {
		t.Errorf("the pieces are %q, the answer %q", text.String(), answer.Answer.Text)
	}

	thread := store + "/threads/" + reply.ThreadID
	for _, c := range []struct {
		method, url string
		status      int
		contains    string
	}{
		{"GET", store + "/turns/" + reply.TurnID + "?customer_id=ava", 200, reply.TurnID},
		{"GET", store + "/threads?customer_id=ava&limit=5", 200, reply.ThreadID},
		{"GET", thread + "?customer_id=ava", 200, "where is my order?"},
		{"GET", thread + "?customer_id=ben", 404, `"code":5`},
		{"DELETE", thread + "?customer_id=ava", 200, `"deleted":true`},
		{"GET", thread + "?customer_id=ava", 404, `"code":5`},
		{"POST", thread, 405, `"code":12`},
		{"GET", store, 404, `"code":5`},
	} {
		if resp, body := request(t, c.method, c.url, ""); resp.StatusCode != c.status || !strings.Contains(body, c.contains) {
			t.Errorf("%s %s: %s %s; want %d with %s", c.method, c.url, resp.Status, body, c.status, c.contains)
		}
	}
}

func TestHTTPErrorsAreStatuses(t *testing.T) {
	h := newSystem(t)
	store := serveHTTP(t, h.cfg, shopOrigin) + "/v1/stores/demo"
	const hello = `{"message": "hello"}`
	for name, c := range map[string]struct {
		method, path, body string // POST if empty
		headers            []string
		status             int
		code               codes.Code
		reason, says       string
	}{
		"another method":           {method: "GET", path: "/ask", status: 405, code: codes.Unimplemented},
		"empty message":            {path: "/ask", body: `{}`, status: 400, code: codes.InvalidArgument, reason: "INVALID_FIELD"},
		"empty message, streamed":  {path: "/ask/stream", body: `{}`, headers: []string{"Accept: text/event-stream"}, status: 400, code: codes.InvalidArgument, reason: "INVALID_FIELD"},
		"unknown field":            {path: "/ask", body: `{"mesage": "hello"}`, status: 400, code: codes.InvalidArgument},
		"no JSON":                  {path: "/ask", body: `hello`, status: 400, code: codes.InvalidArgument, says: "the body is no JSON of quartet.gateway.v1.AskRequest: "},
		"too large":                {path: "/ask", body: `{"message": "` + strings.Repeat("a", 300<<10) + `"}`, status: 429, code: codes.ResourceExhausted},
		"too large for the call":   {path: "/ask", body: `{"message": "` + strings.Repeat("a", 100<<10) + `"}`, status: 429, code: codes.ResourceExhausted},
		"unknown store":            {path: "/../nope/ask", body: hello, status: 404, code: codes.NotFound, reason: "STORE_NOT_FOUND"},
		"bad deadline":             {path: "/ask", body: hello, headers: []string{"Grpc-Timeout: soon"}, status: 400, code: codes.InvalidArgument},
		"deadline":                 {path: "/ask", body: hello, headers: []string{"Grpc-Timeout: 1m"}, status: 504, code: codes.DeadlineExceeded},
		"page of another origin":   {path: "/ask", body: hello, headers: []string{"Origin: https://other.example"}, status: 403, code: codes.PermissionDenied},
		"sent by a page elsewhere": {path: "/ask", body: hello, headers: []string{"Sec-Fetch-Site: cross-site"}, status: 403, code: codes.PermissionDenied},
	} {
		resp, body := request(t, cmp.Or(c.method, "POST"), strings.Replace(store+c.path, "/demo/..", "", 1), c.body, c.headers...)
		var st struct {
			Code    codes.Code
			Message string
			Details []struct{ Reason string }
		}
		if err := json.Unmarshal([]byte(body), &st); err != nil || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v, %q: %s", name, err, resp.Header, body)
			continue
		}
		if resp.StatusCode != c.status || st.Code != c.code || st.Message == "" || !strings.HasPrefix(st.Message, c.says) || c.reason != "" && (len(st.Details) == 0 || st.Details[0].Reason != c.reason) {
			t.Errorf("%s: %s %s; want %d, code %v, reason %q", name, resp.Status, body, c.status, c.code, c.reason)
		}
	}
}

func TestHTTPOriginsAreAllowedByName(t *testing.T) {
	h := newSystem(t)
	const hello = `{"message": "hello"}`
	closed, open := serveHTTP(t, h.cfg)+"/v1/stores/demo/ask", serveHTTP(t, h.cfg, shopOrigin)+"/v1/stores/demo/ask"
	preflight := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type"}
	const allowed = "Access-Control-Allow-Origin"
	for _, c := range []struct{ url, origin, want string }{{open, shopOrigin, shopOrigin}, {open, "https://shop.example.other", ""}, {closed, shopOrigin, ""}} {
		resp, _ := request(t, "OPTIONS", c.url, "", append(preflight, "Origin: "+c.origin)...)
		if got := resp.Header.Get(allowed); got != c.want {
			t.Errorf("%s is allowed %q, want %q", c.origin, got, c.want)
		}
	}
	if resp, body := request(t, "POST", open, hello, "Origin: "+shopOrigin, "Sec-Fetch-Site: cross-site"); resp.StatusCode != 200 || resp.Header.Get(allowed) != shopOrigin {
		t.Errorf("%s %q: %s", resp.Status, resp.Header, body)
	}
	if resp, body := request(t, "POST", closed, hello, "Origin: "+shopOrigin); resp.StatusCode != 403 {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// TestHTTPTakesTheSameTokens checks that the API grants nothing that gRPC does not.
func TestHTTPTakesTheSameTokens(t *testing.T) {
	g := newGuarded(t)
	store := serveHTTP(t, g.cfg) + "/v1/stores/demo" // g.cfg has the administrator's token, which must not be used
	const question = `{"message": "where is my order?", "customerId": "ava"}`
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 401},
		{[]string{"Authorization: Bearer unknown"}, 401},
		{[]string{"Grpc-Metadata-Authorization: Bearer storefront"}, 401},
		{[]string{"Quartet-Scope: x", "Grpc-Metadata-Quartet-Scope: x"}, 401},
		{[]string{"Authorization: Bearer benspage"}, 403},
		{[]string{"Authorization: Bearer storefront"}, 200},
	} {
		if resp, body := request(t, "POST", store+"/ask", question, c.headers...); resp.StatusCode != c.status {
			t.Errorf("%q: %s %s; want %d", c.headers, resp.Status, body, c.status)
		}
	}
}

// TestHTTPHasTheGatewaysCertificate checks that a client without a certificate gets in over TLS, and only with a token.
func TestHTTPHasTheGatewaysCertificate(t *testing.T) {
	g := newGuarded(t)
	cfg, folder := g.cfg, certstest.Role(t, certstest.NewCA(t, nil), t.TempDir(), suite.Gateway)
	cfg.TLS = map[string]*mtls.Credentials{suite.Gateway: certstest.Open(t, folder, suite.Gateway)}
	authority, err := os.ReadFile(filepath.Join(folder, mtls.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	url := strings.Replace(serveHTTP(t, cfg), "http:", "https:", 1) + "/v1/stores/demo/threads?customer_id=ava"
	for token, want := range map[string]int{"": 401, "storefront": 200} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || resp.ProtoMajor != 2 {
			t.Errorf("token %q: %s by %s, want %d by HTTP/2", token, resp.Status, resp.Proto, want)
		}
	}
}
