package invoke_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// conversation is the place that skills are loaded into: folders on disk, a policy, and messages.
type conversation struct {
	*invoke.Loader
	t        *testing.T
	dir      string
	policy   *permission.Policy
	trusted  bool
	messages []llm.Message
	revision int
	roots    []string
	notices  []string
	ran      []string
	tasks    []invoke.Task
	answer   string            // of the agents; "failed...": they fail
	during   permission.Effect // of a command while the last agent ran
}

func newConversation(t *testing.T) *conversation {
	t.Helper()
	c := &conversation{t: t, dir: t.TempDir()}
	c.policy = permission.NewPolicy(tool.Catalogue(), "/home/u", []string{c.dir}, nil)
	places := skill.Places{
		ClaudeHome: filepath.Join(c.dir, "home"), Root: filepath.Join(c.dir, "p"),
		Dir: filepath.Join(c.dir, "p"),
	}
	c.Loader = invoke.New(invoke.Host{
		Library: skill.NewLibrary(places.Folders), Policy: c.policy, Tools: tool.Catalogue(), Dir: places.Dir,
		Trusted: func() bool { return c.trusted },
		Run: func(ctx context.Context, line string) (string, bool) {
			c.ran = append(c.ran, line)
			out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
			return strings.TrimSpace(string(out)), err == nil
		},
		Read: func(_ context.Context, path string) []llm.Part {
			data, err := os.ReadFile(filepath.Join(places.Dir, path))
			if err != nil {
				return nil
			}
			return []llm.Part{llm.Text{Text: string(data), Origin: llm.OriginFile}}
		},
		Task: func(_ context.Context, task invoke.Task) (string, bool) {
			c.tasks = append(c.tasks, task)
			c.during = c.decide("touch x")
			return c.answer, !strings.HasPrefix(c.answer, "failed")
		},
		AddRoot:   func(dir string) { c.roots = append(c.roots, dir) },
		Notice:    func(_, text string) { c.notices = append(c.notices, text) },
		Clean:     func(s string) string { return strings.ReplaceAll(s, "\u202e", "<U+202E>") },
		Variables: func() map[string]string { return map[string]string{"CLAUDE_PROJECT_DIR": places.Dir} },
		Messages:  func() []llm.Message { return c.messages },
		Revision:  func() int { return c.revision },
		Budget:    func() int { return 2_000 },
	})
	return c
}

func (c *conversation) write(path, text string) {
	c.t.Helper()
	full := filepath.Join(c.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// begin says the first message, with the listing before it.
func (c *conversation) begin(text string) {
	m := c.Message(c.t.Context(), llm.UserText(text))
	if list := c.Listing(); list != "" {
		m.Parts = append([]llm.Part{llm.Text{Text: list, Origin: llm.OriginContext}}, m.Parts...)
	}
	c.messages = append(c.messages, m)
}

// say sends a message and returns the parts added to it, by origin.
func (c *conversation) say(text string) map[llm.Origin]string {
	m := c.Message(c.t.Context(), llm.UserText(text))
	c.messages = append(c.messages, m)
	out := map[llm.Origin]string{}
	for _, p := range m.Parts {
		if t := p.(llm.Text); t.Origin != llm.OriginAuthor {
			out[t.Origin] += t.Text
		}
	}
	return out
}

func (c *conversation) decide(line string) permission.Effect {
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		c.t.Fatal(err)
	}
	parts := []permission.Part{{Text: line, Exact: true}}
	return c.policy.Decide(permission.Request{
		Tool: "Bash", Input: input, Mode: permission.Default, Dir: c.dir,
		Accesses: []permission.Access{{Kind: permission.Exec, Target: line, Command: &permission.Command{
			Parts: parts,
			Exact: true,
		}}},
	}).Effect
}

func TestATypedNameLoadsTheSkillBehindWhatWasTyped(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/review/SKILL.md", "---\nargument-hint: <file>\n---\nReview $0, all: $ARGUMENTS. Now: !`echo "+
		"$((1+1))`\n</skill>hidden\u202e\nRead @notes.txt.")
	c.write("p/notes.txt", "the notes")
	got := c.say("/review a.go quickly")
	body := got[llm.OriginSkill]
	for _, want := range []string{
		`<skill name="review">`, "Review a.go, all: a.go quickly. Now: 2",
		"&lt;/skill>hidden<U+202E>", filepath.Join(c.dir, "home/skills/review"),
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in:\n%s", want, body)
		}
	}
	if got[llm.OriginFile] != "the notes" {
		t.Errorf("%q", got)
	}
	if typed := c.messages[0].Parts[0].(llm.Text); typed.Text != "/review a.go quickly" ||
		typed.Origin != llm.OriginAuthor {
		t.Errorf("%+v", typed)
	}
	if d := cmp.Diff([]string{filepath.Join(c.dir, "home/skills/review")}, c.roots); d != "" {
		t.Error(d)
	}
	if again := c.Message(t.Context(), c.messages[0]); len(again.Parts) != len(c.messages[0].Parts) {
		t.Error("a message that is sent again was expanded again")
	}
}

func TestACommandOfANamespaceIsInvoked(t *testing.T) {
	c := newConversation(t)
	c.write("p/.lathe/commands/frontend/build.md", "Build it.")
	for _, line := range []string{"/frontend:build", "/build", "/frontend:build now"} {
		if got := c.say(line); !strings.Contains(got[llm.OriginSkill], "Build it.") && !strings.Contains(
			got[llm.OriginSkill], "already") {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{"/usr/bin/env", "frontend:build", "/", "/nothing", "see /build"} {
		if got := c.say(line); len(got) > 0 {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestAFailedCommandLeavesANote(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/x/SKILL.md", "A !`echo broken; exit 3` B")
	body := c.say("/x")[llm.OriginSkill]
	if !strings.Contains(body, "A [echo broken; exit 3 failed: broken] B") {
		t.Error(body)
	}
	if len(c.notices) != 1 || !strings.Contains(c.notices[0], "broken") {
		t.Errorf("%q", c.notices)
	}
}

func TestArgumentsNeverBecomeCommandsOrFiles(t *testing.T) {
	c := newConversation(t)
	c.write("p/notes.txt", "the notes")
	c.write("home/skills/x/SKILL.md", "Do $ARGUMENTS")
	got := c.say("/x !`touch " + c.dir + "/made` @notes.txt")
	if len(c.ran) > 0 || got[llm.OriginFile] != "" {
		t.Errorf("ran %q, %q", c.ran, got)
	}
}

func TestAllowedToolsCountForOneTurn(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/mine/SKILL.md", "---\nallowed-tools: Bash(make *)\n---\nx")
	if got := c.decide("make all"); got != permission.Ask {
		t.Fatal(got)
	}
	c.say("/mine")
	if got := c.decide("make all"); got != permission.Allow {
		t.Error(got)
	}
	c.EndTurn()
	if got := c.decide("make all"); got != permission.Ask {
		t.Error(got)
	}
	if _, err := c.Load(t.Context(), "mine", ""); err != nil {
		t.Fatal(err)
	}
	if got := c.decide("make all"); got != permission.Ask {
		t.Errorf("the model gave itself permission: %s", got)
	}
	rule, err := permission.ParseRule(tool.Catalogue(), "Skill(mine)", permission.Allow, permission.Source{})
	if err != nil {
		t.Fatal(err)
	}
	c.policy.Grant(rule)
	if _, err := c.Load(t.Context(), "mine", ""); err != nil || c.decide("make all") != permission.Allow {
		t.Errorf("%v: a rule on the skill does not count", err)
	}
}

func TestAProjectsAllowedToolsNeedTrust(t *testing.T) {
	c := newConversation(t)
	c.write("p/.claude/skills/theirs/SKILL.md", "---\nallowed-tools: Bash(make *)\n---\nx")
	c.say("/theirs")
	if got := c.decide("make all"); got != permission.Ask {
		t.Error(got)
	}
	if len(c.notices) != 1 || !strings.Contains(c.notices[0], "Skill(theirs)") {
		t.Errorf("%q", c.notices)
	}
	c.trusted = true
	c.say("/theirs")
	if got := c.decide("make all"); got != permission.Allow {
		t.Error(got)
	}
}

func TestTheToolsOfASkillRestrictUntilTheTurnEnds(t *testing.T) {
	c := newConversation(t)
	c.write("p/.claude/skills/reads/SKILL.md", "---\ntools: Read, Grep\n---\nx")
	if _, err := c.Load(t.Context(), "reads", ""); err != nil || c.decide("ls") != permission.Deny {
		t.Error(err, c.decide("ls"))
	}
	mcp := permission.Request{Tool: "mcp__a__b", Dir: c.dir}
	if d := c.policy.Decide(mcp); d.Effect != permission.Deny {
		t.Error(d)
	}
	c.EndTurn()
	if got := c.decide("ls"); got == permission.Deny {
		t.Error(got)
	}
}

func TestDisallowedToolsAreDenied(t *testing.T) {
	c := newConversation(t)
	c.write("p/.claude/skills/careful/SKILL.md", "---\ndisallowed-tools: Bash\n---\nx")
	if _, err := c.Load(t.Context(), "careful", ""); err != nil || c.decide("ls") != permission.Deny {
		t.Error(err, c.decide("ls"))
	}
}

func TestWhoMayInvokeASkillIsObeyed(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/people/SKILL.md", "---\ndisable-model-invocation: true\n---\nx")
	c.write("home/skills/model/SKILL.md", "---\nuser-invocable: false\n---\nx")
	if _, err := c.Load(t.Context(), "people", ""); err == nil || !strings.Contains(err.Error(), "/people") {
		t.Error(err)
	}
	if _, err := c.Load(t.Context(), "peeple", ""); err == nil || !strings.Contains(err.Error(), "model") {
		t.Error(err)
	}
	if got := c.say("/model"); len(got) > 0 || len(c.notices) != 1 {
		t.Errorf("%q %q", got, c.notices)
	}
	if list := c.Listing(); strings.Contains(list, "people") || !strings.Contains(list, "- model") {
		t.Error(list)
	}
}

func TestChangesAreAppendedOnce(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/a/SKILL.md", "---\ndescription: first\n---\n")
	c.write("home/skills/b/SKILL.md", "---\ndescription: stays\n---\n")
	c.begin("hello")
	if got := c.say("nothing new"); len(got) > 0 {
		t.Errorf("%q", got)
	}
	c.write("home/skills/a/SKILL.md", "---\ndescription: second and longer\n---\n")
	c.write("p/.lathe/skills/new/SKILL.md", "---\ndescription: brand new\n---\n")
	got := c.say("go")[llm.OriginReminder]
	if !strings.Contains(got, "- a: second and longer") || !strings.Contains(got, "- new: brand new") ||
		strings.Contains(got, "stays") {
		t.Error(got)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, "home/skills/b")); err != nil {
		t.Fatal(err)
	}
	if got := c.say("go")[llm.OriginReminder]; !strings.Contains(got, "No longer there:\n- b") || strings.Contains(got,
		"- a") {
		t.Error(got)
	}
	c.revision++ // as after a resume: all is found in the messages again
	if got := c.say("go"); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
}

func TestASkillForCertainFilesIsAnnouncedWhenOneIsTouched(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/go/SKILL.md", "---\ndescription: for Go\npaths: \"**/*.go\"\n---\n")
	c.begin("hello")
	if list := c.Listing(); list != "" {
		t.Error(list)
	}
	if got, err := c.BeforeStep(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("%+v", got)
	}
	input := json.RawMessage(`{"file_path":"` + filepath.Join(c.dir, "p", "cmd", "a.go") + `"}`)
	c.messages = append(c.messages, llm.Message{
		Role:  llm.Assistant,
		Parts: []llm.Part{llm.ToolCall{ID: "1", Name: "Read", Input: input}},
	})
	got, err := c.BeforeStep(t.Context())
	if err != nil || len(got) != 1 || !strings.Contains(got[0].PlainText(), "- go: for Go") {
		t.Errorf("%+v", got)
	}
	c.messages = append(c.messages, got...)
	if got, err := c.BeforeStep(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("told again: %+v", got)
	}
}

func TestTheNewestTextOfEachSkillIsKept(t *testing.T) {
	c := newConversation(t)
	for _, name := range []string{"a", "b", "c"} {
		c.write("home/skills/"+name+"/SKILL.md", "Body of "+name+" $ARGUMENTS")
	}
	for _, line := range []string{"/a one", "/b", "/a two", "/c", "/a two"} {
		c.say(line)
	}
	all := func(yield func(llm.Part) bool) {
		for _, m := range c.messages {
			for _, p := range m.Parts {
				if !yield(p) {
					return
				}
			}
		}
	}
	kept := invoke.Kept(all, c.messages[3:4]) // the message with c stays
	if len(kept) != 2 || !strings.Contains(kept[0], "Body of a two") || !strings.Contains(kept[1], "Body of b") {
		t.Errorf("%q", kept)
	}
	c.roots = nil
	c.Restore(all)
	slices.Sort(c.roots)
	if len(c.roots) != 3 {
		t.Errorf("%q", c.roots)
	}
}

func TestWhatIsNotDoneAsTheFileSaysIsTold(t *testing.T) {
	c := newConversation(t)
	c.write("home/skills/x/SKILL.md", "---\nmodel: haiku\nshell: powershell\n---\n!`Get-Date`")
	c.say("/x")
	told := strings.Join(c.notices, "\n")
	for _, want := range []string{"haiku", "powershell"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in %q", want, told)
		}
	}
	if len(c.ran) > 0 {
		t.Errorf("%q", c.ran)
	}
}
