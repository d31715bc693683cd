package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
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
			Complete: func(_ context.Context, h Host, typed string) []event.Candidate {
				return choices(typed, words(h.Rules().Modes()...))
			},
			Run: mode,
		},
		planCommand(),
		{
			Name: "permissions", Aliases: []string{"allowed-tools"}, Group: groupRules, Args: "[allow|ask|deny|remove rule]",
			Help: "Show the permission rules with their sources; add or remove one",
			Doc: "`/permissions deny Bash(rm *) in user` adds a rule to the user's settings. The places are `session` (until " +
				"lathe ends), `local` (this " +
				"project, for you: the default), `project` (shared with the team) and `user`. `/permissions remove deny Bash(rm " +
				"*) in user` takes it away.",
			Complete: func(_ context.Context, _ Host, typed string) []event.Candidate {
				return choices(typed, words("allow", "ask", "deny", "remove"))
			},
			Run: permissions,
		},
		{
			Name: "sandbox", Group: groupRules, Help: "Show what confines commands",
			Doc: "The tier, what commands may write, the network, and the exceptions. The sandbox is chosen when lathe starts.",
			Run: func(_ context.Context, h Host, _ string) (event.Output, error) {
				return event.Output{Text: h.Rules().Sandbox()}, nil
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
			Complete: func(_ context.Context, _ Host, typed string) []event.Candidate {
				return choices(typed, words("all", "agents", "theirs", "git"))
			},
			Run: diff,
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

func mode(ctx context.Context, h Host, args string) (event.Output, error) {
	modes, now := h.Rules().Modes(), string(h.Conversation().Status().Mode)
	switch args {
	case "":
		p := &event.Pick{Title: "Permission mode", Command: "mode"}
		for _, m := range modes {
			p.Items = append(p.Items, event.PickItem{ID: m, Label: m, Detail: modeHelp[m], Current: m == now})
		}
		return event.Output{Pick: p}, nil
	case "next":
		cycle := []string{"default", "acceptEdits", "plan"}
		return event.Output{}, h.Conversation().SetMode(ctx, cycle[(slices.Index(cycle, now)+1)%len(cycle)])
	}
	for _, m := range modes {
		if strings.EqualFold(m, args) {
			args = m
		}
	}
	if err := h.Conversation().SetMode(ctx, args); err != nil {
		return event.Output{}, err
	}
	return text("The mode is %s now: %s.", args, modeHelp[args]), nil
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

func permissions(ctx context.Context, h Host, args string) (event.Output, error) {
	verb, rest, _ := strings.Cut(args, " ")
	switch verb {
	case "":
		return pickRule(h), nil
	case "allow", "ask", "deny":
		return addRule(ctx, h, args)
	case "remove":
		return removeRule(ctx, h, rest)
	}
	return event.Output{}, fmt.Errorf("%q is neither allow, ask, deny nor remove; for example: /permissions allow "+
		"Bash(go test *)", verb)
}

func pickRule(h Host) event.Output {
	p := &event.Pick{
		Title: "Permission rules", Command: "permissions-remove",
		Empty: "There are no rules; add one: /permissions allow Bash(go test *)",
		Actions: []event.PickAction{
			{Key: "ctrl+d", Label: "remove", Command: "permissions-remove", Undo: "permissions-add", Refresh: "permissions"},
		},
	}
	for _, r := range h.Rules().List() {
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
func readRule(args string) (Rule, error) {
	effect, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	r := Rule{Effect: effect, Text: strings.TrimSpace(rest), Scope: "local"}
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

func addRule(ctx context.Context, h Host, args string) (event.Output, error) {
	r, err := readRule(args)
	if err != nil {
		return event.Output{}, err
	}
	if r.Scope == "fixed" {
		return event.Output{}, errors.New("that rule is not lathe's to write")
	}
	if err := h.Rules().Add(ctx, r); err != nil {
		return event.Output{}, err
	}
	return text("Added for %s: %s %s", places[r.Scope], r.Effect, code(r.Text)), nil
}

func removeRule(ctx context.Context, h Host, args string) (event.Output, error) {
	r, err := readRule(args)
	if err != nil {
		return event.Output{}, err
	}
	if r.Scope == "fixed" {
		for _, known := range h.Rules().List() {
			if known.Effect == r.Effect && known.Text == r.Text {
				return event.Output{}, fmt.Errorf("this rule comes from %s and is changed there", known.Source)
			}
		}
	}
	if err := h.Rules().Remove(ctx, r); err != nil {
		return event.Output{}, err
	}
	return text("Removed: %s %s. Add it again with: /permissions %s %s in %s", r.Effect, code(r.Text), r.Effect, r.Text,
		r.Scope), nil
}

func addDir(ctx context.Context, h Host, args string) (event.Output, error) {
	if args == "" {
		return event.Output{}, errors.New("give the folder: /add-dir ../other")
	}
	dir, err := h.Workspace().AddDir(ctx, args)
	if err != nil {
		return event.Output{}, err
	}
	return text("lathe may work in %s too, until this session is left. To keep it, add it to "+
		"permissions.additionalDirectories.", code(dir)), nil
}

func diff(ctx context.Context, h Host, args string) (event.Output, error) {
	switch args {
	case "git":
		d, err := h.Workspace().Diff(ctx)
		if err != nil {
			return event.Output{}, err
		}
		if strings.TrimSpace(d) == "" {
			return text("Nothing differs from the last commit."), nil
		}
		return event.Output{Text: fenced("diff", d)}, nil
	case "all", "theirs":
		return diffSteps(h, args == "theirs")
	case "agents":
		return diffAgents(h)
	case "":
	default:
		return diffBranches(h, strings.Fields(args))
	}
	all, err := h.Workspace().Changes(ctx)
	if err != nil {
		return event.Output{}, err
	}
	if len(all) == 0 {
		return text("lathe's edits changed no file in this session. /diff git shows what differs from the last commit."), nil
	}
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s +%d -%d\n\n%s\n\n", code(d.Path), d.Added, d.Removed, fenced("diff", d.Unified))
	}
	return event.Output{Text: b.String()}, nil
}

func tasks(ctx context.Context, h Host, args string) (event.Output, error) {
	if id, ok := strings.CutPrefix(args, "end "); ok {
		t, err := h.Workspace().Tasks().End(ctx, strings.TrimSpace(id))
		if err != nil {
			return event.Output{}, err
		}
		return text("%s is ended: %s, %s.", t.ID, code(t.Title), t.State), nil
	}
	if rest, ok := strings.CutPrefix(args, "tell "); ok {
		id, message, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if message = strings.TrimSpace(message); message == "" {
			return event.Output{Insert: "/tasks tell " + id + " "}, nil
		}
		if err := h.Workspace().Tasks().Tell(ctx, id, message); err != nil {
			return event.Output{}, err
		}
		return text("The agent gets the message at its next step."), nil
	}
	p := taskPick("tasks")
	for _, t := range h.Workspace().Tasks().List() {
		if args != "" && t.ID == args {
			return taskOutput(t)
		}
		p.Items = append(p.Items, taskItem(t))
	}
	if args != "" {
		return event.Output{}, fmt.Errorf("there is no task %q; /tasks lists them", args)
	}
	return event.Output{Pick: p}, nil
}

// taskPick is an empty list of tasks, which the command line returns again.
func taskPick(again string) *event.Pick {
	return &event.Pick{
		Title: "In the background", Command: "tasks", Empty: "Nothing runs in the background.", Live: again,
		Actions: []event.PickAction{
			{Key: "ctrl+d", Label: "end", Command: "tasks end", Refresh: again},
			{Key: "ctrl+t", Label: "message", Command: "tasks tell", Ask: "Message to the agent"},
		},
	}
}

// taskItem has no time: beside one the label takes all the room, and the state, which has the duration, matters more.
func taskItem(t Task) event.PickItem {
	label, preview := t.ID+" "+short(t.Title, 100), t.Title
	if t.Agent {
		label, preview = short(t.Title, 100), t.Title+"\n"+t.Detail
	}
	return event.PickItem{ID: t.ID, Label: label, Detail: t.State, Current: t.Running, Preview: fenced("", preview)}
}

// mostShown limits how much of the end of a task's output is shown, in bytes.
const mostShown = 16 << 10

// taskOutput shows a task's state, and the end of its output once it has ended.
func taskOutput(t Task) (event.Output, error) {
	if t.Agent {
		return event.Output{Text: fmt.Sprintf("%s: %s, %s.\n\n%s", t.ID, code(t.Title), t.State, fenced("", t.Detail))}, nil
	}
	if t.Output == "" {
		return text("%s: %s, %s.", t.ID, code(t.Title), t.State), nil
	}
	output, err := tail(t.Output, mostShown)
	if err != nil {
		return event.Output{}, fmt.Errorf("the output of %s cannot be read: %w", t.ID, err)
	}
	return event.Output{
		Text: fmt.Sprintf("%s: %s, %s. All of the output is in %s.\n\n%s", t.ID, code(t.Title), t.State, code(t.Output),
			fenced("", output)),
	}, nil
}

// tail returns the end of a file, at most limit bytes, in whole lines where possible.
func tail(file string, limit int64) (_ string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-limit, 0)
	data := make([]byte, min(info.Size(), limit))
	if _, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	out := string(data)
	if _, rest, ok := strings.Cut(out, "\n"); ok && from > 0 {
		out = "…\n" + rest
	}
	return strings.ToValidUTF8(out, "\uFFFD"), nil
}
