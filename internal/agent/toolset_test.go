package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/llm/openai"
	"github.com/lathe-dev/lathe/internal/permission"
)

// wires are models of both wire APIs, on the server of the test.
var wires = map[string]func(t *testing.T, url string, c *http.Client) llm.Model{
	"anthropic": func(t *testing.T, url string, c *http.Client) llm.Model {
		p, err := anthropic.New(anthropic.Config{BaseURL: url, APIKey: "k", HTTP: c})
		if err != nil {
			t.Fatal(err)
		}
		return modelOf(t, p, llm.DefaultModel)
	},
	"openai": func(t *testing.T, url string, c *http.Client) llm.Model {
		return modelOf(t, openai.New(openai.Config{BaseURL: url, APIKey: "k", HTTP: c}), "local-model")
	},
}

func modelOf(t *testing.T, p llm.Provider, id string) llm.Model {
	t.Helper()
	m, err := p.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bodies runs one turn against a real server and returns the requests' bodies.
func bodies(t *testing.T, wire string, cfg agent.Config, replies ...llmtest.Reply) [][]byte {
	t.Helper()
	srv := llmtest.New(llmtest.Replies(replies...), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	cfg.Model = wires[wire](t, srv.URL(), &http.Client{Transport: transport})
	if cfg.Transcript == nil {
		cfg.Transcript = &agent.Memory{}
	}
	if cfg.Authorize == nil {
		cfg.Authorize = func(context.Context, agent.Approval) (permission.Decision, error) {
			return permission.Decision{Effect: permission.Allow}, nil
		}
	}
	if _, err := agent.New(cfg).Run(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, r := range srv.Requests() {
		out = append(out, r.Body)
	}
	return out
}

// named is a tool that answers with its name; run, when not nil, is called first.
func named(name string, run func()) agent.Tool {
	spec := llm.ToolSpec{
		Name: name, Description: "Does " + name + ".",
		Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`),
	}
	return agent.NewTool(spec, func(context.Context, llm.ToolCall, struct{ X string }) (*agent.Plan, error) {
		return &agent.Plan{Accesses: []permission.Access{}, Run: func(context.Context) (*agent.Result, error) {
			if run != nil {
				run()
			}
			return agent.TextResult(name + " ran"), nil
		}}, nil
	})
}

func field(t *testing.T, body []byte, name string) json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	return m[name]
}

// openList is the list of tools without cache marks, which move, and without its closing bracket.
func openList(list []byte) string {
	s := strings.NewReplacer(`,"cache_control":{"type":"ephemeral"}`, "").Replace(string(list))
	return strings.TrimSuffix(s, "]")
}

func TestToolsThatComeAndGoOnlyAppendToWhatIsSent(t *testing.T) {
	for wire := range wires {
		t.Run(wire, func(t *testing.T) {
			set := agent.ToolSet{Version: 1}
			a, b := named("A", nil), named("B", nil)
			late := named("Late", nil)
			swap := named("Swap", func() {
				set = agent.ToolSet{Version: 2, Tools: []agent.Tool{late, a}, Deferred: []agent.Tool{b}}
			})
			set.Tools = []agent.Tool{a, b, swap}
			got := bodies(t, wire, agent.Config{Calls: agent.Calls{
				Tools: func(context.Context) (agent.ToolSet, error) { return set, nil },
			}},
				llmtest.Say(llmtest.Tool("A", map[string]any{"x": "1"})),
				llmtest.Say(llmtest.Tool("Swap", map[string]any{"x": "1"})),
				llmtest.Say(llmtest.Tool("Late", map[string]any{"x": "1"}), llmtest.Tool("Swap", map[string]any{"x": "1"}),
					llmtest.Tool("B", map[string]any{"x": "1"})),
				llmtest.Say(llmtest.Text("done")))
			if len(got) != 4 {
				t.Fatalf("%d requests", len(got))
			}
			for i := 1; i < len(got); i++ {
				before, now := openList(field(t, got[i-1], "tools")), openList(field(t, got[i], "tools"))
				if !strings.HasPrefix(now, before) {
					t.Errorf("request %d does not begin with the tools of the one before:\n%s\n%s", i+1, before, now)
				}
			}
			if n := bytes.Count(field(t, got[3], "tools"), []byte(`"description":"Does `)); n != 4 {
				t.Errorf("%d tools are sent at last: %s", n, field(t, got[3], "tools"))
			}
			last := string(got[3])
			for _, want := range []string{"Late ran", "The tool Swap is not available any more", "B ran"} {
				if !strings.Contains(last, want) {
					t.Errorf("%q is not in the last request", want)
				}
			}
		})
	}
}

// revised is a transcript whose compactions are only counted.
type revised struct {
	agent.Memory
	n int
}

func (r *revised) Revision() int { return r.n }

func TestACompactionEndsTheSpecsOfToolsThatAreGone(t *testing.T) {
	for wire := range wires {
		t.Run(wire, func(t *testing.T) {
			a, b, late := named("A", nil), named("B", nil), named("Late", nil)
			set := agent.ToolSet{Version: 1, Tools: []agent.Tool{b, a}}
			log, steps := &revised{}, 0
			got := bodies(t, wire, agent.Config{
				Journal: agent.Journal{Transcript: log},
				Calls: agent.Calls{Tools: func(context.Context) (agent.ToolSet, error) {
					if steps == 1 {
						set = agent.ToolSet{Version: 2, Tools: []agent.Tool{late, a}}
					}
					return set, nil
				}},
				Room: agent.Room{
					WindowMark: func(llm.ModelInfo) int { return 1 },
					OnWindow: func(context.Context, agent.Window) (bool, error) {
						if steps++; steps == 3 {
							log.n++
						}
						return steps == 3, nil
					},
				},
			},
				llmtest.Say(llmtest.Tool("A", map[string]any{"x": "1"})), llmtest.Say(llmtest.Tool("A", map[string]any{"x": "2"})),
				llmtest.Say(llmtest.Tool("A", map[string]any{"x": "3"})), llmtest.Say(llmtest.Text("done")))
			for i, want := range []string{"B A", "B A Late", "Late A", "Late A"} {
				if names := toolNames(t, field(t, got[i], "tools")); names != want {
					t.Errorf("request %d sends %s, want %s", i+1, names, want)
				}
			}
		})
	}
}

// toolNames lists the names in a list of tools of either wire.
func toolNames(t *testing.T, list []byte) string {
	t.Helper()
	var tools []struct {
		Name     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(list, &tools); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name+tool.Function.Name)
	}
	return strings.Join(names, " ")
}

func TestADeferredToolIsNotSentAndIsAnsweredWithItsSchema(t *testing.T) {
	for wire := range wires {
		t.Run(wire, func(t *testing.T) {
			set := agent.ToolSet{
				Version: 1, Tools: []agent.Tool{named("A", nil)},
				Deferred: []agent.Tool{named("mcp__s__far", nil)},
			}
			got := bodies(t, wire, agent.Config{Calls: agent.Calls{
				Tools: func(context.Context) (agent.ToolSet, error) { return set, nil },
			}},
				llmtest.Say(llmtest.Tool("mcp__s__far", map[string]any{})),
				llmtest.Say(llmtest.Tool("mcp__s__far", map[string]any{"x": "1"})),
				llmtest.Say(llmtest.Text("done")))
			if bytes.Contains(got[0], []byte("mcp__s__far")) {
				t.Error("it is in the first request")
			}
			if !bytes.Contains(got[1], []byte(`\"required\":[\"x\"]`)) {
				t.Errorf("a call that does not fit is not answered with the schema: %s", got[1])
			}
			if !bytes.Contains(got[2], []byte("mcp__s__far ran")) {
				t.Error("a call that fits did not run")
			}
		})
	}
}

func TestToolsAreTakenInOnlyWhenTheirVersionChanges(t *testing.T) {
	specs := 0
	counting := countedTool{named("A", nil), &specs}
	var replies []llmtest.Reply
	for range 20 {
		replies = append(replies, llmtest.Say(llmtest.Tool("A", map[string]any{"x": "1"})))
	}
	bodies(t, "anthropic", agent.Config{
		Calls: agent.Calls{Tools: fixed(counting)}, Limits: agent.Limits{MaxSteps: 10},
	}, replies...)
	if specs != 1 {
		t.Errorf("the spec was read %d times", specs)
	}
}

type countedTool struct {
	agent.Tool
	n *int
}

func (c countedTool) Spec() llm.ToolSpec { *c.n++; return c.Tool.Spec() }

func TestAnOriginIsNotSent(t *testing.T) {
	for wire := range wires {
		t.Run(wire, func(t *testing.T) {
			tools := func(context.Context) (agent.ToolSet, error) { return agent.ToolSet{}, nil }
			with := &agent.Memory{}
			without := &agent.Memory{}
			for m, origin := range map[*agent.Memory]llm.Origin{with: llm.OriginMemory, without: llm.OriginAuthor} {
				msg := llm.Message{Role: llm.User, Parts: []llm.Part{
					llm.Text{Text: "Use tabs.", Origin: origin},
					llm.Text{Text: "hello"},
				}}
				if err := m.AddUser(t.Context(), msg, false, false); err != nil {
					t.Fatal(err)
				}
			}
			a := bodies(t, wire, agent.Config{
				Calls: agent.Calls{Tools: tools}, Journal: agent.Journal{Transcript: with},
			}, llmtest.Say(llmtest.Text("done")))
			b := bodies(t, wire, agent.Config{
				Calls: agent.Calls{Tools: tools}, Journal: agent.Journal{Transcript: without},
			}, llmtest.Say(llmtest.Text("done")))
			if !bytes.Equal(a[0], b[0]) {
				t.Errorf("%s\n%s", a[0], b[0])
			}
		})
	}
}
