package shell

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// characters searches the raw text for characters that a reader cannot see or would mistake for others.
func (a *analysis) characters(line string) {
	if mixed := mixedLetters(line); mixed != "" {
		a.saw(oddLetters, mixed)
		a.opaque()
	}
	for i := 0; i < len(line); {
		if c := line[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			a.saw(oddCharacter, fmt.Sprintf("byte %02X that is not text", line[i]))
			a.opaque()
		case r == '\r' || r < ' ' || (r >= 0x7f && r < 0xa0):
			a.saw(oddCharacter, fmt.Sprintf("control character U+%04X", r))
			a.opaque()
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || strings.ContainsRune(blanks, r):
			a.saw(oddBlank, fmt.Sprintf("U+%04X", r))
			a.opaque()
		case invisible(r):
			a.saw(oddCharacter, fmt.Sprintf("invisible character U+%04X", r))
			a.opaque()
		}
		i += size
	}
}

// mixedLetters finds a stretch of letters of which some are ASCII and others only look like that: letters of
// alphabets that share shapes with ours, and wide forms of ours.
func mixedLetters(line string) string {
	if ascii(line) {
		return ""
	}
	start, ascii, like := 0, false, false
	for i, r := range line {
		switch {
		case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'):
			ascii = ascii || unicode.IsLetter(r)
		case r >= 0xff01 && r <= 0xff5e, r >= 0x1d400 && r <= 0x1d7ff:
			return line[start : i+utf8.RuneLen(r)]
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu):
			like = true
		default:
			start, ascii, like = i+utf8.RuneLen(r), false, false
		}
		if ascii && like {
			return line[start : i+utf8.RuneLen(r)]
		}
	}
	return ""
}

// blanks look like spaces though Unicode does not count them as such.
const blanks = "\u2800\u3164\u115f\u1160\uffa0\u180e"

// invisible reports characters that draw nothing or change the order of the text.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Cs, r) ||
		unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Noncharacter_Code_Point, r) ||
		r == 0x034f || (r >= 0xe0000 && r <= 0xe0fff) || r == 0x17b4 || r == 0x17b5 || (r >= 0xfff0 && r <= 0xfffd)
}

// blank reports characters that separate words for a reader, in any alphabet.
func blank(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || strings.ContainsRune(blanks, r) || invisible(r) || r < ' '
}

// lookalikes reads the line also as it looks to a reader, for deny and ask rules: odd blanks as blanks,
// characters that do not show left out, letters of other alphabets as the ones of ours that they resemble.
func (a *analysis) lookalikes(line string) {
	if len(a.odd[oddCharacter])+len(a.odd[oddBlank])+len(a.odd[oddLetters]) == 0 && !slices.ContainsFunc(a.calls,
		func(c *call) bool { return !ascii(c.name) }) {
		return
	}
	guess := a.outer().inside("the line as it looks")
	guess.guess = true
	seen := []string{line}
	for _, odd := range []rune{' ', -1} {
		text := strings.Map(func(r rune) rune { return plainRune(r, odd) }, line)
		if !has(seen, text) {
			seen = append(seen, text)
			a.exact = false
			a.script1(text, guess.child(), nil)
		}
	}
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// alike are letters, each with the ASCII letter that it resembles.
const alike = "аaеeоoрpсcхxуyіiјjѕsԁdһhӏlԛqԝwмmтtкkвbнhгrпnиuѵvАAВBЕEКKМMНHОOРPСCТTХXѕsαaοoρpνvιiκkτtυuεeηnγyχxσoАAΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXմdոnսuօoցgհhքpıiɡgɩiℓl"

// plainRune is the character that a reader sees; odd stands for blanks and characters that do not show.
func plainRune(r, odd rune) rune {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		return r
	case r >= 0xff01 && r <= 0xff5e:
		return r - 0xfee0
	case blank(r) || r == 0x7f || r >= 0x80 && r < 0xa0:
		return odd
	}
	if at := strings.IndexRune(alike, r); at >= 0 && r >= 0x80 {
		plain, _ := utf8.DecodeRuneInString(alike[at+utf8.RuneLen(r):])
		return plain
	}
	return r
}

// comments notes a comment that stands before a command: a dialog that shows the first line would show it alone.
func (a *analysis) comments(f *syntax.File) {
	if len(f.Stmts) > 0 && strings.HasPrefix(strings.TrimLeft(a.line, " \t\n"), "#") {
		a.saw(oddComment, strings.SplitN(strings.TrimSpace(a.line), "\n", 2)[0])
	}
}

// reserved notes forms of zsh that bash takes for the name of a program.
func (a *analysis) reserved(c *syntax.CallExpr, sc *scope) {
	first := unescape(c.Args[0].Lit())
	switch first {
	case "repeat", "foreach", "noglob", "nocorrect", "zmodload", "emulate", "sysopen", "sysread", "syswrite", "sysseek",
		"ztcp", "zsocket", "zpty", "zselect", "zftp", "zcompile", "autoload", "bindkey", "zle", "zstyle", "always", "end",
		"setopt", "unsetopt", "vared", "zf_rm", "zf_ln", "zf_mv", "zf_mkdir", "zf_rmdir", "zf_chmod", "zf_chown", "zf_sync",
		"fc", "r", "functions", "aliases":
		a.saw(oddZsh, first)
	}
}
