package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// host implements command.Host.
type host struct{ c *Console }

func (h host) Conversation() command.Conversation { return talk(h) }
func (h host) Sessions() command.Sessions         { return sessions(h) }
func (h host) Rules() command.Rules               { return rules(h) }
func (h host) Setup() command.Setup               { return setup(h) }
func (h host) Settings() command.Settings         { return settings(h) }
func (h host) Workspace() command.Workspace       { return workspace(h) }

func (h host) Extensions() command.Extensions { return extensions(h) }

type talk struct{ c *Console }

func (t talk) Status() event.Status  { return t.c.status() }
func (t talk) Log() *session.Session { return t.c.session().Log() }
func (t talk) Checkout(ctx context.Context, entry string) error {
	return t.c.checkout(ctx, entry)
}

func (t talk) SetModel(ctx context.Context, id string) error {
	s := t.c.session()
	if err := t.c.knows(id); err != nil {
		return err
	}
	if err := s.SetModel(ctx, id); err != nil {
		return err
	}
	return t.c.choose(ctx, func() { t.c.model = id }, func(log *session.Session) error { return log.SetModel(ctx, id) })
}

func (t talk) Compact(ctx context.Context, instructions string) error {
	_, err := t.c.session().Compact(ctx, instructions)
	return err
}

func (t talk) SetEffort(_ context.Context, level string) error {
	t.c.session().SetEffort(llm.Effort(level))
	return nil
}

func (t talk) SetMode(ctx context.Context, mode string) error {
	if err := t.c.session().SetMode(ctx, permission.Mode(mode)); err != nil {
		return err
	}
	return t.c.choose(ctx, func() { t.c.mode = permission.Mode(mode) },
		func(log *session.Session) error { return log.SetMode(ctx, mode) })
}

// choose writes a choice to the journal, or keeps it for the first message: a session that was only opened
// leaves no entry.
func (c *Console) choose(_ context.Context, later func(), now func(*session.Session) error) error {
	log := c.session().Log()
	if len(log.Messages()) > 0 {
		return now(log)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	later()
	return nil
}

// Window estimates the parts of the next request, and how much a compaction would free.
func (t talk) Window(ctx context.Context) (command.Window, error) {
	s := t.c.session()
	system, err := s.System(ctx)
	if err != nil {
		return command.Window{}, err
	}
	out := command.Window{Shares: append([]command.Share{
		{Name: "system prompt", Tokens: llm.EstimateRequest(&llm.Request{System: system})},
		{Name: "tools", Tokens: llm.EstimateRequest(&llm.Request{Tools: s.Specs()})},
	}, messageShares(s.Messages())...)}
	k := s.Window()
	if k == nil {
		return out, nil
	}
	out.Mark = k.Mark(s.Model())
	if results, stale, summary := k.Freeable(); summary > 0 {
		out.Freed = []command.Share{
			{Name: "old results as stubs", Tokens: results},
			{Name: "also old reasoning and repeated results", Tokens: stale},
			{Name: "a summary of all but the newest messages", Tokens: summary},
		}
	}
	return out, nil
}

// messageShares sorts the content of messages.
func messageShares(msgs []llm.Message) []command.Share {
	sums, byTool := map[string]int{}, map[string]int{}
	for _, m := range msgs {
		for _, p := range m.Parts {
			n := llm.EstimateTokens(llm.Message{Parts: []llm.Part{p}})
			switch p := p.(type) {
			case llm.ToolCall:
				byTool[p.Name] += n
			case llm.ToolResult:
				byTool[p.Name] += n
			}
			sums[kindOf(m.Role, p)] += n
		}
	}
	var out []command.Share
	for _, name := range []string{
		"environment", "memory", "skills", "your messages", "attached files", "summary",
		"commands, hooks, reminders", "replies", "reasoning", toolShare,
	} {
		s := command.Share{Name: name, Tokens: sums[name]}
		if name == toolShare {
			s.Parts = byTokens(byTool)
		}
		out = append(out, s)
	}
	return out
}

const toolShare = "tool calls and results"

// kindOf is the share that a part belongs to.
func kindOf(role llm.Role, p llm.Part) string {
	switch p.(type) {
	case llm.Reasoning:
		return "reasoning"
	case llm.ToolCall, llm.ToolResult:
		return toolShare
	}
	switch o := origin(p); {
	case role == llm.Assistant:
		return "replies"
	case o == llm.OriginFile:
		return "attached files"
	case o == llm.OriginMemory:
		return "memory"
	case o == llm.OriginSkill:
		return "skills"
	case o == llm.OriginContext:
		return "environment"
	case o == llm.OriginSummary:
		return "summary"
	case o != llm.OriginAuthor:
		return "commands, hooks, reminders"
	}
	return "your messages"
}

func origin(p llm.Part) llm.Origin {
	t, _ := p.(llm.Text)
	return t.Origin
}

// byTokens lists the tools by their share, the largest first.
func byTokens(byTool map[string]int) (out []command.Share) {
	names := slices.SortedFunc(maps.Keys(byTool),
		func(a, b string) int { return cmp.Or(byTool[b]-byTool[a], strings.Compare(a, b)) })
	for _, n := range names {
		out = append(out, command.Share{Name: n, Tokens: byTool[n]})
	}
	return out
}

type sessions struct{ c *Console }

func (s sessions) Store() *session.Store { return s.c.inst.Store() }
func (s sessions) Dir() string           { return s.c.inst.Dir() }
func (s sessions) New(ctx context.Context) error {
	return s.c.begin(ctx)
}

func (s sessions) Open(ctx context.Context, id string) error {
	return s.c.open(ctx, conversation.SessionOptions{Resume: id})
}
func (s sessions) Fork(ctx context.Context) error { return s.c.fork(ctx) }

type rules struct{ c *Console }

// layers are the settings files that rules can be saved to.
var layers = map[string]config.Layer{"local": config.Local, "project": config.Project, "user": config.User}

// List returns the rules of the settings with their sources, then those of the session.
func (r rules) List() []command.Rule {
	var out []command.Rule
	cfg := r.c.inst.Config()
	for _, rule := range cfg.Rules() {
		shown := command.Rule{Effect: rule.Action, Text: rule.Text, Source: rule.Origin.String()}
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
	for _, rule := range r.c.session().Rules() {
		switch rule.Source.Name {
		case sessionScope:
			out = append(out, command.Rule{Effect: string(rule.Effect), Text: rule.Text, Source: sessionScope, Scope: "session"})
		case "a hook":
			out = append(out, command.Rule{
				Effect: string(rule.Effect), Text: rule.Text, Source: "a hook, in this session",
				Scope: "session",
			})
		case "command line":
			out = append(out, command.Rule{Effect: string(rule.Effect), Text: rule.Text, Source: "the command line"})
		}
	}
	return out
}

func (r rules) Add(_ context.Context, rule command.Rule) error {
	effect := permission.Effect(rule.Effect)
	if err := r.c.toolOf(rule.Text); err != nil {
		return err
	}
	if _, errs := permission.ParseRules(r.c.inst.Tools(), []string{rule.Text}, effect, permission.Source{}); len(
		errs) > 0 {
		return errs[0]
	}
	if rule.Scope == "session" {
		return r.c.session().Grant(rule.Text, effect)
	}
	value, err := quote(rule.Text)
	if err != nil {
		return err
	}
	if err := r.c.inst.Config().Set("permissions."+rule.Effect+"+", value, layers[rule.Scope]); err != nil {
		return err
	}
	return r.reload()
}

func (r rules) Remove(_ context.Context, rule command.Rule) error {
	if rule.Scope == "session" {
		if !r.c.session().Ungrant(rule.Text, permission.Effect(rule.Effect)) {
			return fmt.Errorf("this session has no rule %s %s", rule.Effect, rule.Text)
		}
		return nil
	}
	if rule.Scope == "" {
		return errors.New("this rule is not in a file that lathe writes")
	}
	if err := r.c.inst.Config().Drop("permissions."+rule.Effect, rule.Text, layers[rule.Scope]); err != nil {
		return err
	}
	return r.reload()
}

func (r rules) reload() error {
	_, err := r.c.inst.Reload()
	return err
}

func (r rules) Modes() []string { return permission.ModeNames() }

func (r rules) Sandbox() string { return r.c.opts.Boundary.Describe() }

type setup struct{ c *Console }

func (s setup) Models() []command.Model {
	now := s.c.session().Model().ID
	var out []command.Model
	for _, m := range s.c.inst.Models() {
		one := command.Model{ID: m.ID, Detail: describe(m), Current: m.ID == now}
		for _, e := range m.Efforts {
			one.Efforts = append(one.Efforts, string(e))
		}
		out = append(out, one)
	}
	return out
}

// describe summarises a model for the choice: name, window, price.
func describe(m llm.ModelInfo) string {
	var out []string
	if m.Name != "" && m.Name != m.ID {
		out = append(out, m.Name)
	}
	if m.ContextWindow > 0 {
		out = append(out, fmt.Sprintf("%dk window", m.ContextWindow/1000))
	}
	if m.Price.Input > 0 || m.Price.Output > 0 {
		out = append(out, fmt.Sprintf("$%g in, $%g out per million", m.Price.Input, m.Price.Output))
	}
	return strings.Join(out, " · ")
}

func (s setup) SmallModel() string {
	m, err := s.c.inst.SmallModel(s.c.ctx)
	if err != nil {
		return ""
	}
	return m.Info().ID
}

func (s setup) SetSmallModel(ctx context.Context, id string) error {
	return s.c.inst.SetSmallModel(ctx, id)
}

func (s setup) Reload(context.Context) ([]string, error) {
	changes, err := s.c.inst.Reload()
	var out []string
	for _, ch := range changes {
		out = append(out, ch.Path)
	}
	return out, err
}

func (s setup) Doctor(ctx context.Context) (string, error) {
	if s.c.opts.Doctor == nil {
		return "", errors.New("there is no doctor here; run: lathe doctor")
	}
	return s.c.opts.Doctor(ctx)
}

func (s setup) Cache() command.Cache {
	st := s.c.session().CacheStats()
	return command.Cache{
		Enabled: s.c.inst.Config().Settings.ExploreCache.Enabled, Hits: int(st.Hits), Misses: int(st.Misses),
		Entries: st.Entries,
	}
}

// Themes lists the current theme first.
func (s setup) Themes() []string {
	out := []string{s.c.inst.Config().Settings.Theme}
	if s.c.opts.Themes != nil {
		out = append(out, s.c.opts.Themes()...)
	}
	return out
}

func (s setup) SetTheme(_ context.Context, name string) error {
	value, err := quote(name)
	if err != nil {
		return err
	}
	return s.c.inst.Config().Set("theme", value, config.User)
}
