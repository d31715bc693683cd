package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
)

func init() { servers["asker"] = asker }

// asker is a server whose tool sends requests to its client, one after another, and returns the answers. {ID} in the
// parameters of a request is the id of the last task.
func asker() {
	in, task := json.NewDecoder(os.Stdin), ""
	type message struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments struct {
				Text string
			}
		}
		Result json.RawMessage
		Error  json.RawMessage
	}
	ask := func(n int, line string) string {
		method, params, _ := strings.Cut(line, " ")
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":"ask%d","method":%q,"params":%s}`+"\n", n, method,
			strings.ReplaceAll(params, "{ID}", task))
		for {
			var m message
			if in.Decode(&m) != nil {
				os.Exit(0)
			}
			if string(m.ID) != fmt.Sprintf(`"ask%d"`, n) || m.Method != "" {
				continue
			}
			var made struct{ Task struct{ TaskID string } }
			if json.Unmarshal(m.Result, &made) == nil && made.Task.TaskID != "" {
				task = made.Task.TaskID
			}
			return strings.ReplaceAll(string(m.Result)+string(m.Error), task, "{ID}")
		}
	}
	n := 0
	for {
		var m message
		if in.Decode(&m) != nil {
			return
		}
		answer := func(result string) {
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		switch m.Method {
		case "server/discover":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		case "initialize":
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asker","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			var all []string
			for line := range strings.SplitSeq(m.Params.Arguments.Text, "\n") {
				n++
				all = append(all, ask(n, line))
			}
			text, _ := json.Marshal(strings.Join(all, "\n"))
			answer(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
		}
	}
}

const question = `elicitation/create {"task":{"ttl":60000},"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`

func TestAServersQuestionIsAnsweredAsATask(t *testing.T) {
	asked, answer := make(chan struct{}, 100), make(chan event.Answer, 10)
	b := newBench(t, map[string]any{"h": self("asker")})
	b.sit(func(s *mcp.Seat) {
		s.Ask = func(ctx context.Context, _ event.Question) (event.Answer, error) {
			asked <- struct{}{}
			select {
			case a := <-answer:
				return a, nil
			case <-ctx.Done():
				return event.Answer{}, ctx.Err()
			}
		}
	})
	b.start(t)
	talk := func(lines ...string) []string {
		t.Helper()
		return strings.Split(b.text(t, "mcp__h__ask", object(t, map[string]string{"text": strings.Join(lines, "\n")})), "\n")
	}
	got := talk(question, `tasks/get {"taskId":"{ID}"}`, `tasks/list {}`, `tasks/get {"taskId":"none"}`)
	for i, want := range []string{
		`"status":"working"`, `"status":"working"`, `"tasks":[{"taskId":"{ID}"`,
		"no such task",
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%s, want %s", got[i], want)
		}
	}
	<-asked
	answer <- event.Answer{Input: json.RawMessage(`{"name":"Ada"}`)}
	got = talk(`tasks/result {"taskId":"{ID}"}`, `tasks/get {"taskId":"{ID}"}`, `tasks/cancel {"taskId":"{ID}"}`)
	for i, want := range []string{`"content":{"name":"Ada"}`, `"status":"completed"`, "completed already"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%s, want %s", got[i], want)
		}
	}
	if !strings.Contains(got[0], `"io.modelcontextprotocol/related-task":{"taskId":"{ID}"}`) {
		t.Error(got[0])
	}
	got = talk(question, `tasks/cancel {"taskId":"{ID}"}`, `tasks/result {"taskId":"{ID}"}`)
	if !strings.Contains(got[1], `"status":"cancelled"`) || !strings.Contains(got[2], "the task was cancelled") {
		t.Error(got)
	}
	var many []string
	for range 40 {
		many = append(many, question)
	}
	if got := talk(many...); !strings.Contains(got[39], "20 tasks of a server at most") || !strings.Contains(got[10],
		`"working"`) {
		t.Error(got[10], got[39])
	}
}

// Two requests at one time do not get the budget twice.
func TestRequestsAtOneTimeShareABudget(t *testing.T) {
	counted, asked, goOn := 0, make(chan struct{}, 10), make(chan struct{})
	b := sampling(t, map[string]any{"samplingTokens": 40}, func(context.Context, event.Question) (event.Answer, error) {
		asked <- struct{}{}
		<-goOn
		return event.Answer{Choice: event.ChoiceOnce}, nil
	}, &counted)
	first := make(chan string)
	go func() { first <- b.text(t, "mcp__full__sample", `{"text":"capital of France?"}`) }()
	<-asked
	if got := b.text(t, "mcp__full__sample", `{"text":"capital of Italy?"}`); !strings.Contains(got, "budget") {
		t.Error(got)
	}
	close(goOn)
	if got := <-first; !strings.Contains(got, "Paris.") || counted != 1 {
		t.Error(got, counted)
	}
}
