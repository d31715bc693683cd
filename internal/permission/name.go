package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldName writes a path or pattern so that two spellings of the same file become one: composed
// accents, one case. Some file systems ignore both.
func foldName(s string) string {
	plain := true
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return strings.ToLower(s)
	}
	return strings.Map(foldRune, norm.NFC.String(s))
}

// foldRune is the lower case of a character, also of those that only fold to a letter, as the Kelvin sign
// does to k.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// plainName is the name as file systems of Windows and macOS may read it: without case, invisible characters, an
// NTFS stream, and dots and blanks at its end.
func plainName(name string) string {
	if !plainBytes(name) {
		name, _, _ = strings.Cut(name, ":")
		name = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			return foldRune(r)
		}, norm.NFC.String(name))
	}
	if last := len(name) - 1; last >= 0 && name[last] != '.' && name[last] != ' ' {
		return name
	}
	if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
		return trimmed
	}
	return name
}

// plainBytes reports whether a name consists of small letters and other characters that stay as they are.
func plainBytes(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf || c == ':' || c < ' ' || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// shortOf reports whether name may be the 8.3 name that Windows gave to long: GIT~1 for .git. Both are plain.
func shortOf(name, long string) bool {
	stem, number, ok := strings.Cut(name, "~")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" || stem == "" {
		return false
	}
	bare := strings.ReplaceAll(strings.TrimLeft(long, "."), " ", "")
	bare, _, _ = strings.Cut(bare, ".")
	return strings.HasPrefix(bare, stem) && (len(stem) == 6 || stem == bare)
}
