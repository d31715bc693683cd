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
	if s.Tools != nil && !s.Fork {
		rules = append(rules, l.parse(s, l.others(s.Tools), permission.Deny, nil)...)
	}
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

// named are the tools that rules name.
func (l *Loader) named(rules []string) (out []string) {
	for _, r := range rules {
		name, _, _ := strings.Cut(r, "(")
		if name = l.Tools.Name(strings.TrimSpace(name)); name == "Bash" {
			out = append(out, "TaskOutput", "TaskStop") // of its commands in the background
		}
		out = append(out, name)
	}
	return out
}

// others are rules for all tools but those that some rules name.
func (l *Loader) others(rules []string) (out []string) {
	names := l.named(rules)
	for _, name := range l.Tools.Names() {
		if !slices.Contains(names, name) {
			out = append(out, name)
		}
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "mcp__") }) {
		out = append(out, "mcp__*")
	}
	return out
}

// limit is all the tools of the agent that works on a skill; nil: those of its kind.
func (l *Loader) limit(s *skill.Skill) []string {
	if s.Tools != nil {
		return l.named(s.Tools)
	}
	return l.named(s.AllowedTools)
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
