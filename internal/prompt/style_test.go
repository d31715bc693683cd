package prompt

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestAStyleTakesThePlaceOfWhatItReplaces(t *testing.T) {
	text := func(s Style) string { return System(SystemOptions{Style: s})[0].(llm.Text).Text }
	plain := text(Style{})
	if text(Style{Name: "default", KeepCoding: true}) != plain {
		t.Error("a style without a text changes something")
	}
	for _, tc := range []struct {
		style    Style
		has, not []string
	}{
		{
			Style{Name: "A", Text: "Sing."},
			[]string{"# Care", "Report honestly", "# Output style: A\n\nSing."},
			[]string{"# How to work", "brief and plain"},
		},
		{
			Style{Name: "B", Text: "Sing.", KeepCoding: true},
			[]string{"# How to work", "# Care", "Report honestly", "Sing."},
			[]string{"brief and plain"},
		},
	} {
		got := text(tc.style)
		for _, want := range tc.has {
			if !strings.Contains(got, want) || !strings.Contains(plain+tc.style.Text+"# Output style: A\n\nSing.", want) {
				t.Errorf("%s: no %q in\n%s", tc.style.Name, want, got)
			}
		}
		for _, not := range tc.not {
			if strings.Contains(got, not) || !strings.Contains(plain, not) {
				t.Errorf("%s: %q in\n%s", tc.style.Name, not, got)
			}
		}
	}
}
