package conversation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

const (
	yes = `{"isComplete": true, "reasoning": "It is all there.", "refinementSuggestions": []}`
	no  = `{"isComplete": false, "reasoning": "It is half done. Really.", "refinementSuggestions": ["Write the other half"]}`
)

// judged is a judge's answer to requests that match an expression.
func judged(match, answer string) llmtest.Reply {
	return llmtest.Reply{
		When:  &llmtest.When{Matches: "(?s)" + match, System: "You judge"},
		Parts: []llmtest.Part{llmtest.Text(answer)},
	}
}

func writes(name, text string) llmtest.Part {
	return llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/" + name, "content": text})
}

func evalOn(o *conversation.Options) { o.Eval, o.Mode = true, permission.AcceptEdits }

// evalTurn runs a turn and returns its events up to the end.
func (p *place) evalTurn(t *testing.T, s *conversation.Session, text string) (events []event.Body, end event.TurnEnd) {
	t.Helper()
	sub := s.Subscribe(t.Context())
	end, err := s.Prompt(t.Context(), llm.UserText(text))
	if err != nil && end.Reason == event.EndCompleted {
		t.Fatal(err)
	}
	for e := range sub.All(t.Context()) {
		if len(e.Agent) == 0 {
			events = append(events, e.Body)
			if _, ok := e.Body.(event.TurnEnd); ok {
				break
			}
		}
	}
	return events, end
}

func of[T event.Body](events []event.Body) (out []T) {
	for _, e := range events {
		if b, ok := e.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// The judges refuse half of the work, the model gets their reasons and does the rest, and a majority accepts it.
func TestJudgesSendTheModelBackToWorkUntilAMajorityAccepts(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		judged("Your verdict of round 1: isComplete false.*", yes),
		judged("perspective: Goal Alignment", yes),
		judged(`\+half.*perspective: Co`, "Here is my verdict:\n```json\n"+no+"\n```"),
		llmtest.Say(writes("a.txt", "half\n")),
		llmtest.Say(llmtest.Text("Done.")),
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"}), writes("a.txt", "half\nother\n")),
		llmtest.Say(llmtest.Text("Now it is whole.")),
	))
	p.vars = []string{"ANTHROPIC_SMALL_FAST_MODEL=claude-haiku-4-5"}
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, end := p.evalTurn(t, s, "write both halves")
	if end.Reason != event.EndCompleted || p.read(t, "a.txt") != "half\nother\n" {
		t.Fatalf("%+v", end)
	}
	rounds := of[event.EvalComplete](events)
	if len(rounds) != 2 || rounds[0].Passed || !rounds[1].Passed || len(of[event.EvalStart](events)) != 2 ||
		len(of[event.EvalVerdict](events)) != 6 {
		t.Fatalf("%+v", rounds)
	}
	want := "The following evaluation judges found issues with the work (round 1/3):\n" +
		"\n**Correctness**: It is half done. Really.\nSuggestions:\n  - Write the other half\n" +
		"\n**Completeness**: It is half done. Really.\nSuggestions:\n  - Write the other half\n" +
		"\nPlease address the issues above and continue working to fully complete the original request."
	if rounds[0].Refinement != want {
		t.Errorf("%s", rounds[0].Refinement)
	}
	sides := of[event.SideRequest](events)
	if len(sides) != 6 || sides[0].Purpose != "eval" || !strings.Contains(sides[0].Model, "haiku") ||
		sides[0].CostUSD <= 0 {
		t.Errorf("%+v", sides)
	}
	asked := 0
	for _, sent := range p.sent() {
		if strings.Contains(sent, want[:40]) && strings.Contains(sent, "You judge") {
			asked++
		}
	}
	if asked != 0 {
		t.Error("the judges see the refinement as words of the user")
	}
}

// A majority of two accepts against one; an own judge's weight counts, and a file removes a judge.
func TestVotesCountByWeight(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		pass  bool
	}{
		{"two of three", nil, true},
		{
			"the third weighs more",
			map[string]string{"correctness.md": "---\nname: Correctness\nweight: 2.5\n---\nBugs."},
			false,
		},
		{"a tie", map[string]string{"goal.md": "---\nname: Goal Alignment\nweight: 0\n---\n"}, false},
		{"an own judge", map[string]string{"style.md": "Only the style. It passes if it reads well."}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, llmtest.Replies(
				judged("perspective: Correctness", no), judged("perspective: (Completeness|Goal|style)", yes),
				llmtest.Say(llmtest.Text("Done.")),
			))
			for name, text := range c.files {
				p.write(t, "../.config/lathe/judges/"+name, text)
			}
			s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
			events, _ := p.evalTurn(t, s, "go")
			if got := of[event.EvalComplete](events)[0]; got.Passed != c.pass {
				t.Errorf("%+v", got)
			}
		})
	}
}

// After three rounds the work is left as it is, and the event says that it did not pass.
func TestTheThirdRoundIsTheLast(t *testing.T) {
	p := newPlace(t, llmtest.Replies(judged("perspective", no), llmtest.Say(llmtest.Text("Done.")),
		llmtest.Say(llmtest.Text("Done.")), llmtest.Say(llmtest.Text("Done."))))
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, end := p.evalTurn(t, s, "go")
	rounds := of[event.EvalComplete](events)
	if end.Reason != event.EndCompleted || end.Steps != 3 || len(rounds) != 3 || rounds[2].Passed || !rounds[2].Last ||
		rounds[2].Refinement != "" {
		t.Errorf("%+v %+v", end, rounds)
	}
	if events, _ = p.evalTurn(t, s, "again"); len(of[event.EvalComplete](events)) == 0 {
		t.Error("the next turn was not judged")
	}
}

// A failing check command is a veto against all judges; its output goes to the model and to the judges.
func TestAFailingCheckIsAVeto(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		judged("It failed:.*not whole.*perspective", yes), judged("It passed.*perspective", yes),
		llmtest.Say(writes("a.txt", "half\n")), llmtest.Say(llmtest.Text("Done.")),
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"}), writes("a.txt", "whole\n")),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "check.sh", "grep -q whole a.txt || { echo not whole; exit 3; }\n")
	p.write(t, "../.config/lathe/settings.json", `{"eval": {"command": "sh check.sh"}}`)
	inst := p.open(t, func(o *conversation.Options) { evalOn(o); o.Allowed = []string{"Bash(sh check.sh)"} })
	s := newSession(t, inst, conversation.SessionOptions{})
	events, _ := p.evalTurn(t, s, "go")
	rounds := of[event.EvalComplete](events)
	if len(rounds) != 2 || rounds[0].Passed || !rounds[1].Passed || !rounds[0].Check.Failed || rounds[1].Check.Failed {
		t.Fatalf("%+v", rounds)
	}
	if !strings.Contains(rounds[0].Refinement, "the command `sh check.sh` failed:") ||
		!strings.Contains(rounds[0].Refinement, "not whole") {
		t.Errorf("%s", rounds[0].Refinement)
	}
	for _, v := range rounds[0].Verdicts {
		if !v.Complete {
			t.Errorf("%+v", v)
		}
	}
}

// A check that permissions refuse is no failure of the work, and the judges know that it did not run.
func TestARefusedCheckIsNoVeto(t *testing.T) {
	p := newPlace(t, llmtest.Replies(judged("It did not run:.*perspective", yes), llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "../.config/lathe/settings.json", `{"eval": {"command": "touch refused"}}`)
	s := newSession(t, p.open(t, func(o *conversation.Options) {
		o.Eval, o.Disallowed = true, []string{"Bash(touch *)"}
	}), conversation.SessionOptions{})
	events, _ := p.evalTurn(t, s, "go")
	if got := of[event.EvalComplete](events); len(got) != 1 || !got[0].Passed || got[0].Check.NotRun == "" ||
		got[0].Check.Failed {
		t.Errorf("%+v", got)
	}
}

// Nothing is judged without the flag, of a subagent, after a reply that did not end by itself, or after an empty one.
func TestWhatIsNotJudged(t *testing.T) {
	cut := llmtest.Reply{Parts: []llmtest.Part{llmtest.Text("Half a")}, Stop: llm.StopSequence}
	empty := llmtest.Say(llmtest.Part{Thinking: "Hm."})
	for _, c := range []struct {
		name    string
		off     bool
		replies []llmtest.Reply
		rounds  int
	}{
		{"without the flag", true, []llmtest.Reply{llmtest.Say(llmtest.Text("Done."))}, 0},
		{"a stop sequence", false, []llmtest.Reply{cut}, 0},
		{"an empty reply", false, []llmtest.Reply{empty, empty}, 0},
		{"a subagent", false, []llmtest.Reply{
			said("look into", llmtest.Text("Looked.")), llmtest.Say(task(map[string]any{"prompt": "look into it"})),
			llmtest.Say(llmtest.Text("Done.")),
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, llmtest.Replies(append([]llmtest.Reply{judged("perspective", yes)}, c.replies...)...))
			s := newSession(t, p.open(t, func(o *conversation.Options) { o.Eval = !c.off }), conversation.SessionOptions{})
			if _, err := s.Prompt(t.Context(), llm.UserText("go")); err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, sent := range p.sent() {
				if strings.Contains(sent, "Your perspective: Correctness") {
					got++
				}
			}
			if got != c.rounds {
				t.Errorf("%d rounds", got)
			}
		})
	}
}

// When no judge can be reached, the work is accepted, and the event says that nobody verified it.
func TestWithoutVerdictsTheWorkIsAccepted(t *testing.T) {
	refused := llmtest.Reply{
		When:   &llmtest.When{System: "You judge"},
		Faults: []llmtest.Fault{{Kind: "status", Status: 400, Times: -1}},
	}
	p := newPlace(t, llmtest.Replies(refused, llmtest.Say(llmtest.Text("Done."))))
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, end := p.evalTurn(t, s, "go")
	got := of[event.EvalComplete](events)
	if end.Reason != event.EndCompleted || len(got) != 1 || !got[0].Passed || got[0].Unverified == "" ||
		got[0].Level() != "warning" {
		t.Errorf("%+v %+v", end, got)
	}
}

// A judge's answer that cannot be read is asked for once more; then the judge has no vote.
func TestABrokenVerdictIsAskedForOnceMore(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		judged("cannot be read", no), // the second answer of Correctness
		judged("perspective: Correctness", "I like it."), judged("perspective: Completeness", `{"reasoning": "?"}`),
		judged("perspective: Goal", yes),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "../.config/lathe/judges/c.md", "---\nname: Completeness\nweight: 0\n---\n")
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, _ := p.evalTurn(t, s, "go")
	first := of[event.EvalComplete](events)[0]
	if v := first.Verdicts[0]; v.Absent != "" || v.Complete || v.Reasoning == "" {
		t.Errorf("%+v", v)
	}

	p = newPlace(t, llmtest.Replies(judged("(perspective: Correctness|cannot be read)", "I like it."),
		judged("perspective", yes), llmtest.Say(llmtest.Text("Done."))))
	s = newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, _ = p.evalTurn(t, s, "go")
	if got := of[event.EvalComplete](events)[0]; !got.Passed || !strings.Contains(got.Verdicts[0].Absent,
		"no JSON object") {
		t.Errorf("%+v", got)
	}
}

// A judge with tools looks into files, as an agent that changes nothing.
func TestAJudgeWithToolsReadsFiles(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Reply{
			When:  &llmtest.When{Contains: "perspective: reader", Turn: ptr(0)},
			Parts: []llmtest.Part{llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})},
		},
		after("1\thalf", llmtest.Text(no)),
		judged("perspective", yes),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "a.txt", "half\n")
	p.write(t, "../.config/lathe/judges/reader.md", "---\nname: reader\ntools: true\n---\nWhat a.txt says.")
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, _ := p.evalTurn(t, s, "go")
	v := of[event.EvalComplete](events)[0].Verdicts
	if got := v[len(v)-1]; got.Judge != "reader" || got.Absent != "" || got.Complete || len(got.Suggestions) != 1 {
		t.Errorf("%+v", v)
	}
}

// A judge with tools changes nothing, whatever the session may do, and also when the user has an agent Explore that
// may.
func TestAJudgeWithToolsChangesNothing(t *testing.T) {
	for name, file := range map[string]string{
		"the built-in agent": "",
		"an agent Explore of the user's": "---\nname: Explore\ndescription: Explores and repairs\neval: " +
			"true\n---\nExplore, and repair what is wrong.",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, llmtest.Replies(
				llmtest.Reply{
					When:  &llmtest.When{Contains: "perspective: reader", Turn: ptr(0)},
					Parts: []llmtest.Part{writes("judged.txt", "x")},
				},
				llmtest.Reply{
					When:  &llmtest.When{Contains: "perspective: reader", Turn: ptr(1)},
					Parts: []llmtest.Part{llmtest.Text(no)},
				},
				judged("perspective", yes),
				llmtest.Say(llmtest.Text("Done.")),
			))
			if file != "" {
				p.write(t, "../.config/lathe/agents/Explore.md", file)
			}
			p.write(t, "../.config/lathe/judges/reader.md", "---\nname: reader\ntools: true\n---\nWhat is written.")
			s := newSession(t, p.open(t, func(o *conversation.Options) { o.Eval, o.Mode = true, permission.Bypass }),
				conversation.SessionOptions{})
			events, _ := p.evalTurn(t, s, "go")
			v := of[event.EvalComplete](events)[0].Verdicts
			if got := v[len(v)-1]; got.Judge != "reader" || got.Absent != "" || got.Complete {
				t.Errorf("%+v", got)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "judged.txt")); err == nil {
				t.Error("the judge wrote a file")
			}
		})
	}
}

// A check command that takes longer than its time limit has failed, also when Bash lets it go on in the background.
func TestACheckThatTakesTooLongIsAVeto(t *testing.T) {
	p := newPlace(t, llmtest.Replies(judged("It failed:.*did not end within.*perspective", yes),
		llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "../.config/lathe/settings.json", `{"eval": {"command": "sleep 600", "timeoutMs": 300, "maxRounds": 1}}`)
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Eval, o.Mode = true, permission.Bypass }),
		conversation.SessionOptions{})
	events, end := p.evalTurn(t, s, "go")
	got := of[event.EvalComplete](events)
	if end.Reason != event.EndCompleted || len(got) != 1 || got[0].Passed || !got[0].Check.Failed || !got[0].Last {
		t.Fatalf("%+v %+v %+v", end, got, got[0].Check)
	}
	for _, v := range got[0].Verdicts {
		if !v.Complete || v.Absent != "" {
			t.Errorf("%+v", v)
		}
	}
	if n := s.Env().Background.Running(); n != 0 {
		t.Errorf("%d commands go on", n)
	}
}

func TestAJudgeWhoseHostIsOverloadedIsAskedAgain(t *testing.T) {
	verdict := judged("perspective", yes)
	verdict.Faults = []llmtest.Fault{{Kind: "status", Status: 529, Times: 2}}
	p := newPlace(t, llmtest.Replies(verdict, llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "../.config/lathe/settings.json", `{"stream": {"retryBaseMs": 1, "maxRetryWaitMs": 5}}`)
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	events, _ := p.evalTurn(t, s, "go")
	got := of[event.EvalComplete](events)
	if len(got) != 1 || !got[0].Passed {
		t.Fatalf("%+v", got)
	}
	for _, v := range got[0].Verdicts {
		if v.Absent != "" {
			t.Errorf("%+v", v)
		}
	}
	refused := 0
	for _, r := range p.srv.Requests() {
		if r.Status == 529 {
			refused++
		}
	}
	if refused < 2 {
		t.Errorf("%d requests were refused", refused)
	}
}

// With eval: true in its file, the work of an agent that a call of Task starts is judged.
func TestAGateOnTheResultOfAnAgent(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		judged("Agent: First.*perspective", no), judged("Agent: Second.*perspective", yes),
		said("do it", llmtest.Text("First.")),
		llmtest.Reply{
			When:  &llmtest.When{Contains: "evaluation judges found issues"},
			Parts: []llmtest.Part{llmtest.Text("Second.")},
		},
		llmtest.Say(task(map[string]any{"subagent_type": "careful", "prompt": "do it"})), llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, ".lathe/agents/careful.md", "---\nname: careful\ndescription: Works with care\neval: true\n---\nWork.")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	p.promptIn(t, s, "go")
	if r := results(s.Messages()); len(r) != 1 || !strings.HasPrefix(resultText(r[0]), "Second.") {
		t.Errorf("%+v", r)
	}
}

// The verdicts of each round are an entry of the log.
func TestVerdictsAreInTheLog(t *testing.T) {
	p := newPlace(t, llmtest.Replies(judged("perspective", yes), llmtest.Say(llmtest.Text("Done."))))
	s := newSession(t, p.open(t, evalOn), conversation.SessionOptions{})
	p.evalTurn(t, s, "go")
	b := s.Log().Branch().Only("eval")
	if b.Len() != 1 {
		t.Fatalf("%d entries", b.Len())
	}
	for _, e := range b.Entries(0, 1) {
		text, err := json.Marshal(e.Body)
		if err != nil || !strings.Contains(string(text), "It is all there.") {
			t.Errorf("%s %v", text, err)
		}
	}
	if !slices.ContainsFunc(s.Messages(), func(m llm.Message) bool { return m.PlainText() == "Done." }) {
		t.Error("the answer is not there")
	}
}
