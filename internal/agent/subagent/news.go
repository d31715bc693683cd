package subagent

import (
	"context"
	"slices"
	"strings"
)

// Record is the entry in the log of a session about an agent that it started. After lathe was ended, it is all that
// says that the agent was at work.
type Record struct {
	ID         string `json:"session"`
	Kind       string `json:"agent,omitempty"`
	Title      string `json:"title,omitempty"`
	Call       string `json:"call,omitempty"`
	Background bool   `json:"background,omitempty"`
	Worktree   string `json:"worktree,omitempty"` // the folder of its copy of the project
	Told       bool   `json:"told,omitempty"`     // it has ended in the background, and its parent knows
}

func (t *task) record(background bool) Record {
	return Record{
		ID: t.id, Kind: t.kind.Name, Title: t.request.Title, Call: t.request.Call, Background: background,
		Worktree: t.worktree(),
	}
}

func (a *Agents) note(r Record) {
	if a.Note != nil {
		a.Note(r)
	}
}

// Unfinished returns the agents whose parent does not know how they ended, in the order of their start. Answered
// reports whether a call has its result.
func Unfinished(log []Record, answered func(call string) bool) []Record {
	var out []Record
	for _, r := range log {
		out = slices.DeleteFunc(out, func(o Record) bool { return o.ID == r.ID })
		if !r.Told {
			out = append(out, r)
		}
	}
	return slices.DeleteFunc(out, func(r Record) bool { return !r.Background && answered(r.Call) })
}

// Restore takes over the agents that were at work when lathe ended, for News. It returns a note for the user, empty if
// there is none of this session's.
func (a *Agents) Restore(log []Record) string {
	log = slices.DeleteFunc(log, func(r Record) bool { _, err := a.KindOf(r.ID); return err != nil })
	if len(log) == 0 {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = append(a.lost, log...)
	var names []string
	for _, r := range log {
		names = append(names, r.Kind+" ("+r.Title+", "+r.ID+r.kept()+")")
	}
	return "agents were at work when this session ended, and their sessions are kept: " + strings.Join(names, ", ") +
		"; the model can resume them"
}

// News returns the agents that ended in the background, each once, and those that lathe's end stopped. The log has
// them as known only with the next call, when the conversation has them.
func (a *Agents) News() []State {
	a.settle()
	var out []State
	a.mu.Lock()
	for _, r := range a.lost {
		out = append(out, State{ID: r.ID, Kind: r.Kind, Title: r.Title, Call: r.Call, Background: r.Background, Status: Lost})
		a.taken = append(a.taken, r)
	}
	a.lost = nil
	a.mu.Unlock()
	for _, t := range a.own() {
		if t.take() {
			out = append(out, t.state())
			a.know(t)
		}
	}
	return out
}

// Known takes an agent out of the news: its parent has asked for its state. Those that work stay.
func (a *Agents) Known(id string) {
	if t, err := a.Tasks.find(id); err == nil && t.owner == a && t.take() {
		a.know(t)
	}
}

func (a *Agents) know(t *task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = append(a.taken, t.record(true))
}

// settle writes to the log that the parent knows of the ends that were handed out before.
func (a *Agents) settle() {
	a.mu.Lock()
	taken := a.taken
	a.taken = nil
	a.mu.Unlock()
	for _, r := range taken {
		r.Told = true
		a.note(r)
	}
}

// Await waits until an agent of this session ends in the background, none works there, or ctx ends. The session's slot
// is free for others meanwhile.
func (a *Agents) Await(ctx context.Context) {
	a.mu.Lock()
	end := a.end
	a.mu.Unlock()
	working, news := false, false
	for _, t := range a.own() {
		t.mu.Lock()
		at := t.status.working()
		working = working || t.background && at
		news = news || t.background && !at && !t.told
		t.mu.Unlock()
	}
	if !working || news {
		return
	}
	defer a.wait()(ctx)
	select {
	case <-end:
	case <-ctx.Done():
	}
}

// signal wakes those who wait for an end.
func (a *Agents) signal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.end)
	a.end = make(chan struct{})
}
