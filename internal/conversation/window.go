package conversation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/agent/compact/onlog"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Window keeps the conversation within its model's context window: it reports when a compaction is due, prepares the
// summary while there is still room, runs the compaction, and lets the tools forget the files whose text it removed.
type Window struct {
	s         *Session // that is kept
	compactor *compact.Compactor
	gathered  gathered
	// files that the model changed, as far as a compaction found out; of one compaction at a time
	changed map[string]bool
}

func newWindow(s *Session) *Window {
	k := &Window{s: s}
	k.compactor = k.newCompactor()
	return k
}

func (k *Window) newCompactor() *compact.Compactor {
	c := &compact.Compactor{
		Conversation: onlog.Log{Session: k.s.Log(), Record: k.s.Record}, Summarise: k.summarise, Aside: k.aside,
		Gather: k.gather, Kept: k.kept, ResultKey: k.resultKey,
		Save: func(ctx context.Context, stub compact.Stub) string {
			path, err := k.s.env.SaveBlob(ctx, stub.Call.Name+".txt", []byte(stub.Result.PlainText()))
			if err != nil {
				return ""
			}
			return path
		},
		Limit: func() int {
			m := k.summaryModel(context.Background())
			if m.Info().ContextWindow <= 0 {
				return 300_000
			}
			return m.Info().ContextWindow * 5 / 2 // bytes: two thirds of the window
		},
	}
	c.SetUserTexts(onlog.UserTextsBefore(k.s.Log()))
	return c
}

// resultKey names the content that a call shows: the same search or the same part of a file, asked for again, makes the
// earlier result stale.
func (k *Window) resultKey(c llm.ToolCall) string {
	switch k.s.inst.tools.Traits(c.Name).Class {
	case permission.ClassRead, permission.ClassSearch, permission.ClassList:
		return c.Name + " " + string(c.Input)
	}
	return ""
}

// small is whether the model for small work writes summaries.
func (k *Window) small() bool { return k.s.inst.settings().CompactionModel == "small" }

// summaryModel writes summaries: the conversation's own model, which has it in its cache, or the one for small work.
func (k *Window) summaryModel(ctx context.Context) llm.Model {
	if k.small() {
		if m, err := k.s.inst.SmallModel(ctx); err == nil {
			return m
		}
	}
	return k.s.loopModel()
}

func (k *Window) aside(ctx context.Context, msgs []llm.Message, question string) *llm.Request {
	if k.small() || k.s.agent == nil {
		return nil
	}
	return k.s.agent.Aside(ctx, msgs, question)
}

// summarise sends a request for a summary.
func (k *Window) summarise(ctx context.Context, req *llm.Request) (compact.Answer, error) {
	m, err := k.s.Beside(session.PurposeSummary, func(ctx context.Context) (llm.Model, error) {
		return k.summaryModel(ctx), nil
	})(ctx)
	if err != nil {
		return compact.Answer{}, err
	}
	out, err := compact.Ask(ctx, m, req)
	if out.Usage != (llm.Usage{}) {
		k.s.CountRequest(session.PurposeSummary, m.Info(), out.Usage)
	}
	out.Text = prompt.Sanitize(out.Text)
	return out, err
}

// kept is the part that goes through a compaction word for word.
func (k *Window) kept(ctx context.Context, t compact.Task, cut []llm.Message, userTexts []string) compact.Kept {
	tail := k.s.Messages()[len(cut):]
	named := make(chan touched, 1)
	go func() { named <- k.lookUp(cut) }() // beside the reads: the turn waits for both

	k.s.scoped.Reset() // the memory for files that are read again comes with them
	out := compact.Kept{UserTexts: userTexts, Log: k.s.Path(), Again: k.again(ctx, tail, t.Mark)}
	found := k.gathered.take()
	out.Context = found.context
	out.Files = (<-named).without(k.realPaths(out.Again))
	if m := k.s.Mode(); m != permission.Default {
		out.Mode = string(m)
	}
	var todos strings.Builder
	for _, t := range k.s.env.Todos.Get() {
		fmt.Fprintf(&todos, "- [%s] %s\n", t.Status, t.Content)
	}
	out.Todos = todos.String()
	out.Plan = k.s.env.Plan.Kept(k.s.Log())
	for _, m := range k.s.Messages() { // those loaded since the summary was prepared
		found.skills = append(found.skills, m.Parts...)
	}
	out.Skills = invoke.Kept(slices.Values(found.skills), tail)
	return out
}

// auto is whether a conversation is compacted by itself, and from how many tokens; 0: by the window.
func (k *Window) auto() (on bool, threshold int) {
	set := k.s.inst.settings()
	return set.AutoCompactEnabled, set.CompactionThreshold
}

// context waits for the current context and memory.
func (k *Window) context(ctx context.Context) []llm.Part {
	o := k.s.contextOptions(k.s.loopModel().Info().ID)
	o.Compacted = true
	ctx = context.WithoutCancel(ctx)
	return prompt.Begin(ctx, o).Parts(ctx)
}

// Mark is how many tokens make a compaction due; 0: none ever.
func (k *Window) Mark(m llm.ModelInfo) int {
	on, threshold := k.auto()
	if !on {
		return 0
	}
	mark := m.ContextWindow / 100 * 85
	if threshold > 0 && (mark == 0 || threshold < mark) {
		mark = threshold
	}
	return mark
}

// Freeable is how many tokens each level of a compaction would free now.
func (k *Window) Freeable() (results, stale, summary int) {
	return compact.Freeable(k.s.Messages(), 0, compact.Options{ResultKey: k.resultKey})
}

// OnWindow makes room when the window fills, as agent.Config has it.
func (k *Window) OnWindow(ctx context.Context, w agent.Window) (bool, error) {
	if on, _ := k.auto(); !on {
		return false, nil
	}
	t := compact.Task{Trigger: compact.Auto, Used: w.Used, Mark: w.Mark, Window: w.Model.ContextWindow, Running: true}
	if w.Overflow {
		t.Trigger = compact.Overflow
		t.Mark = min(cmp.Or(w.Mark, w.Used), w.Used) // the window is smaller than it was thought to be
	}
	r, err := k.compact(ctx, t)
	return r.Level != compact.None, err
}

// Watch reads an event of the session, and prepares a summary beside it when one will be due soon. The preparation
// ends with ctx.
func (k *Window) Watch(ctx context.Context, b event.Body) {
	end, ok := b.(event.StepEnd)
	if !ok {
		return
	}
	info := k.s.loopModel().Info()
	k.compactor.Note(ctx, compact.Task{
		Trigger: compact.Auto, Used: end.Usage.Prompt() + end.Usage.Output, Mark: k.Mark(info), Window: info.ContextWindow,
	})
}

// Compact replaces the conversation so far by a summary written to the instructions. No turn may run.
func (k *Window) Compact(ctx context.Context, instructions string) (compact.Report, error) {
	info := k.s.loopModel().Info()
	used, counted := llm.PromptTokens(k.s.Messages())
	if !counted {
		used = 0
	}
	return k.compact(ctx, compact.Task{
		Trigger: compact.Manual, Used: used, Mark: k.Mark(info),
		Window: info.ContextWindow, Instructions: instructions,
	})
}

// Replace puts text in the place of the conversation so far, between two steps of a turn.
func (k *Window) Replace(ctx context.Context, text string) error {
	info := k.s.loopModel().Info()
	k.s.Journal.Publish(event.Compacting{Trigger: compact.Manual})
	t := compact.Task{Trigger: compact.Manual, Mark: k.Mark(info), Window: info.ContextWindow, Running: true}
	if err := k.compactor.Replace(ctx, t, text); err != nil {
		k.s.Journal.Publish(event.Compacted{Trigger: compact.Manual, Err: err.Error()})
		return err
	}
	k.s.env.Reads.Prune(k.s.Log().InContext)
	k.s.env.Cache.Clear()
	return nil
}

// refused is the error of a compaction that a hook refused: none while the conversation still fits.
func (k *Window) refused(t compact.Task, err error) error {
	if t.Trigger != compact.Auto {
		return err
	}
	k.s.Note(event.Notice{Level: "warning", Text: err.Error()})
	return nil
}

// compact runs a compaction, publishes it, and lets the tools forget the files that are no longer in the conversation.
func (k *Window) compact(ctx context.Context, t compact.Task) (compact.Report, error) {
	trigger := "auto"
	if t.Trigger == compact.Manual {
		trigger = "manual"
	}
	if err := k.s.hooks.BeforeCompact(ctx, trigger, t.Instructions); err != nil {
		return compact.Report{}, k.refused(t, err)
	}
	k.s.Journal.Publish(event.Compacting{Trigger: t.Trigger})
	r, err := k.compactor.Run(ctx, t)
	if r.Level == compact.Summary {
		defer k.s.hooks.AfterCompact(context.WithoutCancel(ctx), trigger, r.Summary)
	}
	if r.Level != compact.None {
		k.s.env.Reads.Prune(k.s.Log().InContext)
		k.s.env.Cache.Clear()
		if r.Level != compact.Summary {
			k.s.scoped.Reset()
		}
		return r, err
	}
	done := event.Compacted{Trigger: t.Trigger, Before: r.Before}
	switch {
	case ctx.Err() != nil:
		done.Err = "The compaction was interrupted; the conversation is as it was."
	case err != nil:
		done.Err = err.Error()
	}
	k.s.Journal.Publish(done) // nothing was written
	return r, err
}
