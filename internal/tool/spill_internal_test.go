package tool

import (
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"
)

func TestShortenKeepsBothEndsAndSaysWhatIsMissing(t *testing.T) {
	text := "first\n" + strings.Repeat("äöü line\n", 20_000) + "last"
	got := shortenMiddle(text, maxInline, "all of it is in /x")
	if !strings.HasPrefix(got, "first\n") || !strings.HasSuffix(got, "\nlast") || !strings.Contains(got,
		"all of it is in /x") {
		t.Errorf("%.200s", got)
	}
	if n := utf8.RuneCountInString(got); n > maxInline+200 || !utf8.ValidString(got) {
		t.Errorf("%d characters", n)
	}
}

func TestShortenNeverGrowsOrBreaksCharacters(t *testing.T) {
	check := func(s string) bool {
		s = strings.Repeat(s+"é", 50)
		got := shortenMiddle(s, 20, "x")
		return utf8.RuneCountInString(got) < 20+80 && (utf8.ValidString(got) || !utf8.ValidString(s))
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}
