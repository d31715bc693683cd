package tool

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// somePattern draws an expression over a few characters.
func somePattern(t *rapid.T) string {
	part := rapid.SampledFrom([]string{
		"a", "b", "ab", ".", `\w`, `\s`, `\S`, `\d`, "[a-b]", "[^a]", "a*", "b+", "a?", `\w+`, `\s*`, ".*", "a{2}", "^", "$", `\b`, `\B`, "(a|b )", "(|ab)", "(a b)+", "(?i:A)", "[é-ü]", "-", " ",
	})
	return strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "pattern"), "")
}

// TestTheDFAFindsTheLinesThatMatch: in ASCII just those, else no fewer.
func TestTheDFAFindsTheLinesThatMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := somePattern(t)
		re := regexp.MustCompile("(?m:" + pattern + ")")
		tree, err := syntax.Parse(re.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		d := newLineDFA(tree.Simplify(), false)
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", "a b", " aa b", "bab-a b ab", "é a", "xü", "a\r", "\r", "b \r", "11 a", "a\rb"}), 1, 8).Draw(t, "lines")
		text := []byte(strings.Join(lines, "\n"))
		if rapid.Bool().Draw(t, "ends") {
			text = append(text, '\n')
		}
		found := map[int]bool{}
		for at := 0; at < len(text); {
			hit := d.find(text, at)
			if hit < 0 {
				break
			}
			start := bytes.LastIndexByte(text[:hit], '\n') + 1
			if start < at {
				t.Fatalf("%q in %q: found %d again", pattern, text, hit)
			}
			end := lineStop(text, hit)
			if hit-start <= len(trimLine(text[start:end])) {
				found[start] = true
			}
			at = end
		}
		at := 0
		for line := range bytes.Lines(text) {
			want := re.Match(trimLine(line))
			open := bytes.IndexFunc(line, func(r rune) bool { return r > 127 }) >= 0 || bytes.IndexByte(line, '\r') >= 0
			if want && !found[at] || found[at] && !want && !open {
				t.Fatalf("%q in line %q of %q: found %v, matches %v", pattern, line, text, found[at], want)
			}
			at += len(line)
		}
	})
}

func TestTheDFAStartsAnewWithItsStates(t *testing.T) {
	tree, err := syntax.Parse(`(?m:(a|b).{12}c)`, syntax.Perl) // a state for each of the last twelve characters being a or b
	if err != nil {
		t.Fatal(err)
	}
	d := newLineDFA(tree.Simplify(), false)
	text := bytes.Repeat([]byte("x"), 1<<16)
	seed := uint32(1)
	for i := range text {
		seed = seed*1664525 + 1013904223
		text[i] = "abxy"[seed>>30]
	}
	if at := d.find(text, 0); at >= 0 || d.flushes == 0 {
		t.Errorf("found %d, started anew %d times", at, d.flushes)
	}
	text = append(text, "a............c\n"...)
	if at := d.find(slices.Concat(text[:1<<15], []byte("\n"), text[len(text)-15:]), 0); at != 1<<15+15 {
		t.Errorf("found %d", at)
	}
	if newLineDFA(&syntax.Regexp{Op: syntax.OpBeginText}, false) != nil {
		t.Error("an expression about the begin of the text was taken")
	}
}

// TestTheDFADecidesAboutMatchesAcrossLines: what it is sure of is so, and in ASCII it leaves open no more than a match at the very end.
func TestTheDFADecidesAboutMatchesAcrossLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := somePattern(t) + rapid.SampledFrom([]string{"", `\n`, `\na`, `.*b`, `\n+\w`, `[^b]*a`}).Draw(t, "end")
		re := regexp.MustCompile("(?ms:" + pattern + ")")
		tree, err := syntax.Parse(re.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		d := newLineDFA(tree.Simplify(), true)
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", "a b", " aa b", "é a", "xü", "a\r", "\r", "11 a"}), 0, 6).Draw(t, "lines")
		text := []byte(strings.Join(lines, "\n"))
		may, sure := d.decide(text)
		loc := re.FindIndex(text)
		ascii := bytes.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0
		switch {
		case loc != nil && !may, sure && loc == nil, sure && loc[0] == len(text):
			t.Fatalf("%q in %q: may %v, sure %v, found %v", pattern, text, may, sure, loc)
		case ascii && may && loc == nil, ascii && !sure && loc != nil && loc[1] < len(text) && !strings.ContainsAny(pattern, "$?*"):
			t.Fatalf("%q in %q: left open, found %v", pattern, text, loc)
		}
	})
}
