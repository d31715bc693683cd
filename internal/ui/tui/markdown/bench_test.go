package markdown_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

const benchSize = 200_000 // bytes

// texts are replies of 200 kB, ordinary and not.
func texts(tb testing.TB) map[string]string {
	sample, err := os.ReadFile("testdata/sample.md")
	if err != nil {
		tb.Fatal(err)
	}
	fill := func(s string) string { return strings.Repeat(s, benchSize/len(s)+1)[:benchSize] }
	code := fill("func (s *Stream) measure(width int) {\n\twidth = max(width, 1) // at least \"one\"\n}\n\n")
	return map[string]string{
		"reply":      fill(string(sample) + "\n"),
		"fence":      "```go\n" + code,
		"paragraph":  fill("some **words** of a paragraph that `never` ends "),
		"lines":      fill("some **words** of a paragraph\nthat `never` ends "),
		"list":       fill("- an item of a *list*\n"),
		"item":       "- item\n\n" + fill("  a paragraph in the item\n\n  ```go\n  x := 1\n  ```\n\n"),
		"table":      "| a | b | c |\n|---|---|---|\n" + fill("| some `code` | 12 | a note of *some* length |\n"),
		"quote":      fill("> > a quote\n"),
		"brackets":   fill("[[[[[[[["),
		"stars":      fill("**a *b _c "),
		"backticks":  fill("`a``b```c"),
		"nesting":    fill(strings.Repeat("> ", 500) + "\n"),
		"one line":   fill("x"),
		"fence line": "```\n" + fill("x"),
		"html":       "<div>\n" + fill("<p>text</p>\n"),
		"references": fill("[a]: /b\n\n[a] and [b]\n\n"),
	}
}

// BenchmarkStream streams 200 kB in pieces of 64 bytes, and lays out the last screen after each.
func BenchmarkStream(b *testing.B) {
	o := markdown.Options{Theme: theme.Must("dark", true, colorprofile.TrueColor), Links: true}
	for name, text := range texts(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := markdown.NewStream(o)
				for i := 0; i < len(text); i += 64 {
					s.Append(text[i:min(i+64, len(text))])
					h := s.Height(100)
					s.Slice(100, h-40, h)
				}
				s.End()
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	text := texts(b)["reply"]
	o := markdown.Options{Theme: theme.Must("dark", true, colorprofile.TrueColor)}
	for _, width := range []int{40, 120} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				markdown.Render(text, width, o)
			}
		})
	}
}
