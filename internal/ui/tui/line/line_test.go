package line_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

func TestWrapBreaksLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		breaking   line.Breaking
		want       []string
	}{
		{"nothing is one line", "", 10, line.Words, []string{""}},
		{"at spaces, which vanish", "one two  three", 8, line.Words, []string{"one two", "three"}},
		{"spaces within a line stay", "a  b", 8, line.Words, []string{"a  b"}},
		{"a word that just fits", "abcd efgh", 4, line.Words, []string{"abcd", "efgh"}},
		{"a word that does not fit", "ab cdefghij k", 4, line.Words, []string{"ab", "cdef", "ghij", "k"}},
		{"a long word first", "abcdefgh i", 4, line.Words, []string{"abcd", "efgh", "i"}},
		{"newlines", "a\n\n b", 4, line.Words, []string{"a", "", " b"}},
		{"ideographs break anywhere", "一二三四五", 4, line.Words, []string{"一二", "三四", "五"}},
		{"but not before a full stop", "一二三。", 6, line.Words, []string{"一二", "三。"}},
		{"ideographs after a word", "ab一二三", 6, line.Words, []string{"ab一二", "三"}},
		{"emoji are whole", "👩‍👩‍👧👩‍👩‍👧", 3, line.Words, []string{"👩‍👩‍👧", "👩‍👩‍👧"}},
		{"marks stay on their letter", "e\u0301e\u0301e\u0301", 2, line.Words, []string{"e\u0301e\u0301", "e\u0301"}},
		{"wide in one cell", "一a", 1, line.Words, []string{"?", "a"}},
		{"code keeps spaces", "a  b  c", 3, line.Cells, []string{"a  ", "b  ", "c"}},
		{"cut off", "abcdef", 4, line.None, []string{"abc…"}},
		{"not cut off", "abcd", 4, line.None, []string{"abcd"}},
		{"cut wide", "一二三", 5, line.None, []string{"一二…"}},
		{"control characters vanish", "a\x1b[31mb\tc\u009bd\x7f", 20, line.Words, []string{"a[31mbcd"}},
		{"spaces at the end vanish or hang", "abcd   ", 4, line.Words, []string{"abcd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := line.Wrap(nil, line.Plain(c.text), line.Format{Width: c.width, Breaking: c.breaking})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEveryLineBeginsAndEndsInTheTerminalsOwnStyle(t *testing.T) {
	bold := theme.Style{Prefix: "\x1b[1m", Suffix: "\x1b[m"}
	got := line.Wrap(nil, []line.Span{{Text: "see "}, {Text: "the whole text", Style: bold, Link: "https://x.example"}},
		line.Format{
			Width: 10, First: line.Plain("- "), Rest: line.Plain("  "),
		})
	open, end := "\x1b]8;id=vzlvvp;https://x.example\x1b\\", "\x1b]8;;\x1b\\"
	want := []string{
		"- see \x1b[1m" + open + "the" + end + "\x1b[m",
		"  \x1b[1m" + open + "whole" + end + "\x1b[m",
		"  \x1b[1m" + open + "text" + end + "\x1b[m",
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], between(got[i], "id=", ";"), "vzlvvp")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func TestPrefixesLeaveRoomForText(t *testing.T) {
	deep := line.Plain(strings.Repeat("│ ", 40))
	for _, l := range line.Wrap(nil, line.Plain("some words"), line.Format{Width: 20, First: deep, Rest: deep}) {
		if w := term.Width(l); w > 20 {
			t.Errorf("%q is %d cells wide", l, w)
		}
	}
}

func TestFilledLinesEndAtTheEdge(t *testing.T) {
	for _, l := range line.Wrap(nil, line.Plain("one 二 three"), line.Format{
		Width: 7, First: line.Plain("+ "),
		Rest: line.Plain("  "), Fill: true,
	}) {
		if w := term.Width(l); w != 7 {
			t.Errorf("%q is %d cells wide", l, w)
		}
	}
}

func TestOnlyHarmlessURLsBecomeLinks(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example/x?y#z":              "https://a.example/x?y#z",
		"HTTP://a.example":                     "HTTP://a.example",
		"mailto:a@b.example":                   "mailto:a@b.example",
		"javascript:alert(1)":                  "",
		"data:text/html,x":                     "",
		"x-man-page://ls":                      "",
		"/local":                               "",
		"https://a/\x1b\\\x07b":                "https://a/%1B%5C%07b",
		"https://a/ä b":                        "https://a/%C3%A4%20b",
		"https://a/\xff":                       "",
		"https://" + strings.Repeat("a", 3000): "",
	} {
		if got := line.Link(in); got != want {
			t.Errorf("Link(%q) = %q, want %q", in, got, want)
		}
	}
}

// pieces are parts of texts that are hard to lay out.
var pieces = []string{
	" ", "  ", "a", "word", "一", "。", "e\u0301", "👩‍👩‍👧", "🇩🇪", "👍🏽", "1️⃣", "\n", "\t", "\x1b[2J",
	"\u200b", "\u202e", "✓", "한", "ᄒ", "ا", "\xff", "\u0085",
}

func TestNoLineIsWiderThanAskedAndNoTextIsLost(t *testing.T) {
	th := theme.Must("dark", true, colorprofile.TrueColor)
	styles := []theme.Style{{}, th.Bold, th.Code, th.Diff.AddedWord}
	rapid.Check(t, func(t *rapid.T) {
		var spans []line.Span
		for range rapid.IntRange(0, 5).Draw(t, "spans") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), "")
			spans = append(spans, line.Span{Text: text, Style: rapid.SampledFrom(styles).Draw(t, "style")})
		}
		f := line.Format{
			Width: rapid.IntRange(1, 40).Draw(t, "width"), Breaking: rapid.SampledFrom([]line.Breaking{
				line.Words, line.Cells,
				line.None,
			}).Draw(t, "breaking"),
			First: line.Plain(rapid.SampledFrom([]string{"", "- ", "│ │ "}).Draw(t, "first")),
			Fill:  rapid.Bool().Draw(t, "fill"),
		}
		var shown strings.Builder
		for i, l := range line.Wrap(nil, spans, f) {
			text := line.Strip(l)
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }) {
				t.Fatalf("control characters in %q", l)
			}
			if w := term.Width(text); w > f.Width {
				t.Fatalf("line %d is %d cells wide, not %d: %q", i, w, f.Width, text)
			}
			if i == 0 {
				text = strings.TrimLeft(text, "│- ")
			}
			shown.WriteString(text)
		}
		if f.Breaking == line.None || f.Width < 4 {
			return
		}
		var given strings.Builder
		for _, s := range spans {
			given.WriteString(s.Text)
		}
		if want, got := letters(given.String()), letters(shown.String()); got != want {
			t.Fatalf("shown %q of %q", got, want)
		}
	})
}

// letters is text without the characters that may vanish.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || 0x7f <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

func BenchmarkWrap(b *testing.B) {
	spans := []line.Span{{Text: strings.Repeat("some words of ordinary length in a paragraph ", 1000)}}
	b.SetBytes(int64(len(spans[0].Text)))
	for b.Loop() {
		line.Wrap(nil, spans, line.Format{Width: 100})
	}
}
