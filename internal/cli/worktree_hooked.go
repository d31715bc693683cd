package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

// enterHooked has the hooks of WorktreeCreate make the folder of the run; ok is false where there are none.
func (p *program) enterHooked(ctx context.Context, o *Options, dir, name string) (leave func(context.Context) error,
	ok bool, err error,
) {
	maker := worktree.New(sandbox.New(), func() config.Worktree { return config.Worktree{} })
	tree, ok, err := maker.OpenHooked(ctx, dir, nil, name, worktreeHooks{p, *o})
	if err != nil {
		return nil, ok, &Error{Code: exitUsage, Msg: "--worktree", Err: err}
	}
	if !ok {
		return nil, false, nil
	}
	o.Dir = tree.Work
	fmt.Fprintf(p.err, "%s: working in %s, made by a hook\n", messagesName, escape(tree.Path))
	return func(ctx context.Context) error {
		text := strings.Trim(tree.Leave(ctx), "[]")
		if text == "" {
			text = "nothing was changed; the hooks of WorktreeRemove have the worktree again"
		}
		fmt.Fprintf(p.err, "%s: %s\n", messagesName, escape(text))
		return nil
	}, true, nil
}

// worktreeHooks fires the events of worktrees outside of a conversation: one exists only in the folder that they make.
type worktreeHooks struct {
	p *program
	o Options // with the folder that lathe was started in
}

// CreateWorktree implements worktree.Hooks.
func (w worktreeHooks) CreateWorktree(ctx context.Context, name string) (path string, ok bool, err error) {
	failed := w.with(ctx, func(h *hook.Hooks) { path, ok, err = h.CreateWorktree(ctx, name) })
	return path, ok, joinErrors(err, failed)
}

// WorktreeRemoved implements worktree.Hooks.
func (w worktreeHooks) WorktreeRemoved(ctx context.Context, path string) (removed bool) {
	if err := w.with(ctx, func(h *hook.Hooks) { removed = h.WorktreeRemoved(ctx, path) }); err != nil {
		w.p.warning(err.Error())
	}
	return removed
}

// with calls f with the hooks of a session that keeps nothing. Warnings about the settings come with the conversation.
func (w worktreeHooks) with(ctx context.Context, f func(*hook.Hooks)) error {
	quiet := newProgram(newStreams(strings.NewReader(""), io.Discard, io.Discard))
	o := w.o
	inst, err := quiet.instance(&o)
	if err != nil {
		return err
	}
	s, err := inst.NewSession(ctx, conversation.SessionOptions{Detached: true})
	if err != nil {
		return joinErrors(err, inst.Close())
	}
	events := s.Subscribe(context.WithoutCancel(ctx))
	f(s.Hooks())
	err = joinErrors(s.Close(), inst.Close())
	events.Close()
	for e := range events.All(context.WithoutCancel(ctx)) {
		if n, ok := e.Body.(event.Notice); ok && n.Level != "info" {
			w.p.warning(n.Text)
		}
	}
	return err
}
