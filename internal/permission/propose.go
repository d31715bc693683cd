package permission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxProposed is how many rules one answer may keep, as in Claude Code.
const maxProposed = 5

// Propose lists the rules that would let a request like this one through, for "always" and "never": general
// enough to be useful, one for each part and access that needs approval. It is empty when no rule covers the
// request without covering more.
func (p *Policy) Propose(req Request) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := p.look(req)
	if _, refused := c.guarded(Deny); refused {
		return nil
	}
	if _, doubt := c.doubt(); doubt {
		return nil
	}
	if texts := c.proposals(); c.sufficient(texts) {
		return texts
	}
	if texts := c.wholeLine(); c.sufficient(texts) {
		return texts
	}
	return nil
}

// sufficient reports whether rules cover the request when a person grants them.
func (c *call) sufficient(texts []string) bool {
	if len(texts) == 0 || len(texts) > maxProposed {
		return false
	}
	rules, errs := ParseRules(c.p.tools, texts, Allow, Source{Base: c.Dir})
	if len(errs) > 0 {
		return false
	}
	_, ok := c.allowed(true, rules, c.p.grants)
	return ok
}

// wholeLine is the rule for a command to the letter.
func (c *call) wholeLine() []string {
	for _, a := range c.Accesses {
		if line := strings.TrimSpace(a.Target); a.Kind == Exec && sayable(line) {
			return []string{c.Tool + "(" + line + ")"}
		}
	}
	return nil
}

// sayable: the text means just itself in a rule.
func sayable(text string) bool {
	return text != "" && !strings.ContainsAny(text, "*\n\r\x00") && len(text) <= 500
}

func (c *call) proposals() []string {
	var out []string
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if c.Accesses == nil {
		add(c.toolRule())
	}
	covered := c.toCover()
	if c.opensMore(covered) {
		return c.wholeLine()
	}
	for i, a := range c.Accesses {
		if a.Kind == Exec {
			for _, part := range a.Command.Parts {
				if !part.readOnly() {
					add(c.partProposal(part))
				}
			}
			continue
		}
		if ok, _ := c.granted(i); !ok && !c.follows(i, covered) {
			add(c.accessProposal(a))
		}
	}
	return out
}

// opensMore reports whether a command reads or writes something outside for which only a rule on paths would do, which
// would open a whole folder, to every tool: then the line itself is the rule.
func (c *call) opensMore(covered coverage) bool {
	if c.traits.Subject != SubjectCommand {
		return false
	}
	for i, a := range c.Accesses {
		if ok, _ := c.granted(i); ok || c.follows(i, covered) {
			continue
		}
		if a.Kind == Read || a.Kind == Write && !(a.Redirect && a.Node != Folder) {
			return true
		}
	}
	return false
}

// toCover is how much of the command rules for its parts cover: those that are read-only get none.
func (c *call) toCover() coverage {
	i := c.exec()
	if i < 0 {
		return coversLittle
	}
	if slices.ContainsFunc(c.Accesses[i].Command.Parts, func(p Part) bool { return !p.Covered && p.readOnly() }) {
		return coversChanges
	}
	return coversAll
}

func (c *call) accessProposal(a Access) string {
	switch a.Kind {
	case Write:
		return PathRule("Edit", a.Target)
	case Read:
		return c.readProposal(a)
	case Net:
		h := readHost(a.Target)
		if h.odd != "" || c.traits.Subject == SubjectCommand { // in a command only a rule for the program covers it
			return ""
		}
		return c.Tool + "(domain:" + h.name + ")"
	case Tool:
		return c.toolRule()
	}
	return ""
}

// readProposal covers just the file, or the folder that was searched, unless that is a wide one.
func (c *call) readProposal(a Access) string {
	target, home := slashed(a.Target), slashed(c.p.Home)
	_, above := below(target, home)
	if a.Node != File && (above || strings.Count(target, "/") < 2) {
		return ""
	}
	return PathRule("Read", a.Target)
}

// toolRule is the narrowest rule for a tool whose effects are not known.
func (c *call) toolRule() string {
	if c.traits.Subject != SubjectName {
		return c.Tool
	}
	for _, param := range c.traits.Params {
		if s := stringField(c.Input, param); s != "" && sayable(s) && !strings.ContainsAny(s, "()") {
			return c.Tool + "(" + s + ")"
		}
	}
	return c.Tool
}

// partProposal is the rule for one part of a command: its program and subcommand with anything after them,
// or, for programs that run others or destroy, its very text.
func (c *call) partProposal(part Part) string {
	exact := ""
	if sayable(part.Text) {
		exact = fmt.Sprintf("%s(%s)", c.Tool, part.Text)
	}
	if !part.Exact || part.Literal || part.Beyond || part.Class == ClassDestructive || strings.ContainsAny(part.Text, "\n\r\x00") {
		return exact
	}
	prefix := prefixOf(part)
	general := newPattern(prefix + " *")
	if prefix == "" || !general.allows(&part) {
		return exact
	}
	return fmt.Sprintf("%s(%s *)", c.Tool, prefix)
}

// prefixOf is the first words of a part when they tell its action; "" when only the whole does.
func prefixOf(part Part) string {
	words := strings.Fields(part.Text)
	if len(words) == 0 || part.Program == "" || words[0] != part.Program {
		return ""
	}
	for depth := 1; depth <= min(3, len(words)); depth++ {
		form := strings.Join(append([]string{part.Program}, words[1:depth]...), " ")
		if generalForms()[form] {
			return strings.Join(words[:depth], " ")
		}
		if base, ok := strings.CutSuffix(form, " "+words[depth-1]); ok && scriptRunners[base] &&
			isSubcommand(words[depth-1]) {
			return strings.Join(words[:depth], " ")
		}
	}
	return ""
}

// GeneralForms returns the beginnings of commands for which "always" proposes a rule with any words behind: "go test".
func GeneralForms() []string { return slices.Sorted(maps.Keys(generalForms())) }

// generalForms are the beginnings of commands after which any words are of the same kind: options and names that
// make it do nothing worse. What does not stand here is proposed to the letter: that a command of a program is
// harmless says nothing of its other subcommands, and the words of interpreters, wrappers and programs nobody
// knows may be anything.
var generalForms = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for program, subcommands := range map[string]string{
		"git":       "add commit fetch pull merge cherry-pick revert mv init",
		"go":        "build test vet fmt mod_tidy mod_download mod_verify",
		"cargo":     "build check test clippy fmt doc bench",
		"npm":       "test",
		"pnpm":      "test",
		"yarn":      "test",
		"dotnet":    "build test restore format",
		"swift":     "build test",
		"mix":       "compile test format",
		"terraform": "fmt validate plan",
		"tofu":      "fmt validate plan",
		"ruff":      "check format",
		"flutter":   "test analyze",
		"dart":      "test analyze format",
	} {
		for sub := range strings.FieldsSeq(subcommands) {
			m[program+" "+strings.ReplaceAll(sub, "_", " ")] = true
		}
	}
	for program := range strings.FieldsSeq("mkdir touch cp mv pytest jest vitest eslint prettier tsc mypy black isort " +
		"flake8 pylint gofmt gofumpt golangci-lint staticcheck shellcheck rspec phpunit rubocop stylelint") {
		m[program] = true
	}
	return m
})

// scriptRunners run the script of the project that their next word names.
var scriptRunners = map[string]bool{
	"npm run": true, "pnpm run": true, "yarn run": true, "bun run": true,
	"npm run-script": true, "deno task": true,
}

// isSubcommand: a plain word, neither a flag nor a path nor an address.
func isSubcommand(w string) bool {
	for i, r := range w {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && (r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == ':')) {
			return false
		}
	}
	return w != ""
}
