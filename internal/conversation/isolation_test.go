//go:build unix

package conversation_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

const isolatedKind = "---\nname: builder\ndescription: Builds\nisolation: worktree\n---\nYou build.\n"

// repository makes the folder of a place a repository with one commit.
func (p *place) repository(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	p.git(t, "init", "-q", "-b", "main")
	p.git(t, "add", "-f", "a.txt", ".gitattributes", ".gitignore")
	p.git(t, "commit", "-qm", "first")
}

func (p *place) git(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{
		"-C", p.dir, "-c", "user.name=x", "-c", "user.email=x@example.com", "-c",
		"filter.bad.smudge=cat",
	}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func isolatedPlace(t *testing.T, replies ...llmtest.Reply) *place {
	t.Helper()
	p := newPlace(t, llmtest.Replies(replies...))
	p.write(t, ".claude/agents/builder.md", isolatedKind)
	p.write(t, "a.txt", "one\n")
	p.write(t, ".gitignore", ".claude\n*.tmp\n")
	p.write(t, ".gitattributes", "*.txt filter=bad\n")
	return p
}

func run(t *testing.T, s *conversation.Session, text string) []llm.ToolResult {
	t.Helper()
	if end, err := s.Prompt(t.Context(), llm.UserText(text)); err != nil || end.Reason != event.EndCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	return results(s.Messages())
}

// An isolated agent works on files of a git worktree; the project stays as it is, and neither hooks nor filters of the
// repository run.
func TestAnIsolatedAgentWorksInAWorktreeOfItsOwn(t *testing.T) {
	p := isolatedPlace(t,
		said("go", task(map[string]any{"prompt": "change a", "subagent_type": "builder"}),
			task(map[string]any{"prompt": "look at a", "subagent_type": "builder"})),
		said("change a", llmtest.Tool("Bash", map[string]any{"command": "pwd; echo two >> a.txt; echo x > new.txt"})),
		said("look at a", llmtest.Tool("Read", map[string]any{"file_path": "a.txt"})),
		llmtest.Reply{When: &llmtest.When{System: "You build.", Turn: ptr(1)}, Parts: []llmtest.Part{llmtest.Text("Built.")}},
		after("Built.", llmtest.Text("Done.")),
	)
	p.repository(t)
	bad := "#!/bin/sh\ntouch " + p.dir + "/ran\ncat\n"
	for _, path := range []string{".git/hooks/post-checkout", ".git/hooks/reference-transaction", "bad.tmp"} {
		p.write(t, path, bad)
		if err := os.Chmod(filepath.Join(p.dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.git(t, "config", "filter.bad.smudge", p.dir+"/bad.tmp")
	p.git(t, "config", "core.fsmonitor", p.dir+"/bad.tmp")
	if err := os.Remove(filepath.Join(p.dir, "ran")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass }),
		conversation.SessionOptions{})
	r := run(t, s, "go")
	first, second := resultText(r[0]), resultText(r[1])
	if !strings.Contains(first, "Built.") || !strings.Contains(first, "a.txt | 1 +") || !strings.Contains(first,
		"new: new.txt") || !strings.Contains(first, "git merge agent-") {
		t.Errorf("%q", first)
	}
	if strings.Contains(second, "worktree") || r[1].IsError {
		t.Errorf("%q", second)
	}
	trees, err := os.ReadDir(p.dir + ".worktrees")
	if err != nil || len(trees) != 1 {
		t.Fatalf("%v %v", trees, err)
	}
	tree := filepath.Join(p.dir+".worktrees", trees[0].Name())
	for path, want := range map[string]string{
		filepath.Join(tree, "a.txt"):  "one\ntwo\n",
		filepath.Join(p.dir, "a.txt"): "one\n", filepath.Join(tree, "new.txt"): "x\n",
	} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", path, b, err)
		}
	}
	for _, path := range []string{"ran", "new.txt"} {
		if _, err := os.Lstat(filepath.Join(p.dir, path)); err == nil {
			t.Errorf("%s is in the project", path)
		}
	}
	if b := strings.Fields(p.git(t, "-c", "core.fsmonitor=false", "for-each-ref", "--format=%(refname:short)",
		"refs/heads")); len(b) != 2 {
		t.Errorf("branches: %q", b)
	}
}

// The project's rules hold for the same files in the copy, and the project's own files are not written, whatever the
// mode.
func TestThePermissionsOfTheProjectFollowAnIsolatedAgent(t *testing.T) {
	p := isolatedPlace(t,
		said("go", task(map[string]any{"prompt": "try", "subagent_type": "builder"})),
		said("try",
			llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/out.txt", "content": "x"}),
			llmtest.Tool("Write", map[string]any{"file_path": "secret/b.txt", "content": "x"}),
			llmtest.Tool("Write", map[string]any{"file_path": "free.txt", "content": "x"}),
			llmtest.Tool("Bash", map[string]any{"command": "echo x > secret/c.txt"}),
			llmtest.Tool("Bash", map[string]any{"command": "echo x > ${WORKDIR}/d.txt"}),
		),
		llmtest.Reply{When: &llmtest.When{System: "You build.", Turn: ptr(1)}, Parts: []llmtest.Part{llmtest.Text("Tried.")}},
		after("Tried.", llmtest.Text("Done.")),
	)
	p.repository(t)
	for _, mode := range []permission.Mode{permission.AcceptEdits, permission.Bypass} {
		inst := p.open(t, func(o *conversation.Options) { o.Mode, o.Disallowed = mode, []string{"Edit(/secret/**)"} })
		s := newSession(t, inst, conversation.SessionOptions{})
		r := run(t, s, "go")
		text := resultText(r[0])
		if !strings.Contains(text, "new: free.txt") || strings.Contains(text, "new: secret") {
			t.Errorf("%s: %q", mode, text)
		}
		for info, err := range inst.Store().Children(s.ID()) {
			if err != nil {
				t.Fatal(err)
			}
			log, err := inst.Store().OpenReadOnly(info.ID)
			if err != nil {
				t.Fatal(err)
			}
			calls := results(log.Messages())
			for i, failed := range []bool{true, true, false, true, true} {
				if calls[i].IsError != failed {
					t.Errorf("%s: call %d: %q", mode, i, resultText(calls[i]))
				}
			}
			_ = log.Close()
		}
		for _, path := range []string{"out.txt", "d.txt", "free.txt", "secret"} {
			if _, err := os.Lstat(filepath.Join(p.dir, path)); err == nil {
				t.Errorf("%s: %s is in the project", mode, path)
			}
		}
	}
}

// The set-up command runs under the agent's permissions, ignored files are copied, and neither counts as a change.
func TestAWorktreeIsSetUpFromTheSettings(t *testing.T) {
	p := isolatedPlace(t,
		said("go", task(map[string]any{"prompt": "look", "subagent_type": "builder"})),
		said("look", llmtest.Tool("Bash", map[string]any{"command": "cat here.tmp made.tmp"})),
		after("kept\nmade", llmtest.Text("It is set up.")),
		llmtest.Reply{
			When:  &llmtest.When{System: "You build.", Turn: ptr(1)},
			Parts: []llmtest.Part{llmtest.Text("It is not.")},
		},
		after("It is", llmtest.Text("Done.")),
	)
	p.repository(t)
	p.write(t, "here.tmp", "kept\n")
	p.write(t, "../.config/lathe/settings.json",
		`{"worktree": {"copy": ["here.tmp"], "setup": "echo made > made.tmp", "branchPrefix": "work/"}}`)
	for mode, want := range map[permission.Mode]string{
		permission.AcceptEdits: "It is set up.",
		permission.Default:     "It is not.",
	} {
		s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = mode }), conversation.SessionOptions{})
		if text := resultText(run(t, s, "go")[0]); !strings.HasPrefix(text, want) || strings.Contains(text, "worktree") {
			t.Errorf("%s: %q", mode, text)
		}
		if left, err := os.ReadDir(p.dir + ".worktrees"); err == nil {
			t.Errorf("left: %v", left)
		}
	}
}

// Without a repository the agent gets a copy of the folder.
func TestAnIsolatedAgentGetsACopyWithoutARepository(t *testing.T) {
	p := isolatedPlace(t,
		said("go", task(map[string]any{"prompt": "change a", "subagent_type": "builder"}),
			task(map[string]any{"prompt": "look", "subagent_type": "builder"})),
		said("change a", llmtest.Tool("Bash", map[string]any{"command": "echo two >> a.txt; rm .gitignore"})),
		said("look", llmtest.Tool("Bash", map[string]any{"command": "cat a.txt"})),
		llmtest.Reply{When: &llmtest.When{System: "You build.", Turn: ptr(1)}, Parts: []llmtest.Part{llmtest.Text("Built.")}},
		after("Built.", llmtest.Text("Done.")),
	)
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Mode = permission.Bypass }),
		conversation.SessionOptions{})
	r := run(t, s, "go")
	if text := resultText(r[0]); !strings.Contains(text, "changed: a.txt") || !strings.Contains(text,
		"removed: .gitignore") {
		t.Errorf("%q", text)
	}
	if text := resultText(r[1]); strings.Contains(text, "copy of") {
		t.Errorf("%q", text)
	}
	if b, err := os.ReadFile(filepath.Join(p.dir, "a.txt")); err != nil || string(b) != "one\n" {
		t.Errorf("%q %v", b, err)
	}
	if left, err := os.ReadDir(p.dir + ".worktrees"); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

// A search in the copy finds its files, and leaves out those that a rule on the project denies.
func TestASearchOfAnIsolatedAgentObeysTheRulesOfTheProject(t *testing.T) {
	p := isolatedPlace(t,
		said("go", task(map[string]any{"prompt": "search", "subagent_type": "builder"})),
		said("search", llmtest.Tool("Grep", map[string]any{"pattern": "one|hidden", "output_mode": "content"})),
		llmtest.Reply{
			When:  &llmtest.When{System: "You build.", Turn: ptr(1)},
			Parts: []llmtest.Part{llmtest.Text("Searched.")},
		},
		after("Searched.", llmtest.Text("Done.")),
	)
	p.repository(t)
	p.write(t, "inner/b.txt", "hidden\n")
	p.git(t, "add", "-f", "inner")
	p.git(t, "commit", "-qm", "second")
	inst := p.open(t, func(o *conversation.Options) { o.Disallowed = []string{"Read(/inner/**)"} })
	s := newSession(t, inst, conversation.SessionOptions{})
	run(t, s, "go")
	for info, err := range inst.Store().Children(s.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		log, err := inst.Store().OpenReadOnly(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if text := resultText(results(log.Messages())[0]); !strings.Contains(text, "a.txt") || strings.Contains(text,
			"hidden") {
			t.Errorf("%q", text)
		}
		_ = log.Close()
	}
}

// Where the working folder is below the top of the repository, rules on the rest of it hold in the copy too, and the
// agent writes neither there in the project nor into another agent's copy, also by git.
func TestAnIsolatedAgentBelowTheTopOfARepositoryStaysInItsCopy(t *testing.T) {
	calls := []llmtest.Part{
		llmtest.Tool("Read", map[string]any{"file_path": "../inner/c.txt"}),
		llmtest.Tool("Bash", map[string]any{"command": "cat ../inner/c.txt"}),
		llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/inner/new.txt", "content": "x"}),
		llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}.worktrees/agent-other/new.txt", "content": "x"}),
		llmtest.Tool("Bash", map[string]any{"command": "git -C ${WORKDIR} rm -q inner/c.txt"}),
		llmtest.Tool("Bash", map[string]any{"command": "git --git-dir=${WORKDIR}/.git --work-tree=${WORKDIR} checkout -f " +
			"HEAD~1"}),
		llmtest.Tool("Bash", map[string]any{"command": "cd ${WORKDIR} && git reset --hard HEAD~1"}),
		llmtest.Tool("Bash", map[string]any{"command": "echo x > ${WORKDIR}/.git/hooks/post-commit"}),
		llmtest.Tool("Bash", map[string]any{"command": "git config core.hooksPath /tmp"}),
		llmtest.Tool("Write", map[string]any{"file_path": "../.git", "content": "gitdir: /tmp/x"}),
		llmtest.Tool("Bash", map[string]any{"command": "ln -s ${WORKDIR}/inner l && echo x > l/new.txt"}),
		llmtest.Tool("Read", map[string]any{"file_path": "b.txt"}),
	}
	p := isolatedPlace(t,
		said("go", task(map[string]any{"prompt": "try", "subagent_type": "builder"})),
		said("try", calls...),
		llmtest.Reply{When: &llmtest.When{System: "You build.", Turn: ptr(1)}, Parts: []llmtest.Part{llmtest.Text("Tried.")}},
		after("Tried.", llmtest.Text("Done.")),
	)
	p.repository(t)
	p.write(t, "sub/b.txt", "b\n")
	p.write(t, "inner/c.txt", "hidden\n")
	p.git(t, "add", "-f", "sub", "inner")
	p.git(t, "commit", "-qm", "second")
	p.write(t, "sub/.claude/agents/builder.md", isolatedKind)
	if err := os.MkdirAll(p.dir+".worktrees/agent-other", 0o700); err != nil {
		t.Fatal(err)
	}
	inst := p.open(t, func(o *conversation.Options) {
		o.Dir, o.Mode, o.Disallowed = filepath.Join(p.dir, "sub"), permission.Bypass,
			[]string{"Read(/" + p.dir + "/inner/**)"}
	})
	s := newSession(t, inst, conversation.SessionOptions{})
	run(t, s, "go")
	for info, err := range inst.Store().Children(s.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		log, err := inst.Store().OpenReadOnly(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results(log.Messages()) {
			if failed := i < len(calls)-1; r.IsError != failed {
				t.Errorf("call %d (%v): %q", i, calls[i], resultText(r))
			}
		}
		_ = log.Close()
	}
	if text := p.git(t, "status", "--short", "--untracked-files=no"); text != "" {
		t.Errorf("the project changed: %q", text)
	}
}
