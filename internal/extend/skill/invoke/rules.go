package invoke

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/permission"
)

// ToolName is the tool by which the model loads skills, and the name of rules on skills.
const ToolName = "Skill"

// activate puts the rules of a skill in force until EndTurn, and lets its files be read.
func (l *Loader) activate(s *skill.Skill, variables map[string]string, byUser bool) {
	back := l.lend(s, variables, byUser)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backs = append(l.backs, back)
}

// lend puts the rules of a skill in force until back is called, and lets its files be read.
func (l *Loader) lend(s *skill.Skill, variables map[string]string, byUser bool) (back func()) {
	if s.Kind == skill.KindSkill {
		l.AddRoot(s.Dir)
	}
	rules := l.parse(s, s.DisallowedTools, permission.Deny, variables)
	if len(s.AllowedTools) > 0 {
		if why := l.withheld(s, byUser); why == "" {
			rules = append(rules, l.parse(s, s.AllowedTools, permission.Allow, variables)...)
		} else if byUser {
			l.Notice("info",
				fmt.Sprintf("/%s: its allowed-tools (%s) do not count, because %s; the rule %s(%s) makes them count",
					s.Name, strings.Join(s.AllowedTools, ", "), why, ToolName, s.Name))
		}
	}
	if len(rules) == 0 {
		return func() {}
	}
	return l.Policy.Lend(rules, l.Chain...)
}

// EndTurn takes back the rules of all skills, and drops typed skills that never ran. It is to be called when a turn is
// over.
func (l *Loader) EndTurn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, back := range l.backs {
		back()
	}
	l.backs, l.forks = nil, nil
}

// withheld says why the allowed-tools of a skill do not count, or "". They count when a rule allows the skill by name
// or all skills; else when a person invoked it and the file is theirs or of a project that they trust.
func (l *Loader) withheld(s *skill.Skill, byUser bool) string {
	switch {
	case l.ruled(s):
		return ""
	case !byUser:
		return "the model loaded it"
	case s.Source == skill.SourceProject && !l.Trusted():
		return "it comes with a project that is not trusted"
	}
	return ""
}

// ruled reports whether an allow rule speaks of the skill.
func (l *Loader) ruled(s *skill.Skill) bool {
	input, err := json.Marshal(map[string]string{"skill": s.Name})
	if err != nil {
		return false
	}
	req := permission.Request{
		Tool: ToolName, Input: input,
		Accesses: []permission.Access{{Kind: permission.Tool, Target: ToolName}},
	}
	return slices.ContainsFunc(l.Policy.Rules(), func(r permission.Rule) bool {
		return r.Effect == permission.Allow && r.Tool == ToolName && l.Policy.Matches(r, req)
	})
}

// parse reads the rules of a skill; those that cannot be read are dropped and reported.
func (l *Loader) parse(s *skill.Skill, texts []string, e permission.Effect,
	variables map[string]string,
) []permission.Rule {
	texts = slices.Clone(texts)
	for i := range texts {
		for name, value := range variables {
			texts[i] = strings.ReplaceAll(texts[i], "${"+name+"}", value)
		}
	}
	rules, errs := permission.ParseRules(l.Tools, texts, e, permission.Source{Name: "the skill " + s.Name, Base: l.Dir})
	for _, err := range errs {
		l.Notice("warning", fmt.Sprintf("/%s: %v", s.Name, err))
	}
	return rules
}
