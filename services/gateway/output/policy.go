// Package output is the last check of what a shopper gets: whatever a model, a tool or a specialist has written, a reply holds no
// invisible character, no HTML, and no link, image, e-mail address or phone number that the store has not listed in its settings.
//
// Text is checked sentence by sentence, so that a reply streams. The result does not depend on the pieces in which a text comes.
// The check reads a text as renderers and people do: with entities, percent codes and full-width letters decoded.
//
// The package knows nothing of turns or Redis. It must not import a service or another package of the gateway.
package output

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/wording"
)

// Policy says what the replies of one store may show. The zero value allows no link, address or number. It is safe for concurrent
// use.
type Policy struct {
	hosts   []string // in ASCII and lower case; a leading dot stands for every host below
	mails   []string // in lower case; a leading "@" stands for every address of the domain
	phones  []string // digits only
	removed wording.Sentences
}

// New returns the policy of a store for replies in a language, a BCP 47 tag. An unknown language is taken for English. Settings
// that Check refuses allow nothing.
func New(store *gatewayv1.Store, tag string) *Policy {
	p := &Policy{removed: wording.In(tag)}
	for _, h := range store.GetWebHosts() {
		if rule, err := hostRule(h); err == nil {
			p.hosts = append(p.hosts, rule)
		}
	}
	for _, m := range store.GetEmailAddresses() {
		if rule, err := mailRule(m); err == nil {
			p.mails = append(p.mails, rule)
		}
	}
	for _, n := range store.GetPhoneNumbers() {
		if rule, err := phoneRule(n); err == nil {
			p.phones = append(p.phones, rule)
		}
	}
	return p
}

// CheckHost returns what is wrong with an entry of Store.web_hosts.
func CheckHost(s string) error { _, err := hostRule(s); return err }

// CheckEmail returns what is wrong with an entry of Store.email_addresses.
func CheckEmail(s string) error { _, err := mailRule(s); return err }

// CheckPhone returns what is wrong with an entry of Store.phone_numbers.
func CheckPhone(s string) error { _, err := phoneRule(s); return err }

func hostRule(s string) (string, error) {
	name, below := strings.CutPrefix(s, "*.")
	host, err := asciiHost(name)
	if err != nil || !strings.Contains(host, ".") || strings.HasSuffix(name, ".") || strings.ContainsAny(name, "*/:@ ") {
		return "", fmt.Errorf("must be a host such as %q or %q, without scheme, port and path", "shop.example", "*.shop.example")
	}
	if suffix, icann := publicsuffix.PublicSuffix(host); icann && suffix == host {
		return "", fmt.Errorf("%q belongs to a registry: name a host below it", name)
	}
	if below {
		return "." + host, nil
	}
	return host, nil
}

func mailRule(s string) (string, error) {
	domain, whole := strings.CutPrefix(s, "@")
	if whole {
		if host, err := hostRule(domain); err == nil && !strings.HasPrefix(host, ".") {
			return "@" + host, nil
		}
	} else if a, err := mail.ParseAddress(s); err == nil && a.Address == s && plainAddress.MatchString(s) {
		local, domain, _ := strings.Cut(strings.ToLower(s), "@")
		if host, err := hostRule(domain); err == nil {
			return local + "@" + host, nil
		}
	}
	return "", fmt.Errorf("must be an address such as %q, or %q for all addresses of a domain", "help@shop.example", "@shop.example")
}

func phoneRule(s string) (string, error) {
	rest := strings.TrimPrefix(s, "+")
	number := digitsOf(rest)
	if strings.Trim(rest, "0123456789 ()-./") != "" || len(number) < minCuedDigits || len(number) > maxPhoneDigits {
		return "", fmt.Errorf("must be a phone number of %d to %d digits, such as %q", minCuedDigits, maxPhoneDigits, "+49 30 1234567")
	}
	return strings.TrimLeft(number, "0"), nil
}

// asciiHost returns a host as it is looked up, so that all spellings of a name are one, and look-alikes are not.
func asciiHost(host string) (string, error) {
	host, err := idna.Lookup.ToASCII(host)
	return strings.TrimSuffix(strings.ToLower(host), "."), err
}

// allowsHost reports whether replies may link to a host.
func (p *Policy) allowsHost(host string) bool {
	host, err := asciiHost(host)
	return err == nil && host != "" && slices.ContainsFunc(p.hosts, func(rule string) bool {
		return host == rule || rule[0] == '.' && strings.HasSuffix(host, rule) && len(host) > len(rule)
	})
}

// allowsURL reports whether replies may hold a URL: an absolute http or https URL of the store's hosts, in a form that every
// program reads in the same way.
func (p *Policy) allowsURL(url string) bool {
	scheme, rest, _ := strings.Cut(url, ":")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") || strings.ContainsAny(url, "\\\"<>`{}|^ \n\t") {
		return false
	}
	rest, ok := strings.CutPrefix(rest, "//")
	return ok && p.allowsAuthority(rest)
}

// allowsAuthority reports whether a URL without scheme and slashes names one of the store's hosts, without user or odd port.
func (p *Policy) allowsAuthority(rest string) bool {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	host, port, found := strings.Cut(rest, ":")
	if strings.ContainsAny(host, "@%[]_") || found && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	return p.allowsHost(host)
}

// allowsMail reports whether replies may show an e-mail address.
func (p *Policy) allowsMail(address string) bool {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	host, err := asciiHost(domain)
	return err == nil && plainAddress.MatchString(address) && slices.ContainsFunc(p.mails, func(rule string) bool {
		return rule == local+"@"+host || rule == "@"+host
	})
}

// allowsPhone reports whether replies may show a phone number: one of the store's, also without its country code.
func (p *Policy) allowsPhone(number string) bool {
	const minLocal, maxCountry = 6, 3 // digits
	n := strings.TrimLeft(digitsOf(number), "0")
	return slices.ContainsFunc(p.phones, func(own string) bool {
		return own == n || strings.HasSuffix(own, n) && len(n) >= minLocal && len(own)-len(n) <= maxCountry
	})
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if text.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}
