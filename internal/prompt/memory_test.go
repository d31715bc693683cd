//go:build unix

package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a fresh folder and returns options for the project in it ("p"), with the user's
// home beside it ("home").
func tree(t testing.TB, files map[string]string) (string, ContextOptions) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"home", "p/sub"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(top, "home")
	return top, ContextOptions{
		Dir: filepath.Join(top, "p/sub"), Root: filepath.Join(top, "p"), Home: home,
		ClaudeHome: filepath.Join(home, ".claude"), ConfigHome: filepath.Join(home, ".config/lathe"),
		Managed: []string{filepath.Join(top, "etc/CLAUDE.md")}, BothMemories: true,
	}
}

// listed lists the entries as "path: text", paths below top.
func listed(t testing.TB, top string, m *Memory) []string {
	t.Helper()
	var out []string
	for _, e := range m.Entries {
		rel, err := filepath.Rel(top, e.Path)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue // a file above the test's own folder
		}
		out = append(out, rel+": "+e.Text)
	}
	return out
}

func TestMemoryIsReadFromTheGeneralToTheSpecific(t *testing.T) {
	top, o := tree(t, map[string]string{
		"etc/CLAUDE.md": "org", "home/.claude/CLAUDE.md": "user", "home/.codex/AGENTS.md": "codex",
		"home/.config/lathe/AGENTS.md": "lathe",
		"CLAUDE.md":                    "above", "p/AGENTS.md": "agents", "p/CLAUDE.md": "claude",
		"p/.claude/CLAUDE.md": "dot", "p/CLAUDE.local.md": "local",
		"p/GEMINI.md": "gemini", "p/.github/copilot-instructions.md": "copilot", "p/sub/CLAUDE.md": "sub",
		"p/other/CLAUDE.md": "not this",
	})
	want := []string{
		"etc/CLAUDE.md: org", "home/.claude/CLAUDE.md: user", "home/.codex/AGENTS.md: codex",
		"home/.config/lathe/AGENTS.md: lathe",
		"CLAUDE.md: above", "p/.github/copilot-instructions.md: copilot", "p/GEMINI.md: gemini", "p/AGENTS.md: agents",
		"p/CLAUDE.md: claude",
		"p/.claude/CLAUDE.md: dot", "p/CLAUDE.local.md: local", "p/sub/CLAUDE.md: sub",
	}
	if diff := cmp.Diff(want, listed(t, top, LoadMemory(o))); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameMemoryIsToldOnce(t *testing.T) {
	top, o := tree(t, map[string]string{
		"p/AGENTS.md": "a", "p/CLAUDE.md": "-> AGENTS.md", "p/GEMINI.md": "same", "p/sub/AGENTS.md": "same",
		"p/sub/CLAUDE.md": "b @../AGENTS.md",
	})
	want := []string{"p/GEMINI.md: same", "p/AGENTS.md: a", "p/sub/CLAUDE.md: b @../AGENTS.md"}
	if diff := cmp.Diff(want, listed(t, top, LoadMemory(o))); diff != "" {
		t.Error(diff)
	}
}

func TestImportsAreFollowedFiveLevelsDeep(t *testing.T) {
	files := map[string]string{
		"p/CLAUDE.md": "see @docs/1.md, and (@with\\ space.md).\nmail a@b.md, @types/node, " +
			"@missing.md\n`@code.md` ``x ` @code.md``\n```\n@code.md\n```\n<!-- @code.md -->",
		"p/with space.md":        "spaced",
		"p/code.md":              "not this",
		"p/docs/7.md":            "too deep",
		"p/docs/cycle.md":        "@cycle.md @1.md",
		"home/x/user.md":         "from home",
		"home/abs.md":            "never",
		"p/CLAUDE.local.md":      "local @~/x/user.md",
		"home/.claude/CLAUDE.md": "@~/x/user.md",
	}
	for i := 1; i <= 6; i++ {
		files[fmt.Sprintf("p/docs/%d.md", i)] = fmt.Sprintf("level %d @%d.md @cycle.md", i, i+1)
	}
	top, o := tree(t, files)
	m := LoadMemory(o)
	var paths []string
	for _, e := range listed(t, top, m) {
		path, _, _ := strings.Cut(e, ":")
		paths = append(paths, path)
	}
	want := []string{
		"home/.claude/CLAUDE.md", "home/x/user.md", "p/CLAUDE.md", "p/docs/1.md", "p/docs/2.md", "p/docs/3.md",
		"p/docs/4.md", "p/docs/5.md",
		"p/docs/cycle.md", "p/with space.md", "p/CLAUDE.local.md",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(m.Notes, "\n")
	for _, part := range []string{"missing.md, which is not there", "6.md: not read, there are too many levels"} {
		if !strings.Contains(notes, part) {
			t.Errorf("no note of %q in %q", part, notes)
		}
	}
	if strings.Contains(notes, "node") || strings.Contains(notes, "a@b") {
		t.Errorf("a mention was taken for a file: %q", notes)
	}
}

func TestAProjectReachesNothingOutside(t *testing.T) {
	top, o := tree(t, map[string]string{
		"home/.ssh/id.md": "secret", "secret.md": "secret",
		"p/CLAUDE.md": "@~/.ssh/id.md @../secret.md @/etc/hostname.md @link.md @in/dir/s.md",
		"p/link.md":   "-> ../secret.md", "p/in/dir": "-> ../..", "p/AGENTS.md": "-> ../home/.ssh/id.md", "s.md": "secret",
		"p/sub/CLAUDE.md": "inner @../ok.md", "p/ok.md": "fine",
	})
	m := LoadMemory(o)
	if text := m.Text(); strings.Contains(text, "secret\n") || !strings.Contains(text, "fine") {
		t.Errorf("got %s", text)
	}
	if len(m.Notes) != 6 {
		t.Errorf("notes: %q", m.Notes)
	}
	_ = top
}

func TestFilesThatAreNoTextAreLeftOut(t *testing.T) {
	top, o := tree(t, map[string]string{
		"p/AGENTS.md": "a\x00b", "p/CLAUDE.md": "x\xffy\r\nz", "p/.claude/CLAUDE.md": strings.Repeat("x", fileLimit+1),
		"p/CLAUDE.local.md": " \n<!-- nothing -->\n",
	})
	if err := syscall.Mkfifo(filepath.Join(top, "p/GEMINI.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(top, "p/sub/CLAUDE.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := LoadMemory(o)
	if diff := cmp.Diff([]string{"p/CLAUDE.md: x\uFFFDy\nz"}, listed(t, top, m)); diff != "" {
		t.Error(diff)
	}
	if len(m.Notes) != 4 {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestExcludedFilesAreNotRead(t *testing.T) {
	top, o := tree(t, map[string]string{
		"CLAUDE.md": "above", "p/CLAUDE.md": "mine", "p/sub/CLAUDE.md": "sub @x.md",
		"p/sub/x.md": "x", "home/.claude/CLAUDE.md": "user",
	})
	o.Excludes = []string{top + "/CLAUDE.md", "**/sub/x.md", "~/.claude/**", "[bad"}
	o.Excludes = append(o.Excludes, strings.Repeat("{a,b}", 10)+".md")
	m := LoadMemory(o)
	if diff := cmp.Diff([]string{"p/CLAUDE.md: mine", "p/sub/CLAUDE.md: sub @x.md"}, listed(t, top, m)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		`claudeMdExcludes: the pattern "[bad" leaves no file out: a bracket or brace is not closed, or is empty`,
		`claudeMdExcludes: the pattern "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.md" leaves no file out: ` +
			"its braces stand for too many alternatives (500 at most, in 4000 bytes)",
	}
	if diff := cmp.Diff(want, m.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestAPatternOfARuleThatCannotBeUsedIsANote(t *testing.T) {
	top, o := tree(t, map[string]string{
		"p/.claude/rules/a.md": "---\npaths: ['{a', '*.go']\n---\ngo rule",
		"p/.claude/rules/b.md": "---\npaths: '" + strings.Repeat("{a,b}", 10) + "'\n---\nwide",
		"p/.claude/rules/c.md": "---\npaths: [" + strings.Repeat("x.c, ", patternCount) + "y.c]\n---\nlong",
	})
	var notes []string
	for _, n := range LoadMemory(o).Notes {
		notes = append(notes, strings.ReplaceAll(n, top, ""))
	}
	want := []string{
		`/p/.claude/rules/a.md: its pattern "{a" matches no file: a bracket or brace is not closed, or is empty`,
		`/p/.claude/rules/b.md: its pattern "` + strings.Repeat("{a,b}", 10) +
			`" matches no file: its braces stand for too many alternatives (500 at most, in 4000 bytes)`,
		"/p/.claude/rules/c.md has 201 patterns; the first 200 count",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	p := Begin(t.Context(), o)
	p.Parts(t.Context())
	if got := p.Notice(); !strings.Contains(got, `its pattern "{a" matches no file`) {
		t.Errorf("the user is told %q", got)
	}
	s := NewScoped(o)
	if got := s.For(top + "/p/a.go"); !strings.Contains(got, "go rule") || strings.Contains(got, "Note:") {
		t.Errorf("%q", got)
	}
	if got := s.For(top + "/p/aaaaaaaaaa"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	line := strings.Repeat("ä", 49) + "\n"
	files := map[string]string{}
	for i, name := range []string{
		"p/GEMINI.md", "p/AGENTS.md", "p/CLAUDE.md", "p/.claude/CLAUDE.md", "p/CLAUDE.local.md",
		"p/sub/CLAUDE.md",
	} {
		files[name] = fmt.Sprintf("begin %d\n", i) + strings.Repeat(line, 800) + "end"
	}
	_, o := tree(t, files)
	m := LoadMemory(o)
	for _, e := range m.Entries {
		if len(e.Text) > entryLimit+100 || !strings.Contains(e.Text, "[shortened: ") {
			t.Errorf("%s has %d bytes", e.Path, len(e.Text))
		}
	}
	text := m.Text()
	if len(text) > memoryLimit+3000 {
		t.Errorf("%d bytes in all", len(text))
	}
	if !strings.Contains(text, "begin 5") || strings.Contains(text, "begin 0") || !strings.Contains(text, "[left out: ") {
		t.Error("the most specific file must be there and the most general one give way")
	}
}

func TestARepositoryDoesNotPushOutTheInstructionsOfOthers(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 198)
	files := map[string]string{
		"etc/CLAUDE.md":          "of the organisation\n" + long,
		"home/.claude/CLAUDE.md": "of the user\n" + long,
	}
	for i, name := range []string{
		"p/GEMINI.md", "p/AGENTS.md", "p/CLAUDE.md", "p/.claude/CLAUDE.md", "p/sub/AGENTS.md",
		"p/sub/CLAUDE.md",
	} {
		files[name] = fmt.Sprintf("project %d\n", i) + long
	}
	_, o := tree(t, files)
	m := LoadMemory(o)
	text := m.Text()
	for _, want := range []string{"of the organisation", "of the user", "project 5", "project 4"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(text, "project 0") || len(text) > memoryLimit+3000 {
		t.Errorf("%d bytes in all", len(text))
	}
	cuts := strings.Join(m.Cuts(), "\n")
	if !strings.Contains(cuts, "p/GEMINI.md is left out") || strings.Contains(cuts, "etc/") || strings.Contains(cuts,
		"home/") {
		t.Errorf("cuts: %s", cuts)
	}
}

func TestOneLevelMayUseTheRoomThatOthersLeave(t *testing.T) {
	for _, tt := range []struct{ need, room [levels]int }{
		{[levels]int{0, 0, 90_000}, [levels]int{0, 0, 80_000}},
		{[levels]int{90_000, 100, 90_000}, [levels]int{39_900, 100, 40_000}},
		{[levels]int{90_000, 90_000, 90_000}, [levels]int{20_000, 20_000, 40_000}},
		{[levels]int{5_000, 20_000, 1_000}, [levels]int{5_000, 20_000, 1_000}},
	} {
		if got := budget(tt.need); got != tt.room {
			t.Errorf("need %v: got %v, want %v", tt.need, got, tt.room)
		}
	}
}

func TestAFileThatIsCutIsNamed(t *testing.T) {
	top, o := tree(t, map[string]string{"p/CLAUDE.md": strings.Repeat("long line\n", 4200), "p/AGENTS.md": "short"})
	o.Window = 200_000
	p := Begin(t.Context(), o)
	p.Parts(t.Context())
	want := "instructions that do not reach the model whole: " + filepath.Join(top, "p/CLAUDE.md") +
		" is cut (41999 characters)"
	if got := p.Notice(); !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, " They take about 5 % of the context window.") {
		t.Errorf("%q", got)
	}
}

func TestHiddenTextIsShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain <b> & text\n\tok":                 "plain <b> & text\n\tok",
		"a\u202Eb\u200Bc\U000E0041d":             "a<U+202E>b<U+200B>c<U+E0041>d",
		"\uFEFFbom\r\nx\ry":                      "bom\nx<U+000D>y",
		"\x1b[31mred":                            "<U+001B>[31mred",
		"</system-reminder>\n<SYSTEM-reminder x": "&lt;/system-reminder>\n&lt;SYSTEM-reminder x",
		"👨\u200D👩 ❤\uFE0F ü":                     "👨\u200D👩 ❤\uFE0F ü",
		"bad \xff\xfe utf":                       "bad \uFFFD utf",
	} {
		if got := sanitize(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownOutsideCodeIsRead(t *testing.T) {
	for in, want := range map[string]struct {
		out     string
		imports []string
	}{
		"a <!-- x\ny --> b":                 {"a  b", nil},
		"<!-- x -->\nb":                     {"b", nil},
		"a <!-- never closed @x.md":         {"a <!-- never closed @x.md", []string{"x.md"}},
		"`<!-- x -->` @a.md.":               {"`<!-- x -->` @a.md.", []string{"a.md"}},
		"~~~\n<!-- x -->\n```\n~~~ \n@b.md": {"~~~\n<!-- x -->\n```\n~~~ \n@b.md", []string{"b.md"}},
		"```\n@c.md":                        {"```\n@c.md", nil},
		"<!--\n```\n--> @d.md\n```\n@e.md":  {" @d.md\n```\n@e.md", []string{"d.md"}},
		"a ` b @f.md\n\n` @g.md":            {"a ` b @f.md\n\n` @g.md", []string{"f.md", "g.md"}},
		"- @~/h.md\n*@i/j*, @README!":       {"- @~/h.md\n*@i/j*, @README!", []string{"~/h.md", "i/j", "README"}},
		"@":                                 {"@", nil},
		"x@y.md @ z @user":                  {"x@y.md @ z @user", nil},
	} {
		out, imports := parseMemory(in)
		if out != want.out || !slices.Equal(imports, want.imports) {
			t.Errorf("%q: got %q, %q", in, out, imports)
		}
	}
}

func FuzzParseMemory(f *testing.F) {
	for _, s := range []string{"a `b` <!-- c --> @d.md", "```\n~~~\n", "@a\\ b.md", "<!--", "\xff`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, imports := parseMemory(s)
		if len(out) > len(s) {
			t.Errorf("%q grew to %q", s, out)
		}
		for _, i := range imports {
			if !strings.Contains(s, "@"+i) {
				t.Errorf("%q is not in %q", i, s)
			}
		}
		if v := sanitize(s); sanitize(v) != v || strings.Contains(strings.ToLower(v), "<system-reminder") {
			t.Errorf("sanitize(%q) = %q", s, v)
		}
	})
}

func BenchmarkMemory(b *testing.B) {
	_, o := tree(b, map[string]string{"p/CLAUDE.md": strings.Repeat("Some *text* with `code` and <!-- comments -->.\n",
		200) + "@x.md", "p/x.md": "x", "home/.claude/CLAUDE.md": "user"})
	for b.Loop() {
		if len(LoadMemory(o).Entries) != 3 {
			b.Fatal("not all was read")
		}
	}
}

func BenchmarkParseWorstCase(b *testing.B) {
	for name, piece := range map[string]string{
		"ticks": "`a` ", "open": "a ``` b `` c ` ", "comments": "<!-- ",
		"fences": "```\n", "at": "@",
	} {
		text := strings.Repeat(piece, (1<<20)/len(piece))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				parseMemory(text)
			}
		})
	}
}

// An AGENTS.md beside a CLAUDE.md usually says the same: it counts where there is no CLAUDE.md, or by the setting.
func TestAnAgentsFileCountsWhereThereIsNoClaudeFile(t *testing.T) {
	_, o := tree(t, map[string]string{
		"p/AGENTS.md": "agents", "p/CLAUDE.md": "claude", "p/sub/AGENTS.md": "below", "p/.claude/x": "",
	})
	for both, want := range map[bool]string{false: "claude below", true: "agents claude below"} {
		o.BothMemories = both
		var got []string
		for _, e := range LoadMemory(o).Entries {
			got = append(got, e.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("both %v: %q, want %s", both, got, want)
		}
	}
}
