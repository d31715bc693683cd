package markdown_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

var update = flag.Bool("update", false, "write the golden files")

var dark = theme.Must("dark", true, colorprofile.TrueColor)

// file links places in files as a terminal would.
func file(path string, n int) string { return fmt.Sprintf("file:///work/%s#L%d", path, n) }

func TestTheSampleLooksAsItShould(t *testing.T) {
	sample, err := os.ReadFile("testdata/sample.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{40, 80, 200} {
		for name, o := range map[string]markdown.Options{
			"dark":      {Theme: dark, Links: true, File: file},
			"no-colour": {},
		} {
			got := strings.Join(markdown.Render(string(sample), width, o), "\n") + "\n"
			golden(t, filepath.Join("testdata", fmt.Sprintf("sample-%s-%d.golden", name, width)), got)
		}
	}
}

// golden compares with a file, in which ESC is written ␛.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "␛")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (run with -update to accept):\n%s", name, d)
	}
}

// pieces are parts of Markdown.
var pieces = []string{
	"# ", "## h\n", "- ", "- [ ] x\n", "* ", "1. ", "> ", "```go\n", "```\n", "~~~", "    ", "\t", "text ", "word", "**",
	"*", "_", "~~", "`", "[a](http://b.example/c) ", "[a][b] ",
	"[b]: /x\n", "[b]: https://late.example 'x'\n\n", "![p](q.png)", "https://x.example/y ", "a/b.go:12 ", "---\n",
	"===\n", "| a | b |\n|---|--:|\n| c | d |\n", "| x ", "|", "\n", "\n", "\n\n", "\n\n",
	"<div>", "<b>", "</div>\n", "<!-- ", " -->", "&amp;", "&#27;[2J", "\\*", "\\\n", "  \n", "\r\n", "\x1b[31m",
	"\x1b]8;;http://evil.example\x07", "\u202e", "\u0085", "\xff", "\xe4", "一二三", "👩‍👩‍👧", "e\u0301",
}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "text"), "")
}

func TestTheResultDoesNotDependOnThePieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		width := rapid.IntRange(1, 120).Draw(t, "width")
		o := markdown.Options{Theme: dark, Links: rapid.Bool().Draw(t, "links"), File: file}
		want := markdown.Render(text, width, o)
		s := markdown.NewStream(o)
		for rest := text; rest != ""; {
			n := min(rapid.IntRange(1, 30).Draw(t, "piece"), len(rest))
			s.Append(rest[:n])
			rest = rest[n:]
			if rapid.Bool().Draw(t, "look") {
				look := rapid.IntRange(1, 120).Draw(t, "at width")
				check(t, s.Lines(look), look)
			}
		}
		s.End()
		got := s.Lines(width)
		check(t, got, width)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q\n%s", text, d)
		}
		from, to := rapid.IntRange(-2, len(got)+2).Draw(t, "from"), rapid.IntRange(-2, len(got)+2).Draw(t, "to")
		if part := s.Slice(width, from, to); from < to {
			want := got[min(max(from, 0), len(got)):max(min(to, len(got)), 0)]
			if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(part, "\n")); d != "" {
				t.Fatalf("lines %d to %d: %s", from, to, d)
			}
		}
		s.Release()
		if d := cmp.Diff(got, s.Lines(width)); d != "" {
			t.Fatalf("after Release: %s", d)
		}
	})
}

// sequences are all that may be written besides text.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;(id=[0-9a-z]+)?;[!-~]*\x1b\\\\")

// check holds lines against the promises: no line too wide, no control byte of others, all styles ended.
func check(t interface{ Fatalf(string, ...any) }, lines []string, width int) {
	for i, l := range lines {
		text := sequences.ReplaceAllString(l, "")
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }) {
			t.Fatalf("line %d has control characters: %q", i, l)
		}
		if w := term.Width(text); w > width {
			t.Fatalf("line %d is %d cells wide, not %d: %q", i, w, width, l)
		}
		if text != line.Strip(l) {
			t.Fatalf("line %d: Strip does not leave the text of %q", i, l)
		}
		if s := regexp.MustCompile("\x1b\\[[0-9;]*m").FindAllString(l, -1); len(s) > 0 && s[len(s)-1] != "\x1b[m" {
			t.Fatalf("line %d leaves a style on: %q", i, l)
		}
	}
}

func FuzzStream(f *testing.F) {
	sample, err := os.ReadFile("testdata/sample.md")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(sample), uint16(80), uint16(7))
	f.Add("| a |\n|---|\n| \x1b[2J |", uint16(3), uint16(1))
	f.Fuzz(func(t *testing.T, text string, width, piece uint16) {
		w, n := int(width%500)+1, int(piece%200)+1
		o := markdown.Options{Theme: dark, Links: width%2 == 0, File: file}
		s := markdown.NewStream(o)
		for i := 0; i < len(text); i += n {
			s.Append(text[i:min(i+n, len(text))])
			h := s.Height(w)
			check(t, s.Slice(w, h-5, h), w)
		}
		s.End()
		check(t, s.Lines(w), w)
		if d := cmp.Diff(markdown.Render(text, w, o), s.Lines(w)); d != "" {
			t.Fatal(d)
		}
	})
}

// shown is the visible text of a stream so far, without styles.
func shown(text string, width int) string {
	s := markdown.NewStream(markdown.Options{Theme: dark, Links: true})
	s.Append(text)
	return line.Strip(strings.Join(s.Lines(width), "\n"))
}

func TestWhatIsHalfOpenIsShownCalmly(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"bold", "some **bo", "some bo"},
		{"bold about to begin", "some **", "some"},
		{"bold about to end", "some **bold*", "some bold"},
		{"bold and italic", "some ***bo", "some bo"},
		{"code", "call `fun", "call fun"},
		{"code about to begin", "call `", "call"},
		{"struck", "not ~~thi", "not thi"},
		{"a link", "see [the docs](https://exam", "see the docs"},
		{"an asterisk alone", "2 * 3", "2 * 3"},
		{"a name with underscores", "snake_case_na", "snake_case_na"},
		{"a list about to begin", "text\n-", "text"},
		{"a heading about to begin", "text\n\n#", "text"},
		{"a number about to begin a list", "text\n\n1.", "text"},
		{"a fence about to begin", "text\n\n``", "text"},
		{"a fence with half of its language", "text\n\n```py", "text\n\n"},
		{"a fence about to end", "```\ncode\n``", "  code"},
		{"an open fence", "```\ncode", "  code"},
		{"a task about to begin", "text\n\n- [", "text"},
		{"a rule below a table's header", "| a | b |\n|--", "| a | b |"},
		{"a row that has not ended", "| a | b |\n|---|---|\n| c ", "a │ b\n──┼──\nc │"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, shown(c.text, 40)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOpenEmphasisIsStyledAlready(t *testing.T) {
	s := markdown.NewStream(markdown.Options{Theme: dark})
	s.Append("some **bo")
	if got, want := s.Lines(40)[0], "some "+dark.Bold.Render("bo"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.End()
	if got, want := s.Lines(40)[0], "some **bo"; got != want {
		t.Errorf("after the end: %q, want %q", got, want)
	}
}

func TestALateDefinitionChangesWhatRefersToIt(t *testing.T) {
	s := markdown.NewStream(markdown.Options{})
	s.Append("see [the docs][d].\n\nmore\n\n")
	if got := s.Lines(60)[0]; got != "see [the docs][d]." {
		t.Errorf("before: %q", got)
	}
	s.Append("[d]: https://docs.example\n\nend\n")
	if got := s.Lines(60)[0]; got != "see the docs (https://docs.example)." {
		t.Errorf("after: %q", got)
	}
}

func TestLinksSayWhereTheyLead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[docs](https://docs.example/x)", "docs (docs.example)"},
		{"[docs.example](https://docs.example/x)", "docs.example"},
		{"[docs.example](https://evil.example/x)", "docs.example (evil.example)"},
		{"[docs.example](https://docs.example@evil.example/)", "docs.example (evil.example)"},
		{"<https://docs.example>", "https://docs.example"},
		{"[run](javascript:alert)", "run (javascript:alert)"},
		{"a@b.example and <mailto:a@b.example>", "a@b.example and mailto:a@b.example"},
	} {
		if got := line.Strip(markdown.Render(c.text, 80, markdown.Options{Theme: dark, Links: true})[0]); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	if got := markdown.Render("[run](javascript:alert)", 80, markdown.Options{
		Theme: dark,
		Links: true,
	})[0]; strings.Contains(got, "\x1b]8") {
		t.Errorf("a link to %q", got)
	}
}

func TestPlacesInFilesAreLinked(t *testing.T) {
	for text, want := range map[string]string{
		"in internal/x.go:12:3 there": "internal/x.go:12:3 -> file:///work/internal/x.go#L12",
		"`main.go:7`":                 "main.go:7 -> file:///work/main.go#L7",
		"see docs/a.md.":              "docs/a.md -> file:///work/docs/a.md#L0",
		"main.go alone":               "",
		"at 12:30, v1.2.3, e.g. this": "",
		"a.go#L9":                     "a.go#L9 -> file:///work/a.go#L9",
		"https://x.example/a/b.go:12": "https://x.example/a/b.go:12 -> https://x.example/a/b.go:12",
	} {
		l := markdown.Render(text, 80, markdown.Options{Theme: dark, Links: true, File: file})[0]
		got := ""
		if m := regexp.MustCompile("\x1b\\]8;id=\\w+;([^\x1b]*)\x1b\\\\([^\x1b]*)").FindStringSubmatch(l); m != nil {
			got = m[2] + " -> " + m[1]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTablesFitTheWidthOrAreStacked(t *testing.T) {
	text := "| Name | Description |\n|---|---|\n| a | some longer text in a cell |\n| b | x |\n"
	if d := cmp.Diff([]string{
		"Name │ Description",
		"─────┼─────────────────",
		"a    │ some longer text",
		"     │ in a cell",
		"b    │ x",
	}, markdown.Render(text, 23, markdown.Options{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"Name: a",
		"Descriptio",
		"  n: some",
		"  longer",
		"  text in",
		"  a cell",
		"──",
		"Name: b",
		"Descriptio",
		"  n: x",
	}, markdown.Render(text, 10, markdown.Options{})); d != "" {
		t.Error(d)
	}
}

func TestThePartsOfALongTableAreAlignedAlike(t *testing.T) {
	text := "| a | b |\n|---|---|\n" + strings.Repeat("| some cell | x |\n", 200)
	lines := markdown.Render(text, 60, markdown.Options{})
	if len(lines) != 202 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines[2:] {
		if l != "some cell │ x" {
			t.Fatalf("%q", l)
		}
	}
}

func TestChangingOptionsChangesEverything(t *testing.T) {
	text := "# Title\n\nsome `code`\n\n```go\nx := 1\n```\n\n| a |\n|---|\n| b |\n\nan open *paragraph"
	s := markdown.NewStream(markdown.Options{})
	s.Append(text)
	s.Lines(50)
	light := markdown.Options{Theme: theme.Must("light", false, colorprofile.ANSI256), Links: true}
	s.SetOptions(light)
	s.End()
	if d := cmp.Diff(markdown.Render(text, 50, light), s.Lines(50)); d != "" {
		t.Error(d)
	}
}

func TestLinesThatAreKeptDoNotChangeUnderTheCaller(t *testing.T) {
	s := markdown.NewStream(markdown.Options{Theme: dark})
	s.Append("one\n\ntwo\n\nthree **fo")
	before := s.Lines(40)
	copied := append([]string(nil), before...)
	s.Append("ur** and more\n\nfive\n")
	s.Lines(40)
	if d := cmp.Diff(copied, before); d != "" {
		t.Error(d)
	}
}
