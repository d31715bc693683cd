package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// agentFile is the file of a kind of agent with its own server.
func agentFile(t *testing.T, server map[string]any, more string) string {
	return "---\nname: helper\ndescription: Helps.\nmcpServers:\n  - own: " + object(t, server) + "\n  - other\n" + more +
		"---\nYou help.\n"
}

// askHelper has the main conversation start a helper, whose first reply is the given one.
func askHelper(first llmtest.Reply) *llmtest.Script {
	s := llmtest.Replies(
		llmtest.Say(llmtest.Tool("Task", map[string]any{
			"description": "help", "prompt": "help me",
			"subagent_type": "helper",
		})),
		first,
		llmtest.Say(llmtest.Text("It says hello.")),
		llmtest.Say(llmtest.Text("Done.")),
	)
	s.Order = "arrival"
	return s
}

func echo() llmtest.Reply {
	return llmtest.Say(llmtest.Tool("mcp__own__echo", map[string]any{"text": "hello"}))
}

// prompt runs a turn and returns the texts of the notices.
func prompt(t *testing.T, s *conversation.Session) string {
	t.Helper()
	sub := s.Subscribe(t.Context())
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	said := ""
	for e := range sub.All(t.Context()) {
		if n, ok := e.Body.(event.Notice); ok {
			said += n.Text + "\n"
		}
		if _, ok := e.Body.(event.TurnEnd); ok && len(e.Agent) == 0 {
			break
		}
	}
	return said
}

func allowOwn(o *conversation.Options) { o.Allowed = []string{"mcp__own"} }

func TestAServerOfAnAgentIsForThatAgentAloneAndEndsWithIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test asks for a process by its id")
	}
	f := newFolder(t, askHelper(echo()))
	server := self("official")
	pidFile := filepath.Join(f.home, "pid")
	server["args"] = []string{"-c", `echo $$ > "` + pidFile + `"; exec "` + os.Args[0] + `"`}
	server["command"] = "sh"
	f.write(t, ".claude/agents/helper.md", agentFile(t, server, ""))
	s := f.open(t, allowOwn, conversation.SessionOptions{})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	if body := f.request(t, 1); strings.Contains(body, "mcp__own") {
		t.Error("the main conversation has the server of an agent")
	}
	if body := f.request(t, 2); !strings.Contains(body, `"mcp__own__echo"`) {
		t.Errorf("the agent has not got the tools of its server:\n%.3000s", body)
	}
	if body := f.request(t, 3); !strings.Contains(body, "echo: hello") {
		t.Errorf("the tool gave no result:\n%s", body[max(0, len(body)-1500):])
	}
	if body := f.request(t, 4); strings.Contains(body, `"name":"mcp__own`) {
		t.Error("the main conversation got the server when the agent ended")
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return !running(pid) })
}

func running(pid int) bool { return exec.Command("kill", "-0", strconv.Itoa(pid)).Run() == nil }

// A list of tools limits the server too, and names it as a rule does.
func TestTheListOfAnAgentsToolsHoldsForItsOwnServer(t *testing.T) {
	for tools, has := range map[string]bool{
		"Read": false, "Read, mcp__own": true, "Read, mcp__own__*": true,
		"Read, mcp__own__env": false,
	} {
		f := newFolder(t, askHelper(echo()))
		f.write(t, ".claude/agents/helper.md", agentFile(t, self("official"), "tools: "+tools+"\n"))
		prompt(t, f.open(t, allowOwn, conversation.SessionOptions{}))
		if got := strings.Contains(f.request(t, 2), `"mcp__own__echo"`); got != has {
			t.Errorf("tools: %s: the request has the tool: %v", tools, got)
		}
		if got := strings.Contains(f.request(t, 3), "echo: hello"); got != has {
			t.Errorf("tools: %s: the call ran: %v", tools, got)
		}
	}
}

func TestAServerOfAProjectsAgentWaitsForApprovalOfItsContent(t *testing.T) {
	f := newFolder(t, askHelper(echo()))
	f.write(t, "project/.claude/agents/helper.md", agentFile(t, self("official"), ""))
	said := prompt(t, f.open(t, allowOwn, conversation.SessionOptions{}))
	if !strings.Contains(said, "lathe mcp approve helper/own") || strings.Contains(f.request(t, 2), "mcp__own") {
		t.Errorf("a server of the project's agent ran without an approval; notices:\n%s", said)
	}

	inst := f.instance(t, nil)
	list, faults := inst.Servers().OfAgents()
	if len(list) != 1 || list[0].Name != "helper/own" || list[0].State != mcp.Unapproved || len(faults) > 0 {
		t.Fatalf("%+v %v", list, faults)
	}
	if err := inst.Servers().Approve("helper/own"); err != nil {
		t.Fatal(err)
	}
	f.serve(t, askHelper(echo()))
	said = prompt(t, f.open(t, allowOwn, conversation.SessionOptions{}))
	if body := f.request(t, 3); strings.Contains(said, "approve") || !strings.Contains(body, "echo: hello") {
		t.Errorf("an approved server did not run: %s\n%s", said, body[max(0, len(body)-1500):])
	}

	f.write(t, "project/.claude/agents/helper.md", agentFile(t, self("official", "MORE=1"), ""))
	f.serve(t, askHelper(echo()))
	if said = prompt(t, f.open(t, allowOwn, conversation.SessionOptions{})); !strings.Contains(said,
		"lathe mcp approve helper/own") {
		t.Errorf("another entry counts as approved: %s", said)
	}
}

// Two agents of a kind that begin at once ask once.
func TestAPersonApprovesAServerOfAProjectsAgentOnce(t *testing.T) {
	task := func() llmtest.Part {
		return llmtest.Tool("Task", map[string]any{"description": "help", "prompt": "help me", "subagent_type": "helper"})
	}
	script := llmtest.Replies(llmtest.Say(task(), task()))
	script.Order = "arrival"
	f := newFolder(t, script)
	f.write(t, "project/.claude/agents/helper.md", agentFile(t, self("official"), ""))
	inst := f.instance(t, allowOwn)
	s, err := inst.NewSession(t.Context(), conversation.SessionOptions{Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sub := s.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Prompt(t.Context(), llm.UserText("go"))
		done <- err
	}()
	asked := 0
	for e := range sub.All(t.Context()) {
		if q, ok := e.Body.(event.Asked); ok {
			if asked++; !strings.Contains(q.Question.Title, "own") || !strings.Contains(q.Question.Title, "helper") ||
				!strings.Contains(q.Question.Text, os.Args[0]) {
				t.Errorf("%+v", q.Question)
			}
			if err := inst.Answer(e.Session, q.ID, event.Answer{Choice: "start"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := e.Body.(event.TurnEnd); ok && len(e.Agent) == 0 {
			break
		}
	}
	if err := <-done; err != nil || asked != 1 {
		t.Fatalf("%d questions, %v", asked, err)
	}
	got := 0
	for _, r := range f.srv.Requests() {
		if strings.Contains(string(r.Body), `"mcp__own__echo"`) {
			got++
		}
	}
	if got != 2 {
		t.Errorf("%d agents got the tools of the server", got)
	}
}

// The main conversation has the servers of its kind as long as it is of that kind.
func TestTheMainConversationHasTheServersOfItsKind(t *testing.T) {
	f := newFolder(t, llmtest.Replies())
	f.write(t, ".claude/agents/helper.md", agentFile(t, self("official"), ""))
	s := f.open(t, allowOwn, conversation.SessionOptions{})
	has := func() bool { return strings.Contains(strings.Join(s.Tools(), " "), "mcp__own__echo") }
	for i, name := range []string{"helper", "default", "helper"} {
		if err := s.SetAgent(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		prompt(t, s)
		if has() != (name == "helper") {
			t.Errorf("%d: as %s the conversation has the tools: %v", i, name, has())
		}
	}
}

func TestAServerOfAnAgentRunsInTheAgentsWorktree(t *testing.T) {
	f := newFolder(t, askHelper(llmtest.Say(llmtest.Tool("mcp__own__env", map[string]any{"text": ""}))))
	if err := os.RemoveAll(filepath.Join(f.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	f.write(t, "project/a.txt", "a\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {
		"-c", "user.name=a", "-c", "user.email=a@b.c",
		"commit", "-qm", "a",
	}} {
		if out, err := exec.Command("git", append([]string{"-C", f.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	f.write(t, ".claude/agents/helper.md", agentFile(t, self("official"), "isolation: worktree\n"))
	prompt(t, f.open(t, allowOwn, conversation.SessionOptions{}))
	if body := f.request(t, 3); !strings.Contains(body, f.dir+".worktrees"+string(filepath.Separator)) {
		t.Errorf("the server does not run in the worktree:\n%s", body[max(0, len(body)-3000):])
	}
}

// Neither a run with the servers of the command line alone nor one with those of the administrator starts an agent's
// own.
func TestServersOfAgentsGiveWayToStrictAndManagedOnes(t *testing.T) {
	f := newFolder(t, askHelper(echo()))
	f.write(t, ".claude/agents/helper.md", agentFile(t, self("official"), ""))
	said := prompt(t, f.open(t, func(o *conversation.Options) { o.Servers = serverset.Flags{Strict: true} },
		conversation.SessionOptions{}))
	if body := f.request(t, 2); !strings.Contains(said, "command line") || strings.Contains(body, "mcp__own") {
		t.Errorf("a server of a file started: %s", said)
	}

	kinds,
		err := subagent.Given([]byte(`{"helper": {"description": "Helps.", "prompt": "You help.", "mcpServers": [{"own": `+
		object(t, self("official"))+`}]}}`), "command line")
	if err != nil {
		t.Fatal(err)
	}
	f.serve(t, askHelper(echo()))
	prompt(t, f.open(t, func(o *conversation.Options) {
		o.Servers, o.Agents = serverset.Flags{Strict: true}, kinds
		allowOwn(o)
	}, conversation.SessionOptions{}))
	if body := f.request(t, 3); !strings.Contains(body, "echo: hello") {
		t.Errorf("a server of the command line did not start:\n%s", body[max(0, len(body)-1500):])
	}

	own := entry.Own{Agent: "helper", Name: "own", Scope: entry.User, Raw: []byte(object(t, self("official")))}
	places := entry.Places{Managed: []string{filepath.Join(f.home, ".claude/agents/helper.md")}} // is there
	if list, faults := places.ReadOwn([]entry.Own{own}); len(list) > 0 || !strings.Contains(strings.Join(faults, ""),
		"administrator") {
		t.Errorf("%+v %v", list, faults)
	}
	places = entry.Places{Policy: entry.Policy{Denied: []byte(`[{"serverName": "own"}]`)}}
	if list, faults := places.ReadOwn([]entry.Own{own}); len(list) > 0 || !strings.Contains(strings.Join(faults, ""),
		"policy") {
		t.Errorf("%+v %v", list, faults)
	}
}
