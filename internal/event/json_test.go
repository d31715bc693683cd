package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

var update = flag.Bool("update", false, "write the golden files")

// everyBody has each kind of body, each type of delta and part, and each shape of view at least once.
func everyBody() []event.Body {
	call := llm.ToolCall{ID: "toolu_1", Name: "Edit", Input: json.RawMessage(`{"file_path":"/w/a.go"}`)}
	usage := llm.Usage{
		Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, CacheWrite1h: 5, Reasoning: 6,
		Estimated: true,
	}
	reply := llm.Message{
		ID: "msg_1", Role: llm.Assistant, Model: "m", Stop: llm.StopToolUse, Usage: &usage,
		Parts: []llm.Part{llm.Reasoning{Text: "hm", Signature: "sig"}, llm.Text{Text: "<b> & \u2028"}, call},
	}
	result := llm.ToolResult{CallID: "toolu_1", Name: "Edit", Parts: []llm.Part{
		llm.Text{Text: "done"},
		llm.Media{MIME: "image/png", Data: []byte{1, 2}},
	}, IsError: true}
	bodies := []event.Body{
		event.TurnStart{Prompt: llm.UserText("fix it")},
		event.UserMessage{Message: llm.UserText("and that"), Steered: true, Synthetic: true},
		event.Returned{Message: llm.UserText("not that")},
		event.StepStart{Step: 1, Model: "m"},
		event.Request{Attempt: 1, URL: "https://api.example/v1/messages"},
		event.Retry{Attempt: 1, Max: 3, Delay: time.Second, Err: "overloaded", Status: 529},
		event.Delta{MessageID: "r1", Delta: llm.Started{ID: "msg_1", Model: "m", Usage: usage}},
		event.Delta{MessageID: "r1", Delta: llm.ReasoningDelta{Text: "hm", Signature: "sig"}},
		event.Delta{MessageID: "r1", Delta: llm.TextDelta{Index: 1, Text: "hello"}},
		event.Delta{MessageID: "r1", Delta: llm.TextDelta{Index: 1, Text: "hello"}, Shown: new("")},
		event.Delta{MessageID: "r1", Delta: llm.ToolDelta{Index: 2, ID: "toolu_1", Name: "Edit", JSON: `{"file`}},
		event.PartDone{MessageID: "r1", Index: 1, Part: llm.Text{Text: "hello"}, Model: "m", Usage: usage},
		event.PartDone{MessageID: "r1", Index: 2, Part: call},
		event.PartDone{MessageID: "r1", Index: 1, Part: llm.Text{Text: "hello"}, Model: "m", Usage: usage, Shown: new("hi")},
		event.PartReady{MessageID: "r1", Index: 1, Part: llm.Text{Text: "hello"}, Model: "m", Usage: usage},
		event.Response{Message: reply},
		event.BesideRequest{
			Request: event.Request{Attempt: 1, URL: "https://api.example/v1/messages"}, Purpose: "title",
			Call: "c",
		},
		event.BesideResponse{Response: event.Response{Message: reply}, Purpose: "title", Call: "c"},
		event.Denied{Call: call, Decision: permission.Decision{
			Effect: permission.Deny, Rule: "Edit(/etc/**)",
			Source: "user", Reason: "a rule", Guidance: "not there",
		}},
		event.ToolStart{Call: call, Parent: "batch_1", Title: "a.go", Preview: event.Diff{
			Path:    "a.go",
			Unified: "@@ -1 +1 @@\n-a\n+b\n", Added: 1, Removed: 1,
		}},
		event.ToolOutput{CallID: "toolu_1", Text: "line\n"},
		event.Notice{Level: "warning", Text: "disk almost full"},
		event.Terminal{Sequence: "\a"},
		event.Deferred{Call: llm.ToolCall{ID: "toolu_9", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}},
		event.HookStart{ID: "h1", Event: "PreToolUse", Hook: "PreToolUse:Bash (check.sh)", Status: "checking"},
		event.HookRun{
			ID: "h1", Event: "PreToolUse", Hook: "PreToolUse:Bash (check.sh)", Stdout: "{}", Stderr: "no", Exit: 2,
			Err: "e", Duration: time.Second,
		},
		event.ModelFallback{From: "a", To: "b", Reason: "overloaded"},
		event.Background{
			Task: event.BackgroundTask{
				ID: "bash_1", CallID: "toolu_1", Command: "make", Status: "failed", ExitCode: 2,
				Output: "/b/1",
			},
			Running: []event.BackgroundTask{{ID: "bash_2", Command: "serve", Status: "running"}},
		},
		event.ModeChanged{Mode: permission.AcceptEdits},
		event.FileChanged{Path: "/w/a.go", Op: "change"},
		event.BranchChanged{Branch: "main", Head: "0123456789012345678901234567890123456789"},
		event.Compacting{Trigger: "auto"},
		event.Compacted{Level: 4, Trigger: "auto", Before: 160_000, After: 20_000, Failed: "overloaded", Err: "too large"},
		event.EvalStart{Round: 1, Judges: 3, Command: "go test ./..."},
		event.EvalVerdict{Round: 1, Verdict: event.Verdict{
			Judge: "Correctness", Reasoning: "No.",
			Suggestions: []string{"fix it"}, Weight: 2,
		}},
		event.EvalComplete{
			Round: 1, Last: true, Refinement: "go on",
			Verdicts: []event.Verdict{{Judge: "Goal Alignment", Absent: "overloaded"}},
			Check:    &event.EvalCheck{Command: "go test ./...", Failed: true, Output: "FAIL"},
		},
		event.Goal{
			Condition: "green", Check: "make", State: event.GoalLimited, Reason: "red", Rounds: 2, Tokens: 10, USD: 0.5,
			Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Bounds: event.GoalBounds{Rounds: 2, USD: 1}, ByAgent: true,
			Last: &event.EvalCheck{Command: "make", Failed: true},
		},
		event.SideRequest{Purpose: "permission", Model: "m", Usage: usage, CostUSD: 0.001},
		event.Asked{ID: "q1", Of: "agent explore/t1", Question: event.Question{
			Agent: []string{"explore/t1"}, Title: "Edit a.go?", Text: "It is outside.",
			Options: []event.Option{{ID: event.ChoiceOnce, Label: "Yes", Help: "this call"}}, Multi: true, Free: true,
			Permission: &permission.Request{
				CallID: "toolu_1", Tool: "Edit", Input: call.Input,
				Accesses: []permission.Access{{Kind: permission.Write, Target: "/w/a.go", Named: "a.go"}},
				Mode:     permission.Default, Agent: []string{"t1"}, Dir: "/w",
			},
			Reason: "no rule", ReasonType: "workingDir", Outside: "/x", Preview: event.Command{Command: "ls"}, Call: &call,
			Schema: json.RawMessage(`{"type":"object"}`),
		}},
		event.Answered{ID: "q1", Answer: event.Answer{
			Choice: event.ChoiceNo, Choices: []string{"a"}, Text: "use b",
			Input: json.RawMessage(`{"x":1}`), Rules: []string{"Edit(a.go)"}, Canceled: true, Interrupt: true,
		}},
		event.StepEnd{Step: 1, Usage: usage, CostUSD: 0.01, Stop: llm.StopToolUse, APITime: time.Second},
		event.TurnEnd{
			Reason: event.EndCompleted, Err: "e", Steps: 1, Usage: usage, CostUSD: 0.01, Duration: time.Minute,
			APITime: time.Second,
		},
		event.Opened{Session: "s2", Title: "Fix it", Dir: "/w", Path: "/s/s2", More: "s2:1f", History: []event.Body{
			event.UserMessage{Message: llm.UserText("fix it")},
			event.PartDone{MessageID: "r1", Part: call, Model: "m", Usage: usage},
			event.ToolEnd{Call: call, Result: result, Title: "a.go", View: event.Diff{Path: "a.go", Unified: "+a\n", Added: 1}},
			event.Unknown{Name: "future.kind", JSON: json.RawMessage(`{"a":1}`)},
		}},
		event.Status{
			Session: "s1", Title: "Fix it", Model: "m", Effort: "high", Mode: permission.Plan, Dir: "/w", Branch: "main",
			ContextUsed: 10, ContextWindow: 20,
			CostUSD: 0.1, Usage: usage, CacheHit: 0.5, Background: 1,
			Waiting: []event.Waiting{{ID: "p2", Text: "and then", After: true}},
			Changed: []event.ChangedFile{{Path: "a.go", Added: 1, Removed: 2}},
			Todos:   []event.TodoItem{{Content: "Fix", Status: "pending"}}, Line: "x",
		},
		event.State{Doing: event.Blocked, Turn: "p1", For: "permission"},
		event.SessionCreated{ID: "s2", Dir: "/w", Of: "s1"},
		event.SessionRenamed{ID: "s1", Title: "Mend it"},
		event.SessionArchived{ID: "s1", Back: true},
		event.SessionDeleted{ID: "s1"},
		event.ServerChanged{Server: event.LanguageServer{Name: "gopls", State: "ready", Errors: 1}},
		event.Unknown{Name: "future.kind", JSON: json.RawMessage(`{"a":[1,2]}`)},
	}
	for _, v := range []event.View{
		nil,
		event.Diff{Path: "new.go", Unified: "+a\n", Added: 1, Created: true},
		event.Command{
			Command: "go test", Dir: "/w", Output: "ok", ExitCode: 1, Duration: time.Second, TimedOut: true,
			Cancelled: true, OutputRef: "/b/1",
		},
		event.Listing{Title: "*.go", Items: []string{"a.go"}, Total: 200, Truncated: true},
		event.TextView{Text: "package a", Path: "a.go", Language: "go", Summary: "1 line"},
		event.Todo{Items: []event.TodoItem{{Content: "Fix", Status: "in_progress", ActiveForm: "Fixing"}}},
		event.Image{MIME: "image/png", Data: []byte{1, 2}, Name: "a.png"},
		event.Subagent{Agent: "explore", Title: "Look", Result: "found", Steps: 2, Session: "s2"},
		event.UnknownView{Shape: "hologram", JSON: json.RawMessage(`{"shape":"hologram","depth":3}`)},
	} {
		bodies = append(bodies, event.ToolEnd{
			Call: call, Parent: "batch_1", Result: result, Title: "a.go", View: v,
			Meta: map[string]any{"lines": 2.0}, Denied: true, Duration: time.Second,
		})
	}
	return bodies
}

func everyEvent() []event.Event {
	var out []event.Event
	for i, b := range everyBody() {
		out = append(out, event.Event{
			Seq: uint64(i + 1), Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
			Session: "s1", Agent: []string{"explore/t1"}, Cursor: "s1:1f", Body: b,
		})
	}
	return out
}

func TestEveryKindIsWrittenAsTheGoldenFileSays(t *testing.T) {
	var got bytes.Buffer
	for _, e := range everyEvent() {
		line, err := event.MarshalEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(line, '\n'))
	}
	const golden = "testdata/events.jsonl"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("recorded form (-golden +got):\n%s", diff)
	}
}

func TestTheCallOfAnAgentIsInItsChain(t *testing.T) {
	for _, c := range []struct{ agent, call string }{
		{`[]`, ""},
		{`["plan"]`, ""},
		{`["general/toolu_1","explore/toolu_3"]`, "toolu_3"},
	} {
		var e event.Event
		line := `{"seq":1,"time":"2026-01-02T03:04:05Z","session":"s","agent":` + c.agent +
			`,"kind":"notice","body":{"level":"info","text":"x"}}`
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := event.CallOf(e.Agent); got != c.call {
			t.Errorf("agent %s: the call is %q, not %q", c.agent, got, c.call)
		}
	}
}

func TestEveryEventIsReadBackAsItWas(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range everyEvent() {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got event.Event
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(e, got, cmpopts.IgnoreFields(event.Request{}, "Bytes")); diff != "" {
			t.Errorf("%s (-was +read):\n%s", e.Body.Kind(), diff)
		}
		seen[e.Body.Kind()] = true
	}
	for _, k := range event.Kinds() {
		if !seen[k] {
			t.Errorf("%s is not in everyBody", k)
		}
	}
	if slices.Contains(event.Kinds(), "future.kind") {
		t.Error("the unknown kind is known")
	}
}

func TestTheOutputOfACommandIsReadBackAsItWas(t *testing.T) {
	prompt := llm.UserText("go on")
	want := event.Output{
		Text: "**done**", View: event.Diff{Path: "a.go", Unified: "+a\n", Added: 1}, Prompt: &prompt, Insert: "i", Copy: "c",
		Open: "keys", Theme: "dark", Quit: true,
		Pick: &event.Pick{
			Title: "Which?", Command: "resume", Empty: "none", Actions: []event.PickAction{{
				Key: "ctrl+d", Label: "delete",
				Command: "delete", Ask: "?", Undo: "restore", Refresh: "sessions",
			}},
			Items: []event.PickItem{{ID: "1", Label: "one", Detail: "d", Preview: "p", Time: time.Date(2026, 1, 2, 3, 4, 5, 0,
				time.UTC), Depth: 1, Current: true}},
		},
	}
	for _, want := range []event.Output{want, {}} {
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got event.Output
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-was +read):\n%s", diff)
		}
	}
}

func TestACallWithoutInputIsWrittenWithAnEmptyObject(t *testing.T) {
	for _, b := range []event.Body{
		event.ToolStart{},
		event.ToolEnd{},
		event.Denied{},
		event.Asked{Question: event.Question{Call: &llm.ToolCall{}}},
	} {
		line, err := event.MarshalEvent(event.Event{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(line, []byte(`"input":{}`)) {
			t.Errorf("%s", line)
		}
	}
}

func TestDamagedEventsAreErrorsThatSayWhere(t *testing.T) {
	for _, in := range []string{
		``, `[]`, `{"seq":7,"kind":"delta","body":{"delta":{"type":"smell"}}}`, `{"seq":7,"kind":"delta","body":{}}`,
		`{"seq":7,"kind":"tool.end","body":{"result":{"type":"text"}}}`, `{"seq":7,"kind":"tool.end","body":{}}`,
		`{"seq":7,"kind":"part.done","body":{"part":{"type":"smell"}}}`, `{"seq":7,"kind":"turn.end","body":[]}`,
	} {
		if e, err := event.UnmarshalEvent([]byte(in)); err == nil {
			t.Errorf("%s was read as %v", in, e)
		}
	}
	for _, b := range []event.Body{nil, event.Delta{}, event.Delta{Delta: llm.ToolReady{}}, event.PartDone{}} {
		if line, err := event.MarshalEvent(event.Event{Body: b}); err == nil {
			t.Errorf("%T was written as %s", b, line)
		}
	}
}

func FuzzUnmarshalEvent(f *testing.F) {
	for _, e := range everyEvent() {
		line, err := event.MarshalEvent(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := event.UnmarshalEvent(line)
		if err != nil {
			return
		}
		again, err := event.MarshalEvent(e)
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		back, err := event.UnmarshalEvent(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, err := event.MarshalEvent(back)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("not stable, %v:\n%s\n%s", err, again, third)
		}
	})
}
