package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

// meters collects metrics of a gateway.
type meters struct {
	t      *testing.T
	reader *sdkmetric.ManualReader
}

// meter makes the fixture's gateway count for the test.
func (h *fixture) meter() meters {
	reader := sdkmetric.NewManualReader()
	h.config.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	return meters{h.t, reader}
}

// sums returns the values of a counter by its attributes, in the order of their keys; "" where none is set.
func (m meters) sums(name string, keys ...string) map[string]int64 {
	m.t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		m.t.Fatal(err)
	}
	got := map[string]int64{}
	for _, sm := range all.ScopeMetrics {
		for _, metric := range sm.Metrics {
			if metric.Name != name {
				continue
			}
			for _, p := range metric.Data.(metricdata.Sum[int64]).DataPoints {
				var values []string
				for _, kv := range p.Attributes.ToSlice() { // by key
					if !slices.Contains(keys, string(kv.Key)) {
						m.t.Errorf("%s has the attribute %s", name, kv.Key)
					}
					values = append(values, kv.Value.AsString())
				}
				got[strings.Join(values, " ")] = p.Value
			}
		}
	}
	return got
}

// retryDelay is what a status asks its caller to wait.
func retryDelay(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return r.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// askAll asks with one message each in the stores at the same time and returns the errors, in order, and how long each took.
func (h *fixture) askAll(stores ...string) ([]error, []time.Duration) {
	errs, took := make([]error, len(stores)), make([]time.Duration, len(stores))
	var wg sync.WaitGroup
	for i, store := range stores {
		wg.Go(func() {
			begun := time.Now()
			_, errs[i] = h.client.Ask(h.t.Context(), &gatewayv1.AskRequest{StoreId: store, Message: "search: shoes"})
			took[i] = time.Since(begun)
		})
	}
	wg.Wait()
	return errs, took
}

func TestTurnsBeyondALimitAreRefusedAtOnceAndTheOthersKeepTheirSpeed(t *testing.T) {
	const thinks = 4 * time.Second
	tests := []struct {
		name       string
		all, store int
		stores     []string
		refused    int
		limit      string
	}{
		{"of the process", 2, 10, []string{"demo", "demo", "other", "other", "demo"}, 3, limitProcess},
		{"of a store", 10, 2, []string{"demo", "demo", "demo", "demo", "other"}, 2, limitStore},
		{"as many as there may be", 3, 3, []string{"demo", "demo", "demo"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *fixture) {
				h.config.MaxTurns, h.config.MaxTurnsPerStore = tt.all, tt.store
				m := h.meter()
				h.specialists["search"].answer = func(_ *specialistv1.AnswerRequest, stream answerStream) error {
					time.Sleep(thinks) // in the bubble: the model thinks
					return say(stream, "Here.")
				}
				h.start()
				h.putStore("other")
				errs, took := h.askAll(tt.stores...)
				refused := 0
				for i, err := range errs {
					want := thinks
					if err != nil {
						wantStatus(t, err, codes.ResourceExhausted, "TOO_MANY_TURNS")
						refused, want = refused+1, 0
						if retryDelay(err) < time.Second {
							t.Errorf("no RetryInfo: %v", err)
						}
					}
					if took[i].Round(100*time.Millisecond) != want {
						t.Errorf("%s took %v, want %v: %v", tt.stores[i], took[i], want, err)
					}
				}
				if refused != tt.refused || len(h.router.requests) != len(tt.stores)-tt.refused {
					t.Errorf("%d refused, want %d; the router was asked %d times", refused, tt.refused, len(h.router.requests))
				}
				want := map[string]int64{}
				if tt.refused > 0 {
					want[tt.limit] = int64(tt.refused)
				}
				if diff := cmp.Diff(want, m.sums(telemetry.MetricTurnsRefused, telemetry.KeyLimit)); diff != "" {
					t.Errorf("refused (-want +got):\n%s", diff)
				}
				if n := m.sums(telemetry.MetricTurnsInFlight)[""]; n != 0 {
					t.Errorf("%d turns are still in flight", n)
				}
				if errs, _ := h.askAll("demo"); errs[0] != nil {
					t.Errorf("when all have left: %v", errs[0])
				}
			})
		})
	}
}

func TestARefusedTurnNeedsNoRedis(t *testing.T) {
	h := newFixture(t, miniredis.RunT(t))
	h.config.MaxTurns = 1
	h.start()
	leave, err := h.service.limiter.enter("demo")
	if err != nil {
		t.Fatal(err)
	}
	h.redis.Close()
	_, err = h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes"})
	wantStatus(t, err, codes.ResourceExhausted, "TOO_MANY_TURNS")
	leave()
	_, err = h.client.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", Message: "search: shoes"})
	wantStatus(t, err, codes.Unavailable, "STATE_UNAVAILABLE")
}

func TestARefusedCallerIsAskedToWaitAsLongAsATurnTakes(t *testing.T) {
	for _, tt := range []struct {
		took []time.Duration
		want time.Duration
	}{
		{nil, time.Second},
		{[]time.Duration{time.Millisecond}, time.Second},
		{[]time.Duration{8 * time.Second}, 8 * time.Second},
		{[]time.Duration{8 * time.Second, 24 * time.Second}, 9 * time.Second},
		{[]time.Duration{24 * time.Second, 8 * time.Second}, 23 * time.Second},
		{[]time.Duration{time.Hour}, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, err := newLimiter(1, 1, noop.Meter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range tt.took {
				leave, err := l.enter("demo")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(d) // in the bubble
				leave()
			}
			if _, err := l.enter("demo"); err != nil {
				t.Fatal(err)
			}
			_, err = l.enter("demo")
			var e *fault.Exhausted
			if !errors.As(err, &e) || e.RetryAfter != tt.want {
				t.Errorf("after %v: %+v, want %v", tt.took, e, tt.want)
			}
		})
	}
}

func TestStoresThatHaveNoTurnsInFlightTakeNoRoom(t *testing.T) {
	l, err := newLimiter(2, 1, noop.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		leave, err := l.enter(fmt.Sprint("store-", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.enter(fmt.Sprint("store-", i)); err == nil {
			t.Fatal("a second turn of the store was let in")
		}
		leave()
	}
	if len(l.stores) != 0 || l.turns != 0 {
		t.Errorf("%d stores, %d turns", len(l.stores), l.turns)
	}
}
