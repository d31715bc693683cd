// Package app builds a working lathe out of its parts, once: an [Instance] is one folder's, with its
// settings and providers; a [Session] is one conversation in it. Nothing heavy starts before it is
// needed, and two instances in one process share nothing.
//
// It is the only package that knows all the others. Front ends see a Session through a small interface of
// their own.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/sandbox"
	"github.com/lathe-dev/lathe/internal/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Options is what a front end knows: the loaded configuration and what the command line said.
type Options struct {
	Config  *config.Config
	Dir     string   // the working folder, absolute
	Environ []string // nil: the process's
	Version string

	AddDirs      []string
	Allowed      []string // rules of the command line
	Disallowed   []string
	Mode         permission.Mode // "": the configured one
	Tools        []string        // nil: all; else only these
	System       string          // replaces the system prompt
	AppendSystem string
	OutputSchema []byte // a JSON Schema that the answer must fit
	MaxTurns     int    // steps; 0: the configured number
	MaxBudgetUSD float64
	Fallback     []string
}

// Instance is lathe at work in one folder.
type Instance struct {
	opts   Options
	conf   atomic.Pointer[config.Config] // changes on reload
	small  atomic.Pointer[string]        // the small model that was chosen while lathe runs
	paths  config.Paths
	store  *session.Store
	runner *sandbox.Runner
	helper *keyHelper

	mu        sync.Mutex
	http      *http.Client
	providers map[string]llm.Provider
	sessions  map[*Session]bool
}

func (i *Instance) settings() *config.Settings { return &i.conf.Load().Settings }

// Open makes an instance. It reads nothing and starts nothing.
func Open(o Options) (*Instance, error) {
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the working folder cannot be used: %w; choose another with --cwd", err)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; choose one with --cwd", o.Dir)
	}
	o.Dir = dir
	i := &Instance{opts: o, paths: o.Config.Paths(), runner: sandbox.New(), helper: newKeyHelper(), sessions: map[*Session]bool{}}
	i.conf.Store(o.Config)
	i.store = session.NewStore(i.paths.DataHome)
	if o.Mode != "" {
		if err := i.checkMode(o.Mode); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// Close ends every child process.
func (i *Instance) Close() error {
	i.mu.Lock()
	if i.http != nil {
		i.http.CloseIdleConnections()
	}
	i.mu.Unlock()
	i.runner.Close()
	return nil
}

// Store is where sessions are kept.
func (i *Instance) Store() *session.Store { return i.store }

// Dir is the folder of the instance, with links resolved.
func (i *Instance) Dir() string { return i.opts.Dir }

func (i *Instance) environ() []string {
	if i.opts.Environ != nil {
		return i.opts.Environ
	}
	return os.Environ()
}

// mode is the permission mode a session begins with.
func (i *Instance) mode() permission.Mode {
	if i.opts.Mode != "" {
		return i.opts.Mode
	}
	if m := permission.Mode(i.settings().Permissions.DefaultMode); m != "" && i.checkMode(m) == nil {
		return m
	}
	return permission.Default
}

// checkMode refuses unknown modes and those that the policy of the machine forbids.
func (i *Instance) checkMode(m permission.Mode) error {
	if !slices.Contains(permission.Modes, m) {
		names := make([]string, len(permission.Modes))
		for j, k := range permission.Modes {
			names[j] = string(k)
		}
		return fmt.Errorf("there is no permission mode %q; the modes are %s", m, strings.Join(names, ", "))
	}
	if m == permission.Bypass && i.settings().Permissions.DisableBypassPermissionsMode == "disable" {
		return errors.New("the mode bypassPermissions is switched off by the settings (permissions.disableBypassPermissionsMode)")
	}
	return nil
}

// newPolicy makes the policy of a session; the second result is what is wrong with some rules.
func (i *Instance) newPolicy() (*permission.Policy, []string) {
	rules, notes := i.rules()
	p := permission.NewPolicy(resolved(i.paths.Home), nil, rules)
	if i.settings().Permissions.DisableBypassPermissionsMode == "disable" {
		p.ForbidBypass()
	}
	return p, notes
}

// rules gathers the rules of all sources. What a project may not decide was left out by the configuration
// already.
func (i *Instance) rules() (rules []permission.Rule, notes []string) {
	add := func(texts []string, e permission.Effect, src permission.Source) {
		rs, errs := permission.ParseRules(texts, e, src)
		rules = append(rules, rs...)
		for _, err := range errs {
			notes = append(notes, err.Error())
		}
	}
	for _, r := range i.conf.Load().Rules() {
		text := canonicalRule(ruleText(r))
		n := len(rules)
		add([]string{text}, permission.Effect(r.Action), permission.Source{Name: r.Origin.String(), Base: i.ruleBase(r.Origin)})
		if len(rules) == n {
			continue
		}
		rules[n].Ordered = r.Text == ""
		if r.Action != string(permission.Allow) && unknownTool(rules[n].Tool) {
			notes = append(notes, fmt.Sprintf("%s: the rule %s names no tool of lathe's, so it has no effect", r.Origin, text))
		}
	}
	line := permission.Source{Name: "command line", Base: i.opts.Dir}
	for _, t := range i.opts.Allowed {
		add([]string{canonicalRule(t)}, permission.Allow, line)
	}
	for _, t := range i.opts.Disallowed {
		add([]string{canonicalRule(t)}, permission.Deny, line)
	}
	return rules, notes
}

// canonicalRule writes a tool's name as lathe does: a deny rule for "bash" must not be without effect.
func canonicalRule(text string) string {
	name, rest, scoped := strings.Cut(text, "(")
	for _, known := range tool.Names {
		if strings.EqualFold(strings.TrimSpace(name), known) {
			name = known
		}
	}
	if scoped {
		return name + "(" + rest
	}
	return name
}

// unknownTool reports whether a name in a rule is a mistake. Names with _ or * may be of tools that come
// later, and the others are tools of Claude Code, whose settings are shared.
func unknownTool(name string) bool {
	return !strings.ContainsAny(name, "_*") && !slices.Contains(tool.Names, name) &&
		!slices.Contains([]string{"MultiEdit", "LS", "SlashCommand", "KillBash", structuredTool}, name)
}

// permissionTools maps the names of permissions.rules to tools.
var permissionTools = map[string]string{
	"bash": "Bash", "edit": "Edit", "write": "Edit", "read": "Read", "glob": "Glob", "grep": "Grep",
	"webfetch": "WebFetch", "websearch": "WebSearch", "task": "Task", "skill": "Skill", "todowrite": "TodoWrite",
}

// ruleText is a rule in the form Tool(pattern), whichever way it was written.
func ruleText(r config.Rule) string {
	if r.Text != "" {
		return r.Text
	}
	tool := r.Permission
	if t, ok := permissionTools[strings.ToLower(tool)]; ok {
		tool = t
	}
	if r.Pattern == "*" {
		return tool
	}
	return fmt.Sprintf("%s(%s)", tool, r.Pattern)
}

// ruleBase is what a leading slash in a path pattern stands for: the project for its files, the folder of
// the settings file for others.
func (i *Instance) ruleBase(o config.Origin) string {
	switch {
	case o.Layer == config.Project || o.Layer == config.Local:
		return resolved(i.paths.Root)
	case filepath.IsAbs(o.File):
		return resolved(filepath.Dir(o.File))
	}
	return i.opts.Dir
}

// resolved is a path with links resolved, as accesses have it; where that fails, the path as it is.
func resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// FindSession resolves what --resume or --continue ask for to an id: the start of an id, or "" for the
// newest session of this folder.
func (i *Instance) FindSession(prefix string) (string, error) {
	var info session.Info
	var err error
	if prefix == "" {
		info, err = i.store.Latest(i.opts.Dir)
	} else {
		info, err = i.store.Find(i.opts.Dir, prefix)
	}
	return info.ID, err
}

// openLog opens the record of a conversation: a new one, an old one, or a copy of an old one.
func (i *Instance) openLog(ctx context.Context, o SessionOptions) (*session.Session, error) {
	switch {
	case o.Resume == "":
		return i.store.Create(ctx, session.Meta{Dir: i.opts.Dir, Version: i.opts.Version, ID: o.ID})
	case o.Fork:
		return i.store.ForkAs(ctx, o.Resume, "", o.ID)
	}
	return i.store.Open(ctx, o.Resume)
}

// keepRule writes a rule to the project's local settings.
func (i *Instance) keepRule(text string, e permission.Effect) error {
	value, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return i.conf.Load().Set("permissions."+string(e)+"+", string(value), config.Local)
}
