package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var noon = time.Unix(1773576000, 0)

const secret = "kites-and-string-2026-03-example"

// TestSignatureOfTheSpecification is the test vector of docs/orders.md.
func TestSignatureOfTheSpecification(t *testing.T) {
	body := `{"store_id":"kites","order_id":"KC-1001","customer_id":"mika"}`
	got := hex.EncodeToString(sign([]byte(secret), "POST", "/quartet/orders/get", "1773576000", "J5ZQ7XK2M4W6N3P8R1T9V0Y7AB", []byte(body)))
	if want := "8f3b7bf8f07bf576321cbdd2f97c08be93b13adf1dbe51b56e8e499947aaff56"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// open serves the sample orders at noon under the keys "old" and "new".
func open(t *testing.T) http.Handler {
	t.Helper()
	file, err := os.Open("orders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	orders, err := readOrders(file)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := parseKeys("old=" + secret + ",new=another " + secret)
	if err != nil {
		t.Fatal(err)
	}
	v := newVerifier(keys, func() time.Time { return noon })
	return newSystem("kites", orders, v, slog.New(slog.DiscardHandler)).handler("/quartet")
}

// call is a request; its signature is right for the fields as they are when it is signed.
type call struct {
	key, secret, path, body, nonce string
	at                             time.Time
}

func (c call) request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
	stamp := strconv.FormatInt(c.at.Unix(), 10)
	r.Header.Set("Quartet-Key", c.key)
	r.Header.Set("Quartet-Timestamp", stamp)
	r.Header.Set("Quartet-Nonce", c.nonce)
	r.Header.Set("Quartet-Signature", hex.EncodeToString(sign([]byte(c.secret), http.MethodPost, c.path, stamp, c.nonce, []byte(c.body))))
	return r
}

func mikas() call {
	return call{"old", secret, "/quartet/orders/get", `{"store_id":"kites","order_id":"kc-1001","customer_id":"mika"}`, "n1", noon}
}

func serveTo(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOnlyFreshSignedRequestsAreAnswered(t *testing.T) {
	tests := []struct {
		name   string
		change func(*call)         // before it is signed
		forge  func(*http.Request) // after
		want   int
	}{
		{"as it should be", nil, nil, 200},
		{"by the other live key", func(c *call) { c.key, c.secret = "new", "another "+secret }, nil, 200},
		{"by the secret of another key", func(c *call) { c.key = "new" }, nil, 401},
		{"by a key that is not live", func(c *call) { c.key = "older" }, nil, 401},
		{"a little late", func(c *call) { c.at = noon.Add(-window) }, nil, 200},
		{"too late", func(c *call) { c.at = noon.Add(-window - time.Second) }, nil, 401},
		{"too early", func(c *call) { c.at = noon.Add(window + time.Second) }, nil, 401},
		{"without a nonce", func(c *call) { c.nonce = "" }, nil, 401},
		{"with a long nonce", func(c *call) { c.nonce = strings.Repeat("n", maxNonce+1) }, nil, 401},
		{"with a longer body than allowed", func(c *call) { c.body += strings.Repeat(" ", maxBody) }, nil, 401},
		{"for another path", nil, func(r *http.Request) { r.URL.Path = "/quartet/orders/list" }, 401},
		{"with another timestamp", nil, func(r *http.Request) { r.Header.Set("Quartet-Timestamp", "1773576001") }, 401},
		{"with another nonce", nil, func(r *http.Request) { r.Header.Set("Quartet-Nonce", "n2") }, 401},
		{"without a signature", nil, func(r *http.Request) { r.Header.Del("Quartet-Signature") }, 401},
		{"for another store", func(c *call) { c.body = strings.Replace(c.body, "kites", "kitez", 1) }, nil, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mikas()
			if tt.change != nil {
				tt.change(&c)
			}
			r := c.request()
			if tt.forge != nil {
				tt.forge(r)
			}
			if got := serveTo(open(t), r).Code; got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	h := open(t)
	for i, want := range []int{200, 401, 401} {
		if got := serveTo(h, mikas().request()).Code; got != want {
			t.Errorf("time %d: status %d, want %d", i+1, got, want)
		}
	}
	other := mikas()
	other.nonce = "n2"
	if got := serveTo(h, other.request()).Code; got != 200 {
		t.Errorf("another request: status %d", got)
	}
}

func TestNoncesAreForgottenAfterTheWindow(t *testing.T) {
	now := noon
	v := newVerifier(nil, func() time.Time { return now })
	for i := range 10 {
		if err := v.first(fmt.Sprint(i), now.Add(window), now); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2*window + time.Second)
	if err := v.first("next", now.Add(window), now); err != nil || len(v.nonces) != 1 {
		t.Errorf("%d nonces are remembered, %v; want 1", len(v.nonces), err)
	}
}

func TestOrdersAreForWhoTheyBelongTo(t *testing.T) {
	tests := []struct {
		name, path, body string
		want             int
		ids              []string
	}{
		{"a customer's", "get", `{"store_id":"kites","order_id":"KC-1001","customer_id":"mika"}`, 200, []string{"KC-1001"}},
		{"another customer's", "get", `{"store_id":"kites","order_id":"KC-1003","customer_id":"mika"}`, 404, nil},
		{"nobody's", "get", `{"store_id":"kites","order_id":"KC-1","customer_id":"mika"}`, 404, nil},
		{"of who proves nothing", "get", `{"store_id":"kites","order_id":"KC-1001"}`, 404, nil},
		{"a guest's, by address", "get", `{"store_id":"kites","order_id":"KC-1001","email":"mika@post.example"}`, 200, []string{"KC-1001"}},
		{"a guest's, by postal code", "get", `{"store_id":"kites","order_id":"KC-1001","postal_code":"1010AB"}`, 200, []string{"KC-1001"}},
		{"a guest's, by a wrong one", "get", `{"store_id":"kites","order_id":"KC-1001","postal_code":"1010AC"}`, 404, nil},
		{"all of a customer", "list", `{"store_id":"kites","customer_id":"mika","limit":5}`, 200, []string{"KC-1002", "KC-1001"}},
		{"the latest of a customer", "list", `{"store_id":"kites","customer_id":"mika","limit":1}`, 200, []string{"KC-1002"}},
		{"the page after it", "list", `{"store_id":"kites","customer_id":"mika","limit":1,"page_token":"KC-1002"}`, 200, []string{"KC-1001"}},
		{"a page of another customer", "list", `{"store_id":"kites","customer_id":"mika","limit":1,"page_token":"KC-1003"}`, 404, nil},
		{"of a customer without any", "list", `{"store_id":"kites","customer_id":"bo","limit":1}`, 200, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := call{"old", secret, "/quartet/orders/" + tt.path, tt.body, "n", noon}
			w := serveTo(open(t), c.request())
			var got struct {
				Order  *order  `json:"order"`
				Orders []order `json:"orders"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != tt.want {
				t.Fatalf("status %d, %v; want %d", w.Code, err, tt.want)
			}
			if got.Order != nil {
				got.Orders = []order{*got.Order}
			}
			var ids []string
			for _, o := range got.Orders {
				ids = append(ids, o.ID)
			}
			if strings.Join(ids, " ") != strings.Join(tt.ids, " ") {
				t.Errorf("orders %v, want %v", ids, tt.ids)
			}
		})
	}
}

func TestKeysMustBeStrong(t *testing.T) {
	for _, text := range []string{"", "id", "=0123456789abcdef", "id=short"} {
		if _, err := parseKeys(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
