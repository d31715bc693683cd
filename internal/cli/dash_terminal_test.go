//go:build linux || darwin

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// machine is a home with a supervisor of its own.
type machine struct {
	t    *testing.T
	home string
	env  []string
	srv  *llmtest.Server
}

func newMachine(t *testing.T, script *llmtest.Script, settings string) *machine {
	t.Helper()
	home, err := os.MkdirTemp("", "dash") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": filepath.Join(home, "project")}})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	m := &machine{t, home, []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=sk-test", "LANG=C.UTF-8", "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
	}, srv}
	for _, dir := range []string{"project", "other", "run", ".config/lathe"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if settings != "" {
		if err := os.WriteFile(filepath.Join(home, ".config/lathe/settings.json"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		out, err := m.command("daemon", "stop").CombinedOutput()
		if err != nil {
			t.Errorf("the supervisor does not end: %v\n%s", err, out)
		}
		_ = srv.Close()
		_ = os.RemoveAll(home)
	})
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command(buildLathe(m.t), args...)
	c.Dir, c.Env = filepath.Join(m.home, "project"), m.env
	return c
}

// run runs lathe and returns what it printed.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).Output()
	if err != nil {
		m.t.Fatalf("lathe %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *machine) terminal(args ...string) *termtest.Terminal {
	m.t.Helper()
	return termtest.Start(m.t, m.command(args...), 110, 30)
}

func TestDashShowsAnswersStartsAndOpensSessions(t *testing.T) {
	m := newMachine(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": "Which colour?", "header": "Colour",
			"options": []any{map[string]any{"label": "Red"}, map[string]any{"label": "Blue"}},
		}}})),
		llmtest.Say(llmtest.Text("Painted it.")),
		llmtest.Say(llmtest.Text("And the second answer.")),
	), "")
	m.run("--bg", "paint the fence")
	s := m.terminal("dash")
	s.Shows("Needs you")
	s.Shows("paint the fence")
	s.Shows("waits for: answer")
	s.Press(" ", "Which colour?")
	s.Shows("2. Blue")
	s.Type("2\r")
	s.Shows("Painted it.")
	s.Press("\x1b[D", "1 done")
	s.Shows("Done")

	s.Type("@../other look around\r")
	s.Shows("1 need you, 0 working, 1 done")
	s.Shows("look around")
	s.Press(" ", "1. Red")
	s.Type("1\r")
	s.Shows("Painted it.")
	s.Type("and now?\r")
	s.Shows("And the second answer.")
	s.Press("\x1b[D", "2 done")

	s.Press("\x06", "filter:")
	s.Type("fence\r")
	s.Hides("look around")
	s.Type("\x1b")
	s.Shows("look around")
	s.Press("\x1b[A", "❯")
	s.Press("\x14", "◆")

	s.Press("\x18", "ctrl+x again")
	s.Press("\x18", "1 done")
	s.Type("\x03")
	ended(t, s, 0)
	if got := m.run("ps"); strings.Count(got, "\n") != 1 {
		t.Errorf("lathe ps:\n%s", got)
	}
	s.CheckRestored()
}

func TestDashOpensASessionAndComesBack(t *testing.T) {
	m := newMachine(t, llmtest.Replies(llmtest.Say(llmtest.Text("The answer is here."))), "")
	m.run("--bg", "say it")
	s := m.terminal("dash")
	s.Shows("1 done")
	s.Press("\r", "The answer is here.")
	s.Press("\x03", "again leaves")
	s.Press("\x03", "1 done")
	s.Press("\x12", "new name:")
	s.Type("\x15renamed one\r")
	s.Shows("renamed one")
	s.Type("\x03")
	ended(t, s, 0)
}
