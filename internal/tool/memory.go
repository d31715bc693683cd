package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

//go:embed memory.md
var memoryDescription string

type memoryInput struct {
	Command     string `json:"command" limits:"enum=save|read|search|forget"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Text        string `json:"text,omitempty"`
}

// MemoryName is the tool that keeps notes.
const MemoryName = "Memory"

// Reading notes touches nothing outside lathe's own folder; a note that is written or removed changes every later
// session, so it asks.
var memoryTool = call.Declaration{
	Name:    MemoryName,
	Aliases: []string{"save_memory", "memory_tool"},
	Input:   schemaOf[memoryInput](),
	Params:  map[string]string{"command": "action operation", "text": "content note fact query", "name": "title id"},
	Accesses: call.Typed(func(in memoryInput, _ call.Place) ([]permission.Access, error) {
		return memoryAccesses(in), nil
	}),
}

func memoryAccesses(in memoryInput) []permission.Access {
	if in.Command == "read" || in.Command == "search" {
		return call.SessionOnly(MemoryName)
	}
	return []permission.Access{{Kind: permission.Tool, Target: MemoryName}}
}

func newMemory(notes *memory.Store) agent.Tool {
	return newTool(memoryTool, memoryDescription, func(_ context.Context, _ llm.ToolCall, in memoryInput) (*agent.Plan,
		error,
	) {
		if notes == nil {
			return nil, errors.New("there is no memory in this session: autoMemoryEnabled is off, or there is no place to " +
				"keep it. Go on without, and tell the user if something was to be kept")
		}
		plan := &agent.Plan{
			Accesses: memoryAccesses(in), Title: strings.TrimSpace(in.Command + " " + in.Name),
			Run: func(context.Context) (*agent.Result, error) { return runMemory(notes, in) },
		}
		if in.Command == "save" {
			plan.Preview = event.TextView{Text: in.Description + "\n\n" + in.Text, Summary: in.Name}
		}
		return plan, nil
	})
}

// searchLimit is how many notes a search returns.
const searchLimit = 5

func runMemory(notes *memory.Store, in memoryInput) (*agent.Result, error) {
	switch in.Command {
	case "save":
		n, replaced, err := notes.Save(memory.Note{Name: in.Name, Description: in.Description, Text: in.Text})
		if err != nil {
			return nil, err
		}
		if replaced {
			return memoryResult(n, "Replaced "+n.Name+"."), nil
		}
		return memoryResult(n, "Saved "+n.Name+"."), nil
	case "forget":
		n, err := notes.Forget(in.Name)
		if err != nil {
			return nil, err
		}
		return memoryResult(n, "Forgot "+n.Name+"."), nil
	case "read":
		n, err := notes.Get(in.Name)
		if err != nil {
			return nil, err
		}
		return memoryResult(n, noteText(n)), nil
	}
	return searchNotes(notes, strings.TrimSpace(in.Text+" "+in.Name)), nil
}

func searchNotes(notes *memory.Store, question string) *agent.Result {
	texts, names := []string{}, []string{}
	for _, n := range notes.Search(question, searchLimit) {
		texts, names = append(texts, noteText(n)), append(names, n.Name)
	}
	text := strings.Join(texts, "\n\n")
	if text == "" {
		text = "No note is about that."
	}
	r := agent.TextResult(text)
	r.Title, r.View = "search "+question, event.TextView{Text: text, Summary: fmt.Sprintf("%d notes", len(names))}
	r.Meta = map[string]any{"notes": names}
	return r
}

func noteText(n memory.Note) string {
	return fmt.Sprintf("%s (%s): %s\n%s", n.Name, n.Modified.Format(time.DateOnly), n.Description, n.Text)
}

func memoryResult(n memory.Note, text string) *agent.Result {
	r := agent.TextResult(text)
	r.Title, r.View = n.Name, event.TextView{Text: n.Text, Summary: n.Description}
	r.Meta = map[string]any{"notes": []string{n.Name}}
	return r
}
