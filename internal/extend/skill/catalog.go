package skill

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a place to look in. Folders are given from the weakest to the strongest: of two skills with one
// name the later one holds.
type Folder struct {
	Path   string
	Kind   Kind
	Source string
	Prefix string            // put before names, with a colon: the plugin that the folder belongs to
	Vars   map[string]string // for ${NAME} in its files
	Bound  string            // links may not lead out of this folder; empty: anywhere
	// for a skill below the working folder, its slash-separated folder, which prefixes a name already in use
	Nested string
	Single string // the name of the one skill in this folder, where its file gives none; empty: the folder's
}

// Catalog holds the skills and commands of a session. It does not change; make a new one when files changed.
type Catalog struct {
	list   []*Skill // by name
	byName map[string]*Skill
	scoped map[string]*Skill // by "user:NAME" and "project:NAME", also those that another one of the name comes before
	Notes  []string          // files that were left out, and why; defects that were worked around are in each Skill
}

const (
	maxSkills = 10_000 // in one folder
	maxDepth  = 6      // of command folders
)

var goodName = lazy(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`)

// Find reads the folders. A folder that is not there is no error; a file that cannot be used is a note.
func Find(folders []Folder) *Catalog {
	c := &Catalog{byName: map[string]*Skill{}, scoped: map[string]*Skill{}}
	real := map[string]bool{}
	for _, f := range folders {
		if f.Kind == KindCommand {
			c.commands(f)
			continue
		}
		c.skills(f, real)
	}
	for _, s := range c.byName {
		c.list = append(c.list, s)
	}
	slices.SortFunc(c.list, func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range c.list {
		if by := c.byName[s.Alias]; by != nil && by != s {
			c.note("%s is /%s; the name of its folder is that of %s", s.Path, s.Name, by.Path)
		}
	}
	slices.Sort(c.Notes)
	return c
}

func (c *Catalog) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// skills reads the folders of one skills folder; a folder that is a link is followed.
func (c *Catalog) skills(f Folder, seen map[string]bool) {
	if f.single() {
		c.add(f, filepath.Join(f.Path, "SKILL.md"), cmp.Or(f.Single, filepath.Base(f.Path)))
		return
	}
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		c.unreadable(f.Path, err)
		return
	}
	for i, e := range entries {
		if i == maxSkills {
			c.note("%s: only the first %d of %d folders were read", f.Path, maxSkills, len(entries))
			return
		}
		path := filepath.Join(f.Path, e.Name(), "SKILL.md")
		real, err := filepath.EvalSymlinks(path)
		if err != nil || e.Name()[0] == '.' || seen[real] {
			c.passedOver(filepath.Join(f.Path, e.Name()), e, err)
			continue
		}
		if !inBound(f.Bound, real) {
			c.note("%s is left out: it leads out of the project to %s", path, real)
			continue
		}
		seen[real] = true
		c.add(f, path, e.Name())
	}
}

// passedOver names skills that are there and cannot be used: those behind a link that leads nowhere, and those of a
// folder that has no SKILL.md itself.
func (c *Catalog) passedOver(path string, e fs.DirEntry, err error) {
	if err == nil || e.Name()[0] == '.' {
		return
	}
	if _, gone := os.Stat(path); gone != nil {
		c.note("%s is left out: %v", path, cause(gone))
		return
	}
	if _, link := os.Lstat(filepath.Join(path, "SKILL.md")); link == nil {
		c.note("%s is left out: %v", filepath.Join(path, "SKILL.md"), cause(err))
		return
	}
	below, _ := filepath.Glob(filepath.Join(path, "*", "SKILL.md"))
	for _, skill := range below {
		c.note("%s is left out: a skill lies directly in a folder of the skills folder", skill)
	}
}

// single reports the folder of one skill, which a plugin's manifest may name.
func (f Folder) single() bool {
	if f.Prefix == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(f.Path, "SKILL.md"))
	return err == nil
}

// commands reads a commands folder with its subfolders, which are namespaces.
func (c *Catalog) commands(f Folder) {
	n := 0
	err := walkCommands(f.Path, func(path string, err error) error {
		if err != nil {
			c.unreadable(path, err)
			return nil
		}
		if n++; n > maxSkills {
			c.note("%s: only the first %d files were read", f.Path, maxSkills)
			return fs.SkipAll
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil
		}
		if !inBound(f.Bound, real) {
			c.note("%s is left out: it leads out of the project to %s", path, real)
			return nil
		}
		rel, _ := filepath.Rel(f.Path, path)
		if rel == "." { // a plugin names the file itself
			rel = filepath.Base(path)
		}
		name := strings.ReplaceAll(filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel))), "/", ":")
		c.add(f, path, name)
		return nil
	})
	if err != nil {
		c.unreadable(f.Path, err)
	}
}

func depth(root, path string) int {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return 0
	}
	return strings.Count(filepath.ToSlash(rel), "/") + 1
}

func inBound(bound, real string) bool {
	if bound == "" {
		return true
	}
	if r, err := filepath.EvalSymlinks(bound); err == nil {
		bound = r
	}
	rel, err := filepath.Rel(bound, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (c *Catalog) unreadable(path string, err error) {
	if !os.IsNotExist(err) {
		c.note("%s cannot be read: %v", path, cause(err))
	}
}

// add loads one file under the name it is invoked by. A skill weighs more than a command of the same name.
func (c *Catalog) add(f Folder, path, name string) {
	if !goodName().MatchString(name) {
		c.note("%s is left out: %q cannot be typed as a name; use letters, digits, - and _", path, name)
		return
	}
	s, err := Load(path)
	if err != nil {
		c.note("%v", err)
		return
	}
	s.Kind, s.Source, s.Root, s.Vars = f.Kind, f.Source, f.Path, f.Vars
	folder := name
	if label := s.Label; f.Kind == KindSkill && label != name && goodName().MatchString(label) {
		name, s.Alias = label, folder
	}
	if s.Name = name; f.Prefix != "" {
		s.Name = f.Prefix + ":" + strings.TrimPrefix(name, f.Prefix+":")
	}
	if s.Label == s.Name || s.Label == name || f.Kind == KindCommand {
		s.Label = ""
	}
	if s.Description == "" {
		s.Description = "Skill: " + s.Name
	}
	if scope := s.Source + ":" + s.Name; f.Prefix == "" && f.Nested == "" && (s.Kind == KindSkill || c.scoped[scope] == nil ||
		c.scoped[scope].Kind == KindCommand) {
		c.scoped[scope] = s
	}
	old := c.byName[s.Name]
	switch {
	case old != nil && f.Nested != "":
		s.Name = f.Nested + ":" + name
	case old != nil && old.Kind == KindSkill && s.Kind == KindCommand:
		c.shadowed(s, old)
		return
	case old != nil:
		c.shadowed(old, s)
	}
	c.byName[s.Name] = s
}

// shadowed notes that a file is not used because another has its name.
func (c *Catalog) shadowed(hidden, by *Skill) {
	c.note("%s is not used: %s has the name %s too, and comes first", hidden.Path, by.Path, by.Name)
}

// All lists every skill, by name.
func (c *Catalog) All() []*Skill { return c.list }

// hideAllBut keeps the model to the skills that one of the names matches.
func (c *Catalog) hideAllBut(names []string) {
	for _, s := range c.list {
		if !slices.ContainsFunc(names, func(n string) bool {
			return s.Name == n || n != "" && (s.Alias == n || strings.HasSuffix(s.Name, ":"+n))
		}) {
			s.HiddenFromModel = true
		}
	}
}

// Get finds a skill by the name it is invoked by, with or without a leading slash: exactly, else regardless of
// case, else by the last part of a namespaced name where only one has it. "user:NAME" and "project:NAME" find those of
// the user and of the project.
func (c *Catalog) Get(name string) (*Skill, bool) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	if s, ok := c.byName[name]; ok {
		return s, true
	}
	if s, ok := c.scoped[name]; ok {
		return s, true
	}
	var found []*Skill
	for _, s := range c.list {
		if strings.EqualFold(s.Name, name) {
			return s, true
		}
		if s.Alias == name {
			found = append(found, s)
		}
		if i := strings.LastIndexByte(s.Name, ':'); i >= 0 && s.Name[i+1:] == name {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	return nil, false
}

// ForUser lists the skills that a person can invoke.
func (c *Catalog) ForUser() []*Skill {
	return slices.DeleteFunc(slices.Clone(c.list), func(s *Skill) bool { return s.HiddenFromUser })
}

// ForModel lists the skills that the model may invoke. A skill with paths is listed only once a file that matches them
// was touched, which matches decides; nil means none was.
func (c *Catalog) ForModel(matches func(patterns []string) bool) []*Skill {
	return slices.DeleteFunc(slices.Clone(c.list), func(s *Skill) bool {
		return s.HiddenFromModel || len(s.Paths) > 0 && (matches == nil || !matches(s.Paths))
	})
}

// Listing lists the skills for the model, a line each, within a budget in characters. Every name is listed;
// when the descriptions do not fit, the long ones are shortened first, and the least used ones lose theirs.
// used counts earlier invocations by name and may be nil.
func Listing(skills []*Skill, budget int, used map[string]int) string {
	if len(skills) == 0 {
		return ""
	}
	room := budget
	for _, s := range skills {
		room -= len("- \n") + len(s.Name)
	}
	texts := make(map[string]string, len(skills))
	order := slices.Clone(skills)
	slices.SortStableFunc(order, func(a, b *Skill) int { return cmp.Compare(used[b.Name], used[a.Name]) })
	for i, s := range order {
		share := max(0, room/(len(order)-i)) - len(": ")
		text := s.Summary()
		if len(text) > share {
			if text = ""; share >= 24 {
				text = cutBytes(s.Summary(), share)
			}
		}
		if text != "" {
			room -= len(": ") + len(text)
		}
		texts[s.Name] = text
	}
	var b strings.Builder
	for _, s := range skills {
		b.WriteString("- " + s.Name)
		if t := texts[s.Name]; t != "" {
			b.WriteString(": " + t)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cutBytes shortens s to at most n bytes.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := 0
	for i := range s {
		if i > n-len("…") {
			break
		}
		end = i
	}
	return strings.TrimRight(s[:end], " ") + "…"
}
