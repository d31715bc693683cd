// Package window keeps a conversation within its model's context window: it reports when a compaction is due, prepares
// the summary while there is still room, runs the compaction, and lets the tools forget the files whose text it
// removed.
//
// Package compact computes a compaction from messages alone; this package joins it with the session.
package window

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
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Config is the session whose window a Keeper keeps. All fields are required.
type Config struct {
	Journal *journal.Journal // with a log
	Env     *tool.Env
	Class   func(tool string) permission.Class
	Mode    func() permission.Mode

	// whether it compacts by itself, and from how many tokens; 0: by the window
	Auto    func() (on bool, threshold int)
	Model   func() llm.Model                                   // of the conversation
	Small   func(context.Context) (llm.Model, error)           // writes the summaries; where it fails, Model does
	Count   func(purpose string, m llm.ModelInfo, u llm.Usage) // records their requests, whether or not they are used
	Clean   func(text string) string                           // makes them safe to send
	Context func(context.Context) []llm.Part                   // waits for the current context and memory
	// the texts of files, as Read returns them; nil: unreadable
	Read   func(ctx context.Context, names []string) [][]llm.Part
	Forget func() // texts were removed from the conversation

	// Before may refuse a compaction, and After sees the summary of one; the triggers are manual and auto. Nil: not
	// called.
	Before func(ctx context.Context, trigger, instructions string) error
	After  func(ctx context.Context, trigger, summary string)
}

// Keeper keeps the window of one session.
type Keeper struct {
	Config
	compactor *compact.Compactor
	gathered  gathered
	// files that the model changed, as far as a compaction found out; of one compaction at a time
	changed map[string]bool
}

// New makes the keeper of a session that is kept.
func New(c Config) *Keeper {
	k := &Keeper{Config: c}
	k.compactor = k.newCompactor()
	return k
}

func (k *Keeper) newCompactor() *compact.Compactor {
	c := &compact.Compactor{
		Conversation: onlog.Log{Session: k.Journal.Log(), Record: k.Journal.Record}, Summarise: k.summarise,
		Gather: k.gather, Kept: k.kept, ResultKey: k.resultKey,
		Save: func(ctx context.Context, stub compact.Stub) string {
			path, err := k.Env.SaveBlob(ctx, stub.Call.Name+".txt", []byte(stub.Result.PlainText()))
			if err != nil {
				return ""
			}
			return path
		},
		Limit: func() int {
			m, err := k.Small(context.Background())
			if err != nil || m.Info().ContextWindow <= 0 {
				return 300_000
			}
			return m.Info().ContextWindow * 5 / 2 // bytes: two thirds of the window
		},
	}
	c.SetUserTexts(onlog.UserTextsBefore(k.Journal.Log()))
	return c
}

// resultKey names the content that a call shows: the same search or the same part of a file, asked for again, makes the
// earlier result stale.
func (k *Keeper) resultKey(c llm.ToolCall) string {
	switch k.Class(c.Name) {
	case permission.ClassRead, permission.ClassSearch, permission.ClassList:
		return c.Name + " " + string(c.Input)
	}
	return ""
}

// summarise asks the model for small work, or the conversation's own where that one is not there.
func (k *Keeper) summarise(ctx context.Context, req *llm.Request) (compact.Answer, error) {
	m, err := k.Journal.Beside(session.PurposeSummary, func(ctx context.Context) (llm.Model, error) {
		if m, err := k.Small(ctx); err == nil {
			return m, nil
		}
		return k.Model(), nil
	})(ctx)
	if err != nil {
		return compact.Answer{}, err
	}
	out, err := compact.Ask(ctx, m, req)
	if out.Usage != (llm.Usage{}) {
		k.Count(session.PurposeSummary, m.Info(), out.Usage)
	}
	out.Text = k.Clean(out.Text)
	return out, err
}

// kept is the part that goes through a compaction word for word.
func (k *Keeper) kept(ctx context.Context, t compact.Task, cut []llm.Message, userTexts []string) compact.Kept {
	tail := k.Journal.Messages()[len(cut):]
	named := make(chan touched, 1)
	go func() { named <- k.lookUp(cut) }() // beside the reads: the turn waits for both

	k.Forget() // the memory for files that are read again comes with them
	out := compact.Kept{UserTexts: userTexts, Log: k.Journal.Path(), Again: k.again(ctx, tail, t.Mark)}
	found := k.gathered.take()
	out.Context = found.context
	out.Files = (<-named).without(k.realPaths(out.Again))
	if m := k.Mode(); m != permission.Default {
		out.Mode = string(m)
	}
	var todos strings.Builder
	for _, t := range k.Env.Todos.Get() {
		fmt.Fprintf(&todos, "- [%s] %s\n", t.Status, t.Content)
	}
	out.Todos = todos.String()
	out.Plan = k.Env.Plan.Kept(k.Journal.Log())
	for _, m := range k.Journal.Messages() { // those loaded since the summary was prepared
		found.skills = append(found.skills, m.Parts...)
	}
	out.Skills = invoke.Kept(slices.Values(found.skills), tail)
	return out
}

// Mark is how many tokens make a compaction due; 0: none ever.
func (k *Keeper) Mark(m llm.ModelInfo) int {
	on, threshold := k.Auto()
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
func (k *Keeper) Freeable() (results, stale, summary int) {
	return compact.Freeable(k.Journal.Messages(), 0, compact.Options{ResultKey: k.resultKey})
}

// OnWindow makes room when the window fills, as agent.Config has it.
func (k *Keeper) OnWindow(ctx context.Context, w agent.Window) (bool, error) {
	if on, _ := k.Auto(); !on {
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
func (k *Keeper) Watch(ctx context.Context, b event.Body) {
	end, ok := b.(event.StepEnd)
	if !ok {
		return
	}
	info := k.Model().Info()
	k.compactor.Note(ctx, compact.Task{
		Trigger: compact.Auto, Used: end.Usage.Prompt() + end.Usage.Output, Mark: k.Mark(info), Window: info.ContextWindow,
	})
}

// Compact replaces the conversation so far by a summary written to the instructions. No turn may run.
func (k *Keeper) Compact(ctx context.Context, instructions string) (compact.Report, error) {
	info := k.Model().Info()
	used, counted := llm.PromptTokens(k.Journal.Messages())
	if !counted {
		used = 0
	}
	return k.compact(ctx, compact.Task{
		Trigger: compact.Manual, Used: used, Mark: k.Mark(info),
		Window: info.ContextWindow, Instructions: instructions,
	})
}

// Replace puts text in the place of the conversation so far, between two steps of a turn.
func (k *Keeper) Replace(ctx context.Context, text string) error {
	info := k.Model().Info()
	k.Journal.Publish(event.Compacting{Trigger: compact.Manual})
	t := compact.Task{Trigger: compact.Manual, Mark: k.Mark(info), Window: info.ContextWindow, Running: true}
	if err := k.compactor.Replace(ctx, t, text); err != nil {
		k.Journal.Publish(event.Compacted{Trigger: compact.Manual, Err: err.Error()})
		return err
	}
	k.Env.Reads.Prune(k.Journal.Log().InContext)
	k.Env.Cache.Clear()
	return nil
}

// refused is the error of a compaction that a hook refused: none while the conversation still fits.
func (k *Keeper) refused(t compact.Task, err error) error {
	if t.Trigger != compact.Auto {
		return err
	}
	k.Journal.Note(event.Notice{Level: "warning", Text: err.Error()})
	return nil
}

// compact runs a compaction, publishes it, and lets the tools forget the files that are no longer in the conversation.
func (k *Keeper) compact(ctx context.Context, t compact.Task) (compact.Report, error) {
	trigger := "auto"
	if t.Trigger == compact.Manual {
		trigger = "manual"
	}
	if k.Before != nil {
		if err := k.Before(ctx, trigger, t.Instructions); err != nil {
			return compact.Report{}, k.refused(t, err)
		}
	}
	k.Journal.Publish(event.Compacting{Trigger: t.Trigger})
	r, err := k.compactor.Run(ctx, t)
	if r.Level == compact.Summary && k.After != nil {
		defer k.After(context.WithoutCancel(ctx), trigger, r.Summary)
	}
	if r.Level != compact.None {
		k.Env.Reads.Prune(k.Journal.Log().InContext)
		k.Env.Cache.Clear()
		if r.Level != compact.Summary {
			k.Forget()
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
	k.Journal.Publish(done) // nothing was written
	return r, err
}
