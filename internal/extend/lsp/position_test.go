package lsp

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPositionsOfEachEncodingNameTheSameByte(t *testing.T) {
	doc := newText("ab\r\n\U0001F600é z\n\rlast")
	for at := 0; at <= len(doc.s); at++ {
		if at < len(doc.s) && (!utf8.RuneStart(doc.s[at]) || doc.s[at] == '\n' || doc.s[at] == '\r') {
			continue
		}
		for _, e := range []Encoding{UTF8, UTF16, UTF32} {
			if got, ok := doc.offset(doc.position(at, e), e); got != at || !ok {
				t.Errorf("%s: byte %d is %+v, which is %d, %v", e, at, doc.position(at, e), got, ok)
			}
		}
	}
	for _, p := range []Position{{-1, 0}, {0, -1}, {0, 3}, {1, 1}, {9, 0}, {1, 99}} {
		if at, ok := doc.offset(p, UTF16); ok || at < 0 || at > len(doc.s) {
			t.Errorf("%+v is %d, %v", p, at, ok)
		}
	}
}

func FuzzDifference(f *testing.F) {
	f.Add("a\r\nb", "a\nb")
	f.Add("xéy", "xèy")
	f.Fuzz(func(t *testing.T, old, now string) {
		if !utf8.ValidString(old) || !utf8.ValidString(now) {
			return
		}
		start, end, insert := difference(old, now)
		if got := old[:start] + insert + old[end:]; got != now {
			t.Errorf("%q to %q: %q", old, now, got)
		}
		doc := newText(old)
		for _, e := range []Encoding{UTF8, UTF16, UTF32} {
			a, okA := doc.offset(doc.position(start, e), e)
			b, okB := doc.offset(doc.position(end, e), e)
			if okA && a != start || okB && b != end || !okA || !okB {
				t.Errorf("%s: %q to %q: part %d to %d is %d, %v to %d, %v", e, old, now, start, end, a, okA, b, okB)
			}
		}
		if !utf8.ValidString(insert) || strings.ContainsRune(insert, utf8.RuneError) && !strings.ContainsRune(now,
			utf8.RuneError) {
			t.Errorf("cut inside of a character: %q", insert)
		}
	})
}
