package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

const deferredScript = `script
reply
  call ToolSearch {"query":"select:TodoWrite"}
reply
  call TodoWrite {"todos":[{"content":"look","status":"pending"}]}
reply
  call ToolSearch {"query":"select:Memory,TodoWrite"}
reply
  call ToolSearch {"query":"select:Memory"}
reply
  say Done.
reply
  say Done again.
`

// With a provider that has deferred tools the model gets references, the tools are in the request from its first one
// on, and nothing that was sent changes when another tool arrives.
func TestAProviderWithDeferredToolsGetsReferences(t *testing.T) {
	script, err := llmtest.Parse([]byte(deferredScript))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	provider, err := anthropic.New(anthropic.Config{BaseURL: srv.URL(), APIKey: "sk-test", DeferTools: true})
	if err != nil {
		t.Fatal(err)
	}
	model, err := provider.Model(t.Context(), "claude-sonnet-4-5")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	names, asked := []string{"TodoWrite"}, []string{}
	version, log := uint64(1), &agent.Memory{}
	a := agent.New(agent.Config{
		Requests: agent.Requests{Model: model},
		Journal:  agent.Journal{Transcript: log},
		Hooks: agent.Hooks{BeforeStep: []agent.BeforeStep{{Name: "tools", Run: func(context.Context) ([]llm.Message, error) {
			b.env.Deferred.Split(tool.All(b.env), names)
			return b.env.Deferred.BeforeStep(log.Messages, log.Revision()), nil
		}}}},
		Calls: agent.Calls{
			Canonical: tool.Carried(tool.Catalogue().Canonical),
			Tools: func(context.Context) (agent.ToolSet, error) {
				if len(srv.Requests()) == 2 && version == 1 { // a tool arrives
					names, version = append(names, "Memory"), 2
				}
				set := agent.ToolSet{Version: version}
				set.Tools, set.Deferred = b.env.Deferred.Split(tool.All(b.env), names)
				return set, nil
			},
			Authorize: func(_ context.Context, ap agent.Approval) (permission.Decision, error) {
				asked = append(asked, ap.Tool)
				return permission.Decision{Effect: permission.Allow}, nil
			},
		},
	})
	if _, err := a.Run(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " "); got != "ToolSearch TodoWrite ToolSearch ToolSearch" ||
		len(b.env.Todos.Get()) != 1 {
		t.Errorf("asked for %s; tasks %v", got, b.env.Todos.Get())
	}
	checkReferences(t, srv.Requests())
}

func checkReferences(t *testing.T, reqs []llmtest.Request) {
	t.Helper()
	for i, r := range reqs {
		body := string(r.Body)
		if strings.Count(body, `"defer_loading":true`) != 1 || !strings.Contains(body, `{"name":"CallTool"`) {
			t.Errorf("request %d has other tools than at first", i+1)
		}
		if i > 0 {
			if err := llmtest.SamePrefix(reqs[i-1].Body, r.Body); err != nil {
				t.Errorf("request %d: %v", i+1, err)
			}
		}
	}
	last := string(reqs[len(reqs)-1].Body)
	if n := strings.Count(last, `{"type":"tool_reference","tool_name":"TodoWrite"}`); n != 1 {
		t.Errorf("%d references", n)
	}
	for _, want := range []string{
		"Memory: Notes for later sessions", "More tools are there now",
		`if that is refused, call CallTool {\"name\":\"Memory\"`,
	} {
		if !strings.Contains(last, want) {
			t.Errorf("%q was not sent", want)
		}
	}
}
