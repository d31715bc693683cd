package glob

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

func TestPatternsMatchAsDoublestarsDo(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "*", "**", "/", "?", "{a,b}", "{a,*}", "{,b}", "{a,{b,c}/}", "[ab]", "[!a]", `\{`, `\*`, "[{]", "x.go", "{", "}", ","})
	name := rapid.SampledFrom([]string{"a", "b", "c", "/", "{", "}", "*", "x.go", ","})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pattern"), "x") // between them, lest two stars become one **
		path := strings.Join(rapid.SliceOfN(name, 0, 5).Draw(t, "path"), "x")
		want, err := doublestar.Match(pattern, path)
		if got := Match(pattern, path); got != (want && err == nil) {
			t.Fatalf("%q on %q: %v, doublestar says %v, %v", pattern, path, got, want, err)
		}
	})
}

// Each of these would keep doublestar busy for hours or more.
func TestHostilePatternsMatchNothing(t *testing.T) {
	path := strings.Repeat("a/", 60) + strings.Repeat("a", 200) + "y"
	for _, p := range []string{
		"**/" + strings.Repeat("{a,*}", 20) + "x", strings.Repeat("{a,b}", 10_000), strings.Repeat("{", 900) + strings.Repeat("}", 90),
		"**/" + strings.Repeat("{a,", 300) + "b", strings.Repeat("{a,*,", 150) + strings.Repeat("}", 150) + "x",
	} {
		if Match(p, path) {
			t.Errorf("%.40q matches", p)
		}
	}
	if !Match("**/*.{ts,tsx}", "src/a.tsx") || !Match("src/{api,web}/**/*.{go,mod}", "src/web/x/y.mod") {
		t.Error("an ordinary pattern does not match")
	}
}
