package hook

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dlclark/regexp2"
)

func anything(string) bool { return true }

// isList reports a matcher that is a list of names.
func isList(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-, |", r)
	}) < 0
}

// matcher reads a matcher: nothing or * for all, names divided by | or commas, else a regular expression. An old name
// of a tool matches the tool.
func matcher(name, text string) (func(string) bool, error) {
	if text == "" || text == "*" || events()[name].subject == "" {
		return anything, nil
	}
	if name == "FileChanged" { // names of files have dots
		return func(subject string) bool { return slices.Contains(nameList(text), filepath.Base(subject)) }, nil
	}
	if isList(text) {
		names := nameList(text)
		return func(subject string) bool {
			return slices.ContainsFunc(spellings(name, subject), func(s string) bool { return slices.Contains(names, s) })
		}, nil
	}
	test, err := expression(text)
	if err != nil {
		return nil, fmt.Errorf("the matcher %q is no regular expression: %w", text, err)
	}
	return func(subject string) bool { return slices.ContainsFunc(spellings(name, subject), test) }, nil
}

// matchTime is how long an expression with lookaround may search in one subject.
const matchTime = 100 * time.Millisecond

// expression reads a regular expression, with lookaround and references as JavaScript has them where Go's expressions,
// which need no limit of time, cannot be it. One that takes too long counts as matching, so that a hook that protects
// runs.
func expression(text string) (func(string) bool, error) {
	re, err := regexp.Compile(text)
	if err == nil {
		return re.MatchString, nil
	}
	wide, errWide := regexp2.Compile(text, regexp2.ECMAScript)
	if errWide != nil {
		return nil, err
	}
	wide.MatchTimeout = matchTime
	return func(subject string) bool {
		ok, err := wide.MatchString(subject)
		return ok || err != nil
	}, nil
}

// spellings are the names that matchers know a subject by: Claude Code calls the tool for subagents Task or Agent.
func spellings(name, subject string) []string {
	if events()[name].subject != "tool_name" {
		return []string{subject}
	}
	switch subject {
	case "Task":
		return []string{"Task", "Agent"}
	case "Edit":
		return []string{"Edit", "MultiEdit"}
	}
	return []string{subject}
}
