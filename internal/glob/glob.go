// Package glob matches paths with patterns that strangers wrote, in the syntax of doublestar: *, ?, **, [a-z], {a,b} and \.
//
// A pattern such as {a,*}{a,*}{a,*}x takes doublestar time that grows exponentially with its braces. Here braces are
// expanded first, as a shell does, and a pattern with too many alternatives matches nothing.
package glob

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of a pattern with braces.
const (
	maxPattern      = 1_000 // bytes
	maxAlternatives = 500
)

// Match reports whether a path with slashes matches a pattern. An invalid pattern, and one beyond the bounds, matches nothing.
func Match(pattern, path string) bool {
	if !strings.Contains(pattern, "{") {
		ok, err := doublestar.Match(pattern, path)
		return err == nil && ok
	}
	if len(pattern) > maxPattern {
		return false
	}
	alternatives, ok := expand(nil, pattern)
	if !ok {
		return false
	}
	for _, p := range alternatives {
		if ok, err := doublestar.Match(p, path); err == nil && ok {
			return true
		}
	}
	return false
}

// expand adds the alternatives of a pattern to a list; false if there are too many, or a brace is alone.
func expand(list []string, pattern string) ([]string, bool) {
	open, cuts := braces(pattern)
	switch {
	case open < 0 && cuts == nil:
		return append(list, pattern), len(list) < maxAlternatives
	case cuts == nil:
		return nil, false
	}
	end := cuts[len(cuts)-1]
	for from := open + 1; len(cuts) > 0; cuts = cuts[1:] {
		var ok bool
		if list, ok = expand(list, pattern[:open]+pattern[from:cuts[0]]+pattern[end+1:]); !ok {
			return nil, false
		}
		from = cuts[0] + 1
	}
	return list, true
}

// braces finds the first group of a pattern: its opening brace, its commas and, last, its closing brace. Without a group
// open is -1; with a brace that is alone cuts is nil and open is not -1.
func braces(pattern string) (open int, cuts []int) {
	open = -1
	depth, class := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			if depth++; depth == 1 {
				open = i
			}
		case c == ',' && depth == 1:
			cuts = append(cuts, i)
		case c == '}' && depth > 0: // without a group it stands for itself
			if depth--; depth == 0 {
				return open, append(cuts, i)
			}
		}
	}
	return open, nil
}
