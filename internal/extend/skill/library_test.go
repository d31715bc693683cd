package skill_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/extend/skill"
)

func TestFoldersGoFromTheUserToTheWorkingFolderAndTheSettings(t *testing.T) {
	p := skill.Places{
		Home: "/h", ClaudeHome: "/h/.claude", ConfigHome: "/h/.config/lathe", Root: "/p", Dir: "/p/a",
		Managed: []string{"/etc/lathe"},
		Dirs:    []skill.Extra{{Path: "/x"}, {Path: "/p/y", Project: true}, {Path: "relative"}},
	}
	var got []string
	for _, f := range p.Folders() {
		if f.Kind == skill.KindSkill {
			got = append(got, f.Source+" "+filepath.ToSlash(f.Path))
		}
	}
	want := []string{
		"user /h/.agents/skills", "user /h/.claude/skills", "user /h/.config/lathe/skills",
		"project /p/.agents/skills", "project /p/.claude/skills", "project /p/.lathe/skills",
		"project /p/a/.agents/skills", "project /p/a/.claude/skills", "project /p/a/.lathe/skills",
		"settings /x", "project /p/y", "organisation /etc/lathe/skills", "organisation /etc/lathe/.claude/skills",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTheUsersFoldersAreNoProjectsWhereTheHomeFolderIsOne(t *testing.T) {
	p := skill.Places{Home: "/h", ClaudeHome: "/h/.claude", Root: "/h", Dir: "/h/a"}
	for _, f := range p.Folders() {
		if f.Path == "/h/.claude/skills" && f.Source != skill.SourceUser {
			t.Errorf("%+v", f)
		}
	}
	p.NoUser, p.NoProject = true, true
	if got := p.Folders(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestALibraryFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	skills, commands := filepath.Join(dir, "skills"), filepath.Join(dir, "commands")
	l := skill.NewLibrary(func() []skill.Folder {
		return []skill.Folder{
			{Path: commands, Kind: skill.KindCommand, Source: skill.SourceUser},
			{Path: skills, Kind: skill.KindSkill, Source: skill.SourceUser},
		}
	})
	want := func(names ...string) {
		t.Helper()
		var got []string
		for _, s := range l.Catalog().All() {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, names) {
			t.Errorf("%q, want %q", got, names)
		}
		if first, again := l.Catalog(), l.Catalog(); first != again {
			t.Error("read again though nothing changed")
		}
	}
	want()
	one := write(t, dir, "skills/one/SKILL.md", "---\ndescription: first\n---\n")
	want("one")
	write(t, dir, "commands/ns/two.md", "x")
	want("ns:two", "one")
	write(t, dir, "skills/one/SKILL.md", "---\ndescription: something else\n---\n")
	want("ns:two", "one")
	if s, _ := l.Catalog().Get("one"); s.Description != "something else" {
		t.Errorf("%q", s.Description)
	}
	if err := os.RemoveAll(filepath.Dir(one)); err != nil {
		t.Fatal(err)
	}
	want("ns:two")
}

func TestANameThatIsTakenIsReportedAndNestedSkillsGiveWay(t *testing.T) {
	top := t.TempDir()
	for _, path := range []string{
		"a/skills/x/SKILL.md", "b/skills/x/SKILL.md", "b/commands/x.md", "web/app/.claude/skills/x/SKILL.md",
		"web/app/.claude/skills/y/SKILL.md",
	} {
		path = filepath.Join(top, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("Text of "+path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := skill.NewLibrary(func() []skill.Folder {
		return []skill.Folder{
			{Path: filepath.Join(top, "a/skills"), Kind: skill.KindSkill},
			{Path: filepath.Join(top, "b/skills"), Kind: skill.KindSkill},
			{Path: filepath.Join(top, "b/commands"), Kind: skill.KindCommand},
		}
	})
	names := func() (out []string) {
		for _, s := range l.Catalog().All() {
			out = append(out, s.Name)
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("%v", got)
	}
	notes := strings.Join(l.Catalog().Notes, "\n")
	for _, want := range []string{"a/skills/x/SKILL.md is not used: ", "b/commands/x.md is not used: "} {
		if !strings.Contains(filepath.ToSlash(notes), want) {
			t.Errorf("%q is not in %s", want, notes)
		}
	}
	if l.Enter(top, "web/other/f.go") || !l.Enter(top, "web/app/src/f.go") || l.Enter(top, "web/app/src/g.go") {
		t.Error("folders are entered once, and only those with skills count")
	}
	if got := names(); !slices.Equal(got, []string{"web/app:x", "x", "y"}) {
		t.Errorf("%v", got)
	}
}
