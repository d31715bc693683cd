package markdown_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
)

func TestSettlingLinesChangesNoLine(t *testing.T) {
	more := append([]string{"some longer words of a text ", "一二三四五六七八九十一二三四五六七八九十", "  \n", "**bold words** ", "`code` "},
		pieces...)
	rapid.Check(t, func(t *rapid.T) {
		width, most := rapid.IntRange(1, 60).Draw(t, "width"), rapid.IntRange(1, 4).Draw(t, "most")
		s := markdown.NewStream(markdown.Options{Theme: dark, Links: rapid.Bool().Draw(t, "links"), File: file})
		for _, piece := range rapid.SliceOfN(rapid.SampledFrom(more), 0, 60).Draw(t, "text") {
			s.Append(piece)
			want, above := s.Lines(width), s.Above(width, s.Settled())
			s.SettleLines(width, most)
			if d := cmp.Diff(want, s.Lines(width)); d != "" {
				t.Fatalf("%q: %s", piece, d)
			}
			if now := s.Above(width, s.Settled()); now < above {
				t.Fatalf("%d lines were settled, now %d", above, now)
			}
		}
		s.End()
		check(t, s.Lines(width), width)
	})
}

func TestTheFinishedLinesOfALongBlockSettle(t *testing.T) {
	words := strings.Repeat("words of a text with `code` and **bold words**, ", 50)
	const most = 3
	for name, text := range map[string]string{
		"paragraph":     words,
		"lines":         strings.ReplaceAll(words, ", ", ",\n"),
		"item":          "- one\n- " + words,
		"quote":         "> " + words,
		"stray marks":   strings.ReplaceAll(words, "with", "a_b < 5 * 3 ~ 8"),
		"no spaces":     strings.Repeat("一二三四五", 200),
		"code":          "```go\n" + strings.Repeat("f(\"a\") // b\n", 60),
		"html":          "<div>\n" + strings.Repeat("text\n", 60),
		"after a table": "| a | b |\n|---|---|\n| c | d |\n\n" + words,
	} {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{20, 61, 100} {
				s := markdown.NewStream(markdown.Options{Theme: dark})
				for i := range text {
					_, n := utf8.DecodeRuneInString(text[i:])
					s.Append(text[i : i+n])
					s.SettleLines(width, most)
					if open := s.Height(width) - s.Above(width, s.Settled()); i > 40 && open > 3*most {
						t.Fatalf("width %d: %d lines are not settled:\n%s", width, open, strings.Join(s.Lines(width), "\n"))
					}
				}
				s.End()
				if d := cmp.Diff(markdown.Render(text, width, markdown.Options{Theme: dark}), s.Lines(width)); d != "" {
					t.Errorf("width %d: %s", width, d)
				}
			}
		})
	}
}

func TestSettledLinesKeepEveryWordWhenTheWidthChanges(t *testing.T) {
	s := markdown.NewStream(markdown.Options{})
	var want []string
	for i := range 400 {
		want = append(want, fmt.Sprint("w", i))
		s.Append(want[i] + " ")
		s.SettleLines(40+i%7*13, 3)
	}
	s.End()
	var got []string
	for _, l := range s.Lines(50) {
		got = append(got, strings.Fields(line.Strip(l))...)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
