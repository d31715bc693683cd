package config

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tailscale/hujson"
)

// Version is the format of settings files that this lathe writes.
const Version = 1

// A migration brings a file from the version before it up to to, by renaming keys. It works on the syntax
// tree, so that a rewrite keeps comments and order.
type migration struct {
	to      int
	renames []rename
}

type rename struct{ from, to string } // dotted paths with the same parent

// migrations are in order. Version 0 is what lathe read before files had a version: snake_case names.
var migrations = []migration{{to: 1, renames: []rename{
	{"small_model", "smallModel"},
	{"fallback_model", "fallbackModel"},
	{"max_tokens", "maxOutputTokens"},
	{"max_output_tokens", "maxOutputTokens"},
	{"max_turns", "maxTurns"},
	{"api_base", "apiBase"},
	{"api_key_helper", "apiKeyHelper"},
	{"mcp_servers", "mcpServers"},
	{"skill_dirs", "skillDirs"},
	{"auto_compact", "autoCompactEnabled"},
	{"compaction_threshold", "compactionThreshold"},
	{"permissions.default_mode", "permissions.defaultMode"},
	{"permissions.additional_directories", "permissions.additionalDirectories"},
}}}

// migrate brings a document of lathe's own up to Version and tells whether anything had to change. A file
// without a version may be of any, so only names that mean nothing today are renamed in it.
func (d *document) migrate() (changed bool, err error) {
	from, err := d.version()
	if err != nil {
		return false, err
	}
	for _, m := range migrations {
		if m.to <= from {
			continue
		}
		for _, r := range m.renames {
			changed = d.rename(r) || changed
		}
	}
	if v := find(&d.root, keyPath{"version"}); v != nil && from < Version {
		v.Value = hujson.Int(Version)
		changed = true
	}
	return changed, nil
}

// version reads the file's version; 0 where it has none. What is not a number is left to the schema.
func (d *document) version() (int, error) {
	v := find(&d.root, keyPath{"version"})
	if v == nil || v.Value.Kind() != '0' {
		return 0, nil
	}
	f, err := strconv.ParseFloat(string(v.Value.(hujson.Literal)), 64)
	if err != nil || f < 0 || f != math.Trunc(f) {
		return 0, nil
	}
	if f > Version {
		return 0, &Error{
			Origin: d.src.origin(v.StartOffset), Key: "version", Found: fmt.Sprint(f),
			Allowed: fmt.Sprintf("at most %d", Version), Text: "the file was written for a newer lathe", Hint: "update lathe",
		}
	}
	return int(f), nil
}

// rename gives a key its new name where it stands. If the new name is there too, the old one is unknown and
// stays what it is.
func (d *document) rename(r rename) bool {
	from, _ := parsePath(r.from)
	to, _ := parsePath(r.to)
	parent := find(&d.root, from[:len(from)-1])
	if parent == nil || find(&d.root, to) != nil {
		return false
	}
	obj, ok := parent.Value.(*hujson.Object)
	if !ok {
		return false
	}
	for i := range obj.Members {
		name := &obj.Members[i].Name
		if unquote(name.Value.(hujson.Literal)) == from[len(from)-1] {
			name.Value = hujson.String(to[len(to)-1])
			return true
		}
	}
	return false
}

// find returns the value at a path of the syntax tree, or nil. Of repeated keys it takes the last.
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

// aliases are other names for a key, from Claude Code's settings; they count where the key itself is absent.
var aliases = []rename{{"effortLevel", "effort"}}

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
