package permission

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/glob"
)

// matchPath holds a path rule against an access. A write is covered by Edit rules; a read by Read rules,
// and by Edit allow rules, because who may edit a file may read it; a read-deny forbids writing too.
func (p *Policy) matchPath(r *Rule, dir string, a *Access) bool {
	switch {
	case r.class() == "Edit" && (a.Kind == Write || r.Effect == Allow):
	case r.class() == "Read" && (a.Kind == Read || r.Effect == Deny):
	default:
		return false
	}
	return p.pathRule(r, dir, a)
}

// pathRule holds the pattern of a rule against the path of an access and, through a link, its target: an
// allow rule must match both, any other either.
func (p *Policy) pathRule(r *Rule, dir string, a *Access) bool {
	target := p.pathMatches(r, dir, a.Target)
	if r.Effect != Allow && !target {
		target = p.behindProc(r, dir, a)
	}
	if a.Named == "" || a.Named == a.Target {
		return target
	}
	named := p.pathMatches(r, dir, a.Named)
	if r.Effect == Allow {
		return target && named
	}
	return target || named
}

// behindProc tries a rule on the target of a path that leads through a process: /proc/self/cwd/x, /proc/1/root/x.
func (p *Policy) behindProc(r *Rule, dir string, a *Access) bool {
	for _, name := range []string{a.Target, a.Named} {
		rest, ok := strings.CutPrefix(name, "/proc/")
		if !ok {
			continue
		}
		for _, door := range []string{"/cwd/", "/root/"} {
			if _, file, ok := strings.Cut(rest, door); ok && (p.pathMatches(r, dir, path.Join("/", file)) || p.pathMatches(r,
				dir, path.Join(slashed(dir), file))) {
				return true
			}
		}
	}
	return false
}

// mayMatchBelow reports whether the pattern of a rule could match something below a folder whose names nobody
// looked at.
func (p *Policy) mayMatchBelow(r *Rule, dir string, a *Access) bool {
	if r.Spec == "" {
		return true
	}
	anchor, pattern, anyDepth := p.anchored(r, dir)
	anchor = slashed(anchor)
	for pattern == ".." || strings.HasPrefix(pattern, "../") {
		anchor, anyDepth = path.Dir(anchor), false
		pattern = strings.TrimPrefix(pattern[2:], "/")
	}
	if !anyDepth {
		fixed := pattern
		if i := strings.IndexAny(pattern, `*?[{\\`); i >= 0 {
			fixed = pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
		}
		anchor = path.Join(anchor, fixed)
	}
	anchor, target := foldName(anchor), foldName(slashed(a.Target))
	_, in := below(anchor, target)
	_, over := below(target, anchor)
	return in || over
}

// pathMatches holds an absolute path against a gitignore-like pattern with one of four anchors:
// //abs, ~/home, /source and relative to the session's folder. Deny and ask rules match in any case and
// whichever way accents are composed, since file systems do.
func (p *Policy) pathMatches(r *Rule, dir, target string) bool {
	anchor, pattern, anyDepth := p.anchored(r, dir)
	anchor, target = slashed(anchor), slashed(target)
	for pattern == ".." || strings.HasPrefix(pattern, "../") {
		anchor, anyDepth = path.Dir(anchor), false
		pattern = strings.TrimPrefix(pattern[2:], "/")
	}
	if r.Effect != Allow {
		pattern, anchor, target = foldName(pattern), foldName(anchor), foldName(target)
	}
	rel, ok := below(anchor, target)
	return ok && globUnder(pattern, rel, anyDepth)
}

// anchored is where a rule's pattern begins, the pattern from there, and whether it counts at any depth.
func (p *Policy) anchored(r *Rule, dir string) (anchor, pattern string, anyDepth bool) {
	pattern, anchor = r.Spec, dir
	if hasDrive(dir) || filepath.Separator == '\\' {
		pattern = strings.ReplaceAll(r.Spec, `\`, "/")
	}
	switch {
	case hasDrive(pattern):
		anchor, pattern = "/", slashed(pattern)[1:]
	case strings.HasPrefix(pattern, "//"):
		anchor, pattern = "/", pattern[2:]
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		anchor, pattern = p.Home, strings.TrimPrefix(pattern[1:], "/")
	case strings.HasPrefix(pattern, "/"):
		pattern = pattern[1:]
		if r.Source.Base != "" {
			anchor = r.Source.Base
		}
	default:
		pattern = strings.TrimPrefix(pattern, "./")
		trimmed := strings.TrimSuffix(strings.TrimSuffix(pattern, "/**"), "/")
		anyDepth = !strings.Contains(pattern, "/") || (r.Effect != Allow && !strings.Contains(trimmed, "/"))
	}
	if pattern != "" {
		pattern = path.Clean(pattern)
	}
	return anchor, pattern, anyDepth
}

// below is the path of target from anchor, both slashed; false when target is not in there.
func below(anchor, target string) (string, bool) {
	if anchor == target {
		return "", true
	}
	rest, ok := strings.CutPrefix(target, anchor)
	if !ok || anchor == "/" {
		return rest, ok
	}
	if inside, ok := strings.CutPrefix(rest, "/"); ok {
		return inside, true
	}
	return target, false
}

// slashed writes an absolute path as rules do, on every system: C:\a\b is /c/a/b.
func slashed(p string) string {
	switch {
	case hasDrive(p):
		p = "/" + strings.ToLower(p[:1]) + "/" + strings.ReplaceAll(p[2:], `\`, "/")
	case strings.HasPrefix(p, `\\`):
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return path.Clean(filepath.ToSlash(p))
}

func hasDrive(p string) bool {
	return len(p) >= 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// globUnder matches rel, or any folder above it: a pattern that names a folder covers its files.
func globUnder(pattern, rel string, anyDepth bool) bool {
	if pattern == "" || pattern == "." || pattern == "**" {
		return true
	}
	if anyDepth {
		pattern = "**/" + pattern
	}
	if !strings.Contains(pattern, "{") { // nothing to expand: no memory is taken
		return upward(rel, func(p string) bool { return glob.Match(pattern, p) })
	}
	g, err := glob.Compile(pattern)
	return err == nil && upward(rel, g.Match) // ParseRule refuses such a rule
}

// upward reports whether a relative path, or any folder above it, is accepted.
func upward(rel string, accept func(string) bool) bool {
	for p := rel; p != "." && p != ""; p = parentOf(p) {
		if accept(p) {
			return true
		}
	}
	return false
}

func parentOf(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}
