package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed todo.md
var todoDescription string

const todoSchema = `{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{` +
	`"content":{"type":"string","minLength":1},` +
	`"status":{"type":"string","enum":["pending","in_progress","completed"]},` +
	`"activeForm":{"type":"string"}},` +
	`"required":["content","status"]}}},` +
	`"required":["todos"]}`

// todoMax is how many tasks a list may have.
const todoMax = 200

// Todos is the task list of a session. Safe for concurrent use.
type Todos struct {
	mu    sync.Mutex
	items []event.TodoItem
	steps int // since the list was last replaced, or the model was reminded of it
}

// staleTodos is after how many steps without a change the model is reminded of open tasks.
const staleTodos = 10

// Remind is called before each step, and reminds the model of a list with open tasks that it does not update.
func (t *Todos) Remind(context.Context) ([]llm.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if countTodos(t.items, "pending")+countTodos(t.items, "in_progress") == 0 {
		return nil, nil
	}
	if t.steps++; t.steps <= staleTodos {
		return nil, nil
	}
	t.steps = 0
	var b strings.Builder
	fmt.Fprintf(&b, "<system-reminder>\nThe task list was not updated for %d steps:\n", staleTodos)
	for _, it := range t.items {
		fmt.Fprintf(&b, "- [%s] %s\n", it.Status, it.Content)
	}
	b.WriteString("Update it with TodoWrite if it is out of date, and go on. Do not mention this reminder.\n" +
		"</system-reminder>")
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: b.String(), Origin: llm.OriginReminder}}}}, nil
}

// Get returns the list.
func (t *Todos) Get() []event.TodoItem {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]event.TodoItem{}, t.items...)
}

// Set replaces the list and returns the old one.
func (t *Todos) Set(items []event.TodoItem) []event.TodoItem {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.items
	t.items, t.steps = append([]event.TodoItem{}, items...), 0
	return append([]event.TodoItem{}, old...)
}

type todoInput struct {
	Todos []event.TodoItem `json:"todos"`
}

// TodoName is the tool whose last call is the task list.
const TodoName = "TodoWrite"

var todoTool = call.Declaration{
	Name: TodoName,
	Aliases: []string{
		"todo", "todos", "set_todo_list", "manage_todo_list", "write_todos", "update_todos",
		"update_todo_list", "update_plan", "task_tracker",
	},
	Schema:   json.RawMessage(todoSchema),
	Params:   map[string]string{"todos": "items tasks plan todo_list task_list"},
	Ignored:  "merge=false operation=write operation=update action=write command=plan command=update",
	Mend:     mendTodos,
	Class:    permission.ClassNeutral,
	Accesses: call.Session("TodoWrite"),
}

func newTodoWrite(todos *Todos) agent.Tool {
	return newTool(todoTool, todoDescription, func(_ context.Context, _ llm.ToolCall, in todoInput) (*agent.Plan, error) {
		if err := checkTodos(in.Todos); err != nil {
			return nil, err
		}
		return &agent.Plan{
			Accesses: call.SessionOnly("TodoWrite"),
			Title:    todoTitle(in.Todos),
			Preview:  event.Todo{Items: in.Todos},
			Run:      func(context.Context) (*agent.Result, error) { return todos.update(in.Todos), nil },
		}, nil
	})
}

// checkTodos refuses lists that no front end could show.
func checkTodos(items []event.TodoItem) error {
	if len(items) > todoMax {
		return fmt.Errorf("the list has %d tasks; keep it below %d by leaving out finished ones", len(items), todoMax)
	}
	for i, it := range items {
		if strings.TrimSpace(it.Content) == "" {
			return fmt.Errorf("task %d has no content; say what is to be done", i+1)
		}
		switch it.Status {
		case "pending", "in_progress", "completed":
		default:
			return fmt.Errorf("task %d has the status %q; it must be pending, in_progress or completed", i+1, it.Status)
		}
	}
	return nil
}

func (t *Todos) update(items []event.TodoItem) *agent.Result {
	old := t.Set(items)
	text := "Task list updated: " + todoTitle(items) + "."
	if n := countTodos(items, "in_progress"); n > 1 {
		text += fmt.Sprintf(" %d tasks are in progress; have one at a time.", n)
	}
	r := agent.TextResult(text)
	r.Title, r.View = todoTitle(items), event.Todo{Items: items}
	r.Meta = map[string]any{"oldTodos": old, "newTodos": append([]event.TodoItem{}, items...)}
	return r
}

func todoTitle(items []event.TodoItem) string {
	if len(items) == 0 {
		return "no tasks"
	}
	return fmt.Sprintf("%d done, %d in progress, %d to do",
		countTodos(items, "completed"), countTodos(items, "in_progress"), countTodos(items, "pending"))
}

func countTodos(items []event.TodoItem, status string) int {
	n := 0
	for _, it := range items {
		if it.Status == status {
			n++
		}
	}
	return n
}
