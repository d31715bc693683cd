package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/ui/console"
)

// seat is a console with the calls of these tests.
type seat struct{ *console.Console }

func (s seat) Command(ctx context.Context, name, args string) (event.Output, error) {
	return s.Console.Command(ctx, port.Command{Name: name, Args: args})
}

func (s seat) Complete(ctx context.Context, q event.Query) []event.Candidate {
	out, _ := s.Console.Complete(ctx, q)
	return out
}

func (f *folder) console(t *testing.T, servers string) seat {
	t.Helper()
	env := []string{"LATHE_KEYRING=file", "PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "ANTHROPIC_BASE_URL=" +
		f.srv.URL(), "ANTHROPIC_API_KEY=sk-test"}
	cfg, err := config.Load(config.Options{Dir: f.dir, Environ: env, ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := conversation.Open(conversation.Options{
		Config: cfg, Dir: f.dir, Environ: env, Version: "test",
		Servers: serverset.Flags{Configs: []string{servers}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	c, err := console.Open(t.Context(), console.Options{
		Instance: inst,
		Session:  conversation.SessionOptions{Interactive: true}, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return seat{c}
}

func TestTheCommandShowsTheServersAndActsOnThem(t *testing.T) {
	f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("ok"))))
	f.write(t, "project/.mcp.json", configOf(t, map[string]any{"mine": self("official")}))
	c := f.console(t, configOf(t, map[string]any{"full": self("full")}))
	run := func(args string, want ...string) {
		t.Helper()
		out, err := c.Command(t.Context(), "mcp", args)
		text := out.Text
		if err != nil {
			text = err.Error()
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("/mcp %s: %q is not in\n%s", args, w, text)
			}
		}
	}
	run("", "`full` `pending`", "`mine` `unapproved`", "/mcp approve mine")
	run("reconnect full", "is connected")
	run("", "`full` `connected`, 7 tools, about", "tokens of schemas")
	run("full", "tools: `form, log, roots", "server: `full 1`", "scope: `flag`")
	run("disable full", "left out")
	run("", "`full` `disabled`")
	run("enable full", "there again")
	run("reconnect full", "is connected")
	run("approve full", "nothing of full waits")
	run("approve mine", "is approved")
	waitFor(t, func() bool {
		out, _ := c.Command(t.Context(), "mcp", "mine")
		return strings.Contains(out.Text, "`mine` is `connected`")
	})
	run("log mine", "the official server runs")
	run("nobody", `no MCP server "nobody"`)
	if got := texts(c.Complete(t.Context(), event.Query{Kind: event.QueryArgument, Name: "mcp", Text: "log m"})); len(
		got) == 0 || got[0] != "log mine" {
		t.Errorf("%q", got)
	}
}

func TestAPromptOfAServerIsTypedAsACommand(t *testing.T) {
	f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("ok"))))
	c := f.console(t, configOf(t, map[string]any{"full": self("full")}))
	out, err := c.Command(t.Context(), "full:code_review", "go terse") // the server does not run yet
	if err != nil || out.Prompt == nil {
		t.Fatalf("%+v %v", out, err)
	}
	if _, err := c.Prompt(t.Context(), port.Prompt{Message: *out.Prompt}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return c.State().Turn == "" })
	if body := f.request(t, 1); !strings.Contains(body, `Review this go in the style \"terse\".`) ||
		strings.Contains(body, "<system-reminder>obey") {
		t.Errorf("%s", body[max(0, len(body)-2000):])
	}
	if _, err := c.Command(t.Context(), "mcp__full__code_review", ""); err == nil || !strings.Contains(err.Error(),
		"needs language") {
		t.Error(err)
	}
	if _, err := c.Command(t.Context(), "mcp__full__nothing", ""); err == nil || !strings.Contains(err.Error(),
		"there is no command") {
		t.Error(err)
	}
	got := c.Complete(t.Context(), event.Query{Kind: event.QueryCommand, Text: "mcp__full__c"})
	if len(got) == 0 || got[0].Text != "mcp__full__code_review" || got[0].Hint != "<language> [style]" {
		t.Errorf("%+v", got)
	}
	if got := texts(c.Complete(t.Context(), event.Query{
		Kind: event.QueryArgument, Name: "mcp__full__code_review",
		Text: "gl",
	})); len(got) != 1 || got[0] != "gleam" {
		t.Errorf("%q", got)
	}
	if got := texts(c.Complete(t.Context(), event.Query{Kind: event.QueryFile, Text: "full:note"})); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestALoginFromTheConversation(t *testing.T) {
	w := oauthtest.New(t, streamable(nil))
	f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("ok"))))
	told := filepath.Join(f.home, "told")
	f.write(t, ".config/lathe/settings.json", object(t, map[string]any{"hooks": map[string]any{"Notification": []any{
		map[string]any{"matcher": "auth_success", "hooks": []any{map[string]any{"type": "command", "command": "cat >" +
			told}}},
	}}}))
	c := f.console(t, configOf(t, map[string]any{"off": map[string]any{"type": "http", "url": w.URL()}}))
	if _, err := c.Command(t.Context(), "mcp", "authorise off https://example.com/"); err == nil ||
		!strings.Contains(err.Error(), "no login to off waits") {
		t.Error(err)
	}
	out, err := c.Command(t.Context(), "mcp", "authorise off")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out.Text, "Log in at:\n\n")
	address, _, _ := strings.Cut(rest, "\n")
	if err := visit(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		out, err := c.Command(t.Context(), "mcp", "off")
		return err == nil && strings.Contains(out.Text, "is `connected`") && strings.Contains(out.Text,
			"login: `logged in at")
	})
	waitFor(t, func() bool {
		text, err := os.ReadFile(told)
		return err == nil && strings.Contains(string(text), `"message":"you are logged in to the MCP server off"`)
	})
	if out, err := c.Command(t.Context(), "mcp", "logout off"); err != nil || !strings.Contains(out.Text, "deleted") {
		t.Errorf("%+v %v", out, err)
	}
}
