package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/app"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/sandbox"
	"github.com/lathe-dev/lathe/internal/session"
)

// The user's own commands ("!ls"). They are the user's right: no rule speaks of them. They run in the
// session's folder with the user's environment, and what they print goes to the model with the next message.

const (
	shellName = "!"          // what calls of the user are called
	ownKind   = "user_shell" // the entry of the journal that has one
	ownShown  = 256 << 10    // bytes of live output that are shown
	ownKept   = 30_000       // bytes of output that the model gets: half from the beginning, half from the end
)

// own is a command of the user's as the journal has it.
type own struct {
	Command  string        `json:"command"`
	Dir      string        `json:"dir"`
	Output   string        `json:"output"`
	ExitCode int           `json:"exit_code"`
	Canceled bool          `json:"canceled,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// part is what the model is told.
func (o own) part() llm.Part {
	how := fmt.Sprintf("exit code %d", o.ExitCode)
	if o.Canceled {
		how = "interrupted by the user"
	}
	text := "<user-command>\nThe user ran a command of their own in " + o.Dir + ":\n" + o.Command + "\nIt ended: " + how + ". It printed:\n" +
		strings.ReplaceAll(o.Output, "</user-command>", "&lt;/user-command>") + "\n</user-command>"
	return llm.Text{Text: text, Origin: llm.OriginCommand}
}

func (o own) call(id string) llm.ToolCall {
	input, _ := json.Marshal(map[string]string{"command": o.Command}) // strings always encode
	return llm.ToolCall{ID: id, Name: shellName, Input: input}
}

func (o own) end(id string) event.ToolEnd {
	call := o.call(id)
	return event.ToolEnd{
		Call: call, Title: o.Command, Duration: o.Duration,
		Result: llm.TextResult(call, o.Output, o.ExitCode != 0),
		View:   event.Command{Command: o.Command, Dir: o.Dir, Output: o.Output, ExitCode: o.ExitCode, Duration: o.Duration, Cancelled: o.Canceled},
	}
}

// own replays a command of the user's.
func (p *player) own(id string, b session.Unknown) {
	var o own
	if b.Name != ownKind || json.Unmarshal(b.JSON, &o) != nil {
		return
	}
	p.add(o.end("user_" + id))
	p.pending = append(p.pending, o.part())
}

// runShell runs a command of the user's and waits for its end.
func (c *Console) runShell(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return errors.New("give the command: !git status")
	}
	s := c.session()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := "user_" + uuid.NewString()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.shell[id] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.shell, id)
		c.mu.Unlock()
	}()
	o := own{Command: line, Dir: s.Dir()}
	c.publish(event.ToolStart{Call: o.call(id), Title: line, Preview: event.Command{Command: line, Dir: o.Dir}})
	began := time.Now()
	out := &tail{show: func(text string) { c.publish(event.ToolOutput{CallID: id, Text: text}) }}
	exit, err := c.inst.Runner().Run(ctx, sandbox.Spec{Argv: shellArgv(c.inst.ChildEnv(), line), Dir: o.Dir, Env: c.inst.ChildEnv(), Stdout: out, Stderr: out})
	o.Duration, o.ExitCode, o.Canceled = time.Since(began), exit.Code, exit.Cancelled
	if err != nil && ctx.Err() == nil {
		o.Output, o.ExitCode = "the command could not be started: "+err.Error(), -1
	} else {
		o.Output = out.text()
	}
	c.keepOwn(s, id, o)
	return nil
}

// keepOwn journals a command that ended, shows its end and hands it to the next message.
func (c *Console) keepOwn(s *app.Session, id string, o own) {
	body, err := json.Marshal(o)
	if err == nil {
		err = s.Record(func() error {
			_, err := s.Log().Add(context.Background(), session.Unknown{Name: ownKind, JSON: body})
			return err
		}, o.end(id))
	}
	if err != nil {
		c.notice("warning", "the command is not kept in the session: %v", err)
		c.publish(o.end(id))
	}
	c.mu.Lock()
	c.pending = append(c.pending, o.part())
	c.mu.Unlock()
}

// shellArgv runs a line with the user's shell where it is one that knows -c.
func shellArgv(environ []string, line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", line}
	}
	shell := "/bin/sh"
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "SHELL="); ok && strings.HasPrefix(v, "/") {
			shell = v
		}
	}
	return []string{shell, "-c", line}
}

// tail keeps the beginning and the end of an output of any length, and shows it while it comes.
type tail struct {
	show func(string)

	mu    sync.Mutex
	head  []byte
	end   []byte // of what follows the head, at most twice what is kept
	total int
	shown int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.total += len(p)
	rest := p
	if room := ownKept/2 - len(t.head); room > 0 {
		n := min(room, len(rest))
		t.head, rest = append(t.head, rest[:n]...), rest[n:]
	}
	t.end = append(t.end, rest...)
	if n := len(t.end) - ownKept/2; n > ownKept/2 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	show := ""
	if t.shown < ownShown {
		show = string(p)
		if t.shown += len(p); t.shown >= ownShown {
			show += "\n[more output follows; it is not shown]\n"
		}
	}
	t.mu.Unlock()
	if show != "" {
		t.show(show)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.end
	if n := len(end) - ownKept/2; n > 0 {
		end = end[n:]
	}
	left := t.total - len(t.head) - len(end)
	text := string(t.head)
	if left > 0 {
		text += fmt.Sprintf("\n[... %d bytes left out ...]\n", left)
	}
	return strings.ToValidUTF8(text+string(end), "\uFFFD")
}
