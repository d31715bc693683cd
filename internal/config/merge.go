package config

import "slices"

// merge returns n overridden by over; both stay unchanged. Objects merge by key, lists are joined without
// duplicates, and for everything else over wins.
func merge(n, over *node, p keyPath) *node {
	switch {
	case n == nil:
		return over
	case n.kind == '{' && over.kind == '{' && !wholeEntry(p):
		out := *n
		out.src, out.off = over.src, over.off
		out.members = slices.Clone(n.members)
		out.reindex()
		for _, m := range over.members {
			m.val = merge(n.get(m.key), m.val, p.with(m.key))
			out.add(m)
		}
		return &out
	case n.kind == '[' && over.kind == '[' && !replaces(p):
		return join(n, over, p)
	}
	top := *over
	top.shadowed = append([]*node{n}, n.shadowed...)
	return &top
}

// wholeEntry reports objects whose parts must come from one file.
func wholeEntry(p keyPath) bool {
	return p.matches("mcpServers", "*") || p.matches("agents", "*") || p.matches("statusLine") || p.matches("providers",
		"*", "models", "*")
}

// replaces reports lists that are replaced by the highest layer's instead of joined.
func replaces(p keyPath) bool { return p.matches("fallbackModel") }

// join appends over's elements to n's. Of two equal elements the later one stays where order matters, else
// the earlier one.
func join(n, over *node, p keyPath) *node {
	out := *over
	all := slices.Concat(n.elems, over.elems)
	ordered := p.matches("permissions", "rules") || p.matches("allowedMcpServers") // whose origin counts, the strongest
	if ordered {
		slices.Reverse(all)
	}
	seen := make(map[string]bool, len(all))
	out.elems = make([]*node, 0, len(all))
	for _, e := range all {
		key := e.text
		if e.kind != '"' {
			key = "\x00" + string(e.appendJSON(nil))
		}
		if !seen[key] {
			seen[key] = true
			out.elems = append(out.elems, e)
		}
	}
	if ordered {
		slices.Reverse(out.elems)
	}
	return &out
}
