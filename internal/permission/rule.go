package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/glob"
)

// Source is where rules came from.
type Source struct {
	Name string // "user settings", "command line", "this session"
	Base string // the folder that a leading / of a path pattern stands for; empty: the session's
}

// Rule is one rule as somebody wrote it: Tool or Tool(Spec), in Claude Code's syntax.
type Rule struct {
	Text   string
	Effect Effect
	Source Source
	Tool   string // canonical name, or a name with * in it
	Spec   string // the text in the parentheses; "" covers every call of the tool

	// Ordered rules form a list of their own, in which the last one that matches counts.
	Ordered bool
	// Match and NotMatch are calls that the rule is meant to cover and not to cover, as a rule line of
	// `lathe permission check` names them; they are checked when the rule is loaded.
	Match, NotMatch []string

	traits Traits // of Tool, as they were when the rule was read
}

// Names of rules that are no tools: any path outside the working roots, and a model that repeats itself.
const (
	ExternalDirectory = "external_directory"
	DoomLoop          = "doom_loop"
)

// class is the tool whose path rules this is one of: "Read", "Edit", or "" for none. An allow rule for
// Glob or Grep is none, since it would let Read in too.
func (r *Rule) class() string {
	c := r.traits.pathRules()
	if r.Effect == Allow && c == "Read" && r.Tool != "Read" {
		return ""
	}
	return c
}

// ParseRule reads "Tool" or "Tool(spec)". Other spellings of the tool's name are taken for the tool: a rule that
// denies "bash" must not be without effect. An allow rule may use * in the tool's name only after
// "mcp__server__". A rule knows the tools there were when it was read; read it anew when there are more.
func ParseRule(tools Tools, text string, effect Effect, src Source) (Rule, error) {
	text = strings.TrimSpace(text)
	r := Rule{Text: text, Effect: effect, Source: src, Tool: text}
	scope := ""
	if open := strings.IndexByte(text, '('); open >= 0 {
		if !strings.HasSuffix(text, ")") {
			return r, fmt.Errorf("rule %q: the parenthesis is not closed; write Tool(pattern)", text)
		}
		scope = text[open:]
		r.Tool, r.Spec = strings.TrimSpace(text[:open]), strings.TrimSpace(text[open+1:len(text)-1])
		if r.Spec == "*" {
			r.Spec = ""
		}
	}
	if r.Tool == "" || strings.ContainsAny(r.Tool, " \t\r\n()") || strings.ContainsRune(text, 0) {
		return r, fmt.Errorf("rule %q: no tool name; write Tool or Tool(pattern), for example Bash(go test *)", text)
	}
	if name := tools.Name(r.Tool); name != r.Tool {
		r.Tool, r.Text = name, name+scope
	}
	r.traits = tools.Traits(r.Tool)
	if r.class() != "" || r.Tool == ExternalDirectory {
		if err := checkPattern(filepathSlash(r.Spec)); err != nil {
			return r, fmt.Errorf("rule %.200q: the path pattern is broken: %w", text, err)
		}
	}
	if effect == Allow && strings.Contains(r.Tool, "*") && !allowGlobOK(r.Tool) {
		return r, fmt.Errorf("rule %q: an allow rule may use * in a tool's name only after mcp__server__", text)
	}
	return r, nil
}

// checkPattern refuses a pattern that could match nothing later, with "**/" before it too, as globUnder has it.
func checkPattern(pattern string) error {
	_, err := glob.Compile("**/" + pattern)
	if errors.Is(err, glob.ErrMalformed) {
		return fmt.Errorf("%w; write [ and { that mean themselves as \\[ and \\{", err)
	}
	if err != nil {
		return fmt.Errorf("%w; write several rules", err)
	}
	return nil
}

func allowGlobOK(tool string) bool {
	parts := strings.SplitN(tool, "__", 3)
	return len(parts) == 3 && parts[0] == "mcp" && parts[1] != "" && !strings.Contains(parts[1], "*")
}

// filepathSlash leaves escapes alone and takes a Windows path for one.
func filepathSlash(spec string) string {
	if hasDrive(spec) {
		return strings.ReplaceAll(spec, `\`, "/")
	}
	return spec
}

// ParseOrdered reads one entry of permissions.rules: a permission (bash, edit, read, external_directory,
// webfetch, doom_loop, ..., or a tool's name), a pattern ("" and "*" mean all) and an effect. Every change of
// files is edit.
func ParseOrdered(tools Tools, permission, pattern string, effect Effect, src Source) (Rule, error) {
	tool := tools.Name(strings.TrimSpace(permission))
	if lower := strings.ToLower(tool); lower == ExternalDirectory || lower == DoomLoop {
		tool = lower
	}
	traits := tools.Traits(tool)
	if traits.edits() {
		tool = "Edit"
	}
	text := tool
	switch {
	case pattern == "" || pattern == "*":
	case traits.Subject == SubjectHost && !strings.HasPrefix(pattern, "domain:"):
		text = tool + "(domain:" + hostPart(pattern) + ")"
	case tool == ExternalDirectory && strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "//"):
		text = tool + "(/" + pattern + ")"
	default:
		text = tool + "(" + pattern + ")"
	}
	r, err := ParseRule(tools, text, effect, src)
	r.Ordered = true
	return r, err
}

// hostPart is the host of a pattern that may be a whole address: https://*.example.com/docs/*.
func hostPart(pattern string) string {
	if _, rest, ok := strings.Cut(pattern, "://"); ok {
		pattern = rest
	}
	host, _, _ := strings.Cut(pattern, "/")
	return host
}

// Warning says why a rule that can be read has no effect, or another one than its author may think; ""
// when there is nothing to say.
func (r *Rule) Warning() string {
	name, _, scoped := strings.Cut(r.Spec, ":")
	name = strings.TrimSpace(name)
	onParam := scoped && r.Effect != Allow
	switch {
	case r.Spec == "":
	case onParam && r.traits.patternsHold(name):
		return fmt.Sprintf("the rule %s names %s, which patterns of their own speak of: write %s(pattern)", r.Text, name,
			r.Tool)
	case r.traits.Known && r.traits.Subject == NoSubject && !onParam:
		return fmt.Sprintf("the rule %s has no effect: %s takes no pattern", r.Text, r.Tool)
	case r.traits.Subject == SubjectHost && !strings.HasPrefix(r.Spec, "domain:") && !onParam:
		return fmt.Sprintf("the rule %s has no effect: write %s(domain:host)", r.Text, r.Tool)
	case r.Effect == Allow && r.class() == "" && r.traits.pathRules() != "":
		return fmt.Sprintf("the rule %s has no effect: write Read(%s)", r.Text, r.Spec)
	}
	return ""
}

// patternsHold reports whether the tool's own patterns match a parameter, so that param:value rules do not.
func (t Traits) patternsHold(param string) bool {
	return t.Subject != SubjectName && slices.Contains(t.Params, param)
}

// PathRule is the rule for exactly one absolute path; tool is Read or Edit.
func PathRule(tool, target string) string {
	return fmt.Sprintf("%s(/%s)", tool, patternMeta.Replace(slashed(target)))
}

var patternMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// ParseRules reads many rules; those that do not parse are left out and come back as errors.
func ParseRules(tools Tools, texts []string, effect Effect, src Source) ([]Rule, []error) {
	var rules []Rule
	var errs []error
	for _, t := range texts {
		r, err := ParseRule(tools, t, effect, src)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", src.Name, err))
			continue
		}
		rules = append(rules, r)
	}
	return rules, errs
}

// concerns reports whether the rule speaks about the tool of the call: about itself, or, with a pattern, about all
// that read or change files.
func (c *call) concerns(r *Rule) bool {
	return r.coversTool(c.Tool) || r.Spec != "" && r.Tool == c.traits.pathRules()
}

// coversTool reports whether the rule names the tool.
func (r *Rule) coversTool(tool string) bool {
	if r.Tool == tool || (r.Effect != Allow && r.Tool == "*") {
		return true
	}
	if rest, ok := strings.CutPrefix(tool, r.Tool); ok && strings.HasPrefix(r.Tool, "mcp__") &&
		strings.Count(r.Tool, "__") == 1 && strings.HasPrefix(rest, "__") {
		return true // mcp__server covers all of the server's tools
	}
	return strings.Contains(r.Tool, "*") && wildcard(r.Tool, tool)
}

// Removes reports whether the rule takes the tool away from the model altogether.
func (r *Rule) Removes(tool string) bool {
	return r.Effect == Deny && r.Spec == "" && r.coversTool(tool)
}

// wildcard matches s against a pattern in which * stands for any text. It is linear in len(s) times the
// number of stars and never backtracks further than the last star.
func wildcard(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			p = star + 1
			mark++
			i = mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
