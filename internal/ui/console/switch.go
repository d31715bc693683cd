package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// put makes a session the front and publishes Opened. With again, its own model and mode are restored.
func (c *Console) put(ctx context.Context, s *conversation.Session, again bool) {
	r := c.replay(s, c.opts.History == 0)
	if again {
		c.restoreChoices(ctx, s, r)
	}
	c.turning.Lock() // an attaching reader sees either the old or the new front
	defer c.turning.Unlock()
	c.mu.Lock()
	c.front = s
	c.seen = r.statusValues
	c.pending = r.pending
	if again {
		c.queue = queuedIn(s.Log())
	}
	c.logged = nil
	unread := len(c.queue)
	c.titled = again && len(s.Messages()) > 0
	c.model, c.mode = "", ""
	index := c.index
	c.index = files.NewIndex(s.FileRoots())
	c.mu.Unlock()
	if index != nil {
		_ = index.Close() // a watcher's error on closing does not matter
	}
	c.watchTasks(s)
	branch := s.Log().Branch()
	c.bus.PublishAt(placeAfter(s.ID(), branch, branch.Len()-1), s.ID(), nil, opening{openedOf(s), branch, r.bodies})
	c.bus.Publish(s.ID(), nil, c.Status())
	for _, n := range r.notes {
		c.bus.Publish(s.ID(), nil, event.Notice{Level: "warning", Text: n})
	}
	c.refreshLine()
	if again && unread > 0 {
		c.bus.Publish(s.ID(), nil, event.Notice{Level: "info", Text: unsent(unread)})
	}
	c.publishState()
	if again {
		go c.countChanges(s)
	}
}

// restoreChoices restores the model and the mode of a session. Plan mode and bypassPermissions are not restored.
func (c *Console) restoreChoices(ctx context.Context, s *conversation.Session, r *replayed) {
	if r.model != "" && !c.opts.KeepModel {
		if err := s.SetModel(ctx, r.model); err != nil {
			r.notes = append(r.notes, fmt.Sprintf("the session's model %s cannot be used, %s answers instead: %v", r.model,
				s.Model().ID, err))
		}
	}
	mode := permission.Mode(r.mode)
	if mode == "" || c.opts.KeepMode || mode == permission.Plan || mode == permission.Bypass || mode == s.Mode() {
		return
	}
	if err := s.SetMode(ctx, mode); err != nil {
		r.notes = append(r.notes, err.Error())
	}
}

// open puts another session in front. The new one is opened before the old one is closed, so a failure
// changes nothing.
func (c *Console) open(ctx context.Context, o conversation.SessionOptions) error {
	defer collectOften()()
	s, err := c.newSession(ctx, o)
	if err != nil {
		return err
	}
	c.session().Hooks().Ends("resume")
	err = c.leave(c.session())
	c.put(ctx, s, o.Resume != "" && !o.Fork)
	c.start(s)
	return err
}

// begin puts a new conversation in front, with the model and the effort of the one before.
func (c *Console) begin(ctx context.Context) error {
	old := c.session()
	model, effort := old.ModelName(), old.Effort()
	s, err := c.newSession(ctx, conversation.SessionOptions{})
	if err != nil {
		return err
	}
	if model != "" {
		if err := s.SetModel(ctx, model); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	s.SetEffort(effort)
	s.Hooks().Begin("clear")
	old.Hooks().Ends("clear")
	err = c.leave(old)
	c.put(ctx, s, false)
	c.start(s)
	c.mu.Lock()
	c.model = model // for the log, once the conversation has a message
	c.mu.Unlock()
	return err
}

func (c *Console) newSession(ctx context.Context, o conversation.SessionOptions) (*conversation.Session, error) {
	o.Bus, o.Interactive, o.Schedules = c.bus, c.opts.Session.Interactive, true
	s, err := c.inst.NewSession(ctx, o)
	if err == nil {
		c.note(o, s)
	}
	return s, err
}

// note records a session that was created here.
func (c *Console) note(o conversation.SessionOptions, s *conversation.Session) {
	if o.Resume == "" || o.Fork {
		c.mu.Lock()
		c.made = append(c.made, s.ID())
		c.mu.Unlock()
		created := event.SessionCreated{ID: s.ID(), Dir: s.Dir()}
		if o.Fork {
			created.Of = o.Resume
		}
		c.bus.Publish(s.ID(), nil, created)
	}
}

// leave closes a session that was in front. Its waiting messages are dropped: they do not go to another
// session.
func (c *Console) leave(s *conversation.Session) error {
	c.mu.Lock()
	queue := c.queue
	lost := len(queue)
	c.queue, c.pending = nil, nil
	c.mu.Unlock()
	c.unqueued(s, queue...)
	if n := s.Env().Background.Running(); n > 0 {
		c.warnBoth(s, "background commands ended with their conversation: %d", n)
	}
	if n := s.Env().Agents.Tasks.Running(); n > 0 {
		c.warnBoth(s, "background agents ended with their conversation: %d; their sessions are kept", n)
	}
	if lost > 0 {
		c.warnBoth(s, "queued messages dropped with their conversation: %d; they are in the prompt history", lost)
	}
	c.kept.Leave(s)
	return s.Close()
}

// warnBoth publishes a warning in front and journals it in the session that is left, for when it is resumed.
func (c *Console) warnBoth(left *conversation.Session, format string, args ...any) {
	c.notice("warning", format, args...)
	if len(left.Messages()) > 0 {
		_ = left.JournalNote(event.Notice{Level: "warning", Text: fmt.Sprintf(format, args...)}) // the front has the notice
	}
}

// frontSettings holds the settings of a session while in front, to restore when the conversation is reopened or
// copied.
type frontSettings struct {
	model  string
	effort llm.Effort
	mode   permission.Mode
	grants []permission.Rule
	dirs   []string
}

func frontSettingsOf(s *conversation.Session) frontSettings {
	m := frontSettings{model: s.ModelName(), effort: s.Effort(), mode: s.Mode(), dirs: s.Dirs()}
	for _, r := range s.Rules() {
		if r.Source.Name == command.SessionScope {
			m.grants = append(m.grants, r)
		}
	}
	return m
}

func (m frontSettings) apply(ctx context.Context, s *conversation.Session) error {
	var errs []error
	for _, dir := range m.dirs {
		_, err := s.AddDir(dir)
		errs = append(errs, err)
	}
	for _, r := range m.grants {
		errs = append(errs, s.Grant(r.Text, r.Effect))
	}
	if m.model != "" {
		errs = append(errs, s.SetModel(ctx, m.model))
	}
	s.SetEffort(m.effort)
	if m.mode != s.Mode() {
		errs = append(errs, s.SetMode(ctx, m.mode))
	}
	return errors.Join(errs...)
}

// checkout moves the head of the conversation in front and reopens it, since all state derived from its
// messages changes.
func (c *Console) checkout(ctx context.Context, entry string) error {
	s := c.session()
	id, kept := s.ID(), frontSettingsOf(s)
	if err := s.Log().Checkout(entry); err != nil {
		return err
	}
	if err := c.leave(s); err != nil {
		return err
	}
	next, err := c.newSession(ctx, conversation.SessionOptions{Resume: id})
	if err != nil { // another process was faster, or the disk is gone
		fresh, newErr := c.newSession(ctx, conversation.SessionOptions{})
		if newErr != nil {
			return errors.Join(err, newErr)
		}
		c.put(ctx, fresh, false)
		return fmt.Errorf("the conversation could not be opened again, so a new one was begun: %w", err)
	}
	err = kept.apply(ctx, next)
	c.put(ctx, next, false)
	return err
}

// fork switches to a copy.
func (c *Console) fork(ctx context.Context) error {
	s := c.session()
	kept := frontSettingsOf(s)
	next, err := c.newSession(ctx, conversation.SessionOptions{Resume: s.ID(), Fork: true})
	if err != nil {
		return err
	}
	next.Hooks().Begin("fork")
	err = kept.apply(ctx, next)
	err = errors.Join(err, c.leave(s))
	c.put(ctx, next, false)
	return err
}

// recordChoices writes the model and the mode to the journal of a session that has a message.
func (c *Console) recordChoices(ctx context.Context, s *conversation.Session) {
	c.mu.Lock()
	model, mode := c.model, c.mode
	c.model, c.mode = "", ""
	c.mu.Unlock()
	var errs []error
	if model != "" {
		errs = append(errs, s.Log().SetModel(ctx, model))
	}
	if mode != "" {
		errs = append(errs, s.Log().SetMode(ctx, string(mode)))
	}
	if err := errors.Join(errs...); err != nil {
		c.notice("warning", "the choice of model and mode is not kept: %v", err)
	}
}
