package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// everythingVersion is that of @modelcontextprotocol/server-everything.
const everythingVersion = "2026.8.31"

// everything are calls of the reference server's tools and texts of their results.
var everything = []struct{ tool, input, want string }{
	{"echo", `{"message":"hello"}`, "Echo: hello"},
	{"get-sum", `{"a":2,"b":3}`, "The sum of 2 and 3 is 5"},
	{"get-env", `{}`, `"PATH"`},
	{"get-tiny-image", `{}`, "Here's the image"},
	{"get-annotated-message", `{"messageType":"error","includeImage":true}`, "Error"},
	{"get-structured-content", `{"location":"New York"}`, `"conditions"`},
	{"get-resource-links", `{"count":3}`, "demo://resource/dynamic"},
	{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "demo://resource/dynamic/text/1"},
	{"get-roots-list", `{}`, "file://"},
	{"toggle-simulated-logging", `{}`, "logging"},
	{"trigger-long-running-operation", `{"duration":1,"steps":2}`, "completed"},
	{"trigger-sampling-request", `{"prompt":"capital of France?","maxTokens":20}`, "Paris."},
	{"trigger-elicitation-request", `{}`, "User provided"},
	{"trigger-url-elicitation", `{"url":"https://id.example.com/","elicitationId":"e1"}`, "completed the URL elicitation"},
	{"gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`, "blob-"},
	{"simulate-research-query", `{"topic":"python","ambiguous":true}`, "Research Report: python ("},
	{"trigger-sampling-request-async", `{"prompt":"capital of France?","maxTokens":20}`, "Paris."},
	{"trigger-elicitation-request-async", `{}`, "COMPLETED"},
	{"toggle-subscriber-updates", `{}`, "Started simulated resource updated notifications"},
}

func TestTheReferenceServerIsUsedWithAllItsFeatures(t *testing.T) {
	program := npmProgram(t, "@modelcontextprotocol/server-everything", everythingVersion, "dist/index.js")
	for kind, entry := range map[string]func(t *testing.T) map[string]any{
		"stdio": func(*testing.T) map[string]any {
			return map[string]any{"command": program.node, "args": []string{program.script, "stdio"}}
		},
		"sse":  func(t *testing.T) map[string]any { return program.listen(t, "sse", "sse", "/sse") },
		"http": func(t *testing.T) map[string]any { return program.listen(t, "streamableHttp", "http", "/mcp") },
	} {
		t.Run(kind, func(t *testing.T) {
			f := newFolder(t, llmtest.Replies(llmtest.Say(llmtest.Text("Paris.")), llmtest.Say(llmtest.Text("Paris."))))
			models := f.models(t)
			b := newBench(t, map[string]any{"all": entry(t)})
			b.sit(func(s *mcp.Seat) {
				s.Models, s.Ask = models, agreeable
				s.Count = func(string, llm.ModelInfo, llm.Usage) {}
			})
			b.start(t)
			for _, c := range everything {
				waitFor(t, func() bool { return b.tools(t)["mcp__all__"+c.tool] != nil }) // some come once the server knows lathe
				if got := b.text(t, "mcp__all__"+c.tool, c.input); !strings.Contains(got, c.want) {
					t.Errorf("%s: %.500q, want %q", c.tool, got, c.want)
				}
			}
			usesOffers(t, b)
			if err := b.set.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// usesOffers uses prompts, their completion and resources of the reference server.
func usesOffers(t *testing.T, b *bench) {
	t.Helper()
	waitFor(t, func() bool { return len(b.set.Prompts()) >= 4 })
	m := b.view.Attach(t.Context(), llm.UserText("/all:args-prompt city=Oslo"))
	if len(m.Parts) < 2 || !strings.Contains(m.Parts[1].(llm.Text).Text, "weather in Oslo") {
		t.Errorf("%+v", m.Parts)
	}
	if p, ok := b.set.FindPrompt("all:completable-prompt"); !ok || !slices.Contains(texts(p.Complete(t.Context(), "Eng")),
		"Engineering") {
		t.Errorf("%v: %q", ok, texts(p.Complete(t.Context(), "Eng")))
	}
	if got := b.text(t, "ListMcpResourcesTool", `{"server":"all"}`); !strings.Contains(got,
		"demo://resource/dynamic/text/{resourceId}") {
		t.Errorf("%.500q", got)
	}
	if got := b.text(t, "ReadMcpResourceTool",
		`{"server":"all","uri":"demo://resource/dynamic/text/7"}`); !strings.Contains(got, "Resource 7") {
		t.Errorf("%.500q", got)
	}
	for typed, want := range map[string]string{
		"/all:simple-prompt": "simple prompt",
		"/all:resource-prompt resourceType=Text resourceId=1": "demo://resource/dynamic/text/1",
	} {
		if m := b.view.Attach(t.Context(), llm.UserText(typed)); len(m.Parts) < 2 || !strings.Contains(fmt.Sprint(m.Parts),
			want) {
			t.Errorf("%s: %+v", typed, m.Parts)
		}
	}
	var news string
	waitFor(t, func() bool { // it tells of a change every five seconds
		for _, m := range must(b.view.Hook().Run(t.Context())) {
			news += m.PlainText()
		}
		return strings.Contains(news, "The resource demo://resource/dynamic/text/7 of the MCP server all changed")
	})
	waitFor(t, func() bool { return strings.Contains(b.set.Log("all"), "-level message") }) // of its simulated log
}

// agreeable is a user who agrees to all, and leaves fields as they are proposed or gives a plain answer.
func agreeable(_ context.Context, q event.Question) (event.Answer, error) {
	if len(q.Parts) == 0 {
		for _, o := range q.Options {
			if o.ID != event.ChoiceNo && o.ID != event.ChoiceNever {
				return event.Answer{Choice: o.ID}, nil
			}
		}
		return event.Answer{Choice: "accept"}, nil
	}
	a := event.Answer{Parts: []event.Answer{{Choice: "accept"}}}
	for _, part := range q.Parts[1:] {
		a.Parts = append(a.Parts, plainAnswer(part))
	}
	return a, nil
}

func plainAnswer(part event.Question) event.Answer {
	for _, want := range []string{"lathe:default", "lathe:leave-out"} {
		if slices.ContainsFunc(part.Options, func(o event.Option) bool { return o.ID == want }) {
			return event.Answer{Choice: want, Choices: []string{want}}
		}
	}
	if len(part.Options) > 0 {
		return event.Answer{Choice: part.Options[0].ID, Choices: []string{part.Options[0].ID}}
	}
	return event.Answer{Text: "Ada"}
}

// listen starts the program as a server of HTTP and returns its entry.
func (p npm) listen(t *testing.T, mode, kind, path string) map[string]any {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close() // the program takes it
	c := p.command(t, []string{"PORT=" + port}, mode)
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		if strings.Contains(lines.Text(), "port "+port) {
			go func() {
				for lines.Scan() { // so that it can go on printing
				}
			}()
			break
		}
	}
	return map[string]any{"type": kind, "url": "http://127.0.0.1:" + port + path}
}
