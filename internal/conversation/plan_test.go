package conversation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

func toolReplies(calls ...llmtest.Part) *llmtest.Script {
	var replies []llmtest.Reply
	for _, c := range calls {
		replies = append(replies, llmtest.Say(c))
	}
	return llmtest.Replies(append(replies, llmtest.Say(llmtest.Text("Done.")))...)
}

func write(name, text string) llmtest.Part {
	return llmtest.Tool("Write", map[string]any{"file_path": name, "content": text})
}

func exitPlan(plan string) llmtest.Part {
	return llmtest.Tool("ExitPlanMode", map[string]any{"plan": plan})
}

// resultTexts are the texts that the model got for its calls, in order.
func resultTexts(s *conversation.Session) (out []string) {
	for _, m := range s.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				out = append(out, r.PlainText())
			}
		}
	}
	return out
}

func conversationText(s *conversation.Session) string {
	var b strings.Builder
	for _, m := range s.Messages() {
		b.WriteString(m.PlainText() + "\n")
	}
	return b.String()
}

// In plan mode no agent and no tool writes any file but the plan; after the approval the work goes on in the mode
// that the user chose.
func TestAPlanIsApprovedAndThenCarriedOut(t *testing.T) {
	for choice, tc := range map[string]struct {
		mode  permission.Mode
		asked int // permissions
	}{
		event.ChoiceEdits: {permission.AcceptEdits, 0},
		event.ChoiceAsk:   {permission.Default, 1},
		event.ChoiceOnce:  {permission.Default, 1},
	} {
		plan := "# Greet\n\n1. Write hello.txt"
		p := newPlace(t, toolReplies(
			write("hello.txt", "too early"), llmtest.Tool("Bash", map[string]any{"command": "echo x > hello.txt"}),
			exitPlan(plan), write("hello.txt", "hello"),
		))
		s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Plan }),
			conversation.SessionOptions{Interactive: true})
		asked := answering(t, s, event.Answer{Choice: choice}, event.Answer{Choice: event.ChoiceOnce})
		if _, err := s.Prompt(t.Context(), llm.UserText("greet")); err != nil {
			t.Fatal(err)
		}
		got := resultTexts(s)
		if len(got) != 4 || !strings.Contains(got[0], "the mode is plan") || !strings.Contains(got[1], "the mode is plan") ||
			!strings.Contains(got[2], "approved the plan") {
			t.Errorf("%s: %q", choice, got)
		}
		if s.Mode() != tc.mode || p.read(t, "hello.txt") != "hello" {
			t.Errorf("%s: mode %s", choice, s.Mode())
		}
		qs := asked()
		if len(qs) != 1+tc.asked {
			t.Fatalf("%s: asked %d times: %+v", choice, len(qs), qs)
		}
		var in consult.Exit
		if err := json.Unmarshal(qs[0].Call.Input, &in); err != nil || in.Plan != plan || in.Path != filepath.Join(
			s.Log().Folder(), consult.FileName) {
			t.Errorf("%s: %s %v", choice, qs[0].Call.Input, err)
		}
		if b, err := os.ReadFile(in.Path); err != nil || strings.TrimSpace(string(b)) != plan {
			t.Errorf("%s: %q %v", choice, b, err)
		}
		if text := conversationText(s); strings.Count(text, "Plan mode is on") != 1 || strings.Contains(text,
			"Plan mode is off.\n") {
			t.Errorf("%s: the model was not told once:\n%s", choice, text)
		}
		if consult.Approved(s.Log()) != plan {
			t.Errorf("%s: approved %q", choice, consult.Approved(s.Log()))
		}
	}
}

// planned opens an interactive session in plan mode whose script may name the plan's file as ${PLAN}.
func planned(t *testing.T, script *llmtest.Script) (*place, *conversation.Session) {
	script.Vars = map[string]string{}
	p := newPlace(t, script)
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Plan }),
		conversation.SessionOptions{Interactive: true})
	script.Vars["PLAN"] = filepath.Join(s.Log().Folder(), consult.FileName)
	return p, s
}

// The model writes the plan's file with its own tools, and ExitPlanMode shows it; a refusal with words goes back to the
// model, and the text that the user changed is the plan.
func TestAPlanInItsFileIsSentBackWithWordsAndThenEdited(t *testing.T) {
	exit := llmtest.Tool("ExitPlanMode", map[string]any{})
	p, s := planned(t, toolReplies(write("${PLAN}", "# One"), exit,
		llmtest.Tool("Edit", map[string]any{"file_path": "${PLAN}", "old_string": "One", "new_string": "Two"}), exit,
		write("${PLAN}", "# Late")))
	answering(t, s, event.Answer{Choice: event.ChoiceNo, Text: "make it two"}, event.Answer{
		Choice: event.ChoiceEdits,
		Input:  json.RawMessage(`{"plan":"# Three"}`),
	}, event.Answer{Choice: event.ChoiceNo, Text: "no"})
	if _, err := s.Prompt(t.Context(), llm.UserText("plan")); err != nil {
		t.Fatal(err)
	}
	got := resultTexts(s)
	for i, want := range []string{
		"File created: ", "The user says: make it two", "has been updated",
		"The user changed it; this is the plan now:\n\n# Three", "modified since it was read",
	} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("result %d: %q, want %q", i, got[min(i, len(got)-1)], want)
		}
	}
	b, err := os.ReadFile(filepath.Join(s.Log().Folder(), consult.FileName))
	if err != nil || string(b) != "# Three\n" || consult.Approved(s.Log()) != "# Three" {
		t.Errorf("%q %v, approved %q", b, err, consult.Approved(s.Log()))
	}
	if _, err := os.Stat(filepath.Join(p.dir, consult.FileName)); err == nil {
		t.Error("a plan lies in the project")
	}
}

// No answer and no words end the turn: the user wants to speak first.
func TestAPlanThatIsNotAnsweredEndsTheTurn(t *testing.T) {
	for _, a := range []event.Answer{{Canceled: true}, {Choice: event.ChoiceNo}} {
		_, s := planned(t, toolReplies(exitPlan("# X")))
		answering(t, s, a)
		end, err := s.Prompt(t.Context(), llm.UserText("plan"))
		if err != nil || end.Reason != event.EndRefused || s.Mode() != permission.Plan {
			t.Errorf("%+v %v %s", end, err, s.Mode())
		}
	}
}

// A mode that was set while the plan was open stays.
func TestTheModeThatWasSetWhileAPlanWasOpenStays(t *testing.T) {
	_, s := planned(t, toolReplies(exitPlan("# X")))
	sub := s.Subscribe(t.Context())
	go func() {
		for e := range sub.All(t.Context()) {
			if q, ok := e.Body.(event.Asked); ok {
				_ = s.SetMode(t.Context(), permission.DontAsk)
				_ = s.Answer(q.ID, event.Answer{Choice: event.ChoiceEdits})
			}
		}
	}()
	if _, err := s.Prompt(t.Context(), llm.UserText("plan")); err != nil || s.Mode() != permission.DontAsk {
		t.Errorf("%s %v", s.Mode(), err)
	}
}

// The user may approve a plan and have the conversation before it cleared: the next request has the plan and not the
// way to it.
func TestAPlanIsCarriedOutInAFreshContext(t *testing.T) {
	script := toolReplies(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/long.txt"}),
		exitPlan("# The plan\n\n1. Write b.txt"), write("b.txt", "b"))
	script.Order = "arrival"
	p, s := planned(t, script)
	p.write(t, "long.txt", "needle in the exploration\n")
	p.write(t, "CLAUDE.md", "Rule 17: never use tabs.")
	answering(t, s, event.Answer{Choice: event.ChoiceFresh})
	if _, err := s.Prompt(t.Context(), llm.UserText("plan it")); err != nil {
		t.Fatal(err)
	}
	if p.read(t, "b.txt") != "b" || s.Mode() != permission.AcceptEdits {
		t.Errorf("mode %s", s.Mode())
	}
	first := s.Messages()[0].PlainText()
	for _, want := range []string{"1. Write b.txt", "Rule 17", "plan it", "Plan mode is off"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not in:\n%s", want, first)
		}
	}
	if text := conversationText(s); len(resultTexts(s)) != 1 || strings.Contains(text, "Plan mode is on") {
		t.Errorf("%q\n%s", resultTexts(s), text)
	}
}

// The model proposes plan mode; the user decides. Approval leads back to the mode from before.
func TestTheModelProposesPlanMode(t *testing.T) {
	p := newPlace(t, toolReplies(llmtest.Tool("EnterPlanMode", map[string]any{}), write("a.txt", "no"), exitPlan("# X"),
		llmtest.Tool("EnterPlanMode", map[string]any{})))
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Auto }),
		conversation.SessionOptions{Interactive: true})
	answering(t, s, event.Answer{Choice: event.ChoiceOnce}, event.Answer{Choice: event.ChoiceOnce},
		event.Answer{Choice: event.ChoiceNo})
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	got := resultTexts(s)
	if len(got) != 4 || !strings.Contains(got[0], "Plan mode is on") || !strings.Contains(got[1], "the mode is plan") ||
		!strings.Contains(got[2], "the mode is auto") ||
		!strings.Contains(got[3], "Begin without a plan") || s.Mode() != permission.Auto {
		t.Errorf("%q %s", got, s.Mode())
	}
}

// The approved plan goes through a compaction and a resume.
func TestAnApprovedPlanSurvivesACompactionAfterAResume(t *testing.T) {
	script := longWork(t, nil, 4)
	script.Replies = append([]llmtest.Reply{
		llmtest.Say(exitPlan("# Keep me\n\nneedle of the plan")),
		llmtest.Say(llmtest.Text("Later.")),
	}, script.Replies...)
	p := newPlace(t, script)
	longWork(t, p, 4)
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Plan }),
		conversation.SessionOptions{Interactive: true})
	answering(t, s, event.Answer{Choice: event.ChoiceEdits})
	if _, err := s.Prompt(t.Context(), llm.UserText("plan")); err != nil {
		t.Fatal(err)
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSession(t, p.open(t, nil), conversation.SessionOptions{Resume: id})
	if _, err := s.Prompt(t.Context(), llm.UserText("read on")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if first := s.Messages()[0].PlainText(); !strings.Contains(first,
		"# The approved plan\n\n# Keep me\n\nneedle of the plan") {
		t.Errorf("%s", first)
	}
}

// Nothing that the model writes into its own call counts as an answer.
func TestTheModelDoesNotAnswerForTheUser(t *testing.T) {
	question := map[string]any{"question": "Which?", "options": []map[string]string{{"label": "Red"}, {"label": "Blue"}}}
	call := llmtest.Tool("AskUserQuestion", map[string]any{
		"questions": []any{question},
		"answers":   map[string]string{"Which?": "Red"},
	})
	for name, mode := range map[string]permission.Mode{
		"asked":                    permission.Bypass,
		"a mode that asks nothing": permission.DontAsk,
	} {
		p := newPlace(t, toolReplies(call))
		s := newSession(t, p.open(t, func(o *conversation.Options) {
			o.Mode, o.Allowed = mode, []string{"AskUserQuestion"}
		}), conversation.SessionOptions{Interactive: true})
		asked := answering(t, s, event.Answer{Parts: []event.Answer{{Choice: "1"}}})
		if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
			t.Fatal(err)
		}
		got := resultTexts(s)
		switch {
		case mode == permission.DontAsk && (len(asked()) != 0 || !strings.Contains(got[0], "the mode is dontAsk")):
			t.Errorf("%s: %q %v", name, got, asked())
		case mode == permission.Bypass && (len(asked()) != 1 || !strings.Contains(got[0], "→ Blue") ||
			strings.Contains(got[0], "Red")):
			t.Errorf("%s: %q %v", name, got, asked())
		}
	}
}

// Where nobody answers, the tools are not offered, and the plan is the answer.
func TestWhereNobodyAnswersThereIsNothingToAskWith(t *testing.T) {
	p := newPlace(t, toolReplies(exitPlan("# X"), write("a.txt", "x")))
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Plan }),
		conversation.SessionOptions{})
	for _, name := range []string{consult.QuestionName, consult.EnterPlanName, consult.ExitPlanName} {
		if slices.Contains(s.Tools(), name) {
			t.Errorf("%s is offered", name)
		}
	}
	if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	if got := resultTexts(s); !strings.Contains(got[0], `no tool "ExitPlanMode"`) || !strings.Contains(got[1],
		"the mode is plan") || s.Mode() != permission.Plan {
		t.Errorf("%q", got)
	}
	if text := conversationText(s); !strings.Contains(text, "end your turn with the plan as your answer") {
		t.Errorf("%s", text)
	}
}

// A compaction in plan mode takes neither the mode nor how the plan is handed in from the request that follows it.
func TestPlanModeSurvivesACompaction(t *testing.T) {
	p := longPlace(t, 40)
	s := newSession(t, p.openWith(t, "ANTHROPIC_COMPACTION_THRESHOLD=14000"),
		conversation.SessionOptions{Interactive: true})
	if err := s.SetMode(t.Context(), permission.Plan); err != nil {
		t.Fatal(err)
	}
	sub := s.Subscribe(t.Context())
	if _, err := s.Prompt(t.Context(), llm.UserText("Plan it.")); err != nil {
		t.Fatal(err)
	}
	if n := len(compactionsOf(t, sub)); n < 2 || s.Mode() != permission.Plan {
		t.Fatalf("%d compactions, mode %s", n, s.Mode())
	}
	for _, r := range p.srv.Requests() {
		var body struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(r.Body), "Plan mode is on: every call"); len(body.Tools) > 0 && n != 1 {
			t.Errorf("request %d has the reminder of plan mode %d times", r.N, n)
		}
	}
}

// A plan of one long line is kept as far as it fits, and a file that has another plan by now is not named as its place.
func TestTheKeptPlanIsTheApprovedOne(t *testing.T) {
	_, s := planned(t, toolReplies(exitPlan("needle of the plan "+strings.Repeat("x ", 13_000))))
	answering(t, s, event.Answer{Choice: event.ChoiceEdits})
	if _, err := s.Prompt(t.Context(), llm.UserText("plan")); err != nil {
		t.Fatal(err)
	}
	plan := &consult.Plan{Session: consult.Session{File: consult.FileOf(s.Log())}}
	if kept := plan.Kept(s.Log()); !strings.HasPrefix(kept, "needle of the plan") || !strings.Contains(kept,
		"[the rest is in the file]") {
		t.Errorf("%.200s", kept)
	}
	if err := os.WriteFile(plan.File, []byte("# Another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := plan.Kept(s.Log())
	if !strings.HasPrefix(kept, "needle of the plan") || !strings.Contains(kept, "the rest is in the log") ||
		!strings.Contains(kept, "was changed after the approval") {
		t.Errorf("%.200s … %s", kept, kept[len(kept)-200:])
	}
}
