package markdown

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// TestAParagraphThatGrowsIsReadAsIfItWereReadWhole: the start that is kept must equal a reading of
// the whole.
func TestAParagraphThatGrowsIsReadAsIfItWereReadWhole(t *testing.T) {
	clean := []string{
		"word", "word", "other", "**bold**", "**bold words**", "*it*", "`code`", "[text](http://a.example/b)", "~~no~~",
		"<b>", "a\nb", "\\*", "&amp;", "https://x.example/y",
	}
	words := []string{
		"**open", "close**", "*", "_", "`co", "de`", "[text](http://a.example/b \"t\")", "[half](",
		"[ref]", "[a][b]", "~~", "<", "x_y_z", "!", "![p](q)", "\n", "***", "``", "a*b", "(*a*)",
	}
	rapid.Check(t, func(t *rapid.T) {
		r := newRenderer(Options{Theme: theme.Must("dark", true, colorprofile.TrueColor), Links: true})
		var list []string
		for range rapid.IntRange(100, 250).Draw(t, "words") {
			if rapid.IntRange(0, 60).Draw(t, "open") == 7 {
				list = append(list, rapid.SampledFrom(words).Draw(t, "word"))
			} else {
				list = append(list, rapid.SampledFrom(clean).Draw(t, "word"))
			}
		}
		text := strings.Join(list, " ")
		if strings.Contains(text, "\n ") || strings.Contains(text, " \n") {
			text = strings.NewReplacer("\n ", "\n", " \n", "\n").Replace(text) // as lines of a paragraph are
		}
		text = strings.ReplaceAll(text, "\n\n", "\n")
		for n := 0; n < len(text); {
			n = min(n+rapid.IntRange(1, 200).Draw(t, "more"), len(text))
			part := text[:n]
			want := r.inline(&leaf{}, strings.Join(gfm.CloseInline(strings.Split(part, "\n")), "\n"), r.theme.Text)
			got := r.growing(&leaf{}, part, r.theme.Text)
			if d := cmp.Diff(merged(want), merged(got)); d != "" {
				t.Fatalf("%q, kept %q:\n%s", part, r.begun.text, d)
			}
		}
	})
}

// merged joins spans that look alike.
func merged(spans []line.Span) []line.Span {
	var out []line.Span
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].Style == s.Style && out[n-1].Link == s.Link {
			out[n-1].Text += s.Text
		} else if s.Text != "" {
			out = append(out, s)
		}
	}
	return out
}
