package config

import (
	"fmt"
	"slices"
	"strings"
)

// WithoutEffect lists the keys marked x-effect in schema.json, which nothing reads yet, and the keys below
// them.
func WithoutEffect() []string {
	var out []string
	var walk func(s *schema, p keyPath, idle bool)
	walk = func(s *schema, p keyPath, idle bool) {
		for _, prop := range s.props {
			at, none := p.with(prop.name), idle || prop.schema().idle
			if none {
				out = append(out, at.String())
			}
			walk(prop.schema(), at, none)
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
			if m.val.src.layer == Default {
				continue
			}
			sub := s.prop(m.key)
			switch {
			case sub == nil:
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
		l.warn(Warning{
			Origin: at, Text: strings.Join(keys[at], ", ") + ": without effect, lathe does not have this yet",
			Idle: true,
		})
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

// A protection is a protective key that is set and not in force.
type protection struct {
	key  keyPath
	n    *node
	held bool // it waits until its folder is trusted
}

// unprotected finds a protective key that is not in force: one that nothing reads yet, or one that is held.
func unprotected(root *node, held []*node) (found protection, ok bool) {
	off := root.get("disableAllHooks")
	walk := func(doc *node, waits bool) {
		eachProtection(doc, func(p keyPath, n *node, idle bool) {
			switch {
			case ok, !waits && !idle, p[0] == "hooks" && off != nil && off.kind == 't' && !outranks(n, off):
			default:
				found, ok = protection{p, n, waits && !idle}, true
			}
		})
	}
	walk(root, false)
	for _, doc := range held {
		walk(doc, true)
	}
	return found, ok
}

// eachProtection visits the keys of a document that are marked x-protects and switch something on. What lies
// below an idle key is idle, too.
func eachProtection(doc *node, visit func(p keyPath, n *node, idle bool)) {
	var walk func(s *schema, n *node, p keyPath, idle bool)
	walk = func(s *schema, n *node, p keyPath, idle bool) {
		if s.protects {
			visit(p, n, idle)
			return
		}
		for _, m := range n.members {
			if m.val.isOff() || m.val.src.layer == Default {
				continue // before its schema is parsed
			}
			if sub := s.prop(m.key); sub != nil {
				walk(sub, m.val, p.with(m.key), idle || sub.idle)
			}
		}
	}
	walk(rootSchema(), doc, nil, false)
}

// outranks reports whether the policy of the machine has a hand in v and none in off: a user's disableAllHooks does
// not switch off the hooks of an organisation.
func outranks(v, off *node) bool {
	if off.origin().Layer == Managed {
		return false
	}
	return v.origin().Layer == Managed || slices.ContainsFunc(v.elems, func(e *node) bool { return outranks(e, off) })
}

// BypassForbidden returns the reason why bypassPermissions may not be used, or nil: the settings forbid it,
// or they rely on a protection that is not in force, because this version does not have it or because the
// project's folder is not trusted.
func (c *Config) BypassForbidden() error {
	if e := bypassForbidden(c.merged, c.waiting); e != nil {
		return e
	}
	return nil
}

// ModeForbidden returns the reason why a permission mode may not be used, or nil.
func (c *Config) ModeForbidden(mode string) error {
	if e := modeForbidden(c.merged, c.waiting, mode); e != nil {
		return e
	}
	return nil
}

func modeForbidden(root *node, held []*node, mode string) *Error {
	switch mode {
	case "bypassPermissions":
		return bypassForbidden(root, held)
	case "auto":
		if off := root.at(keyPath{"permissions", "disableAutoMode"}); off != nil {
			return &Error{
				Origin: off.origin(), Key: "permissions.disableAutoMode",
				Text: "the mode auto is forbidden by the settings", Hint: "use another mode",
			}
		}
	}
	return nil
}

func bypassForbidden(root *node, held []*node) *Error {
	if off := root.at(keyPath{"permissions", "disableBypassPermissionsMode"}); off != nil {
		return &Error{
			Origin: off.origin(), Key: "permissions.disableBypassPermissionsMode",
			Text: "the mode bypassPermissions is forbidden by the settings",
		}
	}
	found, ok := unprotected(root, held)
	if !ok {
		return nil
	}
	if found.held {
		return &Error{Text: fmt.Sprintf("the mode bypassPermissions is refused: %s (%s) protects you, and waits until this "+
			"folder is trusted. %s, or use another mode", found.key, found.n.origin(), TrustRemedy)}
	}
	e := &Error{
		Origin: found.n.origin(), Key: found.key.String(),
		Text: "the mode bypassPermissions is refused: this setting protects you, and lathe does not obey it yet",
		Hint: "use another mode, or take the setting away",
	}
	return e
}
