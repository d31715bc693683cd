package tool

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tool/patch"
)

// missLines bounds the search for the lines that a missing old_string may have meant.
const missLines = 50_000

// notFound reports that old is not in the file, and shows the nearest text and how it differs.
func notFound(path, view, old string) error {
	head := fmt.Sprintf("String to replace not found in %s", path)
	if numbered().MatchString(old) {
		head += ", nor without the line numbers that it begins with"
		old = lineNumber().ReplaceAllString(old, "")
	}
	if strings.Contains(old, event.Masked) {
		return fmt.Errorf("%s: %s stands for a secret in it that you are not shown. Give lines without it", head,
			event.Masked)
	}
	lines := strings.Split(strings.TrimSuffix(view, "\n"), "\n")
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if len(lines) > missLines {
		lines = lines[:missLines]
	}
	for _, k := range likenesses {
		if at := findLike(lines, want, k.fold); at >= 0 {
			return fmt.Errorf("%s. Lines %d-%d match except for %s. They are now:\n%s", head, at+1, at+len(want), k.name,
				shown(lines, at, at+len(want)))
		}
	}
	if at := nearest(lines, want); at >= 0 {
		return fmt.Errorf("%s. The nearest lines are now:\n%s", head, shown(lines, max(0, at-2), at+len(want)+2))
	}
	return fmt.Errorf("%s, nor anything like it. Read the file again", head)
}

// numbered matches text in which every line starts as Read's output does.
var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s*\d+(?:\t|→)[^\n]*(?:\n|$))+$`)
})

type likeness struct {
	name string
	fold func(string) string
}

// likenesses are the ways in which a model's text often differs from the file's, the smallest first.
var likenesses = []likeness{
	{"spaces at line ends", func(s string) string { return strings.TrimRight(s, " \t\r") }},
	{"indentation", strings.TrimSpace},
	{"white space", func(s string) string { return strings.Join(strings.Fields(s), " ") }},
	{"quotes, dashes or other special characters", func(s string) string { return patch.Plain(strings.TrimSpace(s)) }},
	{"backslashes (escapes such as \\n or \\\" may be one level off)", func(s string) string {
		return strings.ReplaceAll(strings.TrimSpace(s), `\`, "")
	}},
	{"upper and lower case", func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }},
}

// findLike finds the lines that equal want after folding, the first and last maybe only in part.
func findLike(lines, want []string, fold func(string) string) int {
	folded := make([]string, len(want))
	for i, w := range want {
		folded[i] = fold(w)
	}
	if strings.Join(folded, "") == "" {
		return -1
	}
	seen := make([]string, len(lines))
	for i, l := range lines {
		seen[i] = fold(l)
	}
	for i := 0; i+len(want) <= len(lines); i++ {
		if likeAt(seen[i:i+len(want)], folded) {
			return i
		}
	}
	return -1
}

func likeAt(lines, want []string) bool {
	last := len(want) - 1
	if last == 0 {
		return strings.Contains(lines[0], want[0])
	}
	for i := 1; i < last; i++ {
		if lines[i] != want[i] {
			return false
		}
	}
	return strings.HasSuffix(lines[0], want[0]) && strings.HasPrefix(lines[last], want[last])
}

// nearest finds the place where most of the wanted lines stand, or the line most like the longest of them.
func nearest(lines, want []string) int {
	wanted := map[string]int{}
	longest := ""
	for i, w := range want {
		w = strings.TrimSpace(w)
		if len(w) > 2 {
			wanted[w] = i
		}
		if len(w) > len(longest) {
			longest = w
		}
	}
	votes := map[int]int{}
	best := -1
	for i, l := range lines {
		if at, ok := wanted[strings.TrimSpace(l)]; ok {
			start := max(0, i-at)
			if votes[start]++; best < 0 || votes[start] > votes[best] {
				best = start
			}
		}
	}
	if best >= 0 {
		return best
	}
	return mostAlike(lines, longest)
}

// mostAlike finds the line that shares most of its words with want, at least half of them.
func mostAlike(lines []string, want string) int {
	words := strings.FieldsFunc(want, notWord)
	if len(words) == 0 {
		return -1
	}
	best, most := -1, (len(words)+1)/2-1
	for i, l := range lines {
		n := 0
		for _, w := range words {
			if strings.Contains(l, w) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }

// shown writes lines of the file as Read does.
func shown(lines []string, from, to int) string {
	var b strings.Builder
	to = min(to, len(lines))
	cut := min(to, from+snippetLines)
	var part []string
	for _, l := range lines[from:cut] {
		part = append(part, clip(l))
	}
	number(&b, from+1, part)
	if cut < to {
		fmt.Fprintf(&b, "   ... %d more lines\n", to-cut)
	}
	return b.String()
}
