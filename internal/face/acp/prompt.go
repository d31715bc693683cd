package acp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// prompt is a prompt that the client waits for.
type prompt struct {
	id     string
	ctx    context.Context // of a command that is the prompt
	stop   context.CancelFunc
	result chan outcome  // gets one
	took   chan struct{} // closed when the session has it

	// guarded by openSession.mu, but for began
	sent      bool // the session has it
	cancelled bool

	shows bool // the client of the draft gets its message back
	began bool // a turn has it; of the goroutine that reads the events
	ended *outcome
}

// outcome is how a prompt ended.
type outcome struct {
	stop string
	err  error
}

// prompt is session/prompt. It is known before the next message of the client is read, so that a cancellation finds it.
func (a *Agent) prompt(params json.RawMessage) work {
	s, p, m, failed := a.takePrompt(params)
	if failed != nil {
		return refuse(failed)
	}
	return func(ctx context.Context) (any, *jsonrpc.Error) {
		defer s.forget(p)
		out, err := s.run(ctx, p, m)
		if err != nil {
			return nil, wireError(err)
		}
		return promptResult{out}, nil
	}
}

// takePrompt notes a prompt.
func (a *Agent) takePrompt(params json.RawMessage) (*openSession, *prompt, llm.Message, *jsonrpc.Error) {
	in, failed := decode[promptParams](params)
	if failed != nil {
		return nil, nil, llm.Message{}, failed
	}
	s, err := a.session(in.SessionID)
	if err != nil {
		return nil, nil, llm.Message{}, wireError(err)
	}
	parts, err := partsOf(in.Prompt)
	if err != nil {
		return nil, nil, llm.Message{}, wireError(err)
	}
	p := &prompt{id: uuid.NewString(), result: make(chan outcome, 1), took: make(chan struct{})}
	p.ctx, p.stop = context.WithCancel(s.ctx)
	s.mu.Lock()
	s.prompts[p.id] = p
	s.mu.Unlock()
	return s, p, llm.Message{ID: p.id, Role: llm.User, Parts: parts}, nil
}

// turned reports whether the session took the prompt as the one of a turn.
func (p *prompt) turned() bool {
	select {
	case <-p.took:
		return true
	default:
		return false
	}
}

func (s *openSession) forget(p *prompt) {
	p.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.prompts, p.id)
}

// run sends a prompt and waits for the end of its turn.
func (s *openSession) run(ctx context.Context, p *prompt, m llm.Message) (string, error) {
	if err := s.awake(ctx); err != nil {
		return "", err
	}
	if name, args, ok := s.command(m); ok {
		out := s.runCommand(ctx, p, name, args)
		if out == nil && p.ctx.Err() == nil {
			return "end_turn", nil
		}
		if out != nil {
			m.Parts = out.Parts
		}
	}
	if p.ctx.Err() != nil {
		return "cancelled", context.Cause(s.ctx)
	}
	r, err := s.port.Prompt(ctx, port.Prompt{ID: p.id, Message: m})
	if err != nil && ctx.Err() == nil {
		return "", err
	}
	s.mu.Lock()
	close(p.took)
	p.sent = true
	cancelled := p.cancelled
	s.fresh = false
	s.mu.Unlock()
	if cancelled {
		s.interrupt(p, r.State)
	}
	select {
	case out := <-p.result:
		return out.stop, out.err
	case <-ctx.Done():
		if s.a.conn.Err() == nil { // the client cancelled the request itself
			s.cancelPrompt(p)
		}
		return "cancelled", nil // the turn of a client that is gone goes on
	}
}

// cancel is session/cancel: it ends the prompts of the client.
func (s *openSession) cancel() {
	s.mu.Lock()
	var all []*prompt
	for _, p := range s.prompts {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, p := range all {
		s.cancelPrompt(p)
	}
	if len(all) == 0 { // a turn of another face
		go func() { _ = s.port.Interrupt(s.ctx, "") }()
	}
}

func (s *openSession) cancelPrompt(p *prompt) {
	p.stop()
	s.mu.Lock()
	before, sent := p.cancelled, p.sent
	p.cancelled = true
	s.mu.Unlock()
	if sent && !before {
		go s.interrupt(p, "")
	}
}

// interrupt ends the turn of a prompt, or takes back one that waits.
func (s *openSession) interrupt(p *prompt, state string) {
	if state != port.Begun {
		if q, err := s.port.Queue(s.ctx, port.QueueChange{Do: "drop", ID: p.id}); err == nil && q.Dropped != nil {
			s.answerPrompt(p, outcome{stop: "cancelled"})
			return
		}
	}
	_ = s.port.Interrupt(s.ctx, "") // it has ended if there is nothing to interrupt
}

// turnEnded notes how the prompts of a turn ended. They are answered when the session says what it does next: its last
// updates are sent then.
func (s *openSession) turnEnded(end event.TurnEnd) {
	out := outcome{stop: "end_turn"}
	switch end.Reason {
	case event.EndInterrupted:
		out.stop = "cancelled"
	case event.EndMaxSteps, event.EndBudget:
		out.stop = "max_turn_requests"
	case event.EndFailed:
		out.err = fault(jsonrpc.Internal, "%s", end.Err)
	case event.EndCompleted:
		switch s.show.stop {
		case llm.StopMaxTokens:
			out.stop = "max_tokens"
		case llm.StopRefusal:
			out.stop = "refusal"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prompts {
		if !p.began || p.ended != nil {
			continue
		}
		if p.cancelled { // however the turn ended: the refusal of a question may have come before the interruption
			out = outcome{stop: "cancelled"}
		}
		p.ended = &out
	}
	s.show.ended = &out
}

// stateChanged answers the prompts whose turn has ended, and takes back those that no turn will have.
func (s *openSession) stateChanged(now event.State) {
	s.mu.Lock()
	var ended, lost []*prompt
	for _, p := range s.prompts {
		switch {
		case p.id == now.Turn:
			p.began = true
		case p.ended != nil:
			ended = append(ended, p)
		case now.Doing == event.Idle && p.sent && !p.began:
			lost = append(lost, p)
		}
	}
	s.mu.Unlock()
	if len(ended) > 0 {
		if c, err := s.port.Read(s.ctx, port.ReadRequest{What: "status"}); err == nil && c.Status != nil {
			s.setStatus(*c.Status)
			s.show.event(event.Event{Body: *c.Status})
		}
	}
	for _, p := range ended {
		s.answerPrompt(p, *p.ended)
	}
	for _, p := range lost {
		q, err := s.port.Queue(s.ctx, port.QueueChange{Do: "drop", ID: p.id})
		if err == nil && q.Dropped != nil {
			s.answerPrompt(p, outcome{err: fault(jsonrpc.Internal, "the turn before it did not end well; send it again")})
		}
	}
}

func (s *openSession) answerPrompt(p *prompt, out outcome) {
	select {
	case p.result <- out:
	default: // it has one
	}
}

func (s *openSession) endPrompts(out outcome, which func(*prompt) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prompts {
		if which(p) {
			s.answerPrompt(p, out)
		}
	}
}

// elsewhere are commands that the client does by its own means, or that put another session in the place of this one.
var elsewhere = []string{
	"new", "resume", "sessions", "fork", "tree", "rewind", "quit", "bg", "theme", "keys", "copy", "login",
}

// command is the slash command that a message is.
func (s *openSession) command(m llm.Message) (name, args string, ok bool) {
	if len(m.Parts) == 0 {
		return "", "", false
	}
	first, isText := m.Parts[0].(llm.Text)
	line, found := strings.CutPrefix(first.Text, "/")
	if !isText || !found {
		return "", "", false
	}
	name, args, _ = strings.Cut(line, " ")
	for _, p := range m.Parts[1:] {
		if t, ok := p.(llm.Text); ok {
			args += " " + t.Text
		}
	}
	all, _ := s.port.Complete(s.ctx, event.Query{Kind: event.QueryCommand})
	known := slices.ContainsFunc(all, func(c event.Candidate) bool { return c.Text == name })
	return name, strings.TrimSpace(args), known
}

// runCommand runs a slash command and shows its output; it returns the message that it makes, if any.
func (s *openSession) runCommand(ctx context.Context, p *prompt, name, args string) *llm.Message {
	if slices.Contains(elsewhere, name) {
		s.show.say("/" + name + " is for the terminal: use the editor's own list of sessions and settings.")
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	out, err := s.port.Command(ctx, port.Command{Name: name, Args: args})
	if err != nil {
		if ctx.Err() == nil {
			s.show.say(err.Error())
		}
		return nil
	}
	if text := outputText(out); text != "" {
		s.show.say(text)
	}
	return out.Prompt
}

// outputText is the output of a command as Markdown.
func outputText(o event.Output) string {
	var all []string
	add := func(text string) {
		if text != "" {
			all = append(all, text)
		}
	}
	add(o.Text)
	if o.View != nil {
		for _, c := range viewContent(o.View, "") {
			if c.Content != nil {
				add(*c.Content.Text)
			}
		}
	}
	if o.Page != nil {
		add("## " + o.Page.Title + "\n\n" + o.Page.Text)
	}
	if o.Pick != nil {
		list := []string{o.Pick.Title + ":"}
		for _, i := range o.Pick.Items {
			list = append(list, "- `/"+o.Pick.Command+" "+i.ID+"` "+strings.TrimSpace(i.Label+" "+i.Detail))
		}
		add(strings.Join(list, "\n"))
	}
	if o.Edit != nil {
		add("The file is " + o.Edit.Path)
	}
	add(o.Copy)
	add(o.Insert)
	return strings.Join(all, "\n\n")
}
