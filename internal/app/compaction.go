package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/compact"
	"github.com/lathe-dev/lathe/internal/compact/onlog"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// newCompactor makes the compactor of a session that is kept.
func (s *Session) newCompactor() *compact.Compactor {
	c := &compact.Compactor{
		Conversation: onlog.Log{Session: s.log, Record: s.Record}, Summarise: s.summarise, Kept: s.kept, Shows: s.shows,
		Save: func(ctx context.Context, stub compact.Stub) string {
			path, err := s.env.SaveBlob(ctx, stub.Call.Name+".txt", []byte(stub.Result.PlainText()))
			if err != nil {
				return ""
			}
			return path
		},
		Limit: func() int {
			m, err := s.inst.SmallModel(context.Background())
			if err != nil || m.Info().ContextWindow <= 0 {
				return 300_000
			}
			return m.Info().ContextWindow * 5 / 2 // bytes: two thirds of the window
		},
	}
	c.SetSaid(onlog.SaidBefore(s.log))
	return c
}

// shows names what a call shows: the same search or the same part of a file, asked for again, makes the earlier
// result stale.
func (s *Session) shows(c llm.ToolCall) string {
	switch s.inst.tools.Traits(c.Name).Class {
	case permission.ClassRead, permission.ClassSearch, permission.ClassList:
		return c.Name + " " + string(c.Input)
	}
	return ""
}

// summarise asks the model for small work, or the conversation's own where that one is not there.
func (s *Session) summarise(ctx context.Context, req *llm.Request) (compact.Answer, error) {
	m, err := s.inst.SmallModel(ctx)
	if err != nil {
		m, _ = s.agent.Model()
	}
	out, err := compact.Ask(ctx, m, req)
	s.sideCost.Add(out.CostUSD)
	return out, err
}

// kept is what goes through a compaction word for word.
func (s *Session) kept(cut []llm.Message, said []string) compact.Kept {
	model, _ := s.agent.Model()
	k := compact.Kept{
		Said: said, Log: s.log.Path(), Files: compact.Touched(cut),
		Context: prompt.Begin(context.Background(), s.contextOptions(model)).Parts(),
	}
	if m := s.Mode(); m != permission.Default {
		k.Mode = string(m)
	}
	var todos strings.Builder
	for _, t := range s.env.Todos.Get() {
		fmt.Fprintf(&todos, "- [%s] %s\n", t.Status, t.Content)
	}
	k.Todos = todos.String()
	return k
}

// windowMark is how many tokens make a compaction due; 0: none ever.
func (s *Session) windowMark(m llm.ModelInfo) int {
	set := s.inst.settings()
	if !set.AutoCompactEnabled {
		return 0
	}
	mark := m.ContextWindow / 100 * 85
	if t := set.CompactionThreshold; t > 0 && (mark == 0 || t < mark) {
		mark = t
	}
	return mark
}

// onWindow makes room when the window fills.
func (s *Session) onWindow(ctx context.Context, w agent.Window) (bool, error) {
	if !s.inst.settings().AutoCompactEnabled {
		return false, nil
	}
	t := compact.Task{Trigger: compact.Auto, Used: w.Used, Mark: w.Mark, Window: w.Model.ContextWindow, Running: true}
	if w.Overflow {
		t.Trigger = compact.Overflow
		t.Mark = cmp.Or(w.Mark, w.Used)
	}
	r, err := s.compact(ctx, t)
	return r.Level != compact.None, err
}

// noteWindow lets the compactor prepare a summary when one will be due soon.
func (s *Session) noteWindow(b event.Body) {
	end, ok := b.(event.StepEnd)
	if !ok || s.compactor == nil {
		return
	}
	model, _ := s.agent.Model()
	info := model.Info()
	s.compactor.Note(s.life, compact.Task{
		Trigger: compact.Auto, Used: end.Usage.Prompt() + end.Usage.Output, Mark: s.windowMark(info), Window: info.ContextWindow,
	})
}

// Compact replaces the conversation so far by a summary that keeps what wishes asks for. No turn may run.
func (s *Session) Compact(ctx context.Context, wishes string) (compact.Report, error) {
	if s.compactor == nil {
		return compact.Report{}, compact.ErrNothing
	}
	if !s.turn.TryLock() {
		return compact.Report{}, ErrBusy
	}
	defer s.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	defer s.setCancel(nil)
	model, _ := s.agent.Model()
	return s.compact(ctx, compact.Task{
		Trigger: compact.Manual, Mark: s.windowMark(model.Info()), Window: model.Info().ContextWindow, Wishes: wishes,
	})
}

// compact runs a compaction, tells of it, and lets the tools forget what is no longer in the conversation.
func (s *Session) compact(ctx context.Context, t compact.Task) (compact.Report, error) {
	s.publish(event.Compacting{Trigger: t.Trigger})
	r, err := s.compactor.Run(ctx, t)
	if r.Level != compact.None {
		s.env.Reads.Prune(s.log.InContext)
		s.env.Cache.Clear()
		return r, err
	}
	done := event.Compacted{Trigger: t.Trigger, Before: r.Before}
	if err != nil {
		done.Err = err.Error()
	}
	s.publish(done) // nothing was written
	return r, err
}
