package rpc

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// serveDNS answers every question for an IPv4 address with the current one, and returns its own address.
func serveDNS(t *testing.T, current *atomic.Pointer[[4]byte]) string {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			a := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
			if q.Type == dnsmessage.TypeA {
				a.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
					Body:   &dnsmessage.AResource{A: *current.Load()},
				}}
			}
			if b, err := a.Pack(); err == nil {
				_, _ = conn.WriteTo(b, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// serveHealth serves only gRPC's health service, on ip and port.
func serveHealth(t *testing.T, ip [4]byte, port int) (*grpc.Server, *health.Server, int) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: ip[:], Port: port})
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	s, h := grpc.NewServer(), health.NewServer()
	healthpb.RegisterHealthServer(s, h)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return s, h, l.Addr().(*net.TCPAddr).Port
}

func TestClientsFindTheReplicasOfARollOut(t *testing.T) {
	for name, leave := range map[string]func(*grpc.Server, *health.Server){
		"the old replica reports NOT_SERVING": func(_ *grpc.Server, h *health.Server) { h.Shutdown() },
		"the old replica ends":                func(s *grpc.Server, _ *health.Server) { s.GracefulStop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 2}
			var current atomic.Pointer[[4]byte]
			current.Store(&before)
			s, h, port := serveHealth(t, before, 0)
			serveHealth(t, after, port)
			conn, err := Dial("dns://"+serveDNS(t, &current)+"/replicas.example.:"+strconv.Itoa(port), DialConfig{})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// gRPC alone would look the name up again after 30 seconds, if at all.
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			serving := func() bool {
				got, _ := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
				return got.GetStatus() == healthpb.HealthCheckResponse_SERVING
			}
			if !serving() {
				t.Fatal("the old replica does not serve")
			}
			current.Store(&after)
			leave(s, h)
			for !serving() { // the client may not know yet that the old replica leaves
				if ctx.Err() != nil {
					t.Fatal("the new replica was not found")
				}
			}
		})
	}
}
