// Package unified reads unified diffs.
//
// The words: a line has a sign: ' ' (in both texts), '-', '+', '@' (a hunk starts) or '\\' (a remark); [Words] finds
// what differs within a line from the line that it replaces.
//
// Promises: any text is read, and its lines are returned as they came: escaping them is up to the face that shows them.
package unified

import (
	"strconv"
	"strings"
)

// Line is one line of a diff of one file.
type Line struct {
	Sign     byte   // ' ', '+', '-', '@' for the start of a hunk, '\\' for a remark
	Text     string // without its sign; of a hunk what it lies in
	Old, New int    // its numbers in the texts, from 1; 0: it is not in that text
}

// Parse reads a unified diff of one file. Lines before the first hunk are dropped.
func Parse(diff string) []Line {
	var out []Line
	old, now := 0, 0
	begun := false
	for s := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		if from, to, context, ok := hunk(s); ok {
			old, now, begun = from, to, true
			out = append(out, Line{Sign: '@', Text: context})
			continue
		}
		if !begun {
			continue
		}
		sign, text := byte(' '), ""
		if s != "" {
			sign, text = s[0], s[1:]
		}
		switch sign {
		case '+':
			out = append(out, Line{sign, text, 0, now})
			now++
		case '-':
			out = append(out, Line{sign, text, old, 0})
			old++
		case '\\':
			out = append(out, Line{Sign: sign, Text: strings.TrimSpace(text)})
		default:
			out = append(out, Line{' ', text, old, now})
			old, now = old+1, now+1
		}
	}
	return out
}

// hunk reads "@@ -12,3 +12,4 @@ context".
func hunk(s string) (old, now int, context string, ok bool) {
	rest, ok := strings.CutPrefix(s, "@@ -")
	if !ok {
		return 0, 0, "", false
	}
	ranges, context, ok := strings.Cut(rest, " @@")
	from, to, sep := strings.Cut(ranges, " +")
	if !ok || !sep {
		return 0, 0, "", false
	}
	old, err1 := strconv.Atoi(first(from))
	now, err2 := strconv.Atoi(first(to))
	return old, now, strings.TrimPrefix(context, " "), err1 == nil && err2 == nil
}

func first(s string) string {
	s, _, _ = strings.Cut(s, ",")
	return s
}
