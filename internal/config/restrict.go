package config

import (
	"cmp"
	"slices"
	"strings"
)

// restricting are the keys of permissions that can refuse a call.
var restricting = []string{
	"deny", "ask", "rules", "disableBypassPermissionsMode", "disableAutoMode",
	"askBeforeCommands",
}

// restricts reports keys that can refuse a call: losing one would allow more than the user meant. An ordered rule can
// also allow.
func restricts(root *node, p keyPath) bool {
	switch {
	case len(p) == 0 || p[0] != "permissions":
		return false
	case len(p) == 1:
		return true
	case p[1] == "rules" && len(p) > 2:
		return !allows(root.at(p[:3]))
	}
	return slices.Contains(restricting, p[1])
}

func allows(rule *node) bool {
	action := rule.get("action")
	return action != nil && action.text == "allow"
}

// isEntry reports the elements of the lists of permissions.
func isEntry(p keyPath) bool { return len(p) > 2 && p[0] == "permissions" && isIndex(p[2]) }

// unknownKey reports a key that the schema does not name. Unknown keys in other programs' files are fine, unless
// they may be meant to restrict or to confine.
func (c *checker) unknownKey(s *schema, m member, p keyPath) {
	p = p.with(m.key)
	c.unknown = append(c.unknown, p)
	near := nearest(m.key, s.names())
	const unknown = "lathe does not know this key"
	text := unknown + "; it is kept and has no effect"
	switch hint := c.meantToRestrict(m, p, near); {
	case hint != "":
		e := &Error{Origin: c.src.origin(m.keyOff), Key: p.String(), Text: unknown, Hint: hint, rules: true}
		c.problems = append(c.problems, e)
		return
	case c.src.foreign && len(p) == 2 && p[0] == "permissions" && hasPrefix(m.key, "disable"):
		text = unknown + " and does not obey it"
	case c.src.foreign && (p[0] != "sandbox" || near == ""): // a misspelled denyRead hides nothing
		return
	case near != "":
		text += "; did you mean " + near + "?"
	}
	c.warnings = append(c.warnings, Warning{Origin: c.src.origin(m.keyOff), Key: p.String(), Text: text})
}

// meantToRestrict returns a hint for an unknown key that may be a misspelled restriction, or "".
func (c *checker) meantToRestrict(m member, p keyPath, near string) string {
	switch {
	case len(p) == 1 && near == "permissions" && m.val.kind == '{':
		return "did you mean permissions?"
	case len(p) == 1 && m.val.kind == '[' && (strings.EqualFold(m.key, "deny") || strings.EqualFold(m.key, "ask")):
		return "did you mean permissions." + strings.ToLower(m.key) + "?"
	case len(p) != 2 || p[0] != "permissions" || strings.ContainsAny(m.key[:min(1, len(m.key))], "$_/"): // a comment
		return ""
	}
	if hasPrefix(m.key, "den") {
		near = cmp.Or(near, "deny")
	}
	switch {
	case slices.Contains(restricting, near):
		return "did you mean " + near + "?"
	case near == "" && !c.src.foreign:
		return "take it out, or write its rules under deny, ask or rules"
	}
	return ""
}

func hasPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
