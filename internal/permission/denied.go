package permission

import "strings"

// DeniedNames are the names that rules deny reading in any folder: .env, *.pem, secrets. A
// program can be made to leave those out. Rules that name a place are not among them.
func (p *Policy) DeniedNames() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var out []string
	for r := range p.all() {
		if name := r.deniedName(); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// deniedName is the name that a rule denies reading, as a pattern in which only * and ? are special; "" for any other
// rule.
func (r *Rule) deniedName() string {
	if r.Effect != Deny || r.class() != "Read" {
		return ""
	}
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(r.Spec, "./"), "/**"), "/")
	if name == "" || strings.Trim(name, "*?.") == "" || strings.Trim(name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-*?") != "" || strings.Contains(name, "**") {
		return ""
	}
	return name
}
