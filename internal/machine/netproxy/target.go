package netproxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Target is the host that a client names, in one form: a name in lower case without a dot at its end, or an address.
type Target struct {
	Host string
	Addr netip.Addr // valid if Host is an address; an IPv4 address in an IPv6 form is the IPv4 address
	Port uint16
}

func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

var errPort = errors.New("the port is not a number from 1 to 65535")

// ParseTarget reads host:port, with an IPv6 address in brackets. port is used if there is none; 0 requires one.
func ParseTarget(s string, port uint16) (Target, error) {
	host, digits := s, ""
	if rest, ok := strings.CutPrefix(s, "["); ok {
		inner, after, closed := strings.Cut(rest, "]")
		if !closed || after != "" && after[0] != ':' {
			return Target{}, fmt.Errorf("%q is no address", s)
		}
		if !strings.Contains(inner, ":") {
			return Target{}, fmt.Errorf("%q: brackets belong around IPv6 addresses only", s)
		}
		host, digits = inner, strings.TrimPrefix(after, ":")
		if after == ":" {
			return Target{}, errPort
		}
	} else if name, after, ok := strings.Cut(s, ":"); ok {
		host, digits = name, after
		if after == "" {
			return Target{}, errPort
		}
	}
	if digits != "" {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || digits[0] == '+' {
			return Target{}, errPort
		}
		port = uint16(n)
	}
	if port == 0 {
		return Target{}, errPort
	}
	name, addr, err := hostForm(host)
	return Target{name, addr, port}, err
}

// hostForm checks a host and puts it into its one form.
func hostForm(host string) (string, netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", addr, fmt.Errorf("the address %q has a zone", host)
		}
		addr = addr.Unmap()
		return addr.String(), addr, nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", netip.Addr{}, fmt.Errorf("a host has 1 to 253 characters, not %d", len(name))
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if err := checkLabel(l); err != nil {
			return "", netip.Addr{}, fmt.Errorf("%q is no host: %w", host, err)
		}
	}
	if last := labels[len(labels)-1]; numeric(last) { // resolvers read 127.1, 2130706433 and 0x7f.1 as addresses
		return "", netip.Addr{}, fmt.Errorf("%q is an address in an unusual form: write four decimal numbers", host)
	}
	return name, netip.Addr{}, nil
}

// checkLabel accepts the characters of host names, and the underscore, which some names in use have.
func checkLabel(l string) error {
	switch {
	case l == "":
		return errors.New("there is nothing between two dots")
	case len(l) > 63:
		return errors.New("a part of it is longer than 63 characters")
	case l[0] == '-' || l[len(l)-1] == '-':
		return errors.New("a part of it begins or ends with a hyphen")
	}
	for _, c := range []byte(l) {
		switch {
		case c >= 0x80:
			return errors.New("it is not ASCII: write its xn-- form")
		case c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z'):
			return fmt.Errorf("it has the character %q", c)
		}
	}
	return nil
}

// numeric reports a label that a resolver may read as a number.
func numeric(l string) bool {
	if hex, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}
