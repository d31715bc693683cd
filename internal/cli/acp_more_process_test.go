//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/acp/acptest"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// The model's own questions are a form where the editor has forms, else one choice after the other.
func TestQuestionsOfTheModelInAnEditor(t *testing.T) {
	ask := llmtest.Tool("AskUserQuestion", object{"questions": []any{
		object{"question": "Which colour?", "header": "Colour", "options": []any{
			object{"label": "red", "description": "warm"}, object{"label": "blue", "description": "cold"},
		}},
		object{"question": "Which sizes?", "header": "Size", "multiSelect": true, "options": []any{
			object{"label": "small", "description": "s"}, object{"label": "large", "description": "l"},
		}},
	}})
	for name, capabilities := range map[string]object{"form": {"elicitation": object{"form": object{}}}, "choices": {}} {
		t.Run(name, func(t *testing.T) {
			p := newJobsPlace(t)
			p.serve(llmtest.Replies(llmtest.Say(ask), llmtest.Say(llmtest.Text("done"))))
			e := p.editor(t, "v1")
			e.form = func(params json.RawMessage) object {
				if !strings.Contains(string(params), "Which colour?") {
					t.Errorf("%s", params)
				}
				return object{"action": "accept", "content": object{"q1": "1", "q2": []any{"0", "1"}}}
			}
			e.initialize(t, capabilities)
			if stop := e.prompt(t, e.session(t), "ask"); stop != "end_turn" {
				t.Errorf("%s", stop)
			}
			last := p.srv.Requests()
			body := string(last[len(last)-1].Body)
			want := "blue"
			if name == "choices" {
				want = "red" // the first option
			}
			if !strings.Contains(body, want) || name == "form" && !strings.Contains(body, "small, large") ||
				name == "form" && len(e.questions()) > 0 {
				t.Errorf("%v\n%s", e.questions(), body)
			}
		})
	}
}

// The MCP servers of the editor reach the session, and their secrets no command line.
func TestTheServersOfAnEditor(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.initialize(t, object{})
	var opened struct{ SessionID string }
	servers := []any{object{
		"name": "mine", "command": p.lathe, "args": []any{"mcp", "serve", "--no-agent"},
		"env": []any{object{"name": "TOKEN", "value": "sk-very-secret-1234"}},
	}}
	e.must(t, "session/new", object{"cwd": p.dir, "mcpServers": servers}, &opened)
	if !await.Until(func() bool { // servers start beside the session
		e.Forget()
		return e.prompt(t, opened.SessionID, "/mcp") == "end_turn" &&
			strings.Contains(e.Text("agent_message_chunk"), "`mine` `connected`")
	}) {
		t.Errorf("the server is not there: %s", e.Text("agent_message_chunk"))
	}
	j, err := p.Find(opened.SessionID)
	if err != nil || strings.Contains(strings.Join(j.Args, " "), "sk-very-secret") {
		t.Errorf("%+v %v", j, err)
	}
	if st, err := os.Stat(filepath.Join(p.Folder(j.ID), "mcp.json")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	for _, wrong := range []object{
		{"name": "", "command": "x", "args": []any{}, "env": []any{}},
		{"name": "x", "command": "", "args": []any{}, "env": []any{}},
	} {
		err := e.Call(t.Context(), "session/new", object{"cwd": p.dir, "mcpServers": []any{wrong}}, nil)
		if codeOf(err) != -32602 {
			t.Errorf("%v", err)
		}
	}
}

// A folder is asked about once, and only if its settings could do harm.
func TestAnEditorAsksWhetherAFolderIsTrusted(t *testing.T) {
	p := newJobsPlace(t)
	settings := filepath.Join(p.dir, ".lathe", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	hooks := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch ran"}]}]}}`
	if err := os.WriteFile(settings, []byte(hooks), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.editor(t, "v1")
	e.choose = "allow_always"
	e.initialize(t, object{})
	id := e.session(t)
	e.untilAsked(t, 1)
	call, _ := json.Marshal(e.questions()[0]["toolCall"])
	if !strings.Contains(string(call), "Trust this folder?") || !strings.Contains(string(call), "touch ran") {
		t.Errorf("%s", call)
	}
	e.prompt(t, id, "hello")
	if !await.Until(func() bool { _, err := os.Stat(filepath.Join(p.dir, "ran")); return err == nil }) {
		t.Error("the hook of the trusted folder does not run")
	}
	again := e.session(t)
	e.prompt(t, again, "hello")
	if n := len(e.questions()); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// A terminal answers a question of an editor's session, and its prompt shows there.
func TestATerminalAtASessionOfAnEditor(t *testing.T) {
	p := newJobsPlace(t)
	e := p.editor(t, "v1")
	e.choose = ""
	e.initialize(t, object{})
	id := e.session(t)
	wait := e.Begin("session/prompt", say(id, "ask me"))
	if !await.Until(func() bool { return len(e.questions()) == 1 }) {
		t.Fatal("nothing is asked")
	}
	j, err := p.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	f := p.face(t, j.ID, port.Face{Kind: "terminal"})
	c, err := f.Read(t.Context(), port.ReadRequest{What: "questions"})
	if err != nil || len(c.Questions) != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	asked := c.Questions[0].Body.(event.Asked)
	err = f.Answer(t.Context(), port.Answer{Session: id, ID: asked.ID, Answer: event.Answer{Choice: event.ChoiceOnce}})
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if _, err := f.Prompt(t.Context(), promptOf("from the terminal")); err != nil {
		t.Fatal(err)
	}
	e.Until(func(u acptest.Update) bool { return u.Kind == "user_message_chunk" && u.Text() == "from the terminal" })
}

// What is not stable yet: copies, titles, and what agents do.
func TestUnstablePartsOfTheProtocol(t *testing.T) {
	p := newJobsPlace(t)
	if err := os.WriteFile(filepath.Join(p.dir, "marker.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.serve(llmtest.Replies(
		llmtest.Reply{When: &llmtest.When{Result: "it is finished"}, Parts: []llmtest.Part{llmtest.Text("done")}},
		llmtest.Reply{When: &llmtest.When{Result: "marker.txt"}, Parts: []llmtest.Part{llmtest.Text("it is finished")}},
		llmtest.Reply{When: &llmtest.When{Contains: "delegate"}, Parts: []llmtest.Part{
			llmtest.Tool("Task", object{"description": "look", "prompt": "list it", "subagent_type": "explore"}),
		}},
		llmtest.Reply{When: &llmtest.When{Contains: "list it"}, Parts: []llmtest.Part{
			llmtest.Tool("Glob", object{"pattern": "*"}),
		}},
	))
	e := p.editor(t, "v1.unstable")
	e.initialize(t, object{"subagents": object{}})
	id := e.session(t)
	if stop := e.prompt(t, id, "delegate"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
	e.Until(func(u acptest.Update) bool { return u.Kind == "subagent_update" })
	var titled, fork object
	e.must(t, "session/set_title", object{"sessionId": id, "title": "a new title"}, &titled)
	e.Until(func(u acptest.Update) bool { return u.Kind == "session_info_update" && u.Raw["title"] == "a new title" })
	e.must(t, "session/fork", object{"sessionId": id, "cwd": p.dir, "mcpServers": []any{}}, &fork)
	if fork["sessionId"] == id || fork["sessionId"] == "" {
		t.Errorf("%v", fork)
	}
}

func promptOf(text string) port.Prompt { return port.Prompt{Message: llm.UserText(text)} }

// The task list is the plan of the editor; a change is a diff; usage has a cost; a notice is one.
func TestUpdatesOfATurnInAnEditor(t *testing.T) {
	p := newJobsPlace(t)
	p.serve(llmtest.Replies(
		llmtest.Say(llmtest.Tool("TodoWrite", object{"todos": []any{
			object{"content": "look", "status": "completed", "activeForm": "looking"},
			object{"content": "write", "status": "in_progress", "activeForm": "writing"},
		}})),
		llmtest.Say(llmtest.Tool("Write", object{"file_path": "new.txt", "content": "one\n"})),
		llmtest.Say(llmtest.Text("done")),
	))
	e := p.editor(t, "v1")
	e.initialize(t, object{"session": object{"notices": object{}, "compaction": object{}}})
	id := e.session(t)
	if stop := e.prompt(t, id, "go and look at @no/such/file.txt"); stop != "end_turn" {
		t.Errorf("%s", stop)
	}
	e.Until(func(u acptest.Update) bool {
		entries, _ := u.Raw["entries"].([]any)
		return u.Kind == "plan" && len(entries) == 2 && entries[1].(object)["status"] == "in_progress"
	})
	e.Until(func(u acptest.Update) bool {
		content, _ := json.Marshal(u.Raw["content"])
		return u.Raw["status"] == "completed" && strings.Contains(string(content), `"newText":"one\n"`) &&
			strings.Contains(string(content), filepath.Join(p.dir, "new.txt"))
	})
	e.Until(func(u acptest.Update) bool { return u.Kind == "usage_update" && u.Raw["used"].(float64) > 0 })
	e.Until(func(u acptest.Update) bool { return u.Kind == "notice" && u.Raw["severity"] == "warning" })
	e.prompt(t, id, "/compact --force")
	e.Until(func(u acptest.Update) bool { return u.Kind == "compaction_update" })
}
