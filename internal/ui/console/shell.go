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

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// User commands ("!ls"). No permission rule applies to them. They run in the session's folder with the user's
// environment; their output goes to the model with the next message.

const (
	shellName      = "!"          // tool name of user commands
	userShellKind  = "user_shell" // kind of their journal entry
	userShellShown = 256 << 10    // bytes of live output that are shown
	userShellKept  = 30_000       // bytes of output that the model gets: half from the beginning, half from the end
)

// userCommand is a user command as recorded in the journal.
type userCommand struct {
	Command  string        `json:"command"`
	Dir      string        `json:"dir"`
	Output   string        `json:"output"`
	ExitCode int           `json:"exit_code"`
	Canceled bool          `json:"canceled,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// part is the text for the model.
func (o userCommand) part() llm.Part {
	how := fmt.Sprintf("exit code %d", o.ExitCode)
	if o.Canceled {
		how = "interrupted by the user"
	}
	text := "<user-command>\nThe user ran a command of their own in " + o.Dir + ":\n" + o.Command + "\nIt ended: " + how +
		". It printed:\n" +
		strings.ReplaceAll(o.Output, "</user-command>", "&lt;/user-command>") + "\n</user-command>"
	return llm.Text{Text: text, Origin: llm.OriginCommand}
}

func (o userCommand) call(id string) llm.ToolCall {
	input, _ := json.Marshal(map[string]string{"command": o.Command}) // strings always encode
	return llm.ToolCall{ID: id, Name: shellName, Input: input}
}

func (o userCommand) end(id string) event.ToolEnd {
	call := o.call(id)
	return event.ToolEnd{
		Call: call, Title: o.Command, Duration: o.Duration,
		Result: llm.TextResult(call, o.Output, o.ExitCode != 0),
		View: event.Command{
			Command: o.Command, Dir: o.Dir, Output: o.Output, ExitCode: o.ExitCode, Duration: o.Duration,
			Cancelled: o.Canceled,
		},
	}
}

// userCommand replays a user command.
func (p *player) userCommand(id string, b session.Unknown) {
	var o userCommand
	if b.Name != userShellKind || json.Unmarshal(b.JSON, &o) != nil {
		return
	}
	p.add(o.end("user_" + id))
	p.pending = append(p.pending, o.part())
}

// runShell runs a user command and waits for its end.
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
	o := userCommand{Command: line, Dir: s.Dir()}
	c.publish(event.ToolStart{Call: o.call(id), Title: line, Preview: event.Command{Command: line, Dir: o.Dir}})
	began := time.Now()
	out := &tail{show: func(text string) { c.publish(event.ToolOutput{CallID: id, Text: text}) }}
	masked := c.inst.Secrets().Writer(out)
	exit, err := c.inst.Runner().Run(ctx, sandbox.Spec{
		Argv: shellArgv(c.inst.ChildEnv(), line), Dir: o.Dir,
		Env: c.inst.ChildEnv(), Stdout: masked, Stderr: masked,
	})
	o.Duration, o.ExitCode, o.Canceled = time.Since(began), exit.Code, exit.Cancelled
	if err != nil && ctx.Err() == nil {
		o.Output, o.ExitCode = "the command could not be started: "+err.Error(), -1
	} else {
		o.Output = out.text()
	}
	c.journalUserCommand(s, id, o)
	return nil
}

// journalUserCommand journals a command that ended, publishes its end and adds it to the next message.
func (c *Console) journalUserCommand(s *conversation.Session, id string, o userCommand) {
	body, err := json.Marshal(o)
	if err == nil {
		err = s.Record(func() error {
			_, err := s.Log().Add(context.Background(), session.Unknown{Name: userShellKind, JSON: body})
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

// shellArgv runs a line with the user's shell if that supports -c.
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

// tail keeps the beginning and the end of an output of any length, and publishes it as it arrives.
type tail struct {
	show func(string)

	mu    sync.Mutex
	head  []byte
	end   []byte // of the output after the head, at most twice the size kept
	total int
	shown int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.total += len(p)
	rest := p
	if room := userShellKept/2 - len(t.head); room > 0 {
		n := min(room, len(rest))
		t.head, rest = append(t.head, rest[:n]...), rest[n:]
	}
	t.end = append(t.end, rest...)
	if n := len(t.end) - userShellKept/2; n > userShellKept/2 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	show := ""
	if t.shown < userShellShown {
		show = string(p)
		if t.shown += len(p); t.shown >= userShellShown {
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
	if n := len(end) - userShellKept/2; n > 0 {
		end = end[n:]
	}
	left := t.total - len(t.head) - len(end)
	text := string(t.head)
	if left > 0 {
		text += fmt.Sprintf("\n[... %d bytes left out ...]\n", left)
	}
	return strings.ToValidUTF8(text+string(end), "\uFFFD")
}
