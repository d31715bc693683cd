package invoke_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

const forked = "---\ncontext: fork\nagent: Explore\nmodel: haiku\nallowed-tools: Bash(touch *)\n---\n/help is no " +
	"command here. Look for $0 at !`echo 10 o\\'clock`, see @notes.txt and @steps.md. \u202e\n"

// A typed skill with its own agent runs before the first step, when the message is on disk; its rules hold for
// the agent only.
func TestATypedSkillWithAnAgentOfItsOwnBringsItsAnswer(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/look/SKILL.md", forked)
	c.write("home/skills/look/steps.md", "the steps")
	c.answer = "Found 3."
	got := c.say("/look bugs")
	if len(c.tasks) > 0 || !strings.Contains(got[llm.OriginSkill], "runs in an agent of its own (Explore)") ||
		strings.Contains(got[llm.OriginSkill], "10 o'clock") {
		t.Fatalf("%+v %q", c.tasks, got)
	}
	msgs, err := c.BeforeStep(t.Context())
	if err != nil || len(msgs) != 1 || !strings.Contains(msgs[0].PlainText(),
		"The answer of the skill look:\n\nFound 3.") {
		t.Fatalf("%+v %v", msgs, err)
	}
	dir := filepath.Join(c.dir, "home/skills/look")
	want := []invoke.Task{{
		Skill: "look", Only: []string{"TaskOutput", "TaskStop", "Bash"}, Kind: "Explore", Title: "skill look", Model: "haiku",
		Prompt: "Do the task of the skill look, below. Your last message is its result.\nThe files that belong to it are in " + dir + ".\n\n" +
			"/help is no command here. Look for bugs at 10 o'clock, see @notes.txt and @" + filepath.Join(dir, "steps.md") +
			". <U+202E>",
	}}
	if d := cmp.Diff(want, c.tasks); d != "" {
		t.Error(d)
	}
	if after := c.decide("touch x"); c.during != permission.Allow || after == permission.Allow {
		t.Errorf("the rules of the skill: %v while it ran, %v afterwards", c.during, after)
	}
	if again, err := c.BeforeStep(t.Context()); err != nil || len(again) > 0 || len(c.tasks) != 1 {
		t.Errorf("it ran again: %v %v", again, err)
	}
	if sent := c.Message(t.Context(), c.messages[0]); len(sent.Parts) != len(c.messages[0].Parts) {
		t.Error("a message that is sent again runs the skill again")
	}
}

// The model gets the answer as the result of its call; a failure is the call's.
func TestTheModelGetsTheAnswerOfASkillWithAnAgentOfItsOwn(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/look/SKILL.md", "---\ncontext: fork\nmodel: inherit\n---\nLook.")
	c.write("home/skills/empty/SKILL.md", "---\ncontext: fork\n---\n")
	c.answer = "Found 3."
	parts, err := c.Load(t.Context(), "look", "")
	if d := cmp.Diff([]llm.Part{llm.Text{Text: "Found 3."}}, parts); err != nil || d != "" {
		t.Error(err, d)
	}
	if len(c.tasks) != 1 || c.tasks[0].Kind != "general-purpose" || c.tasks[0].Model != "" {
		t.Errorf("%+v", c.tasks)
	}
	c.answer = "failed: there is no agent Explore"
	if _, err := c.Load(t.Context(), "look", ""); err == nil || err.Error() != c.answer {
		t.Error(err)
	}
	if _, err := c.Load(t.Context(), "empty", ""); err == nil || !strings.Contains(err.Error(), "no instructions") {
		t.Error(err)
	}
}

// After kill -9 the conversation announces an answer that never comes. The next message corrects that, once.
func TestASkillWhoseAnswerNeverCameIsCalledInterrupted(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/look/SKILL.md", "---\ncontext: fork\n---\nLook.")
	c.answer = "Found 3."
	c.say("/look")
	steered := c.say("and look well")
	if strings.Contains(steered[llm.OriginReminder], "interrupted") {
		t.Errorf("it still waits: %q", steered)
	}
	after := newConversation(t) // the process that resumes it
	after.write("home/skills/look/SKILL.md", "---\ncontext: fork\n---\nLook.")
	after.answer = "Found 4."
	after.messages = c.messages
	got := after.say("what did it find?")
	if !strings.Contains(got[llm.OriginReminder], "The skill look did not finish: it was interrupted") ||
		len(after.notices) != 1 || !strings.Contains(after.notices[0], "/look runs it again") {
		t.Errorf("%q %q", got, after.notices)
	}
	if again := after.say("hm?"); again[llm.OriginReminder] != "" || len(after.notices) != 1 {
		t.Errorf("repeated: %q %q", again, after.notices)
	}
	after.say("/look")
	msgs, err := after.BeforeStep(t.Context())
	if err != nil || len(msgs) != 1 || !strings.Contains(msgs[0].PlainText(), "Found 4.") {
		t.Fatalf("%+v %v", msgs, err)
	}
	after.messages = append(after.messages, msgs...)
	if got := after.say("thanks"); got[llm.OriginReminder] != "" {
		t.Errorf("answered, but called interrupted: %q", got)
	}
}

// A typed skill whose turn ended before its first step does not run in a later turn.
func TestATypedSkillDoesNotOutliveItsTurn(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/look/SKILL.md", "---\ncontext: fork\n---\nLook.")
	c.say("/look")
	c.EndTurn()
	if msgs, err := c.BeforeStep(t.Context()); err != nil || len(msgs) > 0 || len(c.tasks) > 0 {
		t.Errorf("%v %v %v", msgs, err, c.tasks)
	}
}
