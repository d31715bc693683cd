package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// task runs in the background.
type task struct {
	ID      string
	Title   string
	State   string // in words
	Running bool
	Output  string // a file with its output, once it has ended
	Agent   bool
	Detail  string // of an agent: its last calls, or its answer
}

func tasks(ctx context.Context, h *Host, args string) (event.Output, error) {
	if id, ok := strings.CutPrefix(args, "end "); ok {
		t, err := endTask(ctx, h.Session(), strings.TrimSpace(id))
		if err != nil {
			return event.Output{}, err
		}
		return text("%s is ended: %s, %s.", t.ID, code(t.Title), t.State), nil
	}
	if rest, ok := strings.CutPrefix(args, "tell "); ok {
		id, message, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if message = strings.TrimSpace(message); message == "" {
			return event.Output{Insert: "/tasks tell " + id + " "}, nil
		}
		return done(h.Session().Env().Agents.Tasks.Steer(ctx, id, llm.UserText(message)),
			"The agent gets the message at its next step.")
	}
	id, back := args, "tasks"
	if rest, ok := strings.CutPrefix(args, "watch "); ok {
		id, back = strings.TrimSpace(rest), ""
	}
	if id != "" {
		if out, ok := agentPage(h, id, back); ok {
			return out, nil
		}
	}
	p := taskPick("tasks")
	for _, t := range tasksOf(h.Session()) {
		if args != "" && t.ID == args {
			return taskOutput(t)
		}
		p.Items = append(p.Items, taskItem(t))
	}
	if args != "" {
		return event.Output{}, fmt.Errorf("there is no task %q; /tasks lists them", args)
	}
	return event.Output{Pick: p}, nil
}

// taskPick is an empty list of tasks, which the command line returns again.
func taskPick(again string) *event.Pick {
	return &event.Pick{
		Title: "In the background", Command: "tasks", Empty: "Nothing runs in the background.", Live: again,
		Actions: []event.PickAction{
			{Key: "ctrl+d", Label: "end", Command: "tasks end", Refresh: again},
			{Key: "ctrl+t", Label: "message", Command: "tasks tell", Ask: "Message to the agent"},
		},
	}
}

// taskItem has no time: beside one the label takes all the room, and the state, which has the duration, matters more.
func taskItem(t task) event.PickItem {
	label, preview := t.ID+" "+short(t.Title, 100), t.Title
	if t.Agent {
		label, preview = short(t.Title, 100), t.Title+"\n"+t.Detail
	}
	return event.PickItem{ID: t.ID, Label: label, Detail: t.State, Current: t.Running, Preview: fenced("", preview)}
}

// mostShown limits how much of the end of a task's output is shown, in bytes.
const mostShown = 16 << 10

// taskOutput shows a task's state, and the end of its output once it has ended.
func taskOutput(t task) (event.Output, error) {
	if t.Output == "" {
		return text("%s: %s, %s.", t.ID, code(t.Title), t.State), nil
	}
	output, err := tail(t.Output, mostShown)
	if err != nil {
		return event.Output{}, fmt.Errorf("the output of %s cannot be read: %w", t.ID, err)
	}
	return event.Output{
		Text: fmt.Sprintf("%s: %s, %s. All of the output is in %s.\n\n%s", t.ID, code(t.Title), t.State, code(t.Output),
			fenced("", output)),
	}, nil
}

// tail returns the end of a file, at most limit bytes, in whole lines where possible.
func tail(file string, limit int64) (_ string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-limit, 0)
	data := make([]byte, min(info.Size(), limit))
	if _, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	out := string(data)
	if _, rest, ok := strings.Cut(out, "\n"); ok && from > 0 {
		out = "…\n" + rest
	}
	return strings.ToValidUTF8(out, "\uFFFD"), nil
}

// TaskLine describes a background command in one line.
func TaskLine(now tool.BackgroundShell) string {
	return fmt.Sprintf("%s, %s, %s", now.Command, state(now), now.Duration.Round(time.Second))
}

func state(now tool.BackgroundShell) string {
	if now.Status == tool.ShellRunning {
		return "runs"
	}
	return fmt.Sprintf("%s, exit code %d", now.Status, now.ExitCode)
}

// tasksOf returns the commands in the background and the agents, also those that a call waits for.
func tasksOf(s *conversation.Session) []task {
	var out []task
	for _, now := range s.Env().Background.List() {
		out = append(out, task{
			ID: now.ID, Title: now.Command, State: state(now) + ", " + now.Duration.Round(time.Second).String(),
			Running: now.Status == tool.ShellRunning, Output: now.Output,
		})
	}
	for _, now := range s.Env().Agents.Tasks.List() {
		out = append(out, agentTask(now, s.Env().Agents.Tasks.Messages(now.ID)))
	}
	return out
}

// agentTask describes an agent, with its last calls while it works and its answer then.
func agentTask(now subagent.State, messages []llm.Message) task {
	t := task{
		ID: now.ID, Title: now.Kind + ": " + now.Title, State: now.String(), Running: now.Working(), Agent: true,
		Detail: now.Answer,
	}
	if now.Working() {
		t.Detail = strings.Join(tool.AgentCalls(messages, 20), "\n")
	}
	return t
}

func endTask(ctx context.Context, s *conversation.Session, id string) (task, error) {
	now, err := s.Env().Agents.Tasks.Stop(ctx, id)
	if !errors.Is(err, subagent.ErrNoTask) {
		return agentTask(now, nil), err
	}
	shell, err := s.Env().Background.Kill(ctx, id)
	return task{ID: shell.ID, Title: shell.Command, State: state(shell)}, err
}
