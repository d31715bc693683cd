package entry

import (
	"encoding/json"
	"fmt"
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
	URL     string   `json:"serverUrl"` // * stands for any text
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
		if p.Allowed != nil && !e.meets(allowed) || e.meets(denied) {
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

func (e *Entry) meets(list []pattern) bool {
	return slices.ContainsFunc(list, func(p pattern) bool {
		return p.Name != "" && p.Name == e.Name ||
			len(p.Command) > 0 && e.Type == Stdio && slices.Equal(p.Command, append([]string{e.Command}, e.Args...)) ||
			p.URL != "" && e.URL != "" && like(p.URL, e.URL)
	})
}

// like matches a text with a pattern in which * stands for any text.
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
