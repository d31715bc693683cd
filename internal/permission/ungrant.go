package permission

import "slices"

// Ungrant takes back a rule that was granted while the session runs; false when there is none like it.
func (p *Policy) Ungrant(text string, e Effect) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.grants)
	p.grants = slices.DeleteFunc(slices.Clone(p.grants), func(r Rule) bool { return r.Text == text && r.Effect == e })
	return len(p.grants) < n
}
