package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui"
)

// TestMain lets the test binary be the program that the tests drive in a terminal: with LATHE_TUI=1 it opens
// the terminal on a scripted session.
func TestMain(m *testing.M) {
	if os.Getenv("LATHE_TUI") == "" {
		os.Exit(m.Run())
	}
	os.Exit(open())
}

func open() int {
	s := newFake()
	o := tui.Options{
		Inline: os.Getenv("LATHE_TUI_INLINE") != "", ReducedMotion: os.Getenv("LATHE_TUI_REDUCED") != "",
		Mouse:   os.Getenv("LATHE_TUI_MOUSE") != "",
		Look:    tui.Look{Theme: os.Getenv("LATHE_TUI_THEME"), Keys: keysOf(os.Getenv("LATHE_TUI_KEYS"))},
		Version: "test", Notifications: os.Getenv("LATHE_TUI_NOTIFY"),
	}
	r, err := tui.Run(context.Background(), s, s, o)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	fmt.Println("resume with:", r.Session)
	return 0
}

// keysOf are key bindings of the settings; "": none.
func keysOf(text string) []json.RawMessage {
	if text == "" {
		return nil
	}
	return []json.RawMessage{json.RawMessage(text)}
}

// fake is a session that follows its prompts as a script.
type fake struct {
	port.Session // what no test plays

	bus *event.Bus
	sub *event.Subscription

	mu      sync.Mutex
	cancel  context.CancelFunc
	shell   context.CancelFunc // ends the command of the user
	steered []llm.Message
	after   []llm.Message
	answers map[string]chan event.Answer
	mode    permission.Mode
	told    string // to an agent
	calls   int
	todos   []event.TodoItem
	changed []event.ChangedFile
	cwd     string
	history []event.Body

	background int          // tasks
	counted    atomic.Int32 // calls of the command counting
}

// page is n events of the history before one of them, and the cursor of those before them.
func (f *fake) page(end, n int) ([]event.Body, event.Cursor) {
	from := max(end-n, 0)
	if from == 0 {
		return f.history[:end], ""
	}
	return f.history[from:end], event.Cursor(fmt.Sprint(from))
}

func (f *fake) Read(_ context.Context, r port.ReadRequest) (port.Content, error) {
	end, err := strconv.Atoi(string(r.Before))
	if err != nil {
		return port.Content{}, err
	}
	bodies, more := f.page(end, 100)
	return port.Content{History: &event.Opened{History: bodies, More: more}}, nil
}

func (f *fake) Close() {}

func newFake() *fake {
	f := &fake{bus: event.NewBus(), answers: map[string]chan event.Answer{}, mode: "default", cwd: "/home/me/project"}
	f.sub = f.bus.Subscribe(context.Background(), event.Options{})
	n, _ := strconv.Atoi(os.Getenv("LATHE_TUI_HISTORY"))
	f.history = history(n)
	first, more := f.page(len(f.history), n*2)
	if size, err := strconv.Atoi(os.Getenv("LATHE_TUI_PAGE")); err == nil {
		first, more = f.page(len(f.history), size)
	}
	f.publish(event.Opened{
		Session: "0199-fake", Title: "a fake", Dir: f.cwd, Path: "/tmp/fake", History: first,
		More: more,
	})
	f.status()
	return f
}

func history(n int) []event.Body {
	var out []event.Body
	for i := range n {
		out = append(out, event.UserMessage{Message: llm.UserText(fmt.Sprintf("question %d", i))},
			event.PartDone{
				MessageID: fmt.Sprint("h", i),
				Part: llm.Text{Text: fmt.Sprintf("Answer **%d**.\n\n- one\n- two\n\n```go\nfunc f%d() int { return %d }\n```\n", i,
					i, i)},
			})
	}
	return out
}

func (f *fake) publish(b event.Body) { f.bus.Publish("0199-fake", nil, b) }

func (f *fake) status() {
	f.mu.Lock()
	st := event.Status{
		Session: "0199-fake", Title: "a fake", Model: "claude-sonnet-4-5", Mode: f.mode, Dir: f.cwd, Branch: "main",
		ContextUsed: 12345, ContextWindow: 200000, CostUSD: 0.42, CacheHit: 0.93,
	}
	st.Todos, st.Changed, st.Background = f.todos, f.changed, f.background
	for _, m := range f.steered {
		st.Waiting = append(st.Waiting, event.Waiting{ID: m.ID, Text: m.PlainText()})
	}
	for _, m := range f.after {
		st.Waiting = append(st.Waiting, event.Waiting{ID: m.ID, Text: m.PlainText(), After: true})
	}
	f.mu.Unlock()
	f.publish(st)
}

func (f *fake) Next(ctx context.Context) (event.Event, error) {
	e, ok := f.sub.Next(ctx)
	if !ok {
		return e, io.EOF
	}
	return e, nil
}

func (f *fake) Prompt(_ context.Context, p port.Prompt) (port.Receipt, error) {
	m := p.Message
	m.ID = p.ID
	f.mu.Lock()
	if f.cancel != nil {
		state := port.ForStep
		if p.When == port.AfterTurn {
			f.after, state = append(f.after, m), port.ForAfter
		} else {
			f.steered = append(f.steered, m)
		}
		f.mu.Unlock()
		f.status()
		return port.Receipt{ID: p.ID, State: state}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.mu.Unlock()
	go func() {
		defer cancel()
		f.run(ctx, m)
	}()
	return port.Receipt{ID: p.ID, State: port.Begun}, nil
}

func (f *fake) run(ctx context.Context, m llm.Message) {
	began := time.Now()
	f.publish(event.State{Doing: event.Working, Turn: m.ID})
	f.publish(event.TurnStart{Prompt: m})
	var names []string
	found, _ := f.Complete(ctx, event.Query{Kind: event.QueryAttach, Text: m.PlainText()})
	for _, c := range found {
		names = append(names, c.Text+" (120 lines)")
	}
	f.publish(event.UserMessage{Message: m, Attached: names})
	err := f.turn(ctx, m.PlainText())
	f.deliver(ctx)
	end := event.TurnEnd{Reason: event.EndCompleted, Steps: 1, Duration: time.Since(began)}
	if ctx.Err() != nil {
		end.Reason = event.EndInterrupted
	} else if err != nil {
		end.Reason, end.Err = event.EndFailed, err.Error()
	}
	f.mu.Lock()
	f.cancel = nil
	f.mu.Unlock()
	f.publish(end)
	f.publish(event.State{Doing: event.Idle})
}

// deliver runs the queue.
func (f *fake) deliver(ctx context.Context) {
	for {
		f.mu.Lock()
		var next *llm.Message
		if len(f.after) > 0 {
			next, f.after = &f.after[0], f.after[1:]
		}
		f.mu.Unlock()
		if next == nil || ctx.Err() != nil {
			return
		}
		f.status()
		f.publish(event.UserMessage{Message: *next})
		_ = f.turn(ctx, next.PlainText())
	}
}

func (f *fake) boundary() {
	f.mu.Lock()
	steered := f.steered
	f.steered = nil
	f.mu.Unlock()
	for _, m := range steered {
		f.publish(event.UserMessage{Message: m, Steered: true})
	}
}

// turn runs one step of the script: "stream N" (kilobytes), "tools N", "ask", "wait", "say TEXT", "fail", "panic".
func (f *fake) turn(ctx context.Context, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(rest)
	switch word {
	case "stream":
		return f.stream(ctx, max(n, 1)*1000)
	case "tools":
		for i := range max(n, 1) {
			f.tool(ctx, "Bash", fmt.Sprintf("echo turn-%d", i), false)
			f.boundary()
		}
		f.say("All done.")
	case "call": // the call streams, and then asks
		f.publish(event.Delta{MessageID: "c", Delta: llm.ToolDelta{ID: "called", Name: "Bash"}})
		f.question(ctx, "called", "rm -rf build-0")
		f.say("Thanks.")
	case "ask":
		f.ask(ctx, max(n, 1))
		f.say("Thanks.")
	case "wait":
		f.tool(ctx, "Bash", "sleep 1000", true)
		f.boundary()
	case "long":
		c := llm.ToolCall{ID: f.id(), Name: "Bash"}
		var out strings.Builder
		for i := range 50 {
			fmt.Fprintln(&out, "line", i+1)
		}
		f.publish(event.ToolStart{Call: c, Title: "long"})
		f.publish(event.ToolEnd{
			Call: c, Title: "long", Result: llm.TextResult(c, out.String(), false),
			View: event.Command{Command: "long", Output: out.String()},
		})
	case "todo":
		f.mu.Lock()
		f.todos = []event.TodoItem{{Content: "one", Status: "completed"}, {
			Content: "two", Status: "in_progress",
			ActiveForm: "doing two",
		}}
		f.changed = []event.ChangedFile{{Path: "main.go", Added: 10, Removed: 2}}
		f.mu.Unlock()
		f.status()
		f.say("done")
	case "fail":
		return fmt.Errorf("the model is not there: \x1b[31mred\x1b[0m")
	case "overload":
		f.publish(event.Retry{
			Attempt: 1, Max: 3, Delay: 100 * time.Millisecond,
			Err: "the provider is overloaded, and says so in more words than fit into a line", Status: 529,
		})
		<-ctx.Done()
		return ctx.Err()
	case "refused":
		c := llm.ToolCall{ID: f.id(), Name: "Edit", Input: json.RawMessage(`{"file_path": "/home/me/project/pkg/main.go"}`)}
		f.publish(event.ToolEnd{Call: c, Result: llm.TextResult(c,
			"/home/me/project/pkg/main.go has not been read in this conversation; read it first, then edit it", true)})
	case "nothing":
	case "agent":
		c := llm.ToolCall{ID: f.id(), Name: "Task", Input: json.RawMessage(`{"description": "look"}`)}
		v := event.Subagent{Agent: "Explore", Title: "look"}
		f.publish(event.ToolStart{Call: c, Title: "Explore: look", Preview: v})
		v.Session, v.Result = "a1", "found"
		f.publish(event.ToolEnd{Call: c, Title: "Explore: look", Result: llm.TextResult(c, "found", false), View: v})
	case "denied":
		c := llm.ToolCall{ID: f.id(), Name: "Bash", Input: json.RawMessage(`{"command": "ls"}`)}
		f.publish(event.ToolEnd{Call: c, Title: "ls", Denied: true, Result: llm.TextResult(c,
			"Permission denied: the user refused. The user says: use make", true)})
	case "told":
		f.publish(event.UserMessage{Synthetic: true, Told: []string{"Stop hook: run the tests\nand the linter"}})
		f.publish(event.Compacted{Level: 4, Before: 90, After: 10, Summary: "# Goal\nMend it."})
		f.say("told")
	case "think":
		f.publish(event.Delta{MessageID: "t", Delta: llm.ReasoningDelta{Text: "I should think about this.\nMore."}})
		f.publish(event.PartDone{MessageID: "t", Part: llm.Reasoning{Text: "I should think about this.\nMore."}})
		f.say("Thought.")
	default:
		f.say("You said: " + text)
	}
	f.boundary()
	return nil
}

func (f *fake) id() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return fmt.Sprint("id", f.calls)
}

func (f *fake) say(s string) {
	id := f.id()
	f.publish(event.Delta{MessageID: id, Delta: llm.TextDelta{Text: s}})
	f.publish(event.PartDone{MessageID: id, Part: llm.Text{Text: s}})
}

func (f *fake) stream(ctx context.Context, size int) error {
	id := f.id()
	var all strings.Builder
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	block := "## Heading\n\nSome *text* with `code` and **bold** words that go on for a while, so that lines have to " +
		"be wrapped.\n\n- one\n- two\n\n```go\nfunc main() { println(\"hello\", 42) }\n```\n\n| a | b |\n|---|--:|\n| x | " +
		"1 |\n\n"
	if path := os.Getenv("LATHE_TUI_TEXT"); path != "" {
		return f.streamFile(ctx, path)
	}
	for all.Len() < size {
		i := all.Len() % len(block)
		piece := block[i:min(i+20, len(block))]
		all.WriteString(piece)
		f.publish(event.Delta{MessageID: id, Delta: llm.TextDelta{Text: piece}})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	f.endStream(id, all.String())
	return nil
}

func (f *fake) endStream(id, text string) {
	f.publish(event.Delta{MessageID: id, Delta: llm.TextDelta{Text: "\n\nEND-OF-REPLY"}})
	f.publish(event.PartDone{MessageID: id, Part: llm.Text{Text: text + "\n\nEND-OF-REPLY"}})
}

// streamFile streams a file, of a pipe as much as there is.
func (f *fake) streamFile(ctx context.Context, path string) error {
	id := f.id()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var all strings.Builder
	piece := make([]byte, 20)
	for {
		n, err := file.Read(piece)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		all.Write(piece[:n])
		f.publish(event.Delta{MessageID: id, Delta: llm.TextDelta{Text: string(piece[:n])}})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	f.endStream(id, all.String())
	return nil
}

func (f *fake) tool(ctx context.Context, name, command string, wait bool) {
	input, _ := json.Marshal(map[string]string{"command": command})
	c := llm.ToolCall{ID: f.id(), Name: name, Input: input}
	f.publish(event.ToolStart{Call: c, Title: command})
	f.publish(event.ToolOutput{CallID: c.ID, Text: "output of " + command + "\n"})
	if wait {
		<-ctx.Done()
		f.publish(event.ToolEnd{
			Call: c, Title: command, Result: llm.TextResult(c, "interrupted", true),
			View: event.Command{Command: command, Cancelled: true},
		})
		return
	}
	f.publish(event.ToolEnd{
		Call: c, Title: command, Result: llm.TextResult(c, "output", false),
		View: event.Command{Command: command, Output: "output of " + command + "\n"},
	})
}

func (f *fake) ask(ctx context.Context, n int) {
	for i := range n {
		f.question(ctx, f.id(), fmt.Sprintf("rm -rf build-%d", i))
	}
}

// question asks for a call of Bash, and announces the answer.
func (f *fake) question(ctx context.Context, call, command string) {
	input, _ := json.Marshal(map[string]string{"command": command})
	c := llm.ToolCall{ID: call, Name: "Bash", Input: input}
	id, ch := f.id(), make(chan event.Answer, 1)
	f.mu.Lock()
	f.answers[id] = ch
	f.mu.Unlock()
	f.publish(event.Asked{ID: id, Question: event.Question{
		Title: "Bash", Text: command, Reason: "no rule allows it", Free: true, Call: &c,
		Permission: &permission.Request{
			Tool: "Bash", Input: input,
			Accesses: []permission.Access{{Kind: permission.Exec, Target: command}}, Dir: f.cwd,
		},
		Preview: event.Command{Command: command, Dir: f.cwd},
		Options: []event.Option{
			{ID: event.ChoiceOnce, Label: "Yes, once"},
			{ID: event.ChoiceSession, Label: "Yes, for this session", Help: "Bash(" + command + ")"},
			{ID: event.ChoiceAlways, Label: "Yes, always in this project", Help: "Bash(" + command + ")"},
			{ID: event.ChoiceNever, Label: "Never in this project", Help: "Bash(" + command + ")"},
			{ID: event.ChoiceNo, Label: "No"},
		},
	}})
	var a event.Answer
	select {
	case a = <-ch:
	case <-ctx.Done():
		a.Canceled = true
	}
	f.publish(event.Answered{ID: id, Answer: a})
	f.publish(event.Notice{Level: "info", Text: fmt.Sprintf("answered %s %q", a.Choice, a.Text)})
}

func (f *fake) Queue(context.Context, port.QueueChange) (port.Queue, error) {
	defer f.status()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range []*[]llm.Message{&f.after, &f.steered} {
		if n := len(*q); n > 0 {
			m := (*q)[n-1]
			*q = (*q)[:n-1]
			return port.Queue{Dropped: &m}, nil
		}
	}
	return port.Queue{}, nil
}

func (f *fake) Interrupt(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, end := range []context.CancelFunc{f.cancel, f.shell} {
		if end != nil {
			end()
		}
	}
	return nil
}

func (f *fake) Answer(_ context.Context, p port.Answer) error {
	id, a := p.ID, p.Answer
	f.mu.Lock()
	ch := f.answers[id]
	delete(f.answers, id)
	f.mu.Unlock()
	if ch == nil {
		return fmt.Errorf("no question %s is open", id)
	}
	ch <- a
	return nil
}

func (f *fake) Command(ctx context.Context, c port.Command) (event.Output, error) {
	name, args := c.Name, c.Args
	switch name {
	case "!":
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f.mu.Lock()
		f.shell = cancel
		f.mu.Unlock()
		f.tool(ctx, "!", args, true)
		return event.Output{}, nil
	case "compact":
		<-ctx.Done()
		return event.Output{}, ctx.Err()
	case "mode":
		f.mu.Lock()
		if args == "next" {
			f.mode = map[permission.Mode]permission.Mode{
				"default": "acceptEdits", "acceptEdits": "plan", "plan": "default",
				"bypassPermissions": "default",
			}[f.mode]
		} else {
			f.mode = permission.Mode(args)
		}
		f.mu.Unlock()
		f.status()
		if args != "next" {
			return event.Output{Text: "The mode is " + args + " now."}, nil
		}
		return event.Output{}, nil
	case "quit":
		return event.Output{Quit: true}, nil
	case "tasks":
		f.mu.Lock()
		if rest, ok := strings.CutPrefix(args, "tell "); ok {
			f.told = rest
			f.mu.Unlock()
			return event.Output{}, nil
		}
		told := f.told
		f.mu.Unlock()
		return event.Output{Page: &event.Page{
			Title: "Agent Explore: look", Text: "> find it\n\n**Grep** `it`\n\nheard: " + told + "\n",
			Live: "tasks watch a1", Tell: "tasks tell a1",
		}}, nil
	case "busy":
		f.mu.Lock()
		f.background = 2
		f.mu.Unlock()
		f.status()
		return event.Output{}, nil
	case "counting":
		return event.Output{Pick: &event.Pick{
			Title: "Counting", Command: "counting", Live: "counting",
			Items: []event.PickItem{{ID: "1", Label: fmt.Sprintf("asked %d times", f.counted.Add(1))}},
		}}, nil
	case "change":
		return event.Output{Edit: &event.Edit{Path: args, Then: "shown " + args}}, nil
	case "copy":
		return event.Output{Copy: "copied text"}, nil
	case "broken":
		return event.Output{}, errors.New("this command does not work")
	case "boom":
		panic("boom")
	case "rewind":
		return event.Output{Pick: &event.Pick{
			Title: "Go back to", Command: "rewindto",
			Items: []event.PickItem{{ID: "1", Label: "first message"}, {ID: "2", Label: "second message"}},
		}}, nil
	case "rewindto":
		return event.Output{Insert: "message " + args}, nil
	case "help":
		return event.Output{Text: "# Help\n\nThere is **help**."}, nil
	}
	return event.Output{Text: fmt.Sprintf("ran `%s` with `%s`", name, args)}, nil
}

func (f *fake) Complete(_ context.Context, q event.Query) ([]event.Candidate, error) {
	if q.Kind == event.QueryArgument && q.Name == "resume" {
		return []event.Candidate{{Text: "0199-fake", Label: "a fake"}, {
			Text: "0199-other", Label: "mend the queue",
			Help: "2 h ago",
		}}, nil
	}
	if q.Kind == event.QueryAttach && strings.Contains(q.Text, "@a.go") {
		return []event.Candidate{{Text: "a.go", Help: "~1.2k tokens"}}, nil
	}
	if q.Kind != event.QueryCommand {
		return nil, nil
	}
	var out []event.Candidate
	for _, name := range []string{"help", "quit", "copy", "rewind"} {
		if strings.HasPrefix(name, q.Text) {
			out = append(out, event.Candidate{Text: name, Help: "does " + name})
		}
	}
	return out, nil
}
