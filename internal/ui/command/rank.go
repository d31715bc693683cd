package command

import (
	"cmp"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/event"
)

// Weights of use in a ranking: a command used a few times lately comes before another that matches equally
// well, and never before one whose name begins with the typed text.
const (
	useWorth = 10
	useMost  = 40
)

// spelling is a name that finds a command.
type spelling struct {
	command Command
	alias   bool
}

// Complete lists the commands whose name or alias matches the typed text, best first; for "" it lists all in
// the order of help. More are the skills and commands from files. Score, which may be nil, weighs how often and how
// recently a command was used; it decides between names that match about equally well.
func Complete(typed string, more []Skill, score func(name string) float64, limit int) []event.Candidate {
	var all []spelling
	var names []string
	own := map[string]bool{}
	for _, s := range more {
		own[s.Name] = s.Own
	}
	for _, c := range append(All(), fromFiles(more)...) {
		if c.Hidden {
			continue
		}
		if own[c.Name] && c.Group != groupSkills {
			c.Name = builtIn + c.Name
		}
		all, names = append(all, spelling{c, false}), append(names, c.Name)
		if typed == "" {
			continue
		}
		for _, a := range c.Aliases {
			if !own[a] {
				all, names = append(all, spelling{c, true}), append(names, a)
			}
		}
	}
	bonus := func(i int) int {
		b := 0
		if names[i] == typed {
			b = 2 * useMost // typed in full
		}
		if score != nil && typed != "" {
			b += min(int(useWorth*score(all[i].command.Name)), useMost)
		}
		return b
	}
	var out []event.Candidate
	seen := map[string]bool{}
	for _, f := range fuzzy.Rank(typed, names, 0, bonus) {
		s := all[f.Index]
		if seen[s.command.Name] || limit > 0 && len(out) == limit {
			continue
		}
		seen[s.command.Name] = true
		out = append(out, s.candidate(names[f.Index], f.Marks))
	}
	return out
}

func (s spelling) candidate(name string, marks []int) event.Candidate {
	c := event.Candidate{
		Text: s.command.Name, Help: s.command.Help, Hint: s.command.Args, Group: s.command.Group,
		Marks: marks,
	}
	if s.alias {
		c.Label, c.Marks = s.command.Name+" ("+name+")", nil
	}
	return c
}

// choices filters the candidates for an argument by the typed text, best first.
func choices(typed string, all []event.Candidate) []event.Candidate {
	shown := make([]string, len(all))
	for i, c := range all {
		shown[i] = cmp.Or(c.Label, c.Text)
	}
	var out []event.Candidate
	have := map[int]bool{}
	for _, f := range fuzzy.Rank(typed, shown, 0, nil) {
		c := all[f.Index]
		c.Marks = f.Marks
		have[f.Index] = true
		out = append(out, c)
	}
	m := fuzzy.New(typed)
	for i, c := range all { // also match the hidden text, such as the id of a session
		if _, ok := m.Score(c.Text); ok && !have[i] {
			out = append(out, c)
		}
	}
	return out
}
