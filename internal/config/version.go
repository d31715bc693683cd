package config

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tailscale/hujson"
)

// Version is the format of settings files that this lathe reads and writes.
const Version = 1

// checkVersion refuses a document written for a newer lathe. Values that are not numbers are left to the
// schema.
func (d *document) checkVersion() error {
	v := find(&d.root, keyPath{"version"})
	if v == nil || v.Value.Kind() != '0' {
		return nil
	}
	f, err := strconv.ParseFloat(string(v.Value.(hujson.Literal)), 64)
	if err != nil || f != math.Trunc(f) || f <= Version {
		return nil
	}
	return &Error{
		Origin: d.src.origin(v.StartOffset), Key: "version", Found: fmt.Sprint(f),
		Allowed: fmt.Sprintf("at most %d", Version), Text: "the file was written for a newer lathe", Hint: "update lathe",
	}
}

// find returns the value at a path of the syntax tree, or nil. Of duplicate keys the last counts.
func find(v *hujson.Value, p keyPath) *hujson.Value {
	for _, seg := range p {
		if v = child(v, seg); v == nil {
			return nil
		}
	}
	return v
}

func child(v *hujson.Value, seg string) *hujson.Value {
	switch val := v.Value.(type) {
	case *hujson.Object:
		for i := len(val.Members) - 1; i >= 0; i-- {
			if unquote(val.Members[i].Name.Value.(hujson.Literal)) == seg {
				return &val.Members[i].Value
			}
		}
	case *hujson.Array:
		if i, err := strconv.Atoi(seg); err == nil && i >= 0 && i < len(val.Elements) {
			return &val.Elements[i]
		}
	}
	return nil
}

// aliases are alternative names of keys, from Claude Code's settings; they count where the key itself is
// missing.
var aliases = []struct{ from, to string }{{"effortLevel", "effort"}}

func applyAliases(root *node) {
	for _, a := range aliases {
		i := root.find(a.from)
		if i < 0 {
			continue
		}
		m := root.members[i]
		root.remove(a.from)
		if root.find(a.to) < 0 {
			m.key = a.to
			root.add(m)
		}
	}
}
