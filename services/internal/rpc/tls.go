package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// serverCredentials are TLS for sockets and nothing for in-memory connections, which no other process reaches.
type serverCredentials struct {
	credentials.TransportCredentials
}

func (c serverCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if _, ok := conn.(memoryConn); ok {
		return conn, memoryInfo{}, nil
	}
	return c.TransportCredentials.ServerHandshake(conn)
}

func (c serverCredentials) Clone() credentials.TransportCredentials {
	return serverCredentials{c.TransportCredentials.Clone()}
}

// memoryConn is the server's end of an in-memory connection.
type memoryConn struct{ net.Conn }

// memoryInfo is the AuthInfo of an in-memory connection to a server that has credentials.
type memoryInfo struct{}

func (memoryInfo) AuthType() string { return "inproc" }

// checkPeer refuses a call that the server's rules do not allow to the connection that it came by.
func (s *Server) checkPeer(ctx context.Context, method string) error {
	if s.cfg.Peers == nil {
		return nil
	}
	if p, ok := peer.FromContext(ctx); ok {
		switch info := p.AuthInfo.(type) {
		case credentials.TLSInfo:
			return s.cfg.Peers.Check(info.State, method)
		case memoryInfo:
			return nil
		}
	}
	return &fault.Denied{Description: "the connection has no transport security"}
}
