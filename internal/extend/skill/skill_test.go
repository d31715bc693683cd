package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/extend/skill"
)

func write(t testing.TB, root, path, text string) string {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return full
}

func names(list []*skill.Skill) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

// The name in a file is the command; the name of the folder leads to it too, unless another skill has that name.
func TestTheNameInTheFileIsTheCommand(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "skills/folder-a/SKILL.md", "---\nname: review\n---\nA")
	write(t, dir, "skills/folder-b/SKILL.md", "---\nname: ship\n---\nB")
	write(t, dir, "skills/other/SKILL.md", "---\nname: folder-b\n---\nC")
	write(t, dir, "skills/spaced/SKILL.md", "---\nname: Full Skill\n---\nD")
	c := skill.Find([]skill.Folder{{Path: filepath.Join(dir, "skills"), Kind: skill.KindSkill, Source: "user"}})
	for typed, want := range map[string]string{
		"review": "folder-a", "folder-a": "folder-a", "ship": "folder-b", "folder-b": "other", "spaced": "spaced",
	} {
		if s, ok := c.Get("/" + typed); !ok || filepath.Base(s.Dir) != want {
			t.Errorf("/%s: %+v", typed, s)
		}
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "is /ship; the name of its folder is that of") {
		t.Errorf("%q", notes)
	}
}

func TestFindReadsSkillsAndCommands(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "user/review/SKILL.md", "---\nname: review\ndescription: The user's review\n---\nbody")
	write(t, dir, "project/review/SKILL.md", "---\ndescription: The project's review\n---\nbody")
	write(t, dir, "project/plain/SKILL.md", "# Heading\n\nFirst paragraph\nin two lines.\n\nSecond.")
	write(t, dir, "project/empty/SKILL.md", "")
	write(t, dir, "project/notes.md", "not a skill")
	write(t, dir, "commands/test.md", "Run the tests")
	write(t, dir, "commands/frontend/build.md", "---\nargument-hint: [target] [mode]\n---\nBuild $0")
	write(t, dir, "commands/review.md", "A command does not hide a skill")
	write(t, dir, "plugin/lint/SKILL.md", "Lint it")
	c := skill.Find([]skill.Folder{
		{Path: filepath.Join(dir, "user"), Kind: skill.KindSkill, Source: "user"},
		{Path: filepath.Join(dir, "project"), Kind: skill.KindSkill, Source: "project"},
		{Path: filepath.Join(dir, "commands"), Kind: skill.KindCommand, Source: "project"},
		{Path: filepath.Join(dir, "plugin"), Kind: skill.KindSkill, Source: "acme", Prefix: "acme"},
		{Path: filepath.Join(dir, "absent"), Kind: skill.KindSkill, Source: "project"},
	})
	if diff := cmp.Diff([]string{"acme:lint", "empty", "frontend:build", "plain", "review", "test"},
		names(c.All())); diff != "" {
		t.Error(diff)
	}
	for _, n := range c.Notes {
		if !strings.Contains(n, "has the name review too") {
			t.Errorf("note: %q", n)
		}
	}
	for name, want := range map[string]string{
		"review": "The project's review", "/plain": "First paragraph in two lines.", "empty": "Skill: empty",
		"lint": "Lint it", "REVIEW": "The project's review",
	} {
		s, ok := c.Get(name)
		if !ok || s.Description != want {
			t.Errorf("%s: %+v, want description %q", name, s, want)
		}
	}
	if s, _ := c.Get("build"); s == nil || s.ArgumentHint != "[target] [mode]" {
		t.Errorf("build: %+v", s)
	}
}

func TestFindIsLenientAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s/wild/SKILL.md", "---\ndescription: Use when: something is wild\nallowed-tools: Read, Bash(git "+
		"log:*)\n---\nbody")
	write(t, dir, "s/odd name/SKILL.md", "body")
	write(t, dir, "s/binary/SKILL.md", "a\x00b")
	write(t, dir, "s/huge/SKILL.md", strings.Repeat("x", 1<<20+1))
	outside := write(t, t.TempDir(), "out/SKILL.md", "secret")
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(dir, "s", "link")); err != nil {
		t.Skip(err)
	}
	c := skill.Find([]skill.Folder{{Path: filepath.Join(dir, "s"), Kind: skill.KindSkill, Source: "project", Bound: dir}})
	if diff := cmp.Diff([]string{"wild"}, names(c.All())); diff != "" {
		t.Error(diff)
	}
	s, _ := c.Get("wild")
	if diff := cmp.Diff([]string{"Read", "Bash(git log:*)"}, s.AllowedTools); diff != "" {
		t.Error(diff)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "not valid YAML") {
		t.Errorf("notes of the skill: %q", s.Notes)
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"odd name", "is not text", "more than 1 MB", "leads out of the project"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q:\n%s", want, notes)
		}
	}
}

func TestAPatternThatCannotBeUsedIsNotedAndAHintInBracketsIsNot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s/one/SKILL.md", "---\nargument-hint: [file] [line]\npaths: ['{a', '*.go', '"+strings.Repeat("{a,b}",
		10)+"']\n---\nbody")
	c := skill.Find([]skill.Folder{{Path: filepath.Join(dir, "s"), Kind: skill.KindSkill}})
	s, ok := c.Get("one")
	if !ok || s.ArgumentHint != "[file] [line]" {
		t.Fatalf("%+v", s)
	}
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[0], `"{a" matches no file`) || !strings.Contains(s.Notes[1],
		"too many alternatives") {
		t.Errorf("%q", s.Notes)
	}
}

func TestLinkedSkillsAreFollowedOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "real/tool/SKILL.md", "body")
	if err := os.MkdirAll(filepath.Join(dir, "s"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if err := os.Symlink(filepath.Join(dir, "real", "tool"), filepath.Join(dir, "s", name)); err != nil {
			t.Skip(err)
		}
	}
	c := skill.Find([]skill.Folder{{Path: filepath.Join(dir, "s"), Kind: skill.KindSkill, Source: "user"}})
	if diff := cmp.Diff([]string{"one"}, names(c.All())); diff != "" {
		t.Error(diff)
	}
}

func TestFrontmatterFieldsAreRead(t *testing.T) {
	path := write(t, t.TempDir(), "full/SKILL.md", `---
name: Full Skill
description: Does it all
when_to_use: When all is to be done
argument-hint: "<file> [line]"
arguments: [file, line]
disable-model-invocation: yes
user-invocable: off
allowed-tools: Read Grep
disallowed-tools: [Bash]
model: haiku
effort: high
context: fork
agent: Explore
background: false
paths: ["src/**/*.{ts,tsx}", "*.md"]
shell: bash
license: MIT
compatibility: needs git
metadata: {author: a, version: 1.2}
some-later-key: 1
---
Body of $file`)
	s, err := skill.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := &skill.Skill{
		Path: path, Dir: filepath.Dir(path), Label: "Full Skill", Description: "Does it all",
		WhenToUse:    "When all is to be done",
		ArgumentHint: "<file> [line]", Arguments: []string{"file", "line"}, HiddenFromModel: true, HiddenFromUser: true,
		AllowedTools: []string{"Read", "Grep"}, DisallowedTools: []string{"Bash"}, Model: "haiku", Effort: "high",
		Fork: true, Agent: "Explore", Paths: []string{"src/**/*.{ts,tsx}", "*.md"}, Shell: "bash", License: "MIT",
		Compatibility: "needs git", Metadata: map[string]string{"author": "a", "version": "1.2"},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if got, want := s.Summary(), "Does it all. When all is to be done"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	if body, err := s.Body(); err != nil || body != "Body of $file" {
		t.Errorf("body %q, %v", body, err)
	}
}

func TestForModelLeavesOutHiddenAndUnmatched(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/SKILL.md", "x")
	write(t, dir, "hidden/SKILL.md", "---\ndisable-model-invocation: true\n---\nx")
	write(t, dir, "scoped/SKILL.md", "---\npaths: [\"*.go\"]\n---\nx")
	c := skill.Find([]skill.Folder{{Path: dir, Kind: skill.KindSkill, Source: "user"}})
	if diff := cmp.Diff([]string{"a"}, names(c.ForModel(nil))); diff != "" {
		t.Error(diff)
	}
	all := func([]string) bool { return true }
	if diff := cmp.Diff([]string{"a", "scoped"}, names(c.ForModel(all))); diff != "" {
		t.Error(diff)
	}
}

func TestListingKeepsEveryNameWithinItsBudget(t *testing.T) {
	var list []*skill.Skill
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		list = append(list, &skill.Skill{Name: "skill-" + n, Description: strings.Repeat(n+" does things. ", 20)})
	}
	whole := skill.Listing(list, 10_000, nil)
	if !strings.Contains(whole, strings.TrimSpace(list[5].Description)) {
		t.Errorf("with room to spare a description is missing:\n%s", whole)
	}
	for _, budget := range []int{0, 100, 200, 500, 1000} {
		got := skill.Listing(list, budget, map[string]int{"skill-f": 9})
		for _, s := range list {
			if !strings.Contains(got, "- "+s.Name) {
				t.Errorf("budget %d: %s is not listed", budget, s.Name)
			}
		}
		if bare := len(skill.Listing(list, 0, nil)); len(got) > max(budget, bare) {
			t.Errorf("budget %d: %d bytes", budget, len(got))
		}
	}
	if got := skill.Listing(list, 110, map[string]int{"skill-f": 9}); strings.Contains(got, "a does") &&
		!strings.Contains(got, "f does") {
		t.Errorf("what is used most is to keep its description:\n%s", got)
	}
}
