package conversation_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

const scoutSkill = "---\ndescription: Scouts\ncontext: fork\nagent: Explore\nmodel: claude-haiku-4-5\n---\nLook " +
	"into $0 and report."

// The model's call of a skill with an agent of its own has the agent's answer as its result; the conversation never has
// the skill's text, and the agent's cost and log are under the session's.
func TestASkillRunsInAnAgentOfItsOwn(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		said("who?", llmtest.Tool("Skill", map[string]any{"skill": "scout", "args": "a.txt"})),
		said("Look into a.txt", llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		after("1\tnobody", llmtest.Text("a.txt says nobody.")),
		after("a.txt says nobody.", llmtest.Text("Nobody.")),
	))
	p.write(t, "a.txt", "nobody\n")
	p.write(t, ".claude/skills/scout/SKILL.md", scoutSkill)
	inst := p.open(t, nil)
	s := newSession(t, inst, conversation.SessionOptions{})
	p.promptIn(t, s, "who?")
	r := results(s.Messages())
	if len(r) != 1 || r[0].IsError || !strings.HasPrefix(resultText(r[0]), "a.txt says nobody.") {
		t.Fatalf("%+v", r)
	}
	oneScout(t, inst, s)
	if last := p.sent()[len(p.sent())-1]; strings.Contains(last, "Look into a.txt") {
		t.Errorf("the text of the skill is in the conversation:\n%s", last)
	}
}

// The allowed-tools of such a skill are all the tools that its agent has.
func TestTheAllowedToolsOfASkillAreAllThatItsAgentHas(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		said("who?", llmtest.Tool("Skill", map[string]any{"skill": "scout", "args": "a.txt"})),
		said("Look into a.txt", llmtest.Text("Nobody.")),
		after("Nobody.", llmtest.Text("Nobody.")),
	))
	p.write(t, ".claude/skills/scout/SKILL.md", strings.Replace(strings.Replace(scoutSkill, "Explore", "general-purpose", 1),
		"context", "allowed-tools: Read, Bash(ls *)\ncontext", 1))
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	p.promptIn(t, s, "who?")
	for _, body := range p.sent() {
		if !strings.Contains(body, "Look into a.txt") {
			continue
		}
		if !strings.Contains(body, `"name":"Read"`) || !strings.Contains(body, `"name":"Bash"`) ||
			strings.Contains(body, `"name":"Edit"`) || strings.Contains(body, `"name":"Grep"`) {
			t.Errorf("its tools: %s", body)
		}
		return
	}
	t.Error("the agent asked nothing")
}

// Typed by its name, the skill runs before the model answers, which gets the answer.
func TestATypedSkillRunsInAnAgentOfItsOwn(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		said("Look into a.txt", llmtest.Text("a.txt says nobody.")),
		said("The answer of the skill scout:", llmtest.Text("Nobody.")),
		llmtest.Reply{When: &llmtest.When{Contains: "again?"}, Parts: []llmtest.Part{llmtest.Text("No.")}},
	))
	p.write(t, "a.txt", "nobody\n")
	p.write(t, ".claude/skills/scout/SKILL.md", strings.Replace(scoutSkill, "context",
		"disable-model-invocation: true\ncontext", 1))
	inst := p.open(t, nil)
	s := newSession(t, inst, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	p.promptIn(t, s, "/scout a.txt")
	oneScout(t, inst, s)
	shown := false
	for e := range sub.All(t.Context()) {
		if b, ok := e.Body.(event.ToolEnd); ok && b.Call.Name == "Task" {
			v, _ := b.View.(event.Subagent)
			shown = v.Agent == "Explore" && v.Result == "a.txt says nobody."
		}
		if _, ok := e.Body.(event.TurnEnd); ok && len(e.Agent) == 0 {
			break
		}
	}
	if !shown {
		t.Error("the agent was not shown")
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSession(t, inst, conversation.SessionOptions{Resume: id})
	p.promptIn(t, s, "again?")
	sent := p.sent()
	if err := llmtest.SamePrefix([]byte(sent[len(sent)-2]), []byte(sent[len(sent)-1])); err != nil {
		t.Error(err)
	}
}

// oneScout checks that the session started one agent, of the skill's kind and with its model.
func oneScout(t *testing.T, inst *conversation.Instance, s *conversation.Session) {
	t.Helper()
	n := 0
	for info, err := range inst.Store().Children(s.ID()) {
		if n++; err != nil || info.Agent != "Explore" || !strings.Contains(info.Model, "haiku") || info.CostUSD <= 0 {
			t.Errorf("%+v %v", info, err)
		}
	}
	if n != 1 {
		t.Errorf("%d agents", n)
	}
}

// A rule that removes the kind of agent holds for skills too.
func TestARuleOnAgentsHoldsForSkills(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		said("who?", llmtest.Tool("Skill", map[string]any{"skill": "scout", "args": "a.txt"})),
		llmtest.Reply{When: &llmtest.When{Turn: ptr(1)}, Parts: []llmtest.Part{llmtest.Text("Denied.")}},
	))
	p.write(t, ".claude/skills/scout/SKILL.md", scoutSkill)
	inst := p.open(t, func(o *conversation.Options) { o.Disallowed = []string{"Task(Explore)"} })
	s := newSession(t, inst, conversation.SessionOptions{})
	p.promptIn(t, s, "who?")
	if r := results(s.Messages()); len(r) != 1 || !r[0].IsError || !strings.Contains(resultText(r[0]), "denied") {
		t.Errorf("%+v", r)
	}
	for info, err := range inst.Store().Children(s.ID()) {
		t.Errorf("started: %+v %v", info, err)
	}
}
