//go:build unix

package conversation_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// phase is a moment in the life of a subagent at which its parent is interrupted.
type phase struct {
	name     string
	replies  []llmtest.Reply
	settings string
	agent    string // the text of its file
	mode     permission.Mode
	env      string
	at       func(event.Event) bool
}

func stalled(parts ...llmtest.Part) llmtest.Reply {
	return llmtest.Reply{Parts: parts, Faults: []llmtest.Fault{{Kind: "stall"}}}
}

// when gives a reply a condition.
func when(w llmtest.When, r llmtest.Reply) llmtest.Reply {
	r.When = &w
	return r
}

const helper = "---\nname: helper\ndescription: Helps\n%s---\nYou help.\n"

// lasting is a command that names its process and does not end.
func lasting() llmtest.Part {
	return llmtest.Tool("Bash", map[string]any{"command": "echo $$ >pid; echo ready; exec sleep 600"})
}

func phases() []phase {
	ready := func(e event.Event) bool {
		b, ok := e.Body.(event.ToolOutput)
		return ok && strings.Contains(b.Text, "ready")
	}
	return []phase{
		{
			name: "while it streams", replies: []llmtest.Reply{when(llmtest.When{System: "You help.", Turn: ptr(0)},
				stalled(llmtest.Text("I begin.\n"), llmtest.Text(strings.Repeat("And go on.\n", 50))))},
			at: func(e event.Event) bool { _, ok := e.Body.(event.Delta); return ok && len(e.Agent) > 0 },
		},
		{name: "while its command runs", replies: []llmtest.Reply{when(llmtest.When{System: "You help."},
			llmtest.Say(lasting()))}, mode: permission.Bypass, at: ready},
		{
			name: "while it writes a file", replies: []llmtest.Reply{when(llmtest.When{System: "You help.", Turn: ptr(0)},
				llmtest.Say(writes("big.txt", strings.Repeat("whole\n", 200_000))))}, mode: permission.AcceptEdits,
			at: func(e event.Event) bool { _, ok := e.Body.(event.ToolStart); return ok && len(e.Agent) > 0 },
		},
		{
			name: "while it asks", replies: []llmtest.Reply{when(llmtest.When{System: "You help."},
				llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "touch asked"})))},
			at: func(e event.Event) bool { _, ok := e.Body.(event.Asked); return ok },
		},
		{
			name: "between its steps", mode: permission.Bypass, replies: []llmtest.Reply{
				when(llmtest.When{System: "You help.", Turn: ptr(0)},
					llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "true"}))),
				when(llmtest.When{System: "You help.", Turn: ptr(1)}, llmtest.Reply{
					Parts:  []llmtest.Part{llmtest.Text("x")},
					Faults: []llmtest.Fault{{Kind: "stall", At: "start"}},
				}),
			},
			at: func(e event.Event) bool {
				b, ok := e.Body.(event.StepStart)
				return ok && len(e.Agent) > 0 && b.Step > 1
			},
		},
		{
			name: "while its worktree is set up", mode: permission.Bypass, agent: "isolation: worktree\n", at: ready,
			settings: `{"worktree": {"setup": "echo $$ >\"$HOME/pid\"; echo partial >made.tmp; echo ready; exec sleep 600"}}`,
		},
		{
			name: "while it compacts", env: "ANTHROPIC_COMPACTION_THRESHOLD=9000", replies: []llmtest.Reply{
				when(llmtest.When{Tools: new(bool)}, stalled(llmtest.Text("a summary"),
					llmtest.Text(strings.Repeat("of much\n", 100)))),
				when(llmtest.When{System: "You help."}, llmtest.Say(llmtest.Text(strings.Repeat("I think aloud. ", 200)),
					llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/long.txt"}))),
			},
			at: func(e event.Event) bool { _, ok := e.Body.(event.Compacting); return ok && len(e.Agent) > 0 },
		},
		{
			name: "while it is judged", agent: "eval: true\n", mode: permission.AcceptEdits, replies: []llmtest.Reply{
				when(llmtest.When{System: "You judge"}, stalled(llmtest.Text(yes), llmtest.Text(yes))),
				when(llmtest.When{System: "You help."}, llmtest.Say(llmtest.Text("It is done."))),
			},
			at: func(e event.Event) bool { _, ok := e.Body.(event.EvalStart); return ok && len(e.Agent) > 0 },
		},
		{
			name: "while it waits for its turn", settings: `{"subagents": {"maxConcurrent": 1}}`, mode: permission.Bypass,
			at: ready,
			replies: []llmtest.Reply{
				when(llmtest.When{Contains: "begin", Turn: ptr(0)}, llmtest.Say(helperTask(), helperTask(), helperTask())),
				when(llmtest.When{System: "You help."}, llmtest.Say(lasting())),
			},
		},
	}
}

func helperTask() llmtest.Part {
	return task(map[string]any{"prompt": "help me", "subagent_type": "helper"})
}

// An interrupt of the parent at any moment of its agents ends them and all that they started; each call has its one
// result in every log, and a file is there as a whole or not at all.
func TestAnInterruptAtAnyMomentLeavesNothingBehind(t *testing.T) {
	for _, ph := range phases() {
		t.Run(ph.name, func(t *testing.T) {
			p := newPlace(t, llmtest.Replies(append(ph.replies, said("begin", helperTask()))...))
			p.write(t, ".claude/agents/helper.md", strings.Replace(helper, "%s", ph.agent, 1))
			p.write(t, ".gitignore", ".claude\n*.tmp\n")
			for name, text := range map[string]string{
				".gitattributes": "", "a.txt": "one\n",
				"long.txt": strings.Repeat("A long line of a long file.\n", 400),
			} {
				p.write(t, name, text)
			}
			if strings.Contains(ph.agent, "worktree") {
				p.repository(t)
			}
			if ph.settings != "" {
				p.write(t, "../.config/lathe/settings.json", ph.settings)
			}
			if ph.env != "" {
				p.vars = append(p.vars, ph.env)
			}
			inst := p.open(t, func(o *conversation.Options) { o.Mode = ph.mode })
			s := newSession(t, inst, conversation.SessionOptions{Interactive: true})
			interruptAt(t, s, ph)
			if end, err := s.Prompt(t.Context(), llm.UserText("begin")); err != nil || end.Reason != event.EndInterrupted {
				t.Fatalf("%+v %v", end, err)
			}
			p.leftNothing(t, inst, s)
		})
	}
}

func interruptAt(t *testing.T, s *conversation.Session, ph phase) {
	sub := s.Subscribe(t.Context())
	go func() {
		for e := range sub.All(t.Context()) {
			if ph.at(e) {
				s.Interrupt()
				return
			}
		}
	}()
}

// leftNothing checks that no agent, process, question, worktree or part of a file is left of an interrupted turn.
func (p *place) leftNothing(t *testing.T, inst *conversation.Instance, s *conversation.Session) {
	t.Helper()
	everyCallHasOneResult(t, s.Messages())
	for info, err := range inst.Store().Children(s.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		log, err := inst.Store().OpenReadOnly(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		everyCallHasOneResult(t, log.Messages())
		_ = log.Close()
	}
	for _, dir := range []string{p.dir, p.home} {
		if text, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil || !await.Until(func() bool { return syscall.Kill(pid, 0) != nil }) {
				t.Errorf("the process %d is still there: %v", pid, err)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "big.txt")); err == nil && len(text) != len("whole\n")*200_000 {
		t.Errorf("the file has %d bytes", len(text))
	}
	if left, err := filepath.Glob(filepath.Join(p.dir, ".*.tmp*")); err != nil || len(left) > 0 {
		t.Errorf("%q %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "asked")); err == nil {
		t.Error("a call that was asked for ran")
	}
	if left, err := os.ReadDir(p.dir + ".worktrees"); err == nil && len(left) > 0 {
		t.Errorf("the worktree is left: %v", left)
	}
}

func everyCallHasOneResult(t *testing.T, messages []llm.Message) {
	t.Helper()
	left := map[string]int{}
	for _, m := range messages {
		for _, c := range m.Calls() {
			left[c.ID]++
		}
	}
	for _, r := range results(messages) {
		left[r.CallID]--
	}
	for id, n := range left {
		if n != 0 {
			t.Errorf("the call %s misses %d results", id, n)
		}
	}
}

// The end of an agent does not end its parent.
func TestAStoppedAgentsParentGoesOn(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		said("begin", task(map[string]any{"prompt": "help me", "subagent_type": "general-purpose"})),
		said("help me", lasting()),
		llmtest.Reply{When: &llmtest.When{Result: "agent"}, Parts: []llmtest.Part{llmtest.Text("I do it myself.")}},
	))
	inst := p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass })
	s := newSession(t, inst, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	go func() {
		for e := range sub.All(t.Context()) {
			if b, ok := e.Body.(event.ToolOutput); ok && strings.Contains(b.Text, "ready") {
				for _, a := range s.Env().Agents.Tasks.List() {
					_, _ = s.Env().Agents.Tasks.Stop(t.Context(), a.ID)
				}
			}
		}
	}()
	if end, err := s.Prompt(t.Context(), llm.UserText("begin")); err != nil || end.Reason != event.EndCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	if last := s.Messages()[len(s.Messages())-1].PlainText(); last != "I do it myself." {
		t.Errorf("%q: %s", last, resultText(results(s.Messages())[0]))
	}
	p.leftNothing(t, inst, s)
}

// An agent that ends in the background while its parent's reply streams is reported with the request after that reply.
func TestAnAgentThatEndsDuringAStreamIsReportedAtTheNextStep(t *testing.T) {
	wait := func(file string) llmtest.Part {
		return llmtest.Tool("Bash", map[string]any{"command": "until [ -e " + file + " ]; do sleep 0.01; done"})
	}
	streams := after("works in the background", llmtest.Text("I go on."), wait("ended"))
	streams.Faults = []llmtest.Fault{{Kind: "stall", At: "after part 0", For: llmtest.Duration(200 * time.Millisecond)}}
	p := newPlace(t, llmtest.Replies(
		llmtest.Reply{When: &llmtest.When{Contains: "has finished"}, Parts: []llmtest.Part{llmtest.Text("I have it.")}},
		said("begin", task(map[string]any{"prompt": "quick work", "run_in_background": true})),
		said("quick work", wait("go")), streams,
		llmtest.Reply{When: &llmtest.When{Turn: ptr(1)}, Parts: []llmtest.Part{llmtest.Text("The child's answer.")}},
	))
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass }),
		conversation.SessionOptions{Interactive: true})
	sub := s.Subscribe(t.Context())
	go func() {
		for e := range sub.All(t.Context()) {
			switch b := e.Body.(type) {
			case event.StepStart:
				if len(e.Agent) == 0 && b.Step == 2 {
					_ = os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600)
				}
			case event.TurnEnd:
				if len(e.Agent) > 0 && await.Until(func() bool { return s.Env().Agents.Tasks.Running() == 0 }) {
					_ = os.WriteFile(filepath.Join(p.dir, "ended"), nil, 0o600)
				}
			}
		}
	}()
	run(t, s, "begin")
	messages := s.Messages()
	if last := messages[len(messages)-1].PlainText(); last != "I have it." {
		t.Errorf("%q", last)
	}
	if told := messages[len(messages)-2].PlainText(); !strings.Contains(told, "The child's answer.") ||
		len(messages) != 7 {
		t.Errorf("%q", told)
	}
}
