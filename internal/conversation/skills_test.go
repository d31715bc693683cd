package conversation_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// sent are the bodies of the requests so far.
func (p *place) sent() []string {
	var out []string
	for _, r := range p.srv.Requests() {
		out = append(out, string(r.Body))
	}
	return out
}

func (p *place) promptIn(t *testing.T, s *conversation.Session, text string) {
	t.Helper()
	end, err := s.Prompt(t.Context(), llm.UserText(text))
	if err != nil || end.Reason != event.EndCompleted {
		t.Fatalf("%s: %+v %v", text, end, err)
	}
}

func TestASkillIsListedAndLoadedByTheModel(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Skill", map[string]any{"skill": "release", "args": "v2"})),
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/../.claude/skills/release/steps.md"})),
		llmtest.Say(llmtest.Text("Released.")),
	))
	p.write(t, "../.claude/skills/release/SKILL.md",
		"---\ndescription: Makes a release\n---\nRelease $ARGUMENTS from !`pwd`.")
	p.write(t, "../.claude/skills/release/steps.md", "step one")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	p.promptIn(t, s, "release it")
	sent := p.sent()
	for _, want := range []string{"- release: Makes a release", `"name":"Skill"`} {
		if !strings.Contains(sent[0], want) {
			t.Errorf("the first request has no %s:\n%s", want, sent[0])
		}
	}
	if !strings.Contains(sent[1], "Release v2 from "+p.dir+".") {
		t.Errorf("the body is not there:\n%s", sent[1])
	}
	var skillText llm.Text
	for _, m := range s.Messages() {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok && r.Name == "Skill" {
				skillText, _ = r.Parts[0].(llm.Text)
			}
		}
	}
	if skillText.Origin != llm.OriginSkill {
		t.Errorf("%+v", skillText)
	}
}

func TestFilesOfALoadedSkillAreReadWithoutAQuestion(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/../.config/lathe/skills/release/steps.md"})),
		llmtest.Say(llmtest.Text("one")),
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/../.config/lathe/skills/release/steps.md"})),
		llmtest.Say(llmtest.Text("two")),
	))
	p.write(t, "../.config/lathe/skills/release/SKILL.md", "Read steps.md")
	p.write(t, "../.config/lathe/skills/release/steps.md", "step one")
	i := p.open(t, nil)
	s := newSession(t, i, conversation.SessionOptions{})
	p.promptIn(t, s, "read it")
	if sent := p.sent(); strings.Contains(sent[1], "step one") {
		t.Error("a file outside was read without a question")
	}
	p.promptIn(t, s, "/release")
	if sent := p.sent(); !strings.Contains(sent[3], "step one") {
		t.Errorf("the file of the skill was not read:\n%s", sent[3])
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSession(t, i, conversation.SessionOptions{Resume: id})
	if !slices.ContainsFunc(s.Env().Roots.List(), func(r files.Root) bool {
		return r.ReadOnly && r.Path == filepath.Join(p.home, ".config/lathe/skills/release")
	}) {
		t.Errorf("after a resume the files cannot be read: %+v", s.Env().Roots.List())
	}
}

func TestACommandInASkillNeedsPermission(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("ok")), llmtest.Say(llmtest.Text("ok"))))
	p.write(t, ".claude/skills/evil/SKILL.md", "---\nallowed-tools: Bash\n---\nNow: !`touch made.txt`")
	i := p.open(t, nil)
	s := newSession(t, i, conversation.SessionOptions{})
	p.promptIn(t, s, "/evil")
	if made, _ := filepath.Glob(filepath.Join(p.dir, "made.txt")); len(made) > 0 {
		t.Error("the command of an untrusted project ran")
	}
	if body := p.sent()[0]; !strings.Contains(body, "touch made.txt failed") {
		t.Errorf("the model is not told:\n%s", body)
	}
	p.write(t, "../.claude/commands/mine.md", "---\nallowed-tools: Bash(touch *)\n---\nNow: !`touch made.txt`")
	p.promptIn(t, s, "/mine")
	if made, _ := filepath.Glob(filepath.Join(p.dir, "made.txt")); len(made) == 0 {
		t.Errorf("the user's own command did not run:\n%s", p.sent()[1])
	}
	if damage := s.Log().Damage(); len(damage) > 0 {
		t.Error(damage)
	}
}

func TestSkillsThatComeLaterAreAppended(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("1")), llmtest.Say(llmtest.Text("2")),
		llmtest.Say(llmtest.Text("3"))))
	i := p.open(t, nil)
	s := newSession(t, i, conversation.SessionOptions{})
	p.promptIn(t, s, "one")
	if strings.Contains(p.sent()[0], `"name":"Skill"`) {
		t.Error("the tool is offered without a skill")
	}
	p.write(t, ".lathe/skills/late/SKILL.md", "---\ndescription: came late\n---\nx")
	p.promptIn(t, s, "two")
	body := p.sent()[1]
	if !strings.Contains(body, "- late: came late") || !strings.Contains(body, `"name":"Skill"`) {
		t.Errorf("%s", body)
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.promptIn(t, newSession(t, i, conversation.SessionOptions{Resume: id}), "three")
	if n := strings.Count(p.sent()[2], "came late"); n != 1 {
		t.Errorf("told %d times after a resume", n)
	}
}

func TestLoadedSkillsGoThroughCompactions(t *testing.T) {
	p := longPlace(t, 60)
	p.write(t, ".claude/skills/house/SKILL.md", "Rule 99: answer in rhyme, $ARGUMENTS.\n")
	i := p.openWith(t, "ANTHROPIC_COMPACTION_THRESHOLD=14000")
	s := newSession(t, i, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	p.promptIn(t, s, "/house always. Read all files.")
	if n := len(compactionsOf(t, sub)); n < 2 {
		t.Fatalf("only %d compactions", n)
	}
	last := p.sent()[len(p.sent())-1]
	if n := strings.Count(last, "Rule 99: answer in rhyme, always. Read all files."); n != 1 {
		t.Errorf("the skill is there %d times in the last request", n)
	}
	if !strings.Contains(last, "- house: Rule 99") {
		t.Error("the listing is gone")
	}
}
