package rpc

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

func insecureCreds() grpc.DialOption { return grpc.WithTransportCredentials(insecure.NewCredentials()) }

// wantMissingPeer fails unless err is what a caller is told of a dead peer.
func wantMissingPeer(t *testing.T, err error) {
	t.Helper()
	st := Status(err)
	var retry bool
	for _, d := range st.Details() {
		_, ok := d.(*errdetails.RetryInfo)
		retry = retry || ok
	}
	if st.Code() != codes.Unavailable || Reason(st) != "PEER_UNAVAILABLE" || !retry {
		t.Errorf("got %v, reason %q, RetryInfo %v", st, Reason(st), retry)
	}
}

func TestDeadPeerFailsAtOnceAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture()
		conn := h.conn(t)
		start := time.Now()
		wantMissingPeer(t, describe(t.Context(), conn)) // nobody has listened yet
		if took := time.Since(start); took > 0 {
			t.Errorf("the failure took %v", took)
		}
		for range 2 {
			stop := h.start(t, &fake{})
			<-time.After(6 * time.Second) // longer than the longest back-off
			if err := describe(t.Context(), conn); err != nil {
				t.Fatalf("after the peer came: %v", err)
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			wantMissingPeer(t, describe(t.Context(), conn))
		}
	})
}

func TestDeadPeerOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	conn, err := Dial(addr, DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = describe(t.Context(), conn)
	wantMissingPeer(t, err)
	if strings.Contains(Status(err).Message(), "127.0.0.1") {
		t.Errorf("the message tells an address: %v", Status(err).Message())
	}
}

func TestClientAvoidsAPeerThatIsGoingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		h := newFixture()
		h.server.DrainDelay = time.Minute
		stop := h.start(t, &fake{describe: func(context.Context) error { calls.Add(1); return nil }})
		conn := h.conn(t)
		if err := describe(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		go stop()
		synctest.Wait()
		wantMissingPeer(t, describe(t.Context(), conn))
		if n := calls.Load(); n != 1 {
			t.Errorf("the peer got %d calls, want only the one before it reported NOT_SERVING", n)
		}
	})
}

func TestOnlyIdempotentMethodsAreRepeated(t *testing.T) {
	tests := map[string]struct {
		idempotent []string
		calls      int32
		code       codes.Code
	}{
		"one that is listed":     {[]string{describeMethod}, 3, codes.OK},
		"one that is not listed": {[]string{answerMethod}, 1, codes.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				h := newFixture()
				h.dial.Idempotent = tt.idempotent
				h.start(t, &fake{describe: func(context.Context) error {
					if calls.Add(1) < 3 {
						return &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_STATE_UNAVAILABLE, What: "x"}
					}
					return nil
				}})
				err := describe(t.Context(), h.conn(t))
				if calls.Load() != tt.calls || status.Code(err) != tt.code {
					t.Errorf("%d calls and %v, want %d and %v", calls.Load(), err, tt.calls, tt.code)
				}
			})
		})
	}
}

func TestServiceConfig(t *testing.T) {
	got, err := serviceConfig([]string{"/a.v1.A/Get", "b.v1.B/Get"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""},` +
		`"methodConfig":[{"name":[{"service":"a.v1.A","method":"Get"},{"service":"b.v1.B","method":"Get"}],` +
		`"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.1s","maxBackoff":"1s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}],` +
		`"retryThrottling":{"maxTokens":10,"tokenRatio":0.1}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDialRefusesWhatCannotWork(t *testing.T) {
	tests := map[string]struct {
		target string
		cfg    DialConfig
		want   string
	}{
		"no target":                   {"", DialConfig{}, "the target is empty"},
		"in-process without network":  {"inproc:///x", DialConfig{}, "needs a Network"},
		"a method without a service":  {"x:1", DialConfig{Idempotent: []string{"Get"}}, "service/Method"},
		"a scheme that nobody serves": {"teapot:///x", DialConfig{}, "teapot"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			conn, err := Dial(tt.target, tt.cfg)
			if err == nil {
				conn.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to contain %q", err, tt.want)
			}
		})
	}
}

func TestTargetsWithoutSchemeUseDNS(t *testing.T) {
	tests := map[string]string{
		"search:7302":         "dns:///search:7302",
		"[::1]:7302":          "dns:///[::1]:7302",
		"dns:///search:7302":  "dns:///search:7302",
		"dns://10.0.0.2/s:1":  "dns://10.0.0.2/s:1",
		"unix:/run/search":    "unix:/run/search",
		"passthrough:///host": "passthrough:///host",
	}
	for target, want := range tests {
		if got, _, err := resolve(target, nil); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", target, got, err, want)
		}
	}
}

func TestNetworkNames(t *testing.T) {
	n := NewNetwork()
	first, err := n.Listen("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen("a"); err == nil {
		t.Error("a name was given twice")
	}
	first.Close()
	second, err := n.Listen("a")
	if err != nil {
		t.Errorf("a freed name: %v", err)
	}
	first.Close() // closing the old one again must not free the new one's name
	if _, err := n.Listen("a"); err == nil {
		t.Error("the second listener lost its name")
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if _, err := second.Accept(); err == nil {
		t.Error("a listener is open after Close")
	}
	if _, err := n.Listen("b"); err == nil {
		t.Error("a closed network gave a listener")
	}
}
