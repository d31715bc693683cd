package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

func ruleCommands() []Command {
	return []Command{
		{
			Name: "mode", Group: groupRules, Args: "[mode]", Help: "Choose how much runs without asking",
			Doc: "`default` asks, `acceptEdits` lets files in the working folders be changed, `plan` changes nothing and " +
				"runs only read-only commands, " +
				"`dontAsk` refuses what it would ask, `auto` lets the small model answer a question first, `bypassPermissions` " +
				"asks nothing that rules do not " +
				"ask; what deny rules and guards refuse stays refused. `/mode next` takes the next of the first three.",
			Complete: oneOf(permission.ModeNames()...),
			Run:      mode,
		},
		planCommand(),
		{
			Name: "permissions", Aliases: []string{"allowed-tools"}, Group: groupRules, Args: "[allow|ask|deny|remove rule]|suggest|denied",
			Help: "Show the permission rules with their sources; add or remove one",
			Doc: "`/permissions deny Bash(rm *) in user` adds a rule to the user's settings. The places are `session` (until " +
				"lathe ends), `local` (this " +
				"project, for you: the default), `project` (shared with the team) and `user`. `/permissions remove deny Bash(rm " +
				"*) in user` takes it away. `/permissions suggest` reads what you allowed in the sessions of this folder and " +
				"proposes rules, each with how often it would have spared the question, and for what; " +
				"`/permissions denied` does so for what the mode `auto` refused.",
			Complete: oneOf("allow", "ask", "deny", "remove", "suggest", "denied"),
			Run:      permissions,
		},
		{
			Name: "sandbox", Group: groupRules, Help: "Show what confines commands",
			Doc: "The tier, what commands may write, the network, and the exceptions. The sandbox is chosen when lathe starts.",
			Run: func(_ context.Context, h *Host, _ string) (event.Output, error) {
				return event.Output{Text: h.Instance.Boundary().Describe()}, nil
			},
		},
		{Name: "permissions-remove", Hidden: true, Group: groupRules, Args: "<rule>", Help: "Remove a rule", Run: removeRule},
		{Name: "permissions-add", Hidden: true, Group: groupRules, Args: "<rule>", Help: "Add a rule", Run: addRule},
		{
			Name: "add-dir", Group: groupRules, Args: "<folder>", Help: "Let lathe work in one more folder, for this session",
			Run: addDir,
		},
		{
			Name: "diff", Group: groupRules, Args: "[all|agents|theirs|git|message [message]]",
			Help: "Show what the session changed, or what differs from the last commit",
			Doc: "Without an argument: every change that lathe's own edits made in this session. `all`: what the steps on " +
				"this branch changed, also by commands, less what " +
				"was undone. `agents`: the same, for the main agent and each subagent. `theirs`: what you and others changed " +
				"between the steps. `git`: everything that is not committed. " +
				"With the number of a message, as /tree shows them: the way from the branch in front to the branch of that " +
				"message; with two, from the one to the other.",
			Complete: oneOf("all", "agents", "theirs", "git"),
			Run:      diff,
		},
		{
			Name: "tasks", Aliases: []string{"bashes"}, Group: groupRules, Args: "[end id | tell id message]",
			Help: "List the commands in the background and the agents, end one, or send an agent a message",
			Doc:  "An agent that works gets a message at its next step.",
			Run:  tasks,
		},
		undoCommand(), redoCommand(),
	}
}

func mode(ctx context.Context, h *Host, args string) (event.Output, error) {
	modes, now := permission.ModeNames(), string(h.Status().Mode)
	switch args {
	case "":
		p := &event.Pick{Title: "Permission mode", Command: "mode"}
		for _, m := range modes {
			p.Items = append(p.Items, event.PickItem{ID: m, Label: m, Detail: modeHelp[m], Current: m == now})
		}
		return event.Output{Pick: p}, nil
	case "next":
		cycle := []string{"default", "acceptEdits", "plan"}
		return event.Output{}, h.SetMode(ctx, cycle[(slices.Index(cycle, now)+1)%len(cycle)])
	}
	for _, m := range modes {
		if strings.EqualFold(m, args) {
			args = m
		}
	}
	return done(h.SetMode(ctx, args), "The mode is %s now: %s.", args, modeHelp[args])
}

var modeHelp = map[string]string{
	"default":           "calls that change or run something ask first",
	"acceptEdits":       "files in the working folders are changed without asking",
	"plan":              "nothing is changed; only read-only calls run",
	"dontAsk":           "calls that would ask are refused",
	"auto":              "as default, but the small model answers a question first; it can only allow",
	"bypassPermissions": "everything runs without asking, but for deny and ask rules and what guards refuse",
}

// places names the scopes of a rule in words.
var places = map[string]string{
	"session": "this session", "local": "this project, for you",
	"project": "this project, for everybody", "user": "all your projects",
}

func permissions(ctx context.Context, h *Host, args string) (event.Output, error) {
	verb, rest, _ := strings.Cut(args, " ")
	switch verb {
	case "":
		return pickRule(h), nil
	case "allow", "ask", "deny":
		return addRule(ctx, h, args)
	case "remove":
		return removeRule(ctx, h, rest)
	case "suggest":
		return suggestRules(ctx, h, false)
	case "denied":
		return suggestRules(ctx, h, true)
	}
	return event.Output{}, fmt.Errorf("%q is neither allow, ask, deny nor remove; for example: /permissions allow "+
		"Bash(go test *)", verb)
}

func pickRule(h *Host) event.Output {
	p := &event.Pick{
		Title: "Permission rules", Command: "permissions-remove",
		Empty: "There are no rules; add one: /permissions allow Bash(go test *)",
		Actions: []event.PickAction{
			{Key: "ctrl+d", Label: "remove", Command: "permissions-remove", Undo: "permissions-add", Refresh: "permissions"},
		},
	}
	for _, r := range h.rules() {
		scope := r.Scope
		if scope == "" {
			scope = "fixed"
		}
		p.Items = append(p.Items, event.PickItem{ID: r.Effect + " " + r.Text + " in " + scope, Label: r.Effect + " " +
			r.Text, Detail: r.Source})
	}
	return event.Output{Pick: p}
}

// readRule parses "deny Bash(rm *) in user".
func readRule(args string) (ruleRow, error) {
	effect, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	r := ruleRow{Effect: effect, Text: strings.TrimSpace(rest), Scope: "local"}
	if i := strings.LastIndex(r.Text, " in "); i >= 0 && !strings.Contains(r.Text[i:], ")") {
		r.Text, r.Scope = strings.TrimSpace(r.Text[:i]), strings.TrimSpace(r.Text[i+4:])
	}
	if !slices.Contains([]string{"allow", "ask", "deny"}, effect) || r.Text == "" {
		return r, errors.New("a rule is written like this: deny Bash(rm *) in user; the places are session, local, " +
			"project and user")
	}
	if places[r.Scope] == "" && r.Scope != "fixed" {
		return r, fmt.Errorf("%q is no place for a rule; the places are session, local, project and user", r.Scope)
	}
	return r, nil
}

func addRule(_ context.Context, h *Host, args string) (event.Output, error) {
	r, err := readRule(args)
	if err != nil {
		return event.Output{}, err
	}
	if r.Scope == "fixed" {
		return event.Output{}, errors.New("that rule is not lathe's to write")
	}
	return done(h.grant(r), "Added for %s: %s %s", places[r.Scope], r.Effect, code(r.Text))
}

func removeRule(_ context.Context, h *Host, args string) (event.Output, error) {
	r, err := readRule(args)
	if err != nil {
		return event.Output{}, err
	}
	if r.Scope == "fixed" {
		for _, known := range h.rules() {
			if known.Effect == r.Effect && known.Text == r.Text {
				return event.Output{}, fmt.Errorf("this rule comes from %s and is changed there", known.Source)
			}
		}
	}
	return done(h.withdraw(r), "Removed: %s %s. Add it again with: /permissions %s %s in %s",
		r.Effect, code(r.Text), r.Effect, r.Text, r.Scope)
}

func addDir(_ context.Context, h *Host, args string) (event.Output, error) {
	if args == "" {
		return event.Output{}, errors.New("give the folder: /add-dir ../other")
	}
	if rest, ok := strings.CutPrefix(args, "~/"); ok {
		args = filepath.Join(h.Instance.Config().Paths().Home, rest)
	}
	dir, err := h.Session().AddDir(args)
	if err != nil {
		return event.Output{}, err
	}
	return text("lathe may work in %s too, until this session is left. To keep it, add it to "+
		"permissions.additionalDirectories.", code(dir)), nil
}

// ruleRow is one permission rule. Scope is session, local, project or user for removable rules, else empty;
// Source names the place the rule comes from, for people.
type ruleRow struct {
	Effect string // allow, ask, deny
	Text   string
	Scope  string
	Source string
}

// layers are the settings files that rules can be saved to.
var layers = map[string]config.Layer{"local": config.Local, "project": config.Project, "user": config.User}

// rules returns the rules of the settings with their sources, then those of the session.
func (h *Host) rules() []ruleRow {
	var out []ruleRow
	cfg := h.Instance.Config()
	for _, rule := range cfg.Rules() {
		shown := ruleRow{Effect: rule.Action, Text: rule.Text, Source: rule.Origin.String()}
		if rule.Text == "" {
			shown.Text = rule.Permission + "(" + rule.Pattern + ")"
			shown.Source += ", in order"
		}
		for scope, layer := range layers {
			if rule.Text != "" && rule.Origin.Layer == layer && rule.Origin.File == cfg.Target(layer) {
				shown.Scope = scope
			}
		}
		out = append(out, shown)
	}
	for _, rule := range h.Session().Rules() {
		switch rule.Source.Name {
		case SessionScope:
			out = append(out, ruleRow{Effect: string(rule.Effect), Text: rule.Text, Source: SessionScope, Scope: "session"})
		case "a hook":
			out = append(out, ruleRow{
				Effect: string(rule.Effect), Text: rule.Text, Source: "a hook, in this session",
				Scope: "session",
			})
		case "command line":
			out = append(out, ruleRow{Effect: string(rule.Effect), Text: rule.Text, Source: "the command line"})
		}
	}
	return out
}

func (h *Host) grant(rule ruleRow) error {
	effect := permission.Effect(rule.Effect)
	if err := h.toolOf(rule.Text); err != nil {
		return err
	}
	if _, errs := permission.ParseRules(h.Instance.Tools(), []string{rule.Text}, effect, permission.Source{}); len(
		errs) > 0 {
		return errs[0]
	}
	if rule.Scope == "session" {
		return h.Session().Grant(rule.Text, effect)
	}
	if err := h.Instance.Config().Set("permissions."+rule.Effect+"+", quote(rule.Text), layers[rule.Scope]); err != nil {
		return err
	}
	return h.reload()
}

func (h *Host) withdraw(rule ruleRow) error {
	if rule.Scope == "session" {
		if !h.Session().Ungrant(rule.Text, permission.Effect(rule.Effect)) {
			return fmt.Errorf("this session has no rule %s %s", rule.Effect, rule.Text)
		}
		return nil
	}
	if rule.Scope == "" {
		return errors.New("this rule is not in a file that lathe writes")
	}
	if err := h.Instance.Config().Drop("permissions."+rule.Effect, rule.Text, layers[rule.Scope]); err != nil {
		return err
	}
	return h.reload()
}

func (h *Host) reload() error {
	_, err := h.Instance.Reload()
	return err
}

// toolOf refuses a rule for a tool that does not exist, since it would have no effect. Tools of servers are
// known only while their server runs.
func (h *Host) toolOf(rule string) error {
	name, _, _ := strings.Cut(rule, "(")
	name = strings.TrimSpace(name)
	tools := h.Instance.Tools()
	if tools.Named(tools.Name(name)) || strings.HasPrefix(name, "mcp__") || strings.ContainsAny(name, "*") {
		return nil
	}
	if near := tools.Nearest(name); near != "" {
		return fmt.Errorf("there is no tool %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no tool %q; a rule begins with one, such as Bash(make *), Edit(docs/**) or Read", name)
}

// SessionScope is the source of rules that end with the session.
const SessionScope = "this session"
