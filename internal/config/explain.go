package config

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Value is one merged value: a scalar, or an empty object or list.
type Value struct {
	Path     string          `json:"path"` // dotted, as for Origin
	JSON     json.RawMessage `json:"value"`
	Origin   Origin          `json:"origin"`
	Secret   bool            `json:"secret,omitempty"`   // JSON is masked
	Shadowed []Origin        `json:"shadowed,omitempty"` // lower origins of the same key, highest first
}

// Explain lists every value with its origin; secrets are masked.
func (c *Config) Explain() []Value {
	out := leaves(c.merged, nil)
	for i := range out {
		out[i].mask()
	}
	return out
}

// JSON returns the merged configuration as indented JSON; secrets are masked.
func (c *Config) JSON() []byte {
	shown := c.merged.clone()
	maskTree(shown, nil)
	var out json.RawMessage = shown.appendJSON(nil)
	pretty, err := json.MarshalIndent(out, "", "  ")
	if err != nil { // appendJSON writes valid JSON
		return out
	}
	return append(pretty, '\n')
}

// ErrNotSet says that an existing key has no value.
var ErrNotSet = errors.New("the key is not set")

// Show is Get for people: secrets are masked, and the error distinguishes a key that is not set (ErrNotSet)
// from one that does not exist.
func (c *Config) Show(path string) (json.RawMessage, Origin, error) {
	p, err := parsePath(path)
	if err != nil {
		return nil, Origin{}, err
	}
	n := c.merged.at(p)
	if n == nil {
		if _, err := settable(path, false); err != nil {
			return nil, Origin{}, err
		}
		return nil, Origin{}, &Error{Key: p.String(), Err: ErrNotSet, Hint: "`lathe config set` writes it"}
	}
	shown := n.clone()
	maskTree(shown, p)
	return shown.appendJSON(nil), n.origin(), nil
}

// leaves lists the values below n in order, unmasked.
func leaves(n *node, p keyPath) []Value {
	var out []Value
	switch {
	case n.kind == '{' && len(n.members) > 0:
		for _, m := range n.members {
			out = append(out, leaves(m.val, p.with(m.key))...)
		}
	case n.kind == '[' && len(n.elems) > 0:
		for i, e := range n.elems {
			out = append(out, leaves(e, p.with(strconv.Itoa(i)))...)
		}
	case len(p) > 0:
		v := Value{Path: p.String(), JSON: n.appendJSON(nil), Origin: n.origin(), Secret: n.secret || secretAt(p)}
		for _, s := range n.shadowed {
			v.Shadowed = append(v.Shadowed, s.origin())
		}
		out = append(out, v)
	}
	return out
}

func (v *Value) mask() {
	var s string
	isText := json.Unmarshal(v.JSON, &s) == nil
	switch {
	case v.Secret && (!isText || s != ""):
		v.JSON = appendString(nil, masked(s))
	case isText:
		v.JSON = appendString(nil, maskURL(s))
	}
}

func maskTree(n *node, p keyPath) {
	for _, m := range n.members {
		maskTree(m.val, p.with(m.key))
	}
	for i, e := range n.elems {
		maskTree(e, p.with(strconv.Itoa(i)))
	}
	switch {
	case n.kind == '{' || n.kind == '[':
	case n.secret || secretAt(p):
		n.kind, n.text = '"', masked(n.text)
	case n.kind == '"':
		n.text = maskURL(n.text)
	}
}

// masked keeps the last four characters of long secrets, for recognition.
func masked(s string) string {
	if r := []rune(s); len(r) >= 20 {
		return "***" + string(r[len(r)-4:])
	}
	return "***"
}

// maskURL hides the password in a URL.
func maskURL(s string) string {
	if !strings.Contains(s, "://") || !strings.Contains(s, "@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	user := u.User.Username() + ":***@"
	if _, has := u.User.Password(); !has {
		user = "***@" // a user name without password may be a token
	}
	scheme, rest, _ := strings.Cut(s, "://")
	_, host, _ := strings.Cut(rest, "@")
	return scheme + "://" + user + host
}
