package permission

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NetAccess is the access to the machine that an address names: its host where the address is plain, the
// whole address where programs may disagree about the host.
func NetAccess(address string) Access {
	h := readHost(address)
	if h.odd == "" {
		return Access{Kind: Net, Target: h.name, Named: address}
	}
	return Access{Kind: Net, Target: address}
}

// host is a parsed address or host name.
type host struct {
	name  string   // canonical: lower case, ASCII, no dot at the end; an address in its usual form
	also  []string // hosts that another program may read in the same URL; for deny and ask rules
	odd   string   // why programs may disagree about the host
	final bool     // and nobody should be asked about it
}

// readHost reads a URL or a host (with or without port).
func readHost(s string) host {
	if strings.ContainsRune(s, 0) || strings.Contains(strings.ToLower(s), "%00") {
		return host{
			odd: "the address holds a NUL character, behind which a program sees another host", also: hostsIn(s),
			final: true,
		}
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
	}) {
		return host{odd: "the address holds characters that cannot be seen", also: hostsIn(s)}
	}
	authority := s
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		if lower := strings.ToLower(scheme); lower != "http" && lower != "https" {
			return host{odd: "the address is not one of the web: " + scheme, also: hostsIn(s)}
		}
		authority = rest
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			authority = rest[:i]
		}
	}
	if strings.ContainsAny(authority, `\@%`) || authority == "" {
		return host{odd: "programs disagree about the host of this address", also: hostsIn(s)}
	}
	name := canonicalHost(withoutPort(authority))
	if name == "" || strings.ContainsAny(name, "/\\?#@%:<>|^") && !strings.Contains(name, "::") && !isAddress(name) {
		return host{odd: "programs disagree about the host of this address", also: hostsIn(s)}
	}
	return host{name: name}
}

func isAddress(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

// withoutPort takes the port and the brackets of an IPv6 address off.
func withoutPort(authority string) string {
	if rest, ok := strings.CutPrefix(authority, "["); ok {
		inner, _, _ := strings.Cut(rest, "]")
		return inner
	}
	if strings.Count(authority, ":") == 1 {
		name, port, _ := strings.Cut(authority, ":")
		if strings.Trim(port, "0123456789") == "" {
			return name
		}
	}
	return authority
}

// canonicalHost writes a host's name in one way; "" when it is none.
func canonicalHost(name string) string {
	name = strings.ToLower(norm.NFKC.String(name))
	name = strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(name)
	name = strings.TrimSuffix(name, ".")
	if a, ok := address(name); ok {
		return a.String()
	}
	labels := strings.Split(name, ".")
	for i, l := range labels {
		ascii, ok := punycode(l)
		if !ok || l == "" && len(labels) > 1 {
			return ""
		}
		labels[i] = ascii
	}
	return strings.Join(labels, ".")
}

// hostsIn lists all that could be taken for the host of an odd address.
func hostsIn(s string) []string {
	var out []string
	if u, err := url.Parse(s); err == nil && u.Hostname() != "" {
		out = append(out, canonicalHost(u.Hostname()))
	}
	for _, part := range strings.FieldsFunc(strings.ReplaceAll(s, "%00", "\x00"), func(r rune) bool {
		return strings.ContainsRune("/\\@?#&=:[]\x00", r) || unicode.IsSpace(r) || unicode.IsControl(r)
	}) {
		if name := canonicalHost(strings.Trim(part, ".")); strings.Contains(name, ".") || strings.Contains(name, ":") {
			out = append(out, name)
		}
	}
	return out
}

// address reads every form of an IP address that resolvers take: 127.1, 2130706433, 0x7f.0.0.1, 0177.0.0.1.
func address(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.WithZone("").Unmap(), true
	}
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 64)
		if err != nil || strings.ContainsAny(part, "_bBoO") && !strings.HasPrefix(strings.ToLower(part), "0x") {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			sum |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		sum |= n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// guardNet judges a host and, where that is not the one that was named, the host that the name resolves to: a public
// name with a private address behind it is an attack (DNS rebinding).
func guardNet(a *Access) verdict {
	v := guardHost(a.Target)
	if named := readHost(a.Named); a.Named != "" && named.odd == "" && isAddress(a.Target) && !isAddress(named.name) &&
		privateHost(a.Target) && !privateHost(named.name) {
		return verdict{effect: Deny, final: true, why: named.name + " is a public name, but leads to " + a.Target +
			", which is this machine or its own network"}
	}
	return v
}

// guardHost asks about addresses that mean this machine or its network, and about odd spellings.
func guardHost(target string) verdict {
	h := readHost(target)
	switch {
	case h.final:
		return verdict{effect: Deny, why: h.odd, final: true}
	case h.odd != "":
		return verdict{effect: Ask, why: h.odd, strict: true}
	case privateHost(h.name):
		return verdict{effect: Ask, why: h.name + " is this machine or its own network"}
	}
	return verdict{}
}

// privateHost reports a host whose services may trust this machine.
func privateHost(name string) bool {
	a, err := netip.ParseAddr(name)
	if err != nil {
		for _, suffix := range []string{"localhost", "local", "internal", "localdomain", "lan", "home.arpa", "intranet"} {
			if name == suffix || strings.HasSuffix(name, "."+suffix) {
				return true
			}
		}
		return !strings.Contains(name, ".")
	}
	return PrivateAddr(a)
}

// PrivateAddr reports whether an address is not one of the public Internet: this machine, its network, link-local
// with the metadata services of clouds, or an IPv6 form of any of these (RFC 6052, 3056, 4380).
func PrivateAddr(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b:
			return PrivateAddr(netip.AddrFrom4([4]byte(b[12:16]))) || b[4] != 0 || b[5] != 0
		case b[0] == 0x20 && b[1] == 0x02:
			return PrivateAddr(netip.AddrFrom4([4]byte(b[2:6])))
		case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0:
			return true
		case [12]byte(b[:12]) == [12]byte{}:
			return true // ::, ::1 and the old mapping of IPv4
		}
	}
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)
	bench := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, 0}), 15)
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() ||
		shared.Contains(a) ||
		bench.Contains(a) || a.Is4() && (a.As4()[0] == 0 || a.As4()[0] >= 240)
}

// matchHost holds "domain:pattern" against a host or an address. *.example.com covers subdomains of any depth
// and not the apex; any other * is a part of one label; a * alone covers every host.
func matchHost(r *Rule, target string) bool {
	spec, ok := strings.CutPrefix(r.Spec, "domain:")
	if !ok {
		return false
	}
	spec = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(spec)), ".")
	h := readHost(target)
	if h.odd == "" {
		return hostMatches(spec, h.name)
	}
	if r.Effect == Allow {
		return false
	}
	for _, name := range h.also {
		if hostMatches(spec, name) {
			return true
		}
	}
	return spec == "*"
}

// subdomain reports whether a host lies below the one that a rule names: who refuses a host may mean those below it.
func subdomain(spec, name string) bool {
	return spec != "" && !strings.Contains(spec, "*") && strings.HasSuffix(name, "."+canonicalHost(withoutPort(spec)))
}

func hostMatches(spec, name string) bool {
	if spec == "*" {
		return true
	}
	if !strings.Contains(spec, "*") {
		return canonicalHost(withoutPort(spec)) == name && name != ""
	}
	want, have := strings.Split(spec, "."), strings.Split(name, ".")
	if want[0] == "*" && len(have) > len(want) {
		have = have[len(have)-len(want):]
	}
	if len(want) != len(have) || isAddress(name) && !strings.Contains(spec, ":") && strings.Trim(spec,
		"0123456789.*") != "" {
		return false
	}
	for i, w := range want {
		if ascii, ok := punycode(w); ok && !strings.Contains(w, "*") {
			w = ascii
		}
		if !wildcard(w, have[i]) {
			return false
		}
	}
	return true
}
