package patch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/tool/patch"
)

// applied is a text after the hunks of a patch of one file.
func applied(text, p string) (string, error) {
	list, err := patch.Parse(p)
	if err != nil {
		return "", err
	}
	for _, f := range list {
		r, err := patch.Apply(text, f.Hunks)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		at := 0
		for _, e := range r.Edits {
			b.WriteString(text[at:e.Start] + e.New)
			at = e.End
		}
		text = b.String() + text[at:]
	}
	return text, nil
}

// someLines draws a text with many lines that are alike.
func someLines(t *rapid.T, name string) string {
	list := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "", "  x", "\tx", "-- y", "++ z", "@@ q", "}",
		"diff --git", "*** End", "“q”",
	}), 0, 14).Draw(t, name)
	s := strings.Join(list, "\n")
	if s != "" && rapid.Bool().Draw(t, name+" ends") {
		s += "\n"
	}
	return s
}

func TestADiffOfTwoTextsMakesTheSecondOfTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someLines(t, "a"), someLines(t, "b")
		diff := udiff.Unified("a/f", "b/f", a, b)
		if diff == "" {
			return
		}
		got, err := applied(a, diff)
		if err != nil || got != b {
			t.Fatalf("%q to %q: got %q, %v\n%s", a, b, got, err, diff)
		}
	})
}

func TestADiffAppliesToATextThatGrewAboveIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for i := range rapid.IntRange(3, 30).Draw(t, "lines") {
			lines = append(lines, fmt.Sprintf("line %d", i))
		}
		a := strings.Join(lines, "\n") + "\n"
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "at")
		lines[at] += " changed"
		b := strings.Join(lines, "\n") + "\n"
		above := strings.Repeat("more\n", rapid.IntRange(0, 50).Draw(t, "above"))
		got, err := applied(above+a, udiff.Unified("a/f", "b/f", a, b))
		if err != nil || got != above+b {
			t.Fatalf("%q %v", got, err)
		}
	})
}

// TestSectionsOfUniqueLinesApply: the same change in the form with sections, its context with any of the tolerated
// differences.
func TestSectionsOfUniqueLinesApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "lines")
		var lines []string
		for i := range n {
			lines = append(lines, strings.Repeat("  ", i%3)+fmt.Sprintf("line “%d” — x", i))
		}
		at := rapid.IntRange(0, n-1).Draw(t, "at")
		wear := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			func(s string) string { return s + "  " },
			patch.Plain,
			func(s string) string { return strings.TrimSpace(s) },
		}).Draw(t, "wear")
		var p strings.Builder
		p.WriteString("*** Begin Patch\n*** Update File: f\n@@\n")
		for i := max(0, at-2); i < min(n, at+3); i++ {
			if i == at {
				p.WriteString("-" + wear(lines[i]) + "\n+new\n")
			} else {
				p.WriteString(" " + wear(lines[i]) + "\n")
			}
		}
		p.WriteString("*** End Patch")
		got, err := applied(strings.Join(lines, "\n")+"\n", p.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, p.String())
		}
		want := slices.Clone(lines)
		want[at] = "new"
		have := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		have[at] = strings.TrimSpace(have[at]) // it may be indented as the lines around it
		if !slices.Equal(have, want) {
			t.Fatalf("%q\n%s", got, p.String())
		}
	})
}

// FuzzApply: no patch makes it panic; edits are in order, apart, in the text and on whole lines, and what they remove
// is alike to lines that the patch removes.
func FuzzApply(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: f\n@@ x\n a\n-b\n+c\n*** End of File\n*** End Patch", "x\na\nb")
	f.Add("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", "a\nb")
	f.Add("diff --git a/f b/g\nrename from f\nrename to g\nnew mode 100755\n@@ -0,0 +1 @@\n+x", "")
	f.Add("diff --git 0\n@@\n-", "") // the empty line of an empty text
	f.Add("*** Update File: f\n@@\n\n-\n+\n@@ -1 @@\n+z\n*** Add File: g\nx\n*** Delete File: h", "\n\n")
	f.Fuzz(func(t *testing.T, p, text string) {
		patch.Paths(p)
		list, err := patch.Parse(p)
		if err != nil {
			return
		}
		for _, file := range list {
			r, err := patch.Apply(text, file.Hunks)
			if err != nil {
				continue
			}
			removed := map[string]bool{}
			for _, h := range file.Hunks {
				for _, l := range h.Lines {
					if l.Kind == '-' {
						removed[patch.Plain(strings.TrimSpace(l.Text))] = true
					}
				}
			}
			at := 0
			for _, e := range r.Edits {
				if e.Start < at || e.End < e.Start || e.End > len(text) {
					t.Fatalf("%+v of %d bytes", r.Edits, len(text))
				}
				if whole := func(i int) bool { return i == 0 || i == len(text) || text[i-1] == '\n' }; !whole(e.Start) ||
					!whole(e.End) {
					t.Fatalf("%+v cuts a line of %q", e, text)
				}
				for line := range strings.Lines(text[e.Start:e.End]) {
					if line = patch.Plain(strings.TrimSpace(line)); !removed[line] {
						t.Fatalf("%q is lost", line)
					}
				}
				at = e.End
			}
		}
	})
}
