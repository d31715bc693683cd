package console

import (
	"context"
	"errors"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// Commands runs slash commands on a session whose turns another front end runs (the control protocol). It
// follows nothing and shows nothing in between.
type Commands struct{ c *Console }

// Over makes the commands of a session. Its events, and those of a session that a command puts in its place,
// go to bus, which stays the caller's.
func Over(ctx context.Context, o Options, s *conversation.Session, bus *event.Bus) *Commands {
	c := newConsole(ctx, o, bus)
	c.front = s
	return &Commands{c}
}

// Run runs a command as Console.Command does. No turn may run.
func (k *Commands) Run(ctx context.Context, name, args string) (event.Output, error) {
	k.refresh()
	return k.c.Command(ctx, port.Command{Name: name, Args: args})
}

// Prepared completes a prompt: the choices of earlier commands go to the log, and the output of the user's own
// commands comes before the message.
func (k *Commands) Prepared(ctx context.Context, m llm.Message) llm.Message {
	k.c.recordChoices(ctx, k.c.session())
	return k.c.withPending(m)
}

// refresh brings the status up to the state of the log.
func (k *Commands) refresh() {
	seen := k.c.replay(k.c.session(), false).statusValues
	k.c.mu.Lock()
	k.c.seen = seen
	k.c.mu.Unlock()
	k.c.countChanges(k.c.session())
}

// Session is the session in front; a command may have changed it.
func (k *Commands) Session() *conversation.Session { return k.c.session() }

// Status is the state of the session in front.
func (k *Commands) Status() event.Status {
	k.refresh()
	return k.c.Status()
}

// Shares lists the content of the context window, with estimated tokens.
func (k *Commands) Shares(ctx context.Context) ([]command.Share, error) {
	return command.Shares(ctx, k.c.session())
}

// Title asks the small model for a title of a text, or without one of the conversation; keep makes it the
// session's.
func (k *Commands) Title(ctx context.Context, text string, keep bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, titleWait)
	defer cancel()
	s := k.c.session()
	if text == "" {
		text = firstPrompt(s.Log())
	}
	if text == "" {
		return "", errors.New("the conversation has no message yet, and no description was given")
	}
	small, err := s.Beside("title", k.c.inst.SmallModel)(ctx)
	if err != nil {
		return "", err
	}
	title, u, err := askTitle(ctx, small, text)
	s.CountRequest("title", small.Info(), u)
	if err != nil || !keep || title == "" {
		return title, err
	}
	return title, s.Log().SetTitle(ctx, title)
}

// Close lets go of everything but the session.
func (k *Commands) Close() error {
	k.c.stop()
	k.c.works.Wait()
	k.c.mu.Lock()
	index := k.c.index
	k.c.mu.Unlock()
	var err error
	if index != nil {
		err = index.Close()
	}
	k.c.kept.Close()
	return errors.Join(err, k.c.used.save())
}

// askTitle asks for a title of a text.
func askTitle(ctx context.Context, small llm.Model, text string) (string, llm.Usage, error) {
	var said llm.Message
	for d, err := range small.Stream(ctx, &llm.Request{
		System: []llm.Part{llm.Text{Text: titleSystem}}, Messages: []llm.Message{llm.UserText(text)}, MaxTokens: 64,
		Effort: "off",
	}) {
		if err != nil {
			return "", llm.Usage{}, err
		}
		if done, ok := d.(llm.Done); ok {
			said = done.Message
		}
	}
	var u llm.Usage
	if said.Usage != nil {
		u = *said.Usage
	}
	return cleanTitle(said.PlainText()), u, nil
}
