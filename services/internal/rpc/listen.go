package rpc

import (
	"errors"
	"fmt"
	"net"
)

// Listen opens a TCP listener for plaintext. It refuses an address that other machines can reach, unless insecure allows
// it. The error is one line that says what to do. With ServerConfig.Credentials, net.Listen may open any address.
func Listen(addr string, insecure bool) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if insecure {
		return exposedListener{l}, nil
	}
	if err := refuseExposed(l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// exposedListener is a listener that may serve plaintext to other machines.
type exposedListener struct{ net.Listener }

// refuseExposed returns an error if l would serve plaintext to other machines without permission.
func refuseExposed(l net.Listener) error {
	switch l.(type) {
	case exposedListener, healthListener:
		return nil
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || addr.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("refusing to serve plaintext on %s, which other machines can reach: "+
		"listen on a loopback address, configure TLS, or allow insecure listening", addr)
}

// check refuses what Serve must not serve.
func (s *Server) check(lis []net.Listener) error {
	if len(lis) == 0 {
		return errors.New("serve: no listener")
	}
	if s.cfg.Credentials != nil {
		return nil
	}
	if s.cfg.Peers != nil {
		return errors.New("serve: rules for peers need TLS credentials")
	}
	for _, l := range lis {
		if err := refuseExposed(l); err != nil {
			return err
		}
	}
	return nil
}
