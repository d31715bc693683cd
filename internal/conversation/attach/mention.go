package attach

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Mention is a path that a prompt names as @path, @"path with blanks" or @path#L10-20.
type Mention struct {
	Path        string
	First, Last int // lines, from 1; 0: no range
}

var lineRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)#L(\d+)(?:-L?(\d+))?$`) })

// mostMentions is how many words of one text are examined: a pasted log may have any number of @.
const mostMentions = 1000

// Mentions finds the paths in a prompt that exist, each once, in their order. An @ inside of a word, as in an
// address, begins none, and punctuation after a path does not belong to it unless such a file exists.
func Mentions(text string, exists func(path string) bool) []Mention {
	var out []Mention
	seen := map[Mention]bool{}
	i := strings.IndexByte(text, '@')
	for n := 0; i >= 0 && n < mostMentions; n++ {
		word, rest := mentionAt(text, i)
		if m, ok := resolveMention(word, exists); ok && !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
		next := strings.IndexByte(text[rest:], '@')
		if next < 0 {
			break
		}
		i = rest + next
	}
	return out
}

// mentionAt is the word after the @ at i, empty where that begins none, and where to go on.
func mentionAt(text string, i int) (word string, rest int) {
	if i > 0 && !strings.ContainsAny(text[i-1:i], " \t\n\r([{<,;:=\"'`") {
		return "", i + 1
	}
	word = text[i+1:]
	if quoted, ok := strings.CutPrefix(word, `"`); ok {
		path, after, closed := strings.Cut(quoted, `"`)
		if !closed || strings.Contains(path, "\n") {
			return "", i + 1
		}
		if m := quotedRange().FindString(after); m != "" {
			return path + m, i + 3 + len(path) + len(m)
		}
		return path, i + 3 + len(path)
	}
	if n := strings.IndexAny(word, " \t\n\r"); n >= 0 {
		word = word[:n]
	}
	return word, i + 1 + len(word)
}

var quotedRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#L\d+(?:-L?\d+)?`) })

// resolveMention tries a word as it is, with its lines, and without the punctuation at its end.
func resolveMention(word string, exists func(string) bool) (Mention, bool) {
	for _, w := range []string{word, strings.TrimRight(word, ".,;:!?)]}>'\"`")} {
		if w == "" {
			return Mention{}, false
		}
		if exists(w) {
			return Mention{Path: w}, true
		}
		m := lineRange().FindStringSubmatch(w)
		if m == nil || !exists(m[1]) {
			continue
		}
		first, err := strconv.Atoi(m[2])
		last := first
		if err == nil && m[3] != "" {
			last, err = strconv.Atoi(m[3])
		}
		if err == nil && first > 0 && last >= first {
			return Mention{m[1], first, last}, true
		}
	}
	return Mention{}, false
}
