package skill

import (
	"path/filepath"
	"slices"
	"strings"
)

// Sources of skills and commands, in words.
const (
	SourceOrganisation = "organisation"
	SourceUser         = "user"
	SourceProject      = "project"
	SourceSettings     = "settings"
)

// Places say where a session looks for skills and commands. Empty folders are left out.
type Places struct {
	Home       string   // the user's
	ClaudeHome string   // ~/.claude
	ConfigHome string   // lathe's own configuration folder
	Root       string   // the topmost folder of the project
	Dir        string   // the working folder, below Root
	Managed    []string // the organisation's folders
	Dirs       []Extra  // skillDirs of the settings, weakest first

	NoUser, NoProject bool
}

// Extra is one folder of the setting skillDirs. Project says that the project's settings name it.
type Extra struct {
	Path    string
	Project bool
}

// Folders lists the folders to look in, from the weakest to the strongest: the user's, the project's from its root
// to the working folder, skillDirs, the organisation's. At each place .agents gives way to .claude, and that to
// .lathe. A folder that is met twice keeps its first place, so that the user's never counts as a project's.
func (p Places) Folders() []Folder {
	var out []Folder
	add := func(path string, kind Kind, source, bound string) {
		if !filepath.IsAbs(path) || slices.ContainsFunc(out, func(f Folder) bool { return f.Path == path }) {
			return
		}
		out = append(out, Folder{Path: path, Kind: kind, Source: source, Bound: bound})
	}
	both := func(dir, source, bound string) {
		add(under(dir, "commands"), KindCommand, source, bound)
		add(under(dir, "skills"), KindSkill, source, bound)
	}
	if !p.NoUser {
		add(under(p.Home, ".agents", "skills"), KindSkill, SourceUser, "")
		both(p.ClaudeHome, SourceUser, "")
		both(p.ConfigHome, SourceUser, "")
	}
	if !p.NoProject {
		for _, dir := range chain(p.Root, p.Dir) {
			add(under(dir, ".agents", "skills"), KindSkill, SourceProject, p.Root)
			both(under(dir, ".claude"), SourceProject, p.Root)
			both(under(dir, ".lathe"), SourceProject, p.Root)
		}
	}
	for _, e := range p.Dirs {
		source := SourceSettings
		if e.Project {
			source = SourceProject
		}
		add(e.Path, KindSkill, source, "")
	}
	for _, dir := range p.Managed {
		both(dir, SourceOrganisation, "")
		both(under(dir, ".claude"), SourceOrganisation, "")
	}
	return out
}

// Named lists the folders of a name ("output-styles", "agents") next to the skill folders, lowest precedence first.
// Kind is not set.
func (p Places) Named(name string) []Folder {
	var out []Folder
	add := func(dir, source, bound string) {
		dir = under(dir, name)
		if filepath.IsAbs(dir) && !slices.ContainsFunc(out, func(f Folder) bool { return f.Path == dir }) {
			out = append(out, Folder{Path: dir, Source: source, Bound: bound})
		}
	}
	if !p.NoUser {
		add(p.ClaudeHome, SourceUser, "")
		add(p.ConfigHome, SourceUser, "")
	}
	if !p.NoProject {
		for _, dir := range chain(p.Root, p.Dir) {
			add(under(dir, ".claude"), SourceProject, p.Root)
			add(under(dir, ".lathe"), SourceProject, p.Root)
		}
	}
	for _, dir := range p.Managed {
		add(dir, SourceOrganisation, "")
		add(under(dir, ".claude"), SourceOrganisation, "")
	}
	return out
}

// Styles lists the folders of output styles, lowest precedence first.
func (p Places) Styles() []string {
	var out []string
	for _, f := range p.Named("output-styles") {
		out = append(out, f.Path)
	}
	return out
}

// under joins below a folder that is known, else it is empty.
func under(dir string, names ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, names...)...)
}

// chain lists the folders from root to dir; only dir when it is not below root.
func chain(root, dir string) []string {
	rel, err := filepath.Rel(root, dir)
	if err != nil || root == "" || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return []string{dir}
	}
	out := []string{root}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if part != "." {
			root = filepath.Join(root, part)
			out = append(out, root)
		}
	}
	return out
}
