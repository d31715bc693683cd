package netproxy

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Rules are the patterns of the settings. A pattern is a host, *.domain for the hosts below a domain, * for every host,
// an address or a range of addresses (10.0.0.0/8), each but a range with :port for that port alone.
type Rules struct {
	Allow, Deny []Pattern
}

// Pattern matches targets.
type Pattern struct {
	text string
	host string       // a name; below: the domain
	sub  bool         // only the hosts below it
	any  bool         // every name, and every public address
	net  netip.Prefix // addresses
	port uint16       // 0: every port
}

func (p Pattern) String() string { return p.text }

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	text := strings.TrimSpace(s)
	if prefix, err := netip.ParsePrefix(text); err == nil {
		if prefix != prefix.Masked() {
			return p, fmt.Errorf("%q: bits are set behind the range; did you mean %s?", s, prefix.Masked())
		}
		p.net = unmapped(prefix)
		return p, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil { // an IPv6 address without brackets
		addr = addr.Unmap()
		p.net = netip.PrefixFrom(addr, addr.BitLen())
		return p, nil
	}
	host := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		t, err := ParseTarget("x"+text[i:], 0)
		if err != nil {
			return p, fmt.Errorf("%q: %w", s, err)
		}
		host, p.port = text[:i], t.Port
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "*" {
		p.any = true
		return p, nil
	}
	host, p.sub = strings.CutPrefix(host, "*.")
	if strings.ContainsAny(host, "*/") {
		return p, fmt.Errorf("%q is no pattern: write a host, *.domain, *, an address or a range such as 10.0.0.0/8, "+
			"without https:// and path", s)
	}
	name, addr, err := hostForm(host)
	if err != nil {
		return p, err
	}
	p.host = name
	if addr.IsValid() {
		p.host, p.net = "", netip.PrefixFrom(addr, addr.BitLen())
	}
	return p, nil
}

// unmapped returns an IPv4-mapped range (::ffff:10.0.0.0/104) as the IPv4 range: the addresses that it is compared with
// have that form.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() { // with 96 bits or more, because no bits are set behind the range
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// ParseRules reads the lists of the settings.
func ParseRules(allow, deny []string) (Rules, error) {
	var r Rules
	for _, list := range []struct {
		texts []string
		to    *[]Pattern
	}{{allow, &r.Allow}, {deny, &r.Deny}} {
		for _, text := range list.texts {
			p, err := ParsePattern(text)
			if err != nil {
				return Rules{}, err
			}
			*list.to = append(*list.to, p)
		}
	}
	return r, nil
}

// matches reports whether the pattern covers what a client named.
func (p Pattern) matches(t Target) bool {
	switch {
	case p.port != 0 && p.port != t.Port:
		return false
	case t.Addr.IsValid():
		return p.net.IsValid() && p.net.Contains(t.Addr) || p.any && !private(t.Addr)
	case p.any:
		return true
	case p.sub:
		return strings.HasSuffix(t.Host, "."+p.host)
	}
	return p.host != "" && p.host == t.Host
}

// find returns the first pattern that covers the target.
func find(patterns []Pattern, t Target) (Pattern, bool) {
	for _, p := range patterns {
		if p.matches(t) {
			return p, true
		}
	}
	return Pattern{}, false
}

// mayDial judges an address behind a target.
func (r Rules) mayDial(t Target, addr netip.Addr) error {
	at := Target{addr.String(), addr, t.Port}
	for _, p := range r.Deny {
		if p.net.IsValid() && p.matches(at) {
			return &RefusedError{t, fmt.Sprintf("it leads to %s, which the settings deny (%s)", addr, p)}
		}
	}
	if !private(addr) {
		return nil
	}
	for _, p := range r.Allow {
		if p.net.IsValid() && p.matches(at) {
			return nil
		}
	}
	if t.Addr.IsValid() {
		return &RefusedError{t, "it is an address of this machine, its network or its cloud; " +
			"sandbox.network.allowedDomains may name it"}
	}
	return &RefusedError{t, fmt.Sprintf("it leads to %s, an address of this machine, its network or its cloud; "+
		"sandbox.network.allowedDomains may name that address", addr)}
}

// azure is the address at which Azure serves machines their certificates and settings. It looks public.
var azure = netip.AddrFrom4([4]byte{168, 63, 129, 16})

// private reports addresses that may trust this machine.
func private(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return permission.PrivateAddr(a) || a == azure || a.Is6() && !global.Contains(a)
}

// global is the range of all public IPv6 addresses (RFC 4291).
var global = netip.MustParsePrefix("2000::/3")

// RefusedError is a refusal by policy, in contrast to a failure.
type RefusedError struct {
	Target Target
	Reason string
}

func (e *RefusedError) Error() string {
	return "the sandbox refuses a connection to " + e.Target.String() + ": " + e.Reason
}

// Allows reports whether the patterns alone allow a target.
func (r Rules) Allows(t Target) bool {
	_, denied := find(r.Deny, t)
	_, allowed := find(r.Allow, t)
	return allowed && !denied
}
