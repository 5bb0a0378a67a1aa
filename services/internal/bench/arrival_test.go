package bench

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/quartet-commerce/quartet/services/internal/offline"
)

// A call takes its time from the first byte of the request on, also the second one of a connection, however long the
// rest of it takes to come.
func TestACallBeginsWithItsFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency, slow = 50 * time.Millisecond, 20 * time.Millisecond
		lis := bufconn.Listen(64 << 10)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		fake := NewFake(Sleep)
		fake.behaviour.Latency = latency
		go func() { served <- offline.Serve(ctx, Arrivals(lis), fake) }()
		conn, err := lis.Dial()
		if err != nil {
			t.Fatal(err)
		}
		for call := range 2 {
			time.Sleep(time.Second)
			begun := time.Now()
			fmt.Fprint(conn, "POST /v1/chat")
			time.Sleep(slow)
			fmt.Fprintf(conn, "/completions HTTP/1.1\r\nHost: m\r\nContent-Length: %d\r\n\r\n%s", len(mergeRequest), mergeRequest)
			for got, piece := "", make([]byte, 4096); got == "" || got[len(got)-5:] != "0\r\n\r\n"; {
				n, err := conn.Read(piece)
				if err != nil {
					t.Fatal(err)
				}
				got += string(piece[:n])
			}
			if took := time.Since(begun); took != latency {
				t.Errorf("call %d took %v, want %v", call+1, took, latency)
			}
		}
		conn.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
