package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serve"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// servedNames are the tools that make sense without a conversation.
var servedNames = []string{
	"Read", "Write", "Edit", "MultiEdit", "ApplyPatch", "NotebookEdit", "Glob", "Grep", "Bash",
	"BashOutput", "KillShell", "WebFetch", "WebSearch",
}

// onlyReading are those of them that change nothing.
var onlyReading = []string{"Read", "Glob", "Grep", "BashOutput", "WebFetch", "WebSearch"}

// servedBox runs the tools for clients, one call after another.
type servedBox struct {
	session *conversation.Session
	turn    chan struct{} // has a place for the call that runs

	mu   sync.Mutex
	next int
	call *serve.Call // that runs
	ctx  context.Context
}

// servedTools opens a conversation that keeps nothing, for its tools.
func (p *program) servedTools(ctx context.Context, o *Options) ([]serve.Tool, func() error, error) {
	inst, err := p.instance(o)
	if err != nil {
		return nil, nil, err
	}
	s, err := inst.NewSession(ctx, conversation.SessionOptions{Detached: true, Interactive: true})
	if err != nil {
		return nil, nil, startError(joinErrors(err, inst.Close()))
	}
	b := &servedBox{session: s, turn: make(chan struct{}, 1)}
	heard, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	events := s.Subscribe(heard)
	go func() {
		defer close(done)
		for {
			e, ok := events.Next(heard)
			if !ok {
				return
			}
			b.hear(e)
		}
	}()
	var out []serve.Tool
	for _, t := range s.Registry().All(ctx) {
		spec := t.Spec()
		if slices.Contains(servedNames, spec.Name) {
			out = append(out, serve.Tool{
				Name: spec.Name, Description: spec.Description, Input: spec.Schema,
				Call: b.caller(spec.Name), Hints: &serve.Hints{ReadOnly: slices.Contains(onlyReading, spec.Name)},
			})
		}
	}
	return out, func() error { stop(); <-done; return joinErrors(s.Close(), inst.Close()) }, nil
}

// hear passes questions of the running call to its client.
func (b *servedBox) hear(e event.Event) {
	q, ok := e.Body.(event.Asked)
	if !ok {
		return
	}
	b.mu.Lock()
	ctx, call := b.ctx, b.call
	b.mu.Unlock()
	go func() {
		_ = b.session.Answer(q.ID, askClient(ctx, call, q.Question)) // an error: another answer came first
	}()
}

func (b *servedBox) caller(name string) func(context.Context, *serve.Call) (client.Result, error) {
	return func(ctx context.Context, c *serve.Call) (client.Result, error) {
		select {
		case b.turn <- struct{}{}:
		case <-ctx.Done():
			return client.Result{}, ctx.Err()
		}
		defer func() { <-b.turn }()
		b.mu.Lock()
		b.next++
		b.call, b.ctx = c, ctx
		id := fmt.Sprintf("mcp_%d", b.next)
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			b.call, b.ctx = nil, nil
			b.mu.Unlock()
		}()
		c.Progress(ctx, name)
		return servedResult(b.session.Invoke(ctx, []llm.ToolCall{{ID: id, Name: name, Input: c.Arguments}})[0]), nil
	}
}

func servedResult(r llm.ToolResult) client.Result {
	out := client.Result{IsError: r.IsError}
	for _, part := range r.Parts {
		switch x := part.(type) {
		case llm.Text:
			out.Content = append(out.Content, client.Content{Type: "text", Text: x.Text})
		case llm.Media:
			if strings.HasPrefix(x.MIME, "image/") {
				out.Content = append(out.Content, client.Content{Type: "image", Data: x.Data, MIME: x.MIME})
				continue
			}
			out.Content = append(out.Content, client.Content{
				Type:     "resource",
				Resource: &client.ResourceContent{URI: "file:///" + cmp.Or(x.Name, "result"), MIME: x.MIME, Blob: x.Data},
			})
		}
	}
	return out
}

// noAnswer refuses where no one can be asked.
func noAnswer(why string) event.Answer {
	return event.Answer{Choice: event.ChoiceNo, Canceled: true, Text: why}
}

// oneTime are the answers to a question that hold for this time only, or that refuse: a client's form gives no lasting
// rights.
var oneTime = []string{event.ChoiceOnce, event.ChoiceNo}

// askClient has a client's user answer a question.
func askClient(ctx context.Context, c *serve.Call, q event.Question) event.Answer {
	if c == nil || len(q.Parts) > 0 || q.Schema != nil || len(q.Options) == 0 {
		return noAnswer("no person can answer in this run")
	}
	ids, labels := []string{}, []string{}
	for _, o := range q.Options {
		if q.Permission == nil || slices.Contains(oneTime, o.ID) {
			ids, labels = append(ids, o.ID), append(labels, o.Label)
		}
	}
	content, ok, err := c.Ask(ctx, questionText(q), map[string]any{
		"type": "object", "required": []string{"choice"},
		"properties": map[string]any{
			"choice": map[string]any{"type": "string", "title": "Answer", "enum": ids, "enumNames": labels},
		},
	})
	choice, _ := content["choice"].(string)
	switch {
	case errors.Is(err, serve.ErrNobody):
		return noAnswer("the MCP client cannot ask its user; allow the call with --allowedTools or --permission-mode of " +
			"lathe mcp serve")
	case err != nil:
		return noAnswer("the MCP client could not ask its user")
	case !ok || !slices.Contains(ids, choice):
		return event.Answer{Choice: event.ChoiceNo}
	}
	return event.Answer{Choice: choice}
}

// questionText is a question as plain text. A client may show it in a terminal.
func questionText(q event.Question) string {
	text := []string{q.Title}
	for _, more := range []string{q.Text, q.Reason, q.Undo} {
		if more != "" {
			text = append(text, more)
		}
	}
	if q.Call != nil {
		text = append(text, q.Call.Name+" "+string(q.Call.Input))
	}
	return term.Truncate(term.Escape(strings.Join(text, "\n")), 4000, "…")
}
