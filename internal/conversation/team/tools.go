package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Coordinator is the name of the agent that splits the goal.
const Coordinator = "coordinator"

const (
	createSchema = `{"type":"object","properties":{"title":{"type":"string","minLength":1},"prompt":{"type":"string","minLength":1,"description":"All that the worker needs: it knows nothing else"},"after":{"type":"array","items":{"type":"integer"},"description":"Ids of tasks whose work this one builds on"}},"required":["title","prompt"]}`
	updateSchema = `{"type":"object","properties":{"id":{"type":"integer"},"status":{"type":"string","enum":["pending","canceled"],"description":"pending: do it again"},"prompt":{"type":"string"},"note":{"type":"string"}},"required":["id"]}`
	listSchema   = `{"type":"object","properties":{}}`
	sendSchema   = `{"type":"object","properties":{"to":{"type":"string","description":"coordinator, or worker-N for task N"},"message":{"type":"string","minLength":1}},"required":["to","message"]}`
)

// Declarations are the tools of a team's agents, beside SendMessage, which is declared for all. They are there only
// while a team works.
func Declarations() []call.Declaration {
	declare := func(name, schema string, class permission.Class) call.Declaration {
		return call.Declaration{Name: name, Schema: json.RawMessage(schema), Class: class, Accesses: call.Session(name)}
	}
	return []call.Declaration{
		declare("TaskCreate", createSchema, permission.ClassNeutral), declare("TaskUpdate", updateSchema,
			permission.ClassNeutral),
		declare("TaskList", listSchema, permission.ClassNeutral),
	}
}

// Tools are the tools of one agent of the team; owner is its chain, one line for each agent.
func (r *Runner) Tools(owner string) []agent.Tool {
	me := nameOf(owner)
	if me == "" {
		return nil
	}
	return []agent.Tool{
		tool("TaskCreate", createSchema, "Adds a task to the team's board. A worker does it in a worktree of its own that "+
			"begins with the merged work of the tasks it comes after.", func(ctx context.Context, in createInput) (string,
			error,
		) {
			if me != Coordinator {
				return "", errors.New("only the coordinator makes tasks; send it a message")
			}
			t := Task{Title: in.Title, Prompt: in.Prompt, After: in.After}
			if r.Created != nil {
				if err := r.Created(ctx, t); err != nil {
					return "", err
				}
			}
			t, err := r.Board.Create(t)
			return fmt.Sprintf("Task %d: %s", t.ID, t.Title), err
		}),
		tool("TaskUpdate", updateSchema, "Changes a task of the team's board: a worker adds a note to its own, the "+
			"coordinator also has one done again (pending), or cancels it.", func(_ context.Context, in updateInput) (string,
			error,
		) {
			_, err := r.Board.Update(in.ID, func(t *Task) error { return in.apply(me, t) })
			return fmt.Sprintf("Task %d is updated.", in.ID), err
		}),
		tool("TaskList", listSchema, "Lists the tasks of the team's board with their state.",
			func(context.Context, struct{}) (string, error) {
				s, err := r.Board.State()
				return s.list(), err
			}),
		tool("SendMessage", sendSchema, "Sends a message to another agent of the team, which gets it before its next step.",
			func(ctx context.Context, in sendInput) (string, error) {
				return "Sent.", r.send(ctx, Message{From: me, To: in.To, Text: in.Message})
			}),
	}
}

type createInput struct {
	Title  string `json:"title"`
	Prompt string `json:"prompt"`
	After  []int  `json:"after"`
}

type updateInput struct {
	ID     int    `json:"id"`
	Status Status `json:"status"`
	Prompt string `json:"prompt"`
	Note   string `json:"note"`
}

type sendInput struct {
	To      string `json:"to"`
	Message string `json:"message"`
}

func (in updateInput) apply(me string, t *Task) error {
	if me != Coordinator && (me != t.Worker() || in.Status != "" || in.Prompt != "") {
		return errors.New("a worker only adds a note to its own task; send the coordinator a message")
	}
	if in.Status != "" {
		if t.Status == Working || t.Status == Done {
			return fmt.Errorf("task %d is %s and stays so", t.ID, t.Status)
		}
		t.Status, t.Note = in.Status, ""
	}
	if in.Prompt != "" {
		t.Prompt = in.Prompt
	}
	if in.Note != "" {
		t.Note = in.Note
	}
	return nil
}

// nameOf is the name in the team of the agent with a chain; "" for others.
func nameOf(owner string) string {
	lines := strings.Split(owner, "\n")
	_, name, _ := strings.Cut(lines[0], "/")
	if name, ok := strings.CutPrefix(name, callPrefix); ok {
		return name
	}
	return ""
}

// callPrefix begins the ids of the calls that start the team's agents.
const callPrefix = "team-"

func tool[In any](name, schema, description string, run func(context.Context, In) (string, error)) agent.Tool {
	spec := llm.ToolSpec{Name: name, Description: description, Schema: json.RawMessage(schema), Closed: true}
	return agent.NewTool(spec, func(_ context.Context, _ llm.ToolCall, in In) (*agent.Plan, error) {
		return &agent.Plan{Accesses: call.SessionOnly(name), Title: name, Run: func(ctx context.Context) (*agent.Result,
			error,
		) {
			text, err := run(ctx, in)
			if err != nil {
				return nil, err
			}
			return agent.TextResult(text), nil
		}}, nil
	})
}

// list describes the tasks, one per line.
func (s State) list() string {
	if len(s.Tasks) == 0 {
		return "There are no tasks yet."
	}
	var b strings.Builder
	for _, t := range s.Tasks {
		fmt.Fprintf(&b, "%d. %s: %s", t.ID, t.Title, t.Status)
		if len(t.After) > 0 {
			fmt.Fprintf(&b, ", after %s", strings.Trim(fmt.Sprint(t.After), "[]"))
		}
		if t.Note != "" {
			fmt.Fprintf(&b, " (%s)", t.Note)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// send keeps a message and hands it to its receiver, if that is at work.
func (r *Runner) send(ctx context.Context, m Message) error {
	s, err := r.Board.State()
	if err != nil {
		return err
	}
	known := m.To == Coordinator || slices.ContainsFunc(s.Tasks, func(t Task) bool { return t.Worker() == m.To })
	if !known {
		return fmt.Errorf("there is no agent %q in this team: the coordinator is %s, the worker of task N is worker-N", m.To,
			Coordinator)
	}
	m.Time = time.Now().Round(time.Second)
	if err := r.Board.Send(m); err != nil {
		return err
	}
	r.report(News{Kind: "message", Message: &m, Text: m.From + " to " + m.To + ": " + m.Text})
	return nil
}
