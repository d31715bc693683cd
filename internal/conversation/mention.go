package conversation

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// mention is a path that a prompt names as @path, @"path with blanks" or @path#L10-20.
type mention struct {
	Path        string
	First, Last int // lines, from 1; 0: no range
}

var lineRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)#L(\d+)(?:-L?(\d+))?$`) })

// mostMentions is how many words of one text are examined: a pasted log may have any number of @.
const mostMentions = 1000

// mentionsIn finds the paths in a prompt that exist, each once, in their order. An @ inside of a word, as in an
// address, begins none, and punctuation after a path does not belong to it unless such a file exists.
// Words that look like a path and are none are missed.
func mentionsIn(text string, exists func(path string) bool) (out []mention, missed []string) {
	seen := map[mention]bool{}
	i := strings.IndexByte(text, '@')
	for n := 0; i >= 0 && n < mostMentions; n++ {
		word, rest := mentionAt(text, i)
		m, ok := resolveMention(word, exists)
		switch {
		case ok && !seen[m]:
			seen[m] = true
			out = append(out, m)
		case !ok && looksLikeAPath(word):
			missed = append(missed, strings.TrimRight(word, ".,;:!?)]}>'\"`"))
		}
		next := strings.IndexByte(text[rest:], '@')
		if next < 0 {
			break
		}
		i = rest + next
	}
	return out, missed
}

// looksLikeAPath reports a word that somebody may have meant as a file: it ends as a file's name does, and is no
// address.
func looksLikeAPath(word string) bool {
	word = strings.TrimRight(word, ".,;:!?)]}>'\"`")
	return !strings.ContainsAny(word, "@:#") && pathLike().MatchString(word)
}

var pathLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[~\w./ -]*\w\.[A-Za-z]\w{0,7}$`) })

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
func resolveMention(word string, exists func(string) bool) (mention, bool) {
	for _, w := range []string{word, strings.TrimRight(word, ".,;:!?)]}>'\"`")} {
		if w == "" {
			return mention{}, false
		}
		if exists(w) {
			return mention{Path: w}, true
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
			return mention{m[1], first, last}, true
		}
	}
	return mention{}, false
}
