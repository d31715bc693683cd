package shell

import (
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// touch is what makes two accesses the same.
type touch struct {
	kind            permission.Kind
	target, named   string
	redirect, below bool
	landings        int // of the line so far
}

// access notes an access once.
func (a *analysis) access(x permission.Access) {
	if a.mute > 0 {
		return
	}
	key := touch{kind: x.Kind, target: x.Target, named: x.Named, redirect: x.Redirect, below: x.Below}
	key.landings = len(a.landings)
	if !a.touched[key] {
		a.touched[key] = true
		a.accesses = append(a.accesses, x)
	}
}

// path notes a read or write of a path as it was written, from each folder that may be the current one.
func (a *analysis) path(kind permission.Kind, name string, dirs []string, redirect bool) {
	if a.mute > 0 || name == "" || strings.Contains(name, "\x00") {
		return
	}
	if filepath.IsAbs(name) {
		a.place(kind, name, redirect)
		return
	}
	for _, d := range dirs {
		a.place(kind, d+"/"+name, redirect)
	}
}

// place notes an access to one absolute path.
func (a *analysis) place(kind permission.Kind, path string, redirect bool) {
	named, node := a.resolve(path)
	x := permission.Access{Kind: kind, Target: node.Real, Node: node.Kind, Links: node.Links, Redirect: redirect}
	if x.Target == "" {
		x.Target = named
	}
	if named != x.Target {
		x.Named = named
	}
	a.access(x)
}

// resolve follows a path as the kernel does: .. behind a link leads to the parent of the link's target.
// named is the path as it reads.
func (a *analysis) resolve(path string) (named string, node permission.Node) {
	named = filepath.Clean(path)
	if !strings.Contains(path, "..") {
		return named, a.world.Stat(named)
	}
	cur := "/"
	if volume := filepath.VolumeName(path); volume != "" {
		cur, path = volume+string(filepath.Separator), path[len(volume):]
	}
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		switch part {
		case "", ".":
		case "..":
			if a.mute == 0 {
				a.through = append(a.through, cur)
			}
			if real := a.world.Stat(cur).Real; real != "" {
				cur = real
			}
			cur = filepath.Dir(cur)
		default:
			cur = filepath.Join(cur, part)
		}
	}
	return named, a.world.Stat(cur)
}

// from makes name absolute from the likeliest folder.
func from(name, dir string) string {
	if filepath.IsAbs(name) || dir == "" {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// below reports whether path is dir or lies in it.
func below(path, dir string) bool {
	if dir == "" || dir == "." {
		return false
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// rooted reports whether path lies in a working root.
func (a *analysis) rooted(path string) bool {
	for _, root := range a.world.Roots() {
		if below(path, root) {
			return true
		}
	}
	return false
}
