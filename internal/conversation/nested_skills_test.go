package conversation_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

func TestSkillsOfAFolderBelowComeWithItsFirstFile(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(readCall("web/src/a.txt")),
		llmtest.Say(llmtest.Tool("Skill", map[string]any{"skill": "paint"})),
		llmtest.Say(llmtest.Tool("Skill", map[string]any{"skill": "web:release"})),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "web/src/a.txt", "one\n")
	p.write(t, "web/.claude/skills/paint/SKILL.md", "---\ndescription: Paints.\n---\nPaint it blue.")
	p.write(t, "web/.claude/skills/release/SKILL.md", "---\ndescription: Releases the web.\n---\nRelease the web.")
	p.write(t, "api/.claude/skills/other/SKILL.md", "---\ndescription: Not entered.\n---\nNo.")
	p.write(t, ".claude/skills/release/SKILL.md", "---\ndescription: Releases all.\n---\nRelease all.")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	p.promptIn(t, s, "look")
	sent := p.sent()
	if strings.Contains(sent[0], "paint") {
		t.Errorf("it is listed before its folder is entered: %s", sent[0])
	}
	for _, want := range []string{"- paint: Paints.", "- web:release: Releases the web."} {
		if !strings.Contains(sent[1], want) {
			t.Errorf("%q is not in %s", want, sent[1])
		}
	}
	last := sent[len(sent)-1]
	for _, want := range []string{"Paint it blue.", "Release the web."} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not in %s", want, last)
		}
	}
	if strings.Contains(last, "Not entered") {
		t.Error("a folder where nothing was touched is read")
	}
}

func TestCommandsInSkillsCanBeSwitchedOff(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "../.claude/skills/release/SKILL.md", "Release from !`touch ran; pwd`.")
	p.write(t, "../.config/lathe/settings.json",
		`{"disableSkillShellExecution": true, "permissions": {"allow": ["Bash"]}}`)
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	p.promptIn(t, s, "/release")
	if got := p.sent()[0]; !strings.Contains(got, "Release from [shell command execution disabled by policy].") {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(p.dir + "/ran"); err == nil {
		t.Error("the command was run")
	}
}

// The data of a session as a kill -9 in the middle of a turn leaves it: a copy taken while the turn runs.
func TestASkillThatWasActiveIsThereAfterAKill(t *testing.T) {
	hang := llmtest.Reply{Parts: []llmtest.Part{llmtest.Text("Late.")}, FirstByte: llmtest.Duration(1 << 40)}
	p := newPlace(t, llmtest.Replies(llmtest.Say(readCall("a.txt")), hang))
	p.write(t, "a.txt", "one\n")
	p.write(t, "../.claude/skills/release/SKILL.md", "---\nallowed-tools: Bash(touch *)\n---\nRelease with care.")
	p.write(t, "../.claude/skills/release/steps.md", "step one")
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = s.Prompt(ctx, llm.UserText("/release")) }()
	firstOf[event.ToolEnd](t, sub)
	killed := &place{home: p.home, dir: p.dir, vars: []string{"XDG_DATA_HOME=" + filepath.Join(p.home, "killed")}}
	if err := os.CopyFS(filepath.Join(p.home, "killed", "lathe"),
		os.DirFS(filepath.Join(p.home, ".local", "share", "lathe"))); err != nil {
		t.Fatal(err)
	}
	stop()
	<-ended
	killed.srv = llmtest.New(&llmtest.Script{Order: "arrival", Replies: []llmtest.Reply{
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": p.home + "/.claude/skills/release/steps.md"}),
			llmtest.Tool("Bash", map[string]any{"command": "touch done"})),
		llmtest.Say(llmtest.Text("Done.")),
	}}, llmtest.Options{Vars: map[string]string{"WORKDIR": p.dir}})
	if err := killed.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = killed.srv.Close() })
	again := newSession(t, killed.open(t, nil), conversation.SessionOptions{Resume: s.ID()})
	killed.promptIn(t, again, "go on")
	last := killed.sent()[1]
	for _, want := range []string{"Release with care.", "step one"} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not in %s", want, last)
		}
	}
	if _, err := os.Stat(p.dir + "/done"); err == nil {
		t.Error("the rules of the skill outlived its turn")
	}
}
