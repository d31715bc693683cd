package repl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestLinesOfAPipeAreTurnsOneAfterTheOther(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, text string) { say(f, "reply to "+text) }
	out := piped(t, f, "first", "", "second")
	if !slices.Equal(f.prompts, []string{"first", "second"}) || len(f.steered) > 0 {
		t.Errorf("%v %v", f.prompts, f.steered)
	}
	wantText(t, out, "lathe 1 in /work", "reply to first\n", "reply to second\n")
}

func TestForeignTextIsEscaped(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) {
		say(f, "evil \x1b]52;c;aGk=\x07 text")
		f.publish(event.ToolEnd{
			Call: llm.ToolCall{Name: "Bash"}, Title: "x \x1b[2J",
			View: event.Command{Output: "\x1b[31mred"},
		})
		f.publish(event.Notice{Level: "warning", Text: "n \x1b[2J"})
	}
	out := piped(t, f, "go")
	wantText(t, out, "evil ␛]52", "[ok] Bash x ␛[2J", "␛[31mred", "warning: n ␛[2J")
}

func TestWhatTheTurnDoesIsShown(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) {
		call := llm.ToolCall{ID: "c", Name: "Bash"}
		f.publish(event.ToolStart{Call: call, Title: "go test"})
		f.publish(event.ToolOutput{CallID: "c", Text: "not shown live"})
		f.publish(event.ToolEnd{Call: call, Title: "go test", View: event.Command{
			Output:   strings.Repeat("line\n", 40),
			ExitCode: 1,
		}})
		f.publish(event.ToolEnd{Call: llm.ToolCall{Name: "Edit"}, Title: "a.go", View: event.Diff{
			Added: 1, Removed: 2,
			Unified: "-a\n+b",
		}})
		f.publish(event.ToolEnd{
			Call: llm.ToolCall{Name: "Write"}, Title: "b.go", Denied: true,
			Result: llm.ToolResult{IsError: true, Parts: []llm.Part{llm.Text{Text: "Permission denied"}}},
		})
		f.publish(event.ToolEnd{
			Call: llm.ToolCall{Name: "TodoWrite"},
			View: event.Todo{Items: []event.TodoItem{{Content: "x", Status: "completed"}, {Content: "y"}}},
		})
		f.publish(event.UserMessage{Message: llm.UserText("steered"), Steered: true})
		f.publish(event.PartDone{MessageID: "whole", Part: llm.Text{Text: "came whole"}})
	}
	out := piped(t, f, "go")
	wantText(t, out, "[ok] Bash go test", "    line", "... 28 more lines", "exit code 1", "[ok] Edit a.go", "+1 -2", "+b",
		"[denied] Write b.go", "Permission denied", "[x] x", "[ ] y", "(delivered: steered)", "came whole", "(1 step, 0s)")
	if strings.Contains(out, "not shown live") {
		t.Error("the output was streamed")
	}
}

func TestARetryVoidsWhatStreamed(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) {
		f.publish(event.Delta{MessageID: "a", Delta: llm.TextDelta{Text: "half of"}})
		f.publish(event.Retry{Attempt: 1, Max: 3, Err: "overloaded"})
		say(f, "whole")
	}
	wantText(t, piped(t, f, "go"), "half of\n", "retry 1 of 3 in 0s: overloaded\n", "whole\n")
}

func TestAFailedTurnSaysSoOnce(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) { f.publish(event.TurnEnd{Reason: event.EndFailed, Err: "no credit"}) }
	if out := piped(t, f, "go"); strings.Count(out, "no credit") != 1 {
		t.Errorf("%s", out)
	}
}

func permissionQuestion() event.Asked {
	return event.Asked{ID: "q1", Question: event.Question{
		Title: "Bash", Text: "rm -rf build", Reason: "running a command needs approval", Free: true,
		Permission: &permission.Request{
			Tool: "Bash",
			Accesses: []permission.Access{
				{Kind: permission.Exec, Target: "rm -rf build"},
				{Kind: permission.Write, Target: "/work/build", Named: "/w/build"},
			},
		},
		Preview: event.Command{Command: "rm -rf build", Warning: []string{"build: 34 files"}},
		Options: []event.Option{
			{ID: event.ChoiceOnce, Label: "Yes, once"}, {
				ID: event.ChoiceAlways, Label: "Yes, always",
				Help: "Bash(rm -rf build)",
			}, {ID: event.ChoiceNo, Label: "No"},
		},
	}}
}

func TestAPermissionIsANumberedQuestion(t *testing.T) {
	for line, want := range map[string]event.Answer{
		"1": {Choice: event.ChoiceOnce}, "2.": {Choice: event.ChoiceAlways}, "3 use another folder": {
			Choice: event.ChoiceNo,
			Text:   "use another folder",
		},
		"y": {Choice: event.ChoiceOnce}, "always": {Choice: event.ChoiceAlways}, "N": {Choice: event.ChoiceNo},
		"no use another folder": {Choice: event.ChoiceNo, Text: "use another folder"},
	} {
		f := newFake(t)
		f.turn = func(f *fake, _ string) { f.publish(permissionQuestion()) }
		out := piped(t, f, "go", "yes please", "9", line)
		if len(f.answers) != 1 || f.answers[0].Choice != want.Choice || f.answers[0].Text != want.Text {
			t.Errorf("%q: %+v", line, f.answers)
		}
		wantText(t, out, "may Bash run?", "rm -rf build", "Warning: build: 34 files", "write: /w/build -> /work/build",
			"Why: running a command needs approval",
			"2. Yes, always: Bash(rm -rf build)", "3. No", "answer with a number from 1 to 3")
	}
}

// Commands and exit work while a question is open.
func TestAQuestionCanBeLeft(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) { f.publish(permissionQuestion()) }
	wantText(t, piped(t, f, "go", "/status", "y"), "may Bash run?", "or with y, a, n")
	if len(f.answers) != 1 || !slices.Contains(f.commands, "status") {
		t.Errorf("%+v %v", f.answers, f.commands)
	}
}

func TestAChoiceWithTwoRulesKeepsItsLayout(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) {
		q := permissionQuestion()
		q.Question.Options[1].Help = "Bash(cd build)\nBash(rm -rf build)"
		f.publish(q)
	}
	wantText(t, piped(t, f, "go", "1"), "  2. Yes, always:\n     Bash(cd build)\n     Bash(rm -rf build)\n  3. No\n")
}

func TestQuestionsOfTheModelAreAnswered(t *testing.T) {
	options := []event.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B", Help: "better"}}
	for _, tt := range []struct {
		q    event.Question
		line string
		want event.Answer
	}{
		{event.Question{Title: "Which?", Options: options}, "2", event.Answer{Choice: "b"}},
		{
			event.Question{Title: "Which?", Options: options, Free: true},
			"something else",
			event.Answer{Text: "something else"},
		},
		{event.Question{Title: "Name?"}, "Ada", event.Answer{Text: "Ada"}},
		{event.Question{Title: "Which?", Options: options, Multi: true}, "1, 2", event.Answer{Choices: []string{"a", "b"}}},
	} {
		f := newFake(t)
		f.turn = func(f *fake, _ string) { f.publish(event.Asked{ID: "q", Question: tt.q}) }
		piped(t, f, "go", tt.line)
		if len(f.answers) != 1 || f.answers[0].Choice != tt.want.Choice || f.answers[0].Text != tt.want.Text ||
			!slices.Equal(f.answers[0].Choices, tt.want.Choices) {
			t.Errorf("%q: %+v, want %+v", tt.line, f.answers, tt.want)
		}
	}
}

func TestSeveralQuestionsAreAskedOneAfterTheOther(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) {
		f.publish(event.Asked{ID: "q1", Question: event.Question{Title: "First?"}})
		f.publish(event.Asked{ID: "q2", Question: event.Question{Title: "Second?"}})
	}
	wantText(t, piped(t, f, "go", "one", "two"), "First?", "Second?")
	if len(f.answers) != 2 || f.answers[0].Text != "one" || f.answers[1].Text != "two" {
		t.Errorf("%+v", f.answers)
	}
}

// The parts of a question are asked in turn and answered together.
func TestThePartsOfAQuestionAreAnsweredTogether(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, _ string) {
		options := []event.Option{{ID: "0", Label: "A", Preview: "see\x1b[2J"}, {ID: "1", Label: "B"}}
		f.publish(event.Asked{ID: "q", Of: "explore", Question: event.Question{
			Consult: true, Title: "Both",
			Parts: []event.Question{
				{Title: "One", Text: "One?", Options: options, Free: true}, {
					Text: "Two?", Options: options, Free: true,
					Multi: true,
				},
			},
		}})
	}
	wantText(t, piped(t, f, "go", "2", "1,2"), "One (question 1 of 2)", "Asked by explore.", "see␛[2J",
		"Both (question 2 of 2)")
	if len(f.answers) != 1 || len(f.answers[0].Parts) != 2 || f.answers[0].Parts[0].Choice != "1" ||
		!slices.Equal(f.answers[0].Parts[1].Choices, []string{"0", "1"}) {
		t.Errorf("%+v", f.answers)
	}
}

func TestCommandsComeToWhatTheyAre(t *testing.T) {
	f := newFake(t)
	again := llm.UserText("again")
	f.outputs["status"] = event.Output{Text: "all well"}
	f.outputs["retry"] = event.Output{Prompt: &again}
	f.outputs["copy"] = event.Output{Copy: "the reply"}
	f.outputs["keys"] = event.Output{Open: "keys"}
	f.outputs["rewind x"] = event.Output{Insert: "the old message"}
	f.outputs["theme light"] = event.Output{Theme: "light"}
	f.outputs["quit"] = event.Output{Quit: true}
	out := piped(t, f, "/status", "/retry", "/copy", "/keys", "/rewind x", "/theme light", "#a note", "!make",
		"/usr/bin/x is what", "/quit", "not reached")
	want := []string{"status", "retry", "copy", "keys", "rewind x", "theme light", "# a note", "! make", "quit"}
	if !slices.Equal(f.commands, want) || !slices.Equal(f.prompts, []string{"again", "/usr/bin/x is what"}) {
		t.Errorf("%v %v", f.commands, f.prompts)
	}
	wantText(t, out, "all well", "sent: again", "the reply", "Ctrl+C interrupts", "the old message", "light counts",
		"printed", "(exit code 2)")
}

func TestAListIsChosenFromByNumber(t *testing.T) {
	for line, want := range map[string]string{
		"2": "resume b", "delete 1": "delete-session a", "rename 2 a new name": "rename-session b a new name", "": "",
		"/status": "status",
	} {
		f := newFake(t)
		f.outputs["sessions"] = event.Output{Pick: &event.Pick{
			Title: "Sessions", Command: "resume", Items: []event.PickItem{
				{ID: "a", Label: "first", Detail: "1 h ago"},
				{ID: "b", Label: "second", Current: true, Depth: 1},
			},
			Actions: []event.PickAction{
				{Label: "rename", Command: "rename-session", Ask: "New title"},
				{Label: "delete", Command: "delete-session"},
			},
		}}
		out := piped(t, f, "/sessions", "7", line)
		wantText(t, out, "Sessions\n", "  1. first  (1 h ago)", "*  2.   second", "rename 1 NEW TITLE",
			"choose a number from 1 to 2")
		got := ""
		if len(f.commands) > 1 {
			got = f.commands[1]
		}
		if got != want {
			t.Errorf("%q: %v", line, f.commands)
		}
	}
}

func TestAnEmptyListSaysSo(t *testing.T) {
	f := newFake(t)
	f.outputs["tasks"] = event.Output{Pick: &event.Pick{Empty: "Nothing runs."}}
	wantText(t, piped(t, f, "/tasks", "2"), "Nothing runs.")
	if !slices.Equal(f.prompts, []string{"2"}) {
		t.Errorf("%v", f.prompts)
	}
}

func TestASwitchTellsWhereTheConversationStands(t *testing.T) {
	f := newFake(t)
	f.publish(event.Opened{Session: "s2", Title: "the title", History: []event.Body{
		event.UserMessage{Message: llm.UserText("the prompt")}, event.PartDone{Part: llm.Text{Text: "the reply"}},
	}})
	wantText(t, piped(t, f), "session s2: the title (1 prompts so far)", "> the prompt", "the reply")
}

func TestALineOfAnyLengthIsRead(t *testing.T) {
	f := newFake(t)
	long := strings.Repeat("word ", 40_000) + "end"
	piped(t, f, long)
	if len(f.prompts) != 1 || f.prompts[0] != long {
		t.Errorf("%d prompts", len(f.prompts))
	}
}

func TestResumingALargeConversationNamesThePriceOfTheNextMessage(t *testing.T) {
	f := newFake(t)
	st := event.Status{Session: "s2", Cache: event.CacheCost{
		Expires:  time.Now().Add(-time.Hour),
		Lifetime: 5 * time.Minute, WarmUSD: 0.06, ColdUSD: 0.75,
	}}
	f.publish(event.Opened{Session: "s2"})
	f.publish(st)
	st.Title = "once is enough"
	f.publish(st)
	if out := piped(t, f); strings.Count(out, "the next message costs about $0.75, not $0.06") != 1 {
		t.Errorf("printed:\n%s", out)
	}
}
