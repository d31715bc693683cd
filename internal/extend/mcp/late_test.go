package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// late is a server whose answers come later: it has a tool that runs as a task, and one that wants the user to sign in
// first. LATE says more.
func late() {
	in := json.NewDecoder(os.Stdin)
	say := func(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
	looks, signedIn := 0, false
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name   string
				TaskID string `json:"taskId"`
				Task   *struct{}
			}
		}
		if in.Decode(&m) != nil {
			return
		}
		answer := func(result string, args ...any) {
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, fmt.Sprintf(result, args...))
		}
		switch m.Method {
		case "initialize":
			answer(
				`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"late","version":"1"}}`)
		case "tools/list":
			answer(
				`{"tools":[{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"private","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			switch {
			case m.Params.Name == "long" && m.Params.Task == nil:
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"only as a task"}}`, m.ID)
			case m.Params.Name == "long":
				answer(`{"task":{"taskId":"t7","status":"working","statusMessage":"begun","pollInterval":1}}`)
			case signedIn:
				answer(`{"content":[{"type":"text","text":"your private data"}]}`)
			default:
				signedIn = true
				say(
					`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"sign in first","data":{"elicitations":[{"mode":"url","message":"Sign in.","url":"https://id.example.com/","elicitationId":"e9"}]}}}`, m.ID)
				if os.Getenv("LATE") == "reports" {
					say(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e9"}}`)
				}
			}
		case "tasks/get":
			looks++
			state := "working"
			if looks > 1 && os.Getenv("LATE") != "forever" {
				state = "completed"
			}
			answer(`{"taskId":"t7","status":"%s","statusMessage":"look %d","pollInterval":1}`, state, looks)
		case "tasks/result":
			answer(`{"content":[{"type":"text","text":"the result of %s"}]}`, m.Params.TaskID)
		case "tasks/cancel":
			_ = os.WriteFile(os.Getenv("CANCELLED_FILE"), []byte(m.Params.TaskID), 0o600)
			answer(`{"taskId":"t7","status":"cancelled"}`)
		case "ping":
			answer(`{}`)
		}
	}
}

func TestAToolThatRunsAsATaskIsWaitedFor(t *testing.T) {
	b := newBench(t, map[string]any{"late": self("late")})
	b.start(t)
	var progress strings.Builder
	ctx := agent.WithOutput(t.Context(), func(text string) { progress.WriteString(text) })
	r, err := b.call(ctx, t, "mcp__late__long", `{}`)
	if err != nil || textOf(r) != "the result of t7" || !strings.Contains(progress.String(), "look 1") {
		t.Errorf("%+v %v %q", r, err, progress.String())
	}
}

func TestATaskIsCancelledWithItsCall(t *testing.T) {
	file := t.TempDir() + "/cancelled"
	b := newBench(t, map[string]any{"late": self("late", "LATE=forever", "CANCELLED_FILE="+file)})
	b.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	ctx = agent.WithOutput(ctx, func(text string) {
		if strings.Contains(text, "look 1") {
			cancel()
		}
	})
	if _, err := b.call(ctx, t, "mcp__late__long", `{}`); err == nil {
		t.Error("the call has a result")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "t7" {
		t.Errorf("%q %v", data, err)
	}
}

// A server refuses a call until the user opened an address (-32042): the call goes on when the server, or the user,
// says that the page is done.
func TestACallThatNeedsAPageGoesOnWhenThePageIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		reports string
		answers []string
		want    string
	}{
		"the server says so":    {"reports", []string{"accept", "wait"}, "your private data"},
		"the user says so":      {"", []string{"accept", "accept"}, "your private data"},
		"the user declines":     {"", []string{"decline"}, "did not: Sign in."},
		"the user gives it up":  {"", []string{"accept", "decline"}, "the user gave it up"},
		"nobody could open one": {"", nil, "did not: Sign in."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]any{"late": self("late", "LATE="+c.reports)})
			var asked []event.Question
			kinds := make(chan string, 10)
			b.sit(func(s *mcp.Seat) {
				s.Notify = func(_ context.Context, kind, _ string) { kinds <- kind }
				if c.answers == nil {
					return
				}
				s.Ask = func(ctx context.Context, q event.Question) (event.Answer, error) {
					asked = append(asked, q)
					answer := c.answers[len(asked)-1]
					if answer == "wait" { // until the question is withdrawn
						<-ctx.Done()
						return event.Answer{}, ctx.Err()
					}
					return event.Answer{Choice: answer}, nil
				}
			})
			b.start(t)
			r, err := b.call(t.Context(), t, "mcp__late__private", `{}`)
			got := fmt.Sprint(err)
			if err == nil {
				got = textOf(r)
			}
			if !strings.Contains(got, c.want) || len(asked) > len(c.answers) || len(asked) > 0 && !strings.Contains(
				asked[0].Text, "https://id.example.com/") {
				t.Errorf("%q, asked %+v", got, asked)
			}
			want := map[string]bool{"elicitation_url_dialog": true, "elicitation_response": true}
			if c.reports != "" {
				want["elicitation_complete"] = true
			}
			for len(want) > 0 {
				delete(want, <-kinds) // the hooks of notifications are told
			}
		})
	}
}

type noFiles struct{}

func (noFiles) Expansion(llm.Message) (name, args, source, line string, ok bool) { return }

func TestHooksLearnThePromptThatACommandIs(t *testing.T) {
	b := fullBench(t, same)
	waitFor(t, func() bool { return len(b.set.Prompts()) == 2 })
	name, args, source, line, ok := b.view.Expand(llm.UserText("/full:code_review go terse"), noFiles{})
	if !ok || name != "mcp__full__code_review" || args != "go terse" || source != "mcp" ||
		line != "/full:code_review go terse" {
		t.Error(name, args, source, line, ok)
	}
	for _, text := range []string{"code review", "/nothing", "/other:prompt"} {
		if name, _, _, _, ok := b.view.Expand(llm.UserText(text), noFiles{}); ok {
			t.Errorf("%q is taken for %s", text, name)
		}
	}
}

// The hooks of UserPromptExpansion see a server's prompt that is typed as a command, also one of a server that is not
// known yet, and refuse it.
func TestAHookRefusesAServersPrompt(t *testing.T) {
	f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("one")), llmtest.Say(llmtest.Text("two"))))
	f.write(t, ".claude/settings.json", object(t,
		map[string]any{"hooks": map[string]any{"UserPromptExpansion": []any{map[string]any{
			"hooks": []any{map[string]any{"type": "command", "command": "cat >" + f.home +
				"/seen; echo not this one >&2; exit 2"}},
		}}}}))
	s := f.open(t, func(o *conversation.Options) {
		o.Servers = serverset.Flags{Configs: []string{configOf(t, map[string]any{"full": self("full")})}}
	}, conversation.SessionOptions{})
	_, err := s.Prompt(t.Context(), llm.UserText("/full:plain"))
	if n := len(f.srv.Requests()); n != 0 {
		t.Errorf("%d requests, %v", n, err)
	}
	var seen map[string]any
	data, err := os.ReadFile(f.home + "/seen")
	if err == nil {
		err = json.Unmarshal(data, &seen)
	}
	if err != nil || seen["expansion_type"] != "mcp_prompt" || seen["command_name"] != "mcp__full__plain" ||
		seen["prompt"] != "/full:plain" {
		t.Errorf("%s %v", data, err)
	}
}
