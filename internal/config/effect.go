package config

import "strings"

// WithoutEffect lists the keys marked x-effect in schema.json, which nothing reads yet, and the keys below
// them.
func WithoutEffect() []string {
	var out []string
	var walk func(s *schema, p keyPath, idle bool)
	walk = func(s *schema, p keyPath, idle bool) {
		for _, prop := range s.props {
			at, none := p.with(prop.name), idle || prop.schema.idle
			if none {
				out = append(out, at.String())
			}
			walk(prop.schema, at, none)
		}
	}
	walk(rootSchema(), nil, false)
	return out
}

// eachIdle visits the keys that are set but that nothing reads yet.
func eachIdle(root *node, visit func(p keyPath, s *schema, n *node)) {
	var walk func(s *schema, n *node, p keyPath)
	walk = func(s *schema, n *node, p keyPath) {
		for _, m := range n.members {
			sub := s.prop(m.key)
			switch {
			case sub == nil || m.val.src.layer == Default:
			case sub.idle:
				visit(p.with(m.key), sub, m.val)
			default:
				walk(sub, m.val, p.with(m.key))
			}
		}
	}
	walk(rootSchema(), root, nil)
}

// warnIdle warns once per file of its keys without effect. A key that switches something off needs no
// warning.
func (l *loader) warnIdle(root *node) {
	keys := map[Origin][]string{}
	var order []Origin
	eachIdle(root, func(p keyPath, _ *schema, n *node) {
		if n.isOff() {
			return
		}
		at := n.origin()
		at.Line, at.Column = 0, 0
		if keys[at] == nil {
			order = append(order, at)
		}
		keys[at] = append(keys[at], p.String())
	})
	for _, at := range order {
		l.warn(Warning{Origin: at, Text: strings.Join(keys[at], ", ") + ": without effect, lathe does not have this yet", Idle: true})
	}
}

// isOff reports values that switch nothing on: false, null and empty ones.
func (n *node) isOff() bool {
	switch n.kind {
	case '{':
		return len(n.members) == 0
	case '[':
		return len(n.elems) == 0
	case '"':
		return n.text == ""
	}
	return n.kind == 'f' || n.kind == 'n'
}

// unprotected finds a protective key that nothing obeys yet, or nil.
func unprotected(root *node) (key keyPath, n *node) {
	var walk func(s *schema, v *node, p keyPath)
	walk = func(s *schema, v *node, p keyPath) {
		if n != nil || v.isOff() {
			return
		}
		if s.protects {
			key, n = p, v
			return
		}
		for _, m := range v.members {
			if sub := s.prop(m.key); sub != nil {
				walk(sub, m.val, p.with(m.key))
			}
		}
	}
	off := root.get("disableAllHooks")
	eachIdle(root, func(p keyPath, s *schema, v *node) {
		if p[0] != "hooks" || off == nil || off.kind != 't' || outranks(v, off) {
			walk(s, v, p)
		}
	})
	return key, n
}

// outranks reports whether the policy of the machine has a hand in v and none in off: a user's disableAllHooks does
// not switch off the hooks of an organisation.
func outranks(v, off *node) bool {
	if off.origin().Layer == Managed {
		return false
	}
	if v.origin().Layer == Managed {
		return true
	}
	for _, e := range v.elems {
		if outranks(e, off) {
			return true
		}
	}
	for _, m := range v.members {
		if outranks(m.val, off) {
			return true
		}
	}
	return false
}

// BypassForbidden returns the reason why bypassPermissions may not be used, or nil: the settings forbid it,
// or they rely on a protection that this version does not have.
func (c *Config) BypassForbidden() error {
	if e := bypassForbidden(c.merged); e != nil {
		return e
	}
	return nil
}

func bypassForbidden(root *node) *Error {
	if off := root.at(keyPath{"permissions", "disableBypassPermissionsMode"}); off != nil {
		return &Error{Origin: off.origin(), Key: "permissions.disableBypassPermissionsMode", Text: "the mode bypassPermissions is forbidden by the settings"}
	}
	if key, n := unprotected(root); n != nil {
		return &Error{
			Origin: n.origin(), Key: key.String(),
			Text: "the mode bypassPermissions is refused: this setting protects you, and lathe does not obey it yet",
			Hint: "use another mode, or take the setting away",
		}
	}
	return nil
}
