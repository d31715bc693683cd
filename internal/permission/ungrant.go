package permission

import "slices"

// Ungrant takes back a rule that was granted while the session runs, by the user or a hook; false when there is none
// like it.
func (p *Policy) Ungrant(text string, e Effect) bool {
	defer p.change()()
	n := len(p.grants) + len(p.hooked)
	same := func(r Rule) bool { return r.Text == text && r.Effect == e }
	p.grants = slices.DeleteFunc(slices.Clone(p.grants), same)
	p.hooked = slices.DeleteFunc(slices.Clone(p.hooked), same)
	return len(p.grants)+len(p.hooked) < n
}
