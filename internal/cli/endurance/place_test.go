// Package endurance holds tests of sessions that go on for thousands of steps: through compactions, kills and
// resumes, over the real wires. LATHE_ENDURANCE=1 runs the long forms.
package endurance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// victimVar names the project folder in which the test binary is to work as a lathe that gets killed.
const victimVar = "ENDURANCE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimVar); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// long returns the size of a test: the long form by LATHE_ENDURANCE, else the short one.
func long(short, full int) int {
	if on, _ := strconv.ParseBool(os.Getenv("LATHE_ENDURANCE")); on {
		return full
	}
	return short
}

// wire is a provider's protocol, by the settings that choose it.
type wire struct {
	name  string
	model string
	vars  []string // with %s for the server's address
	set   string   // the user's settings
}

var wires = []wire{
	{"anthropic", "claude-sonnet-4-5", []string{"ANTHROPIC_BASE_URL=%s", "ANTHROPIC_API_KEY=sk-test"}, "{}"},
	{"chat", "openai/gpt-4.1", []string{"OPENAI_BASE_URL=%s/v1", "OPENAI_API_KEY=sk-test"}, "{}"},
	{
		"socket", "openai/gpt-5.1",
		[]string{"OPENAI_BASE_URL=%s/v1", "OPENAI_API_KEY=sk-test"},
		`{"providers": {"openai": {"type": "responses", "websocket": true}}}`,
	},
}

// place is a machine of a test's own: a home, a project, a scripted model.
type place struct {
	home, dir string
	threshold int // tokens that make a compaction due
	environ   []string
	srv       *llmtest.Server
}

// wish, rule and todo must be in every request, however often the conversation is compacted.
const (
	wish = "Do not skip file 42."
	rule = "Rule 17: never use tabs."
	todo = "read the last file"
)

// noTools is the place of the reply to a request for a summary.
const noTools = -2

const summary = "## Goal\nRead all files\n\n## Wishes\nNone.\n\n## Decisions\nNone.\n\n## Files\nNone.\n\n## " +
	"State\nNone.\n\n" +
	"## Open\nNone.\n\n## Failed attempts\nNone.\n\n## Next step\nRead on"

// newPlace makes a place whose model makes n steps: reads of files of which no two are the same, every tenth step
// a command that counts how often it ran. The threshold is in tokens.
func newPlace(t *testing.T, w wire, n, threshold int) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{home: home, dir: filepath.Join(home, "project"), threshold: threshold}
	p.write(t, ".config/lathe/settings.json", w.set, 0o600)
	p.write(t, "project/CLAUDE.md", rule+"\n", 0o600)
	p.write(t, "project/count", "#!/bin/sh\necho ran >> \"$HOME/ran.log\"\n", 0o700)
	p.serve(t, p.script(t, n), w)
	return p
}

// serve starts the model of a script, in place of the one before it.
func (p *place) serve(t *testing.T, script *llmtest.Script, w wire) {
	t.Helper()
	srv := llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": p.dir}})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	p.srv = srv
	p.environ = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8", "LATHE_MODEL=" + w.model,
		fmt.Sprintf("ANTHROPIC_COMPACTION_THRESHOLD=%d", p.threshold),
	}
	for _, v := range w.vars {
		p.environ = append(p.environ, strings.ReplaceAll(v, "%s", srv.URL()))
	}
}

func (p *place) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// script writes the files and returns the model's replies. Every 25th file is so large that its result is worth
// its own stub.
func (p *place) script(t *testing.T, n int) *llmtest.Script {
	t.Helper()
	s := &llmtest.Script{Order: "arrival", NoTools: &llmtest.Reply{
		Parts: []llmtest.Part{llmtest.Text(summary)}, FirstByte: llmtest.Duration(2 * time.Millisecond),
	}}
	s.Replies = append(s.Replies, llmtest.Say(llmtest.Tool("TodoWrite", map[string]any{
		"todos": []map[string]string{{"content": todo, "status": "pending", "activeForm": "reading"}},
	})))
	for i := 1; i < n; i++ {
		if i%10 == 0 {
			s.Replies = append(s.Replies, llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "./count"})))
			continue
		}
		lines := 20
		if i%25 == 1 {
			lines = 700
		}
		name := fmt.Sprintf("file%d.txt", i)
		p.write(t, "project/"+name, strings.Repeat(fmt.Sprintf("line of file %d\n", i), lines), 0o600)
		s.Replies = append(s.Replies, llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/" + name})))
	}
	s.Replies = append(s.Replies, llmtest.Say(llmtest.Text("All read.")))
	return s
}

// ran counts how often the command ran.
func (p *place) ran(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.home, "ran.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// open starts a lathe in the place's folder.
func open(dir string, environ []string, change func(*conversation.Options)) (*conversation.Instance, error) {
	cfg, err := config.Load(config.Options{Dir: dir, Environ: environ, ManagedPaths: []string{}})
	if err != nil {
		return nil, err
	}
	o := conversation.Options{Config: cfg, Dir: dir, Environ: environ, Version: "test", Allowed: []string{"Bash(./count)"}}
	if change != nil {
		change(&o)
	}
	return conversation.Open(o)
}

func (p *place) session(t *testing.T, change func(*conversation.Options),
	o conversation.SessionOptions,
) *conversation.Session {
	t.Helper()
	inst, err := open(p.dir, p.environ, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	s, err := inst.NewSession(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// loaded reads the settings again.
func loaded(t *testing.T, dir string, environ []string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{Dir: dir, Environ: environ, ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
