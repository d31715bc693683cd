package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serve"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
)

// maxServed is how many conversations of clients are open at one time; those that are idle make room.
const maxServed = 8

// servedAgent is lathe as the tools lathe and lathe-reply.
type servedAgent struct {
	p *program
	o Options

	mu   sync.Mutex
	open map[string]*servedSession
	seq  int
}

// servedSession is one conversation.
type servedSession struct {
	conv  Conversation
	stats *resultStats
	busy  bool // guarded by servedAgent.mu
	used  int
}

const (
	startSchema = `{"type":"object","required":["prompt"],"properties":{
"prompt":{"type":"string","description":"the task"},
"session_id":{"type":"string","description":"a UUID for the new conversation; default: any"},
"cwd":{"type":"string","description":"the folder to work in, below that of the server; default: that of the server"},
"model":{"type":"string","description":"default: as configured"},
"permission_mode":{"type":"string","enum":["default","plan","dontAsk","acceptEdits","auto","bypassPermissions"],"description":"how much runs without asking; never more than the server was started with"}}}`
	replySchema  = `{"type":"object","required":["session_id","prompt"],"properties":{"session_id":{"type":"string"},"prompt":{"type":"string"}}}`
	answerSchema = `{"type":"object","required":["session_id","content"],"properties":{"session_id":{"type":"string"},"content":{"type":"string"},"steps":{"type":"integer"},"cost_usd":{"type":"number"}}}`
)

func (a *servedAgent) tools() []serve.Tool {
	return []serve.Tool{
		{
			Name: "lathe", Title: "lathe", Input: json.RawMessage(startSchema), Output: json.RawMessage(answerSchema),
			Call: a.start,
			Description: "Give a task to lathe, a coding agent that reads, edits and runs things in a folder until the task " +
				"is done. Returns its answer and the session_id for lathe-reply.",
		},
		{
			Name: "lathe-reply", Title: "lathe: reply", Input: json.RawMessage(replySchema),
			Output: json.RawMessage(answerSchema), Call: a.reply,
			Description: "Send the next message of a conversation that the tool lathe began.",
		},
	}
}

// agentCall is the input of both tools.
type agentCall struct {
	Prompt  string `json:"prompt"`
	Session string `json:"session_id"`
	Dir     string `json:"cwd"`
	Model   string `json:"model"`
	Mode    string `json:"permission_mode"`
}

func (a *servedAgent) start(ctx context.Context, c *serve.Call) (client.Result, error) {
	in, err := readAgentCall(c)
	if err != nil {
		return client.Result{}, err
	}
	o := a.o
	if in.Model != "" {
		o.Model = in.Model
	}
	if o.Dir, err = a.folder(in.Dir); err != nil {
		return client.Result{}, err
	}
	if o.Mode, err = a.mode(in.Mode); err != nil {
		return client.Result{}, err
	}
	o.Bypass = a.o.Bypass && in.Mode == ""
	o.SessionID = in.Session
	s, err := a.session(ctx, &o)
	if err != nil {
		return client.Result{}, err
	}
	return a.turn(ctx, c, s, in.Prompt)
}

func readAgentCall(c *serve.Call) (in agentCall, err error) {
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return in, err
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return in, errors.New("the prompt is empty")
	}
	return in, nil
}

func (a *servedAgent) reply(ctx context.Context, c *serve.Call) (client.Result, error) {
	in, err := readAgentCall(c)
	if err != nil {
		return client.Result{}, err
	}
	a.mu.Lock()
	s := a.open[in.Session]
	if s != nil && s.busy {
		a.mu.Unlock()
		return client.Result{}, fmt.Errorf("the session %s is at work; wait for its answer", in.Session)
	}
	if s != nil {
		s.busy = true
	}
	a.mu.Unlock()
	if s == nil { // of an earlier server, or one that made room
		o := a.o
		o.Resume = in.Session
		o.within = func(dir string) error {
			if _, err := a.folder(dir); err != nil {
				return fmt.Errorf("the session %s belongs to another folder: %w", in.Session, err)
			}
			return nil
		}
		if s, err = a.session(ctx, &o); err != nil {
			return client.Result{}, err
		}
	}
	return a.turn(ctx, c, s, in.Prompt)
}

// folder is where a conversation works: a folder below the server's, links resolved.
func (a *servedAgent) folder(name string) (string, error) {
	base, err := workingFolder(&a.o)
	if err != nil || name == "" {
		return a.o.Dir, err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(base, name)
	}
	at, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	for _, root := range append([]string{base}, a.o.AddDirs...) {
		if real, err := filepath.EvalSymlinks(root); err == nil && (at == real || strings.HasPrefix(at,
			real+string(os.PathSeparator))) {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s is outside of the folder that lathe mcp serve works in; start it there, or with --add-dir",
		name)
}

// looseness ranks the modes by how much they run without asking. plan and dontAsk never run more than default.
var looseness = map[permission.Mode]int{
	"": 0, permission.Plan: 0, permission.DontAsk: 0, permission.Default: 0,
	permission.AcceptEdits: 1, permission.Auto: 2, permission.Bypass: 3,
}

// mode is the one that a client asks for, if it is not looser than the server's: the client's model chose it, not the
// user.
func (a *servedAgent) mode(asked string) (string, error) {
	if asked == "" {
		return a.o.Mode, nil
	}
	own := permission.Mode(a.o.Mode)
	if a.o.Bypass {
		own = permission.Bypass
	}
	want, known := looseness[permission.Mode(asked)]
	if !known {
		return "", fmt.Errorf("there is no permission mode %q", asked)
	}
	if want > looseness[own] {
		return "", fmt.Errorf("the mode %s runs more without asking than lathe mcp serve was started with; its "+
			"--permission-mode allows it", asked)
	}
	return asked, nil
}

// session opens a conversation, which is busy until its turn ends.
func (a *servedAgent) session(ctx context.Context, o *Options) (*servedSession, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.makeRoom(); err != nil {
		return nil, err
	}
	o.PermissionTool = "stdio" // somebody may answer: askClient
	conv, err := a.p.openLocal(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, err
	}
	s := &servedSession{conv: conv, stats: newResultStats(conv.About().Info), busy: true}
	a.open[conv.About().Session] = s
	return s, nil
}

func (a *servedAgent) makeRoom() error {
	if len(a.open) < maxServed {
		return nil
	}
	oldest := ""
	for id, s := range a.open {
		if !s.busy && (oldest == "" || s.used < a.open[oldest].used) {
			oldest = id
		}
	}
	if oldest == "" {
		return fmt.Errorf("%d conversations are at work; wait for one", maxServed)
	}
	s := a.open[oldest]
	delete(a.open, oldest)
	return s.conv.Close()
}

// turn runs one turn and returns its answer.
func (a *servedAgent) turn(ctx context.Context, c *serve.Call, s *servedSession, prompt string) (client.Result, error) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.seq++
		s.busy, s.used = false, a.seq
	}()
	h := headless{
		conv: s.conv, printer: &progressPrinter{ctx: ctx, call: c}, stats: s.stats,
		limits: limits{turns: a.o.MaxTurns, budget: a.o.MaxBudget},
	}
	h.say = func(text string) { c.Progress(ctx, text) }
	h.asked = func(id string, q event.Question) {
		go func() { _ = s.conv.Answer(id, askClient(ctx, c, q)) }() // an error: another answer came first
	}
	out, err := h.turn(ctx, llm.UserText(prompt))
	if err != nil {
		return client.Result{}, err
	}
	line := s.stats.result(&out)
	text := s.stats.answer
	if out.isError() {
		text = out.message()
	}
	structured, err := json.Marshal(map[string]any{
		"session_id": s.conv.About().Session, "content": text,
		"steps": line.Turns, "cost_usd": line.Cost,
	})
	if err != nil {
		return client.Result{}, err
	}
	return client.Result{
		Content: []client.Content{{Type: "text", Text: text}}, Structured: structured,
		IsError: out.isError(),
	}, nil
}

func (a *servedAgent) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []error
	for _, s := range a.open {
		all = append(all, s.conv.Close())
	}
	clear(a.open)
	return errors.Join(all...)
}

// progressPrinter reports a turn to the client as progress of its call.
type progressPrinter struct {
	ctx  context.Context
	call *serve.Call
}

func (p *progressPrinter) begin(About) error { return nil }

func (p *progressPrinter) event(e event.Event) error {
	switch b := e.Body.(type) {
	case event.PartDone:
		if text, ok := b.Part.(llm.Text); ok && len(e.Agent) == 0 {
			p.call.Progress(p.ctx, firstWords(text.Text))
		}
		if call, ok := b.Part.(llm.ToolCall); ok {
			p.call.Progress(p.ctx, strings.Join(append(slices.Clone(e.Agent), call.Name), " "))
		}
	case event.Notice:
		if b.Level != "info" {
			p.call.Progress(p.ctx, firstWords(b.Text))
		}
	}
	return nil
}

func (p *progressPrinter) finish(*resultStats, *outcome) error { return nil }
func (p *progressPrinter) close() error                        { return nil }

func firstWords(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return term.Truncate(line, 200, "…")
}
