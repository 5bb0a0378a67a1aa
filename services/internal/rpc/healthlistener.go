package rpc

import (
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// Bounds of a health listener, which anybody may reach. Probes send a few bytes.
const (
	healthMaxMessageBytes  = 4 << 10
	healthMaxStreams       = 16
	healthMaxConnectionAge = time.Minute
)

// ListenHealth opens a TCP listener that Serve takes beside others, and on which it serves nothing but grpc.health.v1, in
// plaintext. It is for probes that cannot do TLS, and may be on any address.
func ListenHealth(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for health checks on %s: %w", addr, err)
	}
	return healthListener{l}, nil
}

type healthListener struct{ net.Listener }

// newHealthServer returns the server of health listeners. It tells the same health as s.
func (s *Server) newHealthServer() *grpc.Server {
	server := grpc.NewServer(
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxRecvMsgSize(healthMaxMessageBytes),
		grpc.MaxConcurrentStreams(healthMaxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: healthMaxConnectionAge, MaxConnectionAge: healthMaxConnectionAge, MaxConnectionAgeGrace: healthMaxConnectionAge,
		}),
		grpc.WaitForHandlers(true),
	)
	healthv1.RegisterHealthServer(server, s.health)
	return server
}
