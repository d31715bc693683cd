// Package glob matches paths with patterns that strangers wrote, in the syntax of doublestar: *, ?, **, [a-z], {a,b}
// and \.
//
// A pattern such as {a,*}{a,*}{a,*}x takes doublestar time that grows exponentially with its braces. Here braces are
// expanded first, as a shell does, and a pattern with too many alternatives is an error. Stars that meet at the edge of
// a brace are one *, so that only a written ** crosses folders.
package glob

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of a pattern with braces.
const (
	maxPattern      = 4_000 // bytes
	maxAlternatives = 500
	maxSteps        = 2_000 // groups opened in all alternatives together
)

// Why Compile refuses a pattern.
var (
	ErrMalformed = errors.New("a bracket or brace is not closed, or is empty")
	ErrTooMany   = fmt.Errorf("its braces stand for too many alternatives (%d at most, in %d bytes)", maxAlternatives,
		maxPattern)
)

// Glob is a compiled pattern; the zero value matches nothing.
type Glob struct {
	alternatives []string // patterns without braces
}

// Compile reads a pattern; the error is ErrMalformed or ErrTooMany.
func Compile(pattern string) (Glob, error) {
	if !doublestar.ValidatePattern(pattern) {
		return Glob{}, ErrMalformed
	}
	if !strings.Contains(pattern, "{") {
		return Glob{[]string{pattern}}, nil
	}
	x := expander{}
	if len(pattern) > maxPattern || !x.expand(pattern) {
		return Glob{}, ErrTooMany
	}
	return Glob{x.alternatives}, nil
}

// Match reports whether the pattern matches a path with slashes.
func (g Glob) Match(path string) bool {
	for _, p := range g.alternatives {
		if doublestar.MatchUnvalidated(p, path) {
			return true
		}
	}
	return false
}

// Match reports whether a path with slashes matches a pattern. One that Compile refuses matches nothing: a caller that
// must not lose a pattern compiles it first.
func Match(pattern, path string) bool {
	if !strings.Contains(pattern, "{") {
		ok, err := doublestar.Match(pattern, path)
		return err == nil && ok
	}
	g, err := Compile(pattern)
	return err == nil && g.Match(path)
}

// expander collects the alternatives of a pattern.
type expander struct {
	alternatives []string
	steps        int
}

// expand adds the alternatives of a valid pattern; false if there are too many.
func (x *expander) expand(pattern string) bool {
	open, cuts := braces(pattern)
	if cuts == nil {
		x.alternatives = append(x.alternatives, pattern)
		return len(x.alternatives) <= maxAlternatives
	}
	if x.steps++; x.steps > maxSteps {
		return false
	}
	end := cuts[len(cuts)-1]
	for from := open + 1; len(cuts) > 0; cuts = cuts[1:] {
		if !x.expand(join(join(pattern[:open], pattern[from:cuts[0]]), pattern[end+1:])) {
			return false
		}
		from = cuts[0] + 1
	}
	return true
}

// join appends two pieces of a pattern; stars that meet become one.
func join(left, right string) string {
	head := strings.TrimRight(left, "*")
	if escapes := len(head) - len(strings.TrimRight(head, `\`)); escapes%2 == 1 && head != left {
		head += "*"
	}
	tail := strings.TrimLeft(right, "*")
	if head == left || tail == right {
		return left + right
	}
	return head + "*" + tail
}

// braces finds the first group of a pattern: its opening brace, its commas and, last, its closing brace. Without a
// group open is -1; with a brace that is alone cuts is nil and open is not -1.
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
		case c == '}' && depth > 0: // without a group it represents itself
			if depth--; depth == 0 {
				return open, append(cuts, i)
			}
		}
	}
	return open, nil
}
