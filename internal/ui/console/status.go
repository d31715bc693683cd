package console

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/store/cost"
)

// statusEvery is the minimum time between two Status events.
const statusEvery = 100 * time.Millisecond

// statusValues collects the values of a session's status from its events.
type statusValues struct {
	used    int     // tokens of the last request and its reply, or an estimate of those that a compaction since left
	hit     float64 // share of the last request that came from the cache
	last    llm.Usage
	cache   cost.Cache
	model   string // whose cache it is
	costUSD float64
	usage   llm.Usage
	api     time.Duration
	changed []event.ChangedFile
	ran     bool // a command ran since changed was counted
	todos   []event.TodoItem
}

// request notes the usage of one request of the main agent.
func (t *statusValues) request(u llm.Usage) {
	t.last = u
	t.used = u.Prompt() + u.Output
	t.hit = 0
	if n := u.Prompt(); n > 0 {
		t.hit = float64(u.CacheRead) / float64(n)
	}
}

// take updates the values from an event and reports whether the status may have changed.
func (t *statusValues) take(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.StepEnd:
		t.request(b.Usage)
		t.cache.Request(b.Usage, e.Time)
		t.costUSD += b.CostUSD
		t.usage = t.usage.Add(b.Usage)
		t.api += b.APITime
		return true
	case event.SideRequest:
		t.costUSD += b.CostUSD
		return true
	case event.Compacted:
		t.cache = cost.Cache{}
		if b.Level > 0 {
			t.used = b.After
		}
		return true
	case event.ToolEnd:
		t.view(b)
		return true
	case event.TurnEnd, event.Goal, event.ModeChanged, event.UserMessage, event.TurnStart, event.BranchChanged:
		return true
	}
	return false
}

// spent counts what an agent costs, and reports whether it did; agents have sessions of their own.
func (t *statusValues) spent(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.StepEnd:
		t.costUSD += b.CostUSD
	case event.SideRequest:
		t.costUSD += b.CostUSD
	default:
		return false
	}
	return true
}

func (t *statusValues) view(b event.ToolEnd) {
	if _, command := b.View.(event.Command); b.Denied || b.Result.IsError && !command {
		return
	}
	switch v := b.View.(type) {
	case event.Diff:
		for _, d := range v.Each() {
			t.change(d)
		}
	case event.Command:
		t.ran = true
	case event.Todo:
		t.todos = v.Items
	}
}

// change counts the lines of a changed file.
func (t *statusValues) change(d event.Diff) {
	i := slices.IndexFunc(t.changed, func(f event.ChangedFile) bool { return f.Path == d.Path })
	if i < 0 {
		t.changed = append(t.changed, event.ChangedFile{Path: d.Path})
		i = len(t.changed) - 1
	} else {
		t.changed = slices.Clone(t.changed) // the old list is in a Status that was published
	}
	t.changed[i].Added += d.Added
	t.changed[i].Removed += d.Removed
}

// touch requests a Status.
func (c *Console) touch() {
	select {
	case c.dirty <- struct{}{}:
	default: // already requested
	}
}

// publishStatus publishes a Status after changes.
func (c *Console) publishStatus() {
	var last event.Status
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.dirty:
		}
		select { // at most one in statusEvery
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		tick.Reset(statusEvery)
		if now := c.Status(); !reflect.DeepEqual(now, last) {
			c.bus.Publish(now.Session, nil, now)
			c.serversChanged(last.Servers, now)
			last = now
		}
	}
}

// serversChanged publishes the language servers that changed.
func (c *Console) serversChanged(before []event.LanguageServer, now event.Status) {
	for _, s := range now.Servers {
		s.Memory = 0
		if !slices.ContainsFunc(before, func(old event.LanguageServer) bool { old.Memory = 0; return old == s }) {
			c.bus.Publish(now.Session, nil, event.ServerChanged{Server: s})
		}
	}
}

// Status returns the current status.
func (c *Console) Status() event.Status {
	c.mu.Lock()
	s, seen, line := c.front, c.seen, c.line
	waiting := c.waiting()
	c.mu.Unlock()
	model := s.Model()
	out := event.Status{
		Session: s.ID(), Model: model.ID, Effort: string(s.Effort()), Mode: s.Mode(), Dir: s.Dir(),
		Sandbox:     c.inst.Boundary().Word(),
		ContextUsed: seen.used, ContextWindow: model.ContextWindow, CostUSD: seen.costUSD, Usage: seen.usage,
		CacheHit:   seen.hit,
		Background: s.Env().Background.Running() + s.Env().Agents.Tasks.Running(), Waiting: waiting, Changed: seen.changed,
		Todos: seen.todos, Line: c.withSegments(line),
	}
	if g, ok := s.Goal().State(); ok && g.State == event.GoalActive {
		out.Goal = &g
	}
	if c.kept.TeamWorks() {
		out.Background++
	}
	if next, ok := seen.cache.Next(model.Price, seen.cache.Expires()); ok && seen.model == model.ID {
		out.Cache = event.CacheCost{
			Expires: seen.cache.Expires(), Lifetime: next.Lifetime, WarmUSD: next.WarmUSD,
			ColdUSD: next.ColdUSD,
		}
	}
	info := s.Log().Info()
	out.Title = cmp.Or(info.Title, info.FirstPrompt)
	for _, v := range c.inst.Code.Pool().Status() {
		out.Servers = append(out.Servers, event.LanguageServer{
			Name: v.Name, State: v.State, Memory: v.Memory,
			Errors: v.Errors, Warnings: v.Warnings,
		})
	}
	if repo, ok := git.Find(s.Dir()); ok {
		out.Branch = repo.Branch
		if out.Branch == "" && len(repo.Head) >= 8 {
			out.Branch = repo.Head[:8]
		}
	}
	return out
}

// follow reads the events of the session in front, updates the status and requests titles and status lines.
func (c *Console) follow(events *event.Subscription) {
	for e := range events.All(c.ctx) {
		c.mu.Lock()
		changed := e.Session == c.front.ID() && c.seen.take(e) || len(e.Agent) > 0 && c.seen.spent(e)
		if _, ok := e.Body.(event.StepEnd); ok && changed && len(e.Agent) == 0 {
			c.seen.model = c.front.Model().ID
		}
		_, ended := e.Body.(event.TurnEnd)
		front := c.front
		count := changed && len(e.Agent) == 0 && ended && c.seen.ran
		c.mu.Unlock()
		if count {
			c.countChanges(front)
		}
		switch b := e.Body.(type) {
		case event.UserMessage:
			c.settle(b.Message.ID, nil)
		case event.Returned:
			c.settle(b.Message.ID, nil)
			c.unqueued(front, b.Message)
		case event.Asked, event.Answered:
			c.publishState()
		case event.ToolEnd:
			c.tellTemp(b, c.inst.Boundary().Seen)
		case event.PartDone:
			if len(e.Agent) == 0 {
				c.wantTitle(e.Session)
			}
		case event.StepEnd, event.TurnEnd, event.ModeChanged:
			c.refreshLine()
		}
		if changed {
			c.touch()
		}
	}
}
