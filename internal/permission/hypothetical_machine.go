package permission

import (
	"path"
	"strings"
)

// HypotheticalMachine is a machine that need not exist: only names are known of it. Programs lie in /usr/bin, no
// path is a link unless Links has it, and repositories have no configuration of their own. Its paths are those of Unix.
type HypotheticalMachine struct {
	HomeDir  string
	RootDirs []string
	Links    map[string]string // symbolic links by absolute path; the target is absolute or relative to the link's folder
	Nodes    map[string]Node   // special files by absolute path
}

var _ World = (*HypotheticalMachine)(nil)

// Home is HomeDir.
func (w *HypotheticalMachine) Home() string { return w.HomeDir }

// Roots are RootDirs.
func (w *HypotheticalMachine) Roots() []string { return w.RootDirs }

// maxLinks is how many links are followed, as Linux does.
const maxLinks = 40

// Stat follows the links that are known.
func (w *HypotheticalMachine) Stat(name string) Node {
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	real, ok := w.follow(path.Clean(name), 0)
	if !ok {
		return Node{Real: real, Kind: Unknown}
	}
	if n, ok := w.Nodes[real]; ok {
		n.Real = real
		return n
	}
	return Node{Real: real, Kind: w.kindOf(real)}
}

func (w *HypotheticalMachine) follow(name string, depth int) (string, bool) {
	if len(w.Links) == 0 {
		return name, true
	}
	if depth > maxLinks {
		return name, false
	}
	real := "/"
	parts := strings.Split(strings.TrimPrefix(name, "/"), "/")
	for i, part := range parts {
		real = path.Join(real, part)
		target, ok := w.Links[real]
		if !ok {
			continue
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(real), target)
		}
		return w.follow(path.Join(append([]string{target}, parts[i+1:]...)...), depth+1)
	}
	return real, true
}

// kindOf takes the usual folders of a machine, the roots and their parents for folders; devices are special.
func (w *HypotheticalMachine) kindOf(name string) NodeKind {
	if strings.HasPrefix(name, "/dev/") && !strings.HasPrefix(name, "/dev/shm") && name != "/dev/fd" {
		return Special
	}
	for _, dirs := range [2][]string{{
		w.HomeDir, "/tmp", "/etc", "/usr/bin", "/usr/lib", "/var/tmp", "/dev", "/proc",
		"/sys",
	}, w.RootDirs} {
		for _, dir := range dirs {
			if _, ok := below(name, dir); ok {
				return Folder
			}
		}
	}
	return Missing
}

// Program takes every bare name for a program in /usr/bin.
func (w *HypotheticalMachine) Program(name, dir string) string {
	switch {
	case name == "":
		return ""
	case path.IsAbs(name):
		return path.Clean(name)
	case strings.Contains(name, "/"):
		return path.Join(dir, name)
	}
	return "/usr/bin/" + name
}

// GitKeys finds none: there is no configuration.
func (w *HypotheticalMachine) GitKeys(string, KeyKind) ([]string, error) { return nil, nil }

// Glob finds nothing, so that a pattern stands for itself.
func (w *HypotheticalMachine) Glob(string, string, int) ([]string, bool) { return nil, false }

// Names are not known.
func (w *HypotheticalMachine) Names(string, int) ([]string, bool) { return nil, false }

// Tracked knows of no repository.
func (w *HypotheticalMachine) Tracked(string, string) string { return "" }
