package rpc

import (
	"sync"
	"time"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/dns"
)

// dnsInterval is how often a name is looked up. gRPC looks a name up only when a connection ends, and at most every 30 seconds,
// but a roll-out replaces all replicas of a service within seconds, and a replica reports NOT_SERVING before its connections end.
const dnsInterval = time.Second

func init() { dns.SetMinResolutionInterval(dnsInterval) }

// pollingDNS builds gRPC's DNS resolver and asks it to look the name up every dnsInterval.
type pollingDNS struct{}

func (pollingDNS) Scheme() string { return "dns" }

func (pollingDNS) Build(t resolver.Target, cc resolver.ClientConn, o resolver.BuildOptions) (resolver.Resolver, error) {
	r, err := resolver.Get("dns").Build(t, cc, o)
	if err != nil {
		return nil, err
	}
	p := &poller{Resolver: r, stop: make(chan struct{})}
	p.running.Go(p.poll)
	return p, nil
}

type poller struct {
	resolver.Resolver
	stop    chan struct{}
	running sync.WaitGroup
}

func (p *poller) poll() {
	ticker := time.NewTicker(dnsInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.ResolveNow(resolver.ResolveNowOptions{})
		}
	}
}

func (p *poller) Close() {
	close(p.stop)
	p.running.Wait()
	p.Resolver.Close()
}
