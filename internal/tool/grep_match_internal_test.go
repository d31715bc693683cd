package tool

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestASearchFindsTheLinesThatTheirExpressionMatches(t *testing.T) {
	patterns := []string{
		`[A-Z]{2,}_[0-9]+`, `foo|bar`, `(foo|barx?)+y`, `a.c|b\d`, `\w+\.\w+`, `^[a-c]+$`, `x$`, `^$`, `^`,
		`\bfoo\b`, `[^a]b`, `a*`, `(?i)foo`, `(?i)kay`, `(?i)xs`, `ä+`, `(?i)[äö]x`,
		`[0-9]{3}`, `[0-9]{1,2}x`, `\s+x`, `a\sb`, `(ab)+c`, `(a|b){2}`, `foo.*bar`, `\x{212a}`, `(?i)k`, `a?b?c`,
		`[a-z]+ [a-z]+`, `x\z`, `\Ax`, `.`, `(?:foo|bar)baz|qux`, `FOO_1|BAR_22`,
		`(foo|[a-d]+)x.*y`, `(a|bc)x`, `\bfoo\b`, `^foo`, `foo$`, `\Bbar`, `^(foo|bar)$`, `(foo|ba[rz])\b`,
		`foox?|qux`, `fo+|ba`, `(FOO_1)?bar`, `(?-m:^foo)`, `foo\n?bar`, `(?:a|b)+x(y|12)`, `(a.|b)x`,
	}
	words := []string{
		"foo", "bar", "FOO_1", "BAR_22", "a", "b", "c", "x", "y", " ", "\t", ".", "ä", "\u212a",
		"k", "K", "_", "12", "345", "\n", "\n", "\r\n", "baz", "qux", "abc",
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom(patterns).Draw(t, "pattern")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 60).Draw(t, "text"), "")
		m, err := newMatcher(pattern, rapid.Bool().Draw(t, "fold"), false)
		if err != nil {
			t.Fatal(err)
		}
		s := &search{in: grepInput{Pattern: pattern}, mode: modeCount}
		got, err := (&scanner{s: s, m: m}).file(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		line := regexp.MustCompile(m.re.String())
		for one := range strings.SplitAfterSeq(text, "\n") {
			if one != "" && line.MatchString(strings.TrimSuffix(strings.TrimSuffix(one, "\n"), "\r")) {
				want++
			}
		}
		if got.count != want {
			t.Errorf("%s in %q: %d lines, want %d", pattern, text, got.count, want)
		}
	})
}
