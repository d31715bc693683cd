package shell

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// paper is a machine of which nothing but names is known: a project of the user u.
type paper struct {
	files map[string]permission.NodeKind
}

const (
	home = "/home/u"
	proj = "/home/u/proj"
)

func (paper) Home() string    { return home }
func (paper) Roots() []string { return []string{proj} }

func (p paper) Stat(name string) permission.Node {
	if kind, ok := p.files[name]; ok {
		return permission.Node{Real: name, Kind: kind}
	}
	return permission.Node{Real: name, Kind: permission.Missing}
}

func (paper) Program(name, dir string) string {
	switch {
	case filepath.IsAbs(name):
		return path.Clean(name)
	case strings.Contains(name, "/"):
		return path.Join(dir, name)
	}
	return "/usr/bin/" + name
}

func (paper) GitKeys(string, permission.KeyKind) ([]string, error) { return nil, nil }

func (paper) Names(string, int) ([]string, bool) { return nil, false }
func (paper) Tracked(string, string) string      { return "" }

func (p paper) Glob(pattern, dir string, most int) (found []string, more bool) {
	for name := range p.files {
		full := pattern
		if !filepath.IsAbs(full) {
			full = dir + "/" + pattern
		}
		if ok, err := path.Match(full, name); err == nil && ok {
			found = append(found, name)
		}
	}
	return found, false
}

// read analyses a line in the project.
func read(line string) Result { return Analyze(line, proj, paper{}) }

// fired reports whether a check fired.
func fired(r Result, name string) bool {
	for _, f := range r.Command.Findings {
		if f.Check == name {
			return true
		}
	}
	return false
}

// denied reports whether a check fired that stands above every rule.
func denied(r Result) bool {
	for _, f := range r.Command.Findings {
		if f.Effect == permission.Deny {
			return true
		}
	}
	return false
}

// approved reports whether a line would run unasked: it is read-only, within the roots.
func approved(r Result) bool {
	if !r.Command.Class.ReadOnly() || len(r.Command.Findings) > 0 || !r.Command.Exact {
		return false
	}
	for _, x := range r.Accesses {
		switch x.Kind {
		case permission.Read:
			if !strings.HasPrefix(x.Target+"/", proj+"/") && !inList("harmless files", x.Target) {
				return false
			}
		case permission.Write, permission.Net:
			return false
		}
	}
	return true
}
