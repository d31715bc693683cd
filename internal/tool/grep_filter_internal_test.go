package tool

import (
	"path"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

// The globs of a search choose the files and folders that doublestar would, without a slash by their names.
func TestGlobsOfASearchMatchAsDoublestar(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "src", "*", "**", "*.go", "?.go", "{a,src}", "*.{go,mod}", "[a-c]", "[!a]",
		"{a,{b,c}}",
	})
	name := rapid.SampledFrom([]string{"a", "b", "c", "src", "x.go", "a.go", "go.mod", "[", "{a}"})
	reference := func(pattern, rel string) bool {
		if !strings.Contains(pattern, "/") {
			rel = path.Base(rel)
		}
		return doublestar.MatchUnvalidated(strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/"), rel)
	}
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]string{"", "./", "/"}).Draw(t, "start")
		end := rapid.SampledFrom([]string{"", "/**"}).Draw(t, "end")
		pattern := start + strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "pattern"), "/") + end
		rel := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/")
		want, err := newFileFilter(strings.ReplaceAll(pattern, " ", ""), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := want.match(rel, false); got != reference(pattern, rel) {
			t.Fatalf("%q on the file %q: %v", pattern, rel, got)
		}
		refuse, err := newFileFilter("!"+pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimSuffix(strings.TrimSuffix(pattern, "/**"), "/")
		if got := !refuse.enter(rel); got != reference(folder, rel) {
			t.Fatalf("%q on the folder %q: %v", folder, rel, got)
		}
	})
}
