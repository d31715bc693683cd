package glob

import (
	"errors"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

func TestPatternsMatchAsDoublestarsDo(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "b", "*", "**", "/", "?", "{a,b}", "{a,*}", "{,b}", "{a,{b,c}/}", "[ab]",
		"[!a]", `\{`, `\*`, "[{]", "x.go", "{", "}", ",",
	})
	name := rapid.SampledFrom([]string{"a", "b", "c", "/", "{", "}", "*", "x.go", ","})
	rapid.Check(t, func(t *rapid.T) {
		// between them, lest two stars become one **
		pattern := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pattern"), "x")
		path := strings.Join(rapid.SliceOfN(name, 0, 5).Draw(t, "path"), "x")
		want, err := doublestar.Match(pattern, path)
		if got := Match(pattern, path); got != (want && err == nil) {
			t.Fatalf("%q on %q: %v, doublestar says %v, %v", pattern, path, got, want, err)
		}
	})
}

func TestOnlyAWrittenDoubleStarCrossesFolders(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*{*,x}/y", "a/b/y", false},
		{"*{*,x}/y", "a/y", true},
		{"{x,*}*/y", "a/b/y", false},
		{"*{,x}*/y", "a/b/y", false},
		{"*{**,x}/y", "a/b/y", false},
		{"**{*,x}/y", "a/b/y", false},
		{"{**,x}/y", "a/b/y", true},
		{"**{,/x}/y", "a/b/y", true},
		{"a{/**,}/y", "a/b/c/y", true},
		{`\*{*,x}/y`, "*b/y", true},
		{`\*{*,x}/y`, "b/y", false},
		{`\\*{*,x}/y`, `\b/y`, true},
	} {
		if got := Match(c.pattern, c.path); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.path, got)
		}
	}
}

func TestACompiledPatternMatchesAsItsText(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    error
	}{
		{"*.go", nil},
		{"src/{a,b}/**/*.{go,mod}", nil},
		{strings.Repeat("{a,b}", 8), nil},
		{"{" + strings.Repeat("a,", 499) + "b}", nil},
		{"{" + strings.Repeat("a,", 500) + "b}", ErrTooMany},
		{strings.Repeat("{a,b}", 9), ErrTooMany},
		{strings.Repeat("{a}", 1_300), nil},
		{"{a,b,c,d,e}" + strings.Repeat("{a}", 1_300), ErrTooMany},
		{strings.Repeat("{a}", 2_000), ErrTooMany},
		{"[", ErrMalformed},
		{"{a", ErrMalformed},
		{"a}", ErrMalformed},
		{"[]", ErrMalformed},
	} {
		if _, err := Compile(c.pattern); !errors.Is(err, c.want) {
			t.Errorf("%.40q: %v, want %v", c.pattern, err, c.want)
		}
	}
	g, err := Compile("src/*.{go,mod}")
	if err != nil || !g.Match("src/a.go") || !g.Match("src/go.mod") || g.Match("a.go") || (Glob{}).Match("") {
		t.Errorf("%v %v", g, err)
	}
}

// Each of these would keep doublestar busy for hours or more.
func TestHostilePatternsMatchNothing(t *testing.T) {
	path := strings.Repeat("a/", 60) + strings.Repeat("a", 200) + "y"
	for _, p := range []string{
		"**/" + strings.Repeat("{a,*}", 20) + "x", strings.Repeat("{a,b}", 10_000), strings.Repeat("{", 900) +
			strings.Repeat("}", 90),
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
