package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// scopedTree is a project with rules and nested memory; the working folder is p itself.
func scopedTree(t *testing.T, files map[string]string) (string, ContextOptions) {
	top, o := tree(t, files)
	o.Dir = o.Root
	return top, o
}

func TestRulesWithoutPatternsAreMemory(t *testing.T) {
	top, o := scopedTree(t, map[string]string{
		"home/.claude/rules/mine.md": "mine", "p/CLAUDE.md": "claude", "p/.claude/rules/a/deep.md": "deep",
		"p/.claude/rules/z.md":  "---\npaths: \"**\"\n---\nz",
		"p/.lathe/rules/own.md": "own", "p/.github/instructions/all.instructions.md": "---\napplyTo: '**'\n---\nall",
		"p/.github/instructions/other.md": "no",
		"p/.claude/rules/go.md":           "---\npaths: ['*.go']\n---\nonly go", "p/CLAUDE.local.md": "local",
	})
	want := "home/.claude/rules/mine.md: mine|p/CLAUDE.md: claude|p/.github/instructions/all.instructions.md: " +
		"all|p/.claude/rules/a/deep.md: deep|" +
		"p/.claude/rules/z.md: z|p/.lathe/rules/own.md: own|p/CLAUDE.local.md: local"
	if got := strings.Join(listed(t, top, LoadMemory(o)), "|"); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// A repository's rule whose pattern has alternatives without end neither stops lathe nor the other rules.
func TestARuleWithAHostilePatternHoldsForNothing(t *testing.T) {
	_, o := scopedTree(t, map[string]string{
		"p/.claude/rules/bomb.md": "---\npaths:\n  - '**/" + strings.Repeat("{a,*}", 30) + "x'\n  - '" +
			strings.Repeat("{a,b}", 9000) + "'\n---\nbomb",
		"p/.claude/rules/good.md": "---\npaths: '**/*.{go,mod}'\n---\ngood",
	})
	if got := NewScoped(o).For(filepath.Join(o.Root, strings.Repeat("a/", 50)+strings.Repeat("a", 200)+
		".go")); !strings.Contains(got, "good") || strings.Contains(got, "bomb") {
		t.Errorf("%q", got)
	}
}

func TestRulesAreGivenForMatchingFilesOnce(t *testing.T) {
	for pattern, files := range map[string]struct{ yes, no []string }{
		"paths: '*.go'":                          {[]string{"a.go", "x/y/b.go"}, []string{"a.txt", "../a.go.txt"}},
		"paths: src/**/*.ts":                     {[]string{"src/a.ts", "src/x/y.ts"}, []string{"a.ts", "lib/src.ts"}},
		"paths: ['./docs/*.md', api/**]":         {[]string{"docs/a.md", "api/x/y"}, []string{"docs/x/a.md", "other.md"}},
		"paths: \"**/*.{ts,tsx}\"":               {[]string{"a.ts", "x/a.tsx"}, []string{"a.js"}},
		"applyTo: \"**/*.py,**/*.{pyi,pyx}\"":    {[]string{"a.py", "x/b.pyi", "c.pyx"}, []string{"a.go"}},
		"globs: [\"*.css\"]\nalwaysApply: false": {[]string{"x/a.css"}, []string{"a.scss"}},
	} {
		_, o := scopedTree(t, map[string]string{"p/.claude/rules/r.md": "---\n" + pattern + "\n---\nthe rule"})
		for _, name := range files.yes {
			s := NewScoped(o)
			path := filepath.Join(o.Root, name)
			if got := s.For(path); strings.Count(got, "the rule") != 1 || !strings.Contains(got, "r.md") {
				t.Errorf("%s, %s: %q", pattern, name, got)
			}
			if got := s.For(path); got != "" {
				t.Errorf("%s, %s again: %q", pattern, name, got)
			}
			if s.Reset(); s.For(path) == "" {
				t.Errorf("%s, %s: nothing after a reset", pattern, name)
			}
		}
		s := NewScoped(o)
		for _, name := range files.no {
			if got := s.For(filepath.Join(o.Root, name)); got != "" {
				t.Errorf("%s, %s: %q", pattern, name, got)
			}
		}
	}
}

func TestMemoryOfAFolderComesWhenItIsEntered(t *testing.T) {
	_, o := scopedTree(t, map[string]string{
		"p/CLAUDE.md": "top", "p/api/AGENTS.md": "agents of api", "p/api/v1/CLAUDE.md": "claude of v1\n@more.md",
		"p/api/v1/more.md":           "imported",
		"p/api/.claude/rules/sql.md": "---\npaths: '*.sql'\n---\nsql rule", "p/api/v1/CLAUDE.local.md": "my own",
		"other/CLAUDE.md": "outside",
	})
	s := NewScoped(o)
	got := s.For(filepath.Join(o.Root, "api/v1/new/file.go"))
	for _, want := range []string{"agents of api", "claude of v1", "imported", "my own"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is there %d times in %q", want, strings.Count(got, want), got)
		}
	}
	if strings.Contains(got, "top") || strings.Contains(got, "sql rule") {
		t.Errorf("too much: %q", got)
	}
	if got := s.For(filepath.Join(o.Root, "api")); got != "" {
		t.Errorf("a folder entered twice: %q", got)
	}
	if got := s.For(filepath.Join(o.Root, "api/v2/x.sql")); strings.Count(got, "sql rule") != 1 {
		t.Errorf("%q", got)
	}
	if got := s.For(filepath.Join(o.Root, "../other/x")); got != "" {
		t.Errorf("memory from outside the project: %q", got)
	}
}

func TestScopedMemoryDoesNotReachOutOfTheProject(t *testing.T) {
	top, o := scopedTree(t, map[string]string{
		"secret.md": "secret", "p/sub/CLAUDE.md": "-> ../../secret.md",
		"p/.claude/rules/r.md": "---\npaths: '*.go'\n---\n@../../../secret.md",
	})
	if err := os.Symlink(top, filepath.Join(o.Root, "up")); err != nil {
		t.Fatal(err)
	}
	s := NewScoped(o)
	for _, name := range []string{"sub/x", "a.go", "up/secret.md"} {
		if got := s.For(filepath.Join(o.Root, name)); strings.Contains(got, "secret\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestScopedMemoryIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 250 {
		files[fmt.Sprintf("p/.claude/rules/r%03d.md", i)] = "---\npaths: '*.go'\n---\n" +
			strings.Repeat(fmt.Sprintf("rule %d\n", i), 1000)
	}
	_, o := scopedTree(t, files)
	if got := NewScoped(o).For(filepath.Join(o.Root, "a.go")); len(got) > scopedLimit+40_000 || !strings.Contains(got,
		"read it before") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestTheExampleOfTheDocumentHoldsForTheFilesItNames(t *testing.T) {
	doc, err := os.ReadFile("../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(doc), "```markdown\n")
	example, after, ok := strings.Cut(after, "```\n")
	yes, no, found := strings.Cut(after[strings.Index(after, "holds for"):], ", not for")
	if !ok || !found {
		t.Fatal("the document has no example, or does not say what it holds for")
	}
	_, o := scopedTree(t, map[string]string{"p/.claude/rules/store.md": example})
	for i, text := range []string{yes, no} {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.SplitAfter(text, ".\n")[0], -1) {
			got := NewScoped(o).For(filepath.Join(o.Root, name[1]))
			if strings.Contains(got, "internal/store") != (i == 0) {
				t.Errorf("%s: %q", name[1], got)
			}
		}
	}
}

func TestAfterAReloadOnlyMemoryThatChangedIsGivenAgain(t *testing.T) {
	top, o := tree(t, map[string]string{
		"p/sub/api/CLAUDE.md": "Of the api.", "p/sub/api/a.go": "", ".claude/rules/x": "",
		"p/.claude/rules/go.md":    "---\npaths: '**/*.go'\n---\nOf Go.",
		"p/.claude/rules/still.md": "---\npaths: '**/*.go'\n---\nStill the same.",
	})
	s := NewScoped(o)
	path := filepath.Join(top, "p/sub/api/a.go")
	if got := s.For(path); !strings.Contains(got, "Of the api.") || !strings.Contains(got, "Of Go.") {
		t.Fatalf("%q", got)
	}
	for name, text := range map[string]string{
		"p/sub/api/CLAUDE.md":   "New of the api.",
		"p/.claude/rules/go.md": "---\npaths: '**/*.go'\n---\nNew of Go.",
	} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.For(path); got != "" {
		t.Errorf("before the reload: %q", got)
	}
	s.Reload()
	if got := s.For(path); !strings.Contains(got, "New of the api.") || !strings.Contains(got, "New of Go.") ||
		strings.Contains(got, "Still") {
		t.Errorf("after the reload: %q", got)
	}
	s.Reload()
	if got := s.For(path); got != "" {
		t.Errorf("nothing changed: %q", got)
	}
}
