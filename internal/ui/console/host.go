package console

import (
	"context"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// host is what the commands act on.
func (c *Console) host() *command.Host {
	return &command.Host{
		Kept: &c.kept, Instance: c.inst, Session: c.session, Status: c.Status,
		New: c.begin, Fork: c.fork, Checkout: c.checkout, SetModel: c.setModel, SetMode: c.setMode,
		Open: func(ctx context.Context, id string) error {
			return c.open(ctx, conversation.SessionOptions{Resume: id})
		},
		Job: c.opts.Job, Doctor: c.opts.Doctor, Themes: c.opts.Themes, Browse: c.opts.Browse,
		Context: c.ctx, Go: c.works.Go, Notice: c.notice, Touch: c.touch, Publish: c.publish,
	}
}

func (c *Console) setModel(ctx context.Context, id string) error {
	s := c.session()
	if err := c.knows(id); err != nil {
		return err
	}
	if err := s.SetModel(ctx, id); err != nil {
		return err
	}
	return c.choose(ctx, func() { c.model = id }, func(log *session.Session) error { return log.SetModel(ctx, id) })
}

func (c *Console) setMode(ctx context.Context, mode string) error {
	if err := c.session().SetMode(ctx, permission.Mode(mode)); err != nil {
		return err
	}
	return c.choose(ctx, func() { c.mode = permission.Mode(mode) },
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
