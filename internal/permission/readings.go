package permission

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Readings are decisions on reading many files one by one, such as those of a search. In each folder one decision is
// made for all names that no rule and no guard could tell apart, and one each for the others. The rules are those of
// the moment when it was made. It is for one goroutine.
type Readings struct {
	p       *Policy
	req     Request
	roots   []string // all that may be read, folded
	apart   map[string]bool
	exact   map[string]bool // names in patterns, folded
	endings []string        // of names in patterns such as *.pem, folded
	globs   []string        // other names in patterns, as they are and folded
	each    bool            // nothing can be said by folder

	dir    string // of the last file
	alike  bool   // the names there can be alike
	known  bool   // effect is theirs
	effect Effect
}

// Readings makes decisions on requests like req, whose accesses are left to Effect.
func (p *Policy) Readings(req Request) *Readings {
	r := &Readings{p: p, req: req, apart: map[string]bool{}, exact: map[string]bool{}, each: filepath.Separator != '/' ||
		req.Place != nil, dir: "-"}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, root := range append(append([]string{req.Dir, p.Home}, p.roots...), p.readRoots...) {
		r.singleOut(root)
	}
	for _, root := range append(append([]string{}, p.roots...), p.readRoots...) {
		r.roots = append(r.roots, foldName(slashed(root)))
	}
	r.settings()
	for rule := range p.all() {
		r.take(rule)
	}
	for _, l := range p.lent {
		for i := range l.rules {
			r.take(&l.rules[i])
		}
	}
	return r
}

// singleOut notes a path that is judged in another way than its neighbours.
func (r *Readings) singleOut(at string) { r.apart[path.Dir(foldName(slashed(at)))] = true }

// settings notes the folders of lathe, in which names count.
func (r *Readings) settings() {
	dirs := append([]string{}, r.p.Own...)
	for _, rel := range []string{".lathe", ".config/lathe", ".local/share/lathe", ".local/state/lathe"} {
		dirs = append(dirs, path.Join(slashed(r.p.Home), rel))
	}
	for _, dir := range dirs {
		r.apart[foldName(slashed(dir))] = true
		r.singleOut(dir)
	}
}

// take notes the names in the pattern of a rule. A name that matches none of them is matched by ** only, which matches
// its neighbours too.
func (r *Readings) take(rule *Rule) {
	if rule.Spec == "" || rule.class() == "" && rule.Tool != ExternalDirectory {
		return
	}
	anchor, pattern, _ := r.p.anchored(rule, r.req.Dir)
	anchor = slashed(anchor)
	for pattern == ".." || strings.HasPrefix(pattern, "../") {
		r.singleOut(anchor)
		anchor, pattern = path.Dir(anchor), strings.TrimPrefix(pattern[2:], "/")
	}
	r.singleOut(anchor)
	for name := range strings.SplitSeq(pattern, "/") {
		r.name(name)
	}
}

func (r *Readings) name(glob string) {
	folded := foldName(glob)
	ending, star := strings.CutPrefix(folded, "*")
	switch {
	case folded == "" || folded == "." || folded == "**":
	case strings.Contains(folded, "**") || !doublestar.ValidatePattern(glob) || !doublestar.ValidatePattern(folded):
		r.each = true // it may be a part of something longer in braces
	case !strings.ContainsAny(folded, `*?[{\`):
		r.exact[folded] = true
	case star && ending != "" && !strings.ContainsAny(ending, `*?[{\`):
		r.endings = append(r.endings, ending)
	default:
		r.globs = append(r.globs, glob, folded)
	}
}

// Effect is the decision on reading the file at an absolute, clean path.
func (r *Readings) Effect(file string) Effect {
	dir, name := filepath.Split(file)
	if r.each || !r.ordinary(name) {
		return r.decide(file)
	}
	if dir != r.dir {
		r.enter(dir)
	}
	if !r.alike {
		return r.decide(file)
	}
	if !r.known {
		r.effect, r.known = r.decide(file), true
	}
	return r.effect
}

func (r *Readings) enter(dir string) {
	r.dir, r.known = dir, false
	folded := foldName(slashed(dir))
	r.alike = !r.apart[folded] && folded != "/proc" && !strings.HasPrefix(folded, "/proc/") && !strings.ContainsAny(dir,
		`\:`)
	inside := false
	for _, root := range r.roots {
		_, in := below(root, folded)
		inside = inside || in
	}
	r.alike = r.alike && inside
}

func (r *Readings) decide(file string) Effect {
	req := r.req
	req.Accesses = []Access{{Kind: Read, Target: file, Node: File}}
	return r.p.Decide(req).Effect
}

// ordinary reports whether neither a rule nor a guard knows the name.
func (r *Readings) ordinary(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '\\' || c == ':' || c == '~' {
			return false
		}
	}
	plain := plainName(name)
	if name == "" || name == "." || name == ".." || r.ruled(name) || plain == "config" {
		return false
	}
	if _, why := secretFile([]string{plain}); why != "" {
		return false
	}
	return filesByName()[plain] == nil && foldersByName()[plain] == nil
}

// ruled reports whether a name matches one in the pattern of a rule.
func (r *Readings) ruled(name string) bool {
	folded := foldName(name)
	if r.exact[folded] {
		return true
	}
	for _, ending := range r.endings {
		if strings.HasSuffix(folded, ending) {
			return true
		}
	}
	for _, glob := range r.globs {
		if doublestar.MatchUnvalidated(glob, name) || doublestar.MatchUnvalidated(glob, folded) {
			return true
		}
	}
	return false
}
