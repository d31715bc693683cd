package entry

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Policy is the administrator's lists of servers.
type Policy struct {
	Allowed json.RawMessage // a list of patterns; nil: all
	Denied  json.RawMessage
}

// pattern is met by a server's name, exact command or address.
type pattern struct {
	Name    string   `json:"serverName"`
	Command []string `json:"serverCommand"`
	URL     string   `json:"serverUrl"` // * represents any text, in a part of the address
}

// Apply leaves out the servers that the lists refuse. A list that cannot be read refuses all.
func (p Policy) Apply(entries []Entry, faults []string) ([]Entry, []string, error) {
	allowed, err := patterns(p.Allowed)
	denied, err2 := patterns(p.Denied)
	if err != nil || err2 != nil {
		return nil, append(faults, "the policy's list of MCP servers cannot be read, so none is used"), nil
	}
	kept := entries[:0]
	for _, e := range entries {
		if p.Allowed != nil && !e.allowed(allowed) || e.denied(denied) {
			faults = append(faults, fmt.Sprintf("the MCP server %q is refused by the policy of this machine", e.Name))
			continue
		}
		kept = append(kept, e)
	}
	return kept, faults, nil
}

func patterns(raw json.RawMessage) (out []pattern, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(raw, &out)
	return out, err
}

// allowed reports whether the list has the server. Whoever declares a server names it, so a name is not enough where
// the list has commands (for servers with a command) or addresses (for those with an address).
func (e *Entry) allowed(list []pattern) bool {
	exact := slices.ContainsFunc(list, func(p pattern) bool {
		return len(p.Command) > 0 && e.Command != "" || p.URL != "" && e.URL != ""
	})
	return slices.ContainsFunc(list, func(p pattern) bool {
		return !exact && p.named(e) || p.runs(e) || p.URL != "" && e.URL != "" && within(p.URL, e.URL)
	})
}

// denied reports whether the list has the server, in any way to read an address.
func (e *Entry) denied(list []pattern) bool {
	return slices.ContainsFunc(list, func(p pattern) bool {
		if p.named(e) || p.runs(e) {
			return true
		}
		wide := strings.ToLower(p.URL)
		return p.URL != "" && e.URL != "" && (like(wide, strings.ToLower(e.URL)) || within(wide, strings.ToLower(e.URL)))
	})
}

func (p *pattern) named(e *Entry) bool { return p.Name != "" && p.Name == e.Name }

func (p *pattern) runs(e *Entry) bool {
	return len(p.Command) > 0 && e.Type == Stdio && slices.Equal(p.Command, append([]string{e.Command}, e.Args...))
}

// within matches an address with a pattern part by part, so that a * for a part of the host represents nothing of the
// path.
func within(pattern, address string) bool {
	address = plain(address)
	scheme, host, below, ok := split(pattern)
	if !ok {
		return like(strings.ToLower(pattern), strings.ToLower(address))
	}
	if below == "" && strings.HasSuffix(host, "*") {
		below = "*"
	}
	s, h, rest, ok := split(address)
	return ok && like(strings.ToLower(scheme), s) && like(withoutPort(scheme, strings.ToLower(host)), h) &&
		like("/"+strings.TrimPrefix(below, "/"), "/"+strings.TrimPrefix(rest, "/"))
}

func split(address string) (scheme, host, below string, ok bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	return scheme, rest[:end], rest[end:], ok
}

// plain is an address in its one form: scheme and host in small letters, without the usual port, a fragment and steps
// up in the path.
func plain(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme, u.User, u.Fragment, u.RawFragment, u.RawPath = strings.ToLower(u.Scheme), nil, "", "", ""
	u.Host = withoutPort(u.Scheme, strings.ToLower(u.Host))
	if clean := path.Clean("/" + u.Path); strings.HasSuffix(u.Path, "/") && clean != "/" {
		u.Path = clean + "/"
	} else {
		u.Path = clean
	}
	return u.String()
}

func withoutPort(scheme, host string) string {
	switch strings.ToLower(scheme) {
	case "https":
		return strings.TrimSuffix(host, ":443")
	case "http":
		return strings.TrimSuffix(host, ":80")
	}
	return host
}

// like matches a text with a pattern in which * represents any text.
func like(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(s, part)
		}
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return s == ""
}
