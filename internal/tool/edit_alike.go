package tool

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/tool/patch"
)

// guess is a place that old_string may mean where it is not in the file exactly.
type guess struct {
	region files.Region
	new    string // new_string as it is put there
	why    string // how the text differs, for the result
}

// alikeMax is the largest file in which a place that is only alike is looked for.
const alikeMax = 8 << 20

// alike finds the one place that old_string means where it differs from the file in one small way: white space at line
// ends, the indentation by the same in all lines, typographic characters, escapes one level off, or the numbers of
// Read's output. Two such places, or none, are not found.
func alike(view, old, fresh string) (guess, bool) {
	if len(view) > alikeMax || strings.TrimSpace(old) == "" {
		return guess{}, false
	}
	if g, ok := unnumbered(view, old, fresh); ok {
		return g, true
	}
	if g, ok := lessEscaped(view, old, fresh); ok {
		return g, true
	}
	for _, fold := range patch.Folds {
		if g, n := folded(view, old, fresh, fold); n > 0 {
			return g, n == 1
		}
	}
	return within(view, old, fresh)
}

// once is the only occurrence of old, and whether there is just one.
func once(view, old string) (files.Region, bool) {
	i := strings.Index(view, old)
	if old == "" || i < 0 || strings.Contains(view[i+1:], old) {
		return files.Region{}, false
	}
	return files.Region{Start: i, End: i + len(old)}, true
}

// unnumbered takes the line numbers of Read's output off, where every line has one.
func unnumbered(view, old, fresh string) (guess, bool) {
	if !numbered().MatchString(old) {
		return guess{}, false
	}
	plain := lineNumber().ReplaceAllString(old, "")
	if numbered().MatchString(fresh) {
		fresh = lineNumber().ReplaceAllString(fresh, "")
	}
	region, ok := once(view, plain)
	return guess{region, fresh, "without the line numbers of Read's output"}, ok && plain != fresh
}

var lineNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ ]*\d+(?:\t|→)`) })

// escapes are those of JSON and of most languages, as they are written when a text was escaped once too often.
var escapes = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, `'`, `\\`, `\`)
})

// lessEscaped takes one level of escapes off both texts.
func lessEscaped(view, old, fresh string) (guess, bool) {
	plain := escapes().Replace(old)
	if plain == old {
		return guess{}, false
	}
	region, ok := once(view, plain)
	fresh = escapes().Replace(fresh)
	return guess{region, fresh, "with escapes such as \\n taken as the characters they stand for"}, ok && plain != fresh
}

// folded looks for the lines of old after a fold, and counts the places. Only whole lines are taken, so that what is
// replaced is known.
func folded(view, old, fresh string, fold patch.Fold) (g guess, places int) {
	want := strings.Split(strings.TrimSuffix(strings.TrimPrefix(old, "\n"), "\n"), "\n")
	for i := range want {
		want[i] = fold.Line(want[i])
	}
	if strings.Join(want, "") == "" {
		return g, 0
	}
	var starts []int
	var lines []string
	for at := 0; at < len(view); {
		end := strings.IndexByte(view[at:], '\n')
		if end < 0 {
			end = len(view) - at
		}
		starts, lines = append(starts, at), append(lines, fold.Line(view[at:at+end]))
		at += end + 1
	}
	for i := 0; i+len(want) <= len(lines); i++ {
		if lines[i] != want[0] || !sameLines(lines[i:i+len(want)], want) {
			continue
		}
		if places++; places == 1 {
			last := i + len(want) - 1
			end := len(view)
			if last+1 < len(starts) {
				end = starts[last+1] - 1
			} else if strings.HasSuffix(view, "\n") {
				end--
			}
			g.region = files.Region{Start: starts[i], End: end}
		}
	}
	if places != 1 {
		return g, places
	}
	return g.fit(view, old, fresh, fold)
}

func sameLines(a, b []string) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// fit puts the new text into the place: line ends at the edges as the old text has them, and the indentation of the
// file. Where the indentation differs, but not by the same in all lines, the place does not count.
func (g guess) fit(view, old, fresh string, fold patch.Fold) (guess, int) {
	here := strings.Split(view[g.region.Start:g.region.End], "\n")
	had := strings.Split(strings.TrimSuffix(strings.TrimPrefix(old, "\n"), "\n"), "\n")
	if strings.HasPrefix(old, "\n") {
		fresh = strings.TrimPrefix(fresh, "\n")
	}
	if strings.HasSuffix(old, "\n") {
		if cut, ok := strings.CutSuffix(fresh, "\n"); ok {
			fresh = cut
		} else if g.region.End < len(view) {
			g.region.End++ // the line end goes too
		}
	}
	take, put, ok := patch.Shift(had, here)
	if !ok {
		return g, 0
	}
	if take != put {
		list := strings.Split(fresh, "\n")
		for i := range list {
			if list[i], ok = patch.Shifted(list[i], take, put); !ok {
				return g, 0
			}
		}
		fresh = strings.Join(list, "\n")
	}
	g.new, g.why = fresh, "where the text is alike except for "+fold.Name
	return g, 1
}

// note tells the model that the text was not found exactly.
func (g guess) note(view string) string {
	line := strings.Count(view[:g.region.Start], "\n") + 1
	return fmt.Sprintf(" old_string was not found exactly; line %d was taken, %s.", line, g.why)
}
