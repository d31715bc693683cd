package permission

import (
	"strings"
	"unicode/utf8"
)

// punycode writes one label of a host's name as ASCII (RFC 3492, with "xn--" before it). False: it cannot be
// written so.
func punycode(label string) (string, bool) {
	runes := []rune(label)
	var b strings.Builder
	for _, r := range runes {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		}
		if r == utf8.RuneError {
			return "", false
		}
	}
	basic := b.Len()
	if basic == len(label) {
		return label, true
	}
	if len(runes) > 63 {
		return "", false
	}
	if basic > 0 {
		b.WriteByte('-')
	}
	n, delta, bias, done := rune(128), 0, 72, basic
	for first := true; done < len(runes); n++ {
		next := rune(utf8.MaxRune)
		for _, r := range runes {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			digits(&b, delta, bias)
			bias = adapt(delta, done+1, first)
			first, delta = false, 0
			done++
		}
		delta++
	}
	return "xn--" + b.String(), true
}

// digits writes q as a generalised variable-length integer.
func digits(b *strings.Builder, q, bias int) {
	for k := 36; ; k += 36 {
		t := min(max(k-bias, 1), 26)
		if q < t {
			b.WriteByte(digit(q))
			return
		}
		b.WriteByte(digit(t + (q-t)%(36-t)))
		q = (q - t) / (36 - t)
	}
}

func digit(d int) byte {
	if d < 26 {
		return byte('a' + d)
	}
	return byte('0' + d - 26)
}

func adapt(delta, points int, first bool) int {
	if first {
		delta /= 700
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for delta > 35*26/2 {
		delta /= 35
		k += 36
	}
	return k + 36*delta/(delta+38)
}
