package command

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/lathe-dev/lathe/internal/event"
)

// Complete lists the commands whose name or alias fits what was typed, best first; all of them in the order
// of help for "". Score, which may be nil, says how often and how lately a command was used; it decides
// between names that fit alike.
func Complete(typed string, score func(name string) float64, limit int) []event.Candidate {
	type fit struct {
		event.Candidate
		rank int
		used float64
	}
	var fits []fit
	typed = strings.ToLower(strings.TrimPrefix(typed, "/"))
	for _, c := range All() {
		if c.Hidden {
			continue
		}
		rank, marks, ok := match(typed, c.Name)
		label := ""
		for _, alias := range c.Aliases {
			if r, _, fits := match(typed, alias); fits && (!ok || r > rank) && typed != "" {
				rank, marks, ok, label = r, nil, true, c.Name+" ("+alias+")"
			}
		}
		if !ok {
			continue
		}
		f := fit{Candidate: event.Candidate{Text: c.Name, Label: label, Help: c.Help, Hint: c.Args, Group: c.Group, Marks: marks}, rank: rank}
		if score != nil {
			f.used = score(c.Name)
		}
		fits = append(fits, f)
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.used, a.used)) })
	var out []event.Candidate
	for _, f := range fits {
		if limit > 0 && len(out) == limit {
			break
		}
		out = append(out, f.Candidate)
	}
	return out
}

// Ranks of a match, from the whole name to letters in order somewhere.
const (
	rankLetters = iota + 1
	rankInside
	rankWord
	rankPrefix
	rankWhole
)

// match says how well typed fits a name, and which of its runes it matched. Everything fits "".
func match(typed, name string) (rank int, marks []int, ok bool) {
	if typed == "" {
		return 0, nil, true
	}
	lower := []rune(strings.ToLower(name))
	want := []rune(typed)
	if at := indexRunes(lower, want); at >= 0 {
		for i := range want {
			marks = append(marks, at+i)
		}
		switch {
		case at == 0 && len(lower) == len(want):
			return rankWhole, marks, true
		case at == 0:
			return rankPrefix, marks, true
		case !unicode.IsLetter(lower[at-1]) && !unicode.IsDigit(lower[at-1]):
			return rankWord, marks, true
		}
		return rankInside, marks, true
	}
	at := 0
	for _, r := range want {
		for at < len(lower) && lower[at] != r {
			at++
		}
		if at == len(lower) {
			return 0, nil, false
		}
		marks = append(marks, at)
		at++
	}
	if marks[0] != 0 { // letters in order mean something only from the beginning
		return 0, nil, false
	}
	return rankLetters, marks, true
}

func indexRunes(s, part []rune) int {
	for i := 0; i+len(part) <= len(s); i++ {
		if slices.Equal(s[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// choices narrows candidates for an argument by what was typed, best first.
func choices(typed string, all []event.Candidate) []event.Candidate {
	type fit struct {
		event.Candidate
		rank int
	}
	var fits []fit
	typed = strings.ToLower(typed)
	for _, c := range all {
		shown := cmp.Or(c.Label, c.Text)
		rank, marks, ok := match(typed, shown)
		if !ok {
			if r, _, fits := match(typed, c.Text); fits {
				rank, ok = r, true
			}
		}
		if ok {
			c.Marks = marks
			fits = append(fits, fit{c, rank})
		}
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(b.rank, a.rank) })
	out := make([]event.Candidate, len(fits))
	for i, f := range fits {
		out[i] = f.Candidate
	}
	return out
}
