package orderhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

var (
	march = Key{ID: "2026-03", Secret: []byte("kites-and-string-2026-03-example")}
	april = Key{ID: "2026-04", Secret: []byte("kites-and-string-2026-04-example")}
)

// TestSignatureOfTheSpecification is the test vector of docs/orders.md.
func TestSignatureOfTheSpecification(t *testing.T) {
	body := `{"store_id":"kites","order_id":"KC-1001","customer_id":"mika"}`
	got := march.Signature("POST", "/quartet/orders/get", time.Unix(1773576000, 0), "J5ZQ7XK2M4W6N3P8R1T9V0Y7AB", []byte(body))
	if want := "8f3b7bf8f07bf576321cbdd2f97c08be93b13adf1dbe51b56e8e499947aaff56"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, Config{Keys: []Key{march}}); strings.Contains(text, "kites-and") || strings.Contains(text, "0x6b") || strings.Contains(text, "107 105") {
			t.Errorf("%s prints the secret: %s", format, text)
		}
	}
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, kind, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
}

func client(t *testing.T, f transport, keys ...Key) *Client {
	t.Helper()
	c, err := New(Config{URL: "https://orders.kites.example/quartet", Keys: keys, Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequestsAreSigned(t *testing.T) {
	var got []string
	c := client(t, func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var at int64
		if _, err := fmt.Sscan(r.Header.Get(HeaderTimestamp), &at); err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Minute {
			t.Errorf("timestamp %q: %v", r.Header.Get(HeaderTimestamp), err)
		}
		nonce := r.Header.Get(HeaderNonce)
		if want := march.Signature("POST", r.URL.Path, time.Unix(at, 0), nonce, body); r.Header.Get(HeaderSignature) != want || r.Header.Get(HeaderKey) != march.ID {
			t.Errorf("headers %v, want signature %s", r.Header, want)
		}
		got = append(got, r.URL.String()+" "+string(body), nonce)
		return response(404, "application/json", "{}"), nil
	}, march)
	_, errGet := c.Get(t.Context(), "kites", "mika", "KC-1")
	_, errGuest := c.Guest(t.Context(), "kites", "KC-1", "", "1010")
	if !errors.Is(errGet, ErrNotFound) || !errors.Is(errGuest, ErrNotFound) {
		t.Errorf("errors %v, %v; want not found", errGet, errGuest)
	}
	if listed, err := c.List(t.Context(), "kites", "mika", "", 3); err != nil || listed.GetTotalCount() != 0 || len(listed.GetOrders()) != 0 {
		t.Errorf("an unknown customer: %v, %v", listed, err)
	}
	if _, err := c.List(t.Context(), "kites", "mika", "p2", 3); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown page: %v", err)
	}
	if len(got) != 8 || got[1] == got[3] || len(got[1]) < 16 {
		t.Fatalf("requests and nonces %q", got)
	}
	want := []string{
		`https://orders.kites.example/quartet/orders/get {"store_id":"kites","order_id":"KC-1","customer_id":"mika"}`,
		`https://orders.kites.example/quartet/orders/get {"store_id":"kites","order_id":"KC-1","postal_code":"1010"}`,
		`https://orders.kites.example/quartet/orders/list {"store_id":"kites","customer_id":"mika","limit":3}`,
		`https://orders.kites.example/quartet/orders/list {"store_id":"kites","customer_id":"mika","page_token":"p2","limit":3}`,
	}
	if diff := cmp.Diff(want, []string{got[0], got[2], got[4], got[6]}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKeysMayBeChangedOnEitherSideFirst(t *testing.T) {
	for name, live := range map[string]string{"the new one is live there": april.ID, "only the old one is yet": march.ID} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			c := client(t, func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.Header.Get(HeaderKey))
				if r.Header.Get(HeaderKey) != live {
					return response(401, "application/json", "{}"), nil
				}
				return response(200, "application/json", `{"order":{"order_id":"KC-1"}}`), nil
			}, april, march)
			if o, err := c.Get(t.Context(), "kites", "mika", "KC-1"); err != nil || o.GetOrderId() != "KC-1" || asked[len(asked)-1] != live {
				t.Errorf("%v, %v after keys %v", o, err, asked)
			}
		})
	}
}

func TestAnswersThatAreNotInFormAreRefused(t *testing.T) {
	const kind = "application/json"
	answers := map[string]*http.Response{
		"an unknown field":      response(200, kind, `{"order":{"order_id":"KC-1","vip":true}}`),
		"a wrong type":          response(200, kind, `{"order":{"order_id":["KC-1"]}}`),
		"an unknown status":     response(200, kind, `{"order":{"status":"LOST"}}`),
		"no order":              response(200, kind, `{}`),
		"actions of its own":    response(200, kind, `{"order":{"order_id":"KC-1"},"actions":{}}`),
		"nothing":               response(200, kind, ``),
		"two objects":           response(200, kind, `{"order":{"order_id":"KC-1"}}{}`),
		"a page":                response(200, "text/html", `<html>`),
		"a page, not found":     response(404, "text/html", `<html>`),
		"a redirect":            {StatusCode: 302, Header: http.Header{"Location": {"https://elsewhere.example/"}}, Body: http.NoBody},
		"an error":              response(500, kind, `{}`),
		"a refused key":         response(401, kind, `{}`),
		"more than can be read": response(200, kind, `{"order":{"order_id":"`+strings.Repeat("K", maxResponse)+`"}}`),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			c := client(t, func(*http.Request) (*http.Response, error) { return answer, nil }, march)
			o, err := c.Get(t.Context(), "kites", "mika", "KC-1")
			var f *fault.Unavailable
			if !errors.As(err, &f) || o != nil || f.Reason != commonv1.ErrorReason_ERROR_REASON_ORDER_SYSTEM_UNAVAILABLE {
				t.Errorf("%v, %v; want it refused", o, err)
			}
		})
	}
	for name, answer := range map[string]string{
		"more than asked for": `{"orders":[{},{}],"total_count":2}`, "fewer in all than listed": `{"orders":[{}],"total_count":0}`,
		"the same page again": `{"orders":[{}],"total_count":2,"next_page_token":"p2"}`, "a next page of none": `{"next_page_token":"p3"}`,
	} {
		c := client(t, func(*http.Request) (*http.Response, error) { return response(200, kind, answer), nil }, march)
		if _, err := c.List(t.Context(), "kites", "mika", "p2", 1); err == nil {
			t.Errorf("%s: the list was accepted", name)
		}
	}
}

// hang answers when its request is given up.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestASlowOrderSystemIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, hang, march)
		begun := time.Now()
		_, err := c.Get(t.Context(), "kites", "mika", "KC-1")
		var f *fault.Unavailable
		if !errors.As(err, &f) || time.Since(begun) != defaultTimeout {
			t.Errorf("%v after %v, want unavailable after %v", err, time.Since(begun), defaultTimeout)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := c.Get(ctx, "kites", "mika", "KC-1"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("%v after %v, want the caller's deadline after 1s", err, time.Since(begun))
		}
	})
}

func TestTheBreakerSparesAnOrderSystemThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, up := 0, false
		c := client(t, func(r *http.Request) (*http.Response, error) {
			asked++
			if !up {
				return nil, errors.New("refused")
			}
			return response(404, "application/json", "{}"), nil
		}, march)
		get := func() error { _, err := c.Get(t.Context(), "kites", "mika", "KC-1"); return err }
		for range 3 * maxFailures {
			if err := get(); err == nil {
				t.Fatal("no error")
			}
		}
		var f *fault.Unavailable
		if err := get(); asked != maxFailures || !errors.As(err, &f) || f.RetryAfter != breakerPause {
			t.Errorf("asked %d times, %v; want %d times, and to be told to wait", asked, err, maxFailures)
		}
		time.Sleep(breakerPause + time.Second)
		if err := get(); err == nil || asked != maxFailures+1 {
			t.Errorf("after the pause: %v, asked %d times", err, asked)
		}
		up = true
		time.Sleep(breakerPause + time.Second)
		for range 2 * maxFailures { // that there is no such order is no failure
			if err := get(); !errors.Is(err, ErrNotFound) {
				t.Fatalf("when it is up again: %v", err)
			}
		}
	})
}

func TestCallersWhoLeaveDoNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := client(t, func(r *http.Request) (*http.Response, error) { asked++; return hang(r) }, march)
		for range 2 * maxFailures {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.Get(ctx, "kites", "mika", "KC-1"); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
		}
		if asked != 2*maxFailures {
			t.Errorf("asked %d times, want %d", asked, 2*maxFailures)
		}
	})
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	const good = "https://orders.kites.example/quartet"
	tests := map[string]Config{
		"no URL":                       {Keys: []Key{march}},
		"a URL that is not encrypted":  {URL: "http://orders.kites.example", Keys: []Key{march}},
		"a URL with a password":        {URL: "https://a:b@orders.kites.example", Keys: []Key{march}},
		"a URL with a query":           {URL: good + "?a=b", Keys: []Key{march}},
		"no key":                       {URL: good},
		"three keys":                   {URL: good, Keys: []Key{march, april, {ID: "x", Secret: march.Secret}}},
		"the same key twice":           {URL: good, Keys: []Key{march, march}},
		"a short secret":               {URL: good, Keys: []Key{{ID: "a", Secret: []byte("0123456789abcde")}}},
		"a key's id that is no header": {URL: good, Keys: []Key{{ID: "a\nb", Secret: march.Secret}}},
		"a negative timeout":           {URL: good, Keys: []Key{march}, Timeout: -1},
	}
	for name, cfg := range tests {
		if _, err := New(cfg); err == nil || strings.Contains(err.Error(), "kites-and") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, url := range []string{good, "http://127.0.0.1:7320/quartet", "http://localhost:7320", "http://[::1]:7320"} {
		if err := (Config{URL: url, Keys: []Key{march}}).Validate(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// The wait that an order system asks for reaches the caller, in either form of the header.
func TestBusyOrderSystemSaysHowLongToWait(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): time.Hour, "later": 0, "": 0,
	} {
		c := client(t, func(*http.Request) (*http.Response, error) {
			r := response(http.StatusServiceUnavailable, "application/json", `{"error":"mika is busy"}`)
			r.Header.Set("Retry-After", value)
			return r, nil
		}, march)
		_, err := c.Get(t.Context(), "kites", "mika", "KC-1001")
		var f *fault.Unavailable
		if !errors.As(err, &f) || (f.RetryAfter-want).Abs() > 10*time.Second || strings.Contains(err.Error(), "mika") {
			t.Errorf("%q: error %v with a wait of %v, want %v", value, err, f.RetryAfter, want)
		}
	}
}
