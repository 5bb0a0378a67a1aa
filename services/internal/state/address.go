package state

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

type kind int

const (
	kindSingle kind = iota
	kindSentinel
	kindCluster
)

// address is a parsed state URL.
type address struct {
	kind           kind
	secure         bool
	hosts          []string // with ports
	user, password string
	db             int
	master         string
	pool           int // connections to one server; 0: poolSize
}

var errForm = errors.New("must be of the form redis://HOST:PORT/DB, redis+sentinel://HOST,HOST/DB?master=NAME or redis+cluster://HOST,HOST")

// parse reads a state URL. Its errors never quote the URL, because it may hold a password.
func parse(raw string) (address, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return address{}, errForm
	}
	var a address
	port := "6379"
	switch base, mode, _ := strings.Cut(scheme, "+"); {
	case base != "redis" && base != "rediss":
		return address{}, errForm
	case mode == "":
		a.secure = base == "rediss"
	case mode == "sentinel":
		a.kind, a.secure, port = kindSentinel, base == "rediss", "26379"
	case mode == "cluster":
		a.kind, a.secure = kindCluster, base == "rediss"
	default:
		return address{}, errForm
	}
	// net/url accepts one host only, so cut the hosts out before parsing the rest.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	at := strings.LastIndex(authority, "@") + 1
	u, err := url.Parse("redis://" + authority[:at] + "host" + tail)
	if err != nil {
		return address{}, errForm
	}
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	if a.hosts, err = hosts(authority[at:], port); err != nil {
		return address{}, err
	}
	return a, a.options(u)
}

// hosts splits a list of hosts and adds the default port where none is given.
func hosts(list, port string) ([]string, error) {
	var out []string
	for host := range strings.SplitSeq(list, ",") {
		u, err := url.Parse("redis://" + host)
		if err != nil || u.Hostname() == "" || u.Host != host {
			return nil, fmt.Errorf("%q is not a host", host)
		}
		p := u.Port()
		if p == "" {
			p = port
		}
		out = append(out, net.JoinHostPort(u.Hostname(), p))
	}
	return out, nil
}

// options reads the database number and the query of a state URL.
func (a *address) options(u *url.URL) error {
	if db := strings.Trim(u.Path, "/"); db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a database number", db)
		}
		a.db = n
	}
	query := u.Query()
	a.master = query.Get("master")
	query.Del("master")
	if pool := query.Get("pool"); pool != "" {
		n, err := strconv.Atoi(pool)
		if err != nil || n < 1 || n > 10_000 {
			return fmt.Errorf("the option pool is %q, want 1 to 10000 connections", pool)
		}
		a.pool = n
	}
	query.Del("pool")
	for name := range query {
		return fmt.Errorf("unknown option %q", name)
	}
	switch {
	case a.kind == kindSentinel && a.master == "":
		return errors.New("sentinels need the option master=NAME")
	case a.kind != kindSentinel && a.master != "":
		return errors.New("the option master is for redis+sentinel only")
	case a.kind == kindCluster && a.db != 0:
		return errors.New("a cluster has database 0 only")
	case a.kind == kindSingle && len(a.hosts) > 1:
		return errors.New("several hosts need redis+sentinel or redis+cluster")
	}
	return nil
}

// where names the hosts for a person.
func (a address) where() string {
	list := strings.Join(a.hosts, ", ")
	switch a.kind {
	case kindSentinel:
		return fmt.Sprintf("sentinels %s (master %s)", list, a.master)
	case kindCluster:
		return "cluster " + list
	default:
		return list
	}
}

// tls returns the TLS settings, or nil for plaintext. Each connection checks the name of the host that it dials.
func (a address) tls() *tls.Config {
	if !a.secure {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}
