package permission

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

// A rule on paths reads an ordinary pattern as doublestar does, for the path and each folder above it.
func TestPathRulesMatchAsDoublestar(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "src", "*", "**", "*.go", "?.go", "{a,src}", "*.{go,mod}", "[a-c]", "[!a]",
		"{a,{b,c}}",
	})
	name := rapid.SampledFrom([]string{"a", "b", "c", "src", "x.go", "a.go", "go.mod", "[", "{a}"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pattern"), "/")
		rel := strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, "path"), "/")
		want := pattern == "**"
		for p := rel; p != ""; p = parentOf(p) {
			ok, err := doublestar.Match(pattern, p)
			want = want || ok && err == nil
		}
		if got := globUnder(pattern, rel, false); got != want {
			t.Fatalf("%q on %q: %v, doublestar says %v", pattern, rel, got, want)
		}
	})
}
