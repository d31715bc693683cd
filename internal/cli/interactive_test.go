//go:build linux || darwin

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// converse starts lathe on a terminal of 90 columns, with a scripted model and an empty home.
func converse(t *testing.T, term string, script *llmtest.Script, args ...string) *termtest.Terminal {
	t.Helper()
	return converseWith(t, term, script, nil, args...)
}

// converseWith is converse with more variables in the environment.
func converseWith(t *testing.T, term string, script *llmtest.Script, env []string, args ...string) *termtest.Terminal {
	t.Helper()
	d, _ := converseServed(t, term, script, env, args...)
	return d
}

// converseServed is converseWith, and returns the model's server too.
func converseServed(t *testing.T, term string, script *llmtest.Script, env []string, args ...string) (
	*termtest.Terminal, *llmtest.Server,
) {
	t.Helper()
	return converseIn(t, t.TempDir(), term, script, env, args...)
}

// converseIn is converseServed with a home, whose folder project is the project.
func converseIn(t *testing.T, home, term string, script *llmtest.Script, env []string, args ...string) (
	*termtest.Terminal, *llmtest.Server,
) {
	t.Helper()
	dir := filepath.Join(home, "project")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": dir}})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	c := exec.Command(buildLathe(t), args...)
	c.Dir = dir
	c.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=" + term, "ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=sk-test", "LANG=C.UTF-8",
	}
	c.Env = append(c.Env, env...)
	endSessions(t, home, c.Env)
	return termtest.Start(t, c, 90, 30), srv
}

// endSessions ends the session processes of a home after the test. A supervisor that begins at this moment still writes
// its log.
func endSessions(t *testing.T, home string, env []string) {
	t.Cleanup(func() {
		c := exec.Command(buildLathe(t), "daemon", "stop")
		c.Env = env
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("daemon stop: %v\n%s", err, out)
		}
		await.Until(func() bool { return os.RemoveAll(filepath.Join(home, ".local", "state")) == nil })
	})
}

// ended waits for the end with an exit code, and returns everything that was written.
func ended(t *testing.T, d *termtest.Terminal, code int) string {
	t.Helper()
	if got := d.Ends(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	return d.All()
}

func twoReplies() *llmtest.Script {
	return llmtest.Replies(llmtest.Say(llmtest.Text("The first reply.")), llmtest.Say(llmtest.Text("The second reply.")))
}

func TestPlainLinesConverse(t *testing.T) {
	s := converse(t, "xterm-256color", twoReplies(), "--plain", "hello", "there")
	s.Sees("The first reply.")
	s.Sees("> ")
	s.Type("/status\r")
	s.Sees("title: `hello there`")
	s.Type("/doctor\r")
	s.Sees("90x30, 256 colours, TERM=xterm-256color")
	s.Type("more\r")
	s.Sees("The second reply.")
	s.Sees("> ")
	s.Type("\x04")
	if out := ended(t, s, 0); !strings.Contains(out, "Go on with: lathe --resume ") {
		t.Errorf("%q", out)
	}
}

func TestADumbTerminalConversesInPlainLines(t *testing.T) {
	s := converse(t, "dumb", twoReplies())
	s.Sees("> ")
	s.Type("hello\n")
	s.Sees("The first reply.")
	s.Sees("> ")
	s.Type("\x03")
	s.Sees("Ctrl+C again leaves")
	s.Type("\x03")
	if out := ended(t, s, 0); strings.ContainsRune(out, '\x1b') || !strings.Contains(out, "lathe --resume ") {
		t.Errorf("%q", out)
	}
}

func TestTheTerminalInterfaceConverses(t *testing.T) {
	s := converse(t, "xterm-256color", twoReplies(), "hello")
	s.Sees("The first reply.")
	s.Press("\x03", "again leaves") // while the turn still ends, the key interrupts it
	s.Type("\x03")
	out := ended(t, s, 0)
	if !strings.Contains(out, "\x1b[?1049h") || !strings.Contains(out, "\x1b[?1049l") || !strings.Contains(out,
		"lathe --resume ") {
		t.Errorf("%q", out)
	}
}

func TestAFirstStartSetsUpAProvider(t *testing.T) {
	home := t.TempDir()
	srv := llmtest.New(twoReplies(), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	c := exec.Command(buildLathe(t), "--plain")
	c.Dir = home
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}
	s := termtest.Start(t, c, 90, 30)
	s.Sees("Who should answer?")
	s.Sees("Number (1 to 3):")
	s.Type("3\n")
	s.Sees("Its address")
	s.Type(srv.URL() + "/v1\n")
	s.Sees("The model to use there:")
	s.Type("gpt-test\n")
	s.Sees("Paste the key (it is not shown")
	s.Type("sk-very-secret\n")
	s.Sees("Kept in ")
	s.Sees("Trying it... gpt-test answers.")
	s.Sees("> ")
	s.Type("hello\r")
	s.Sees("The first reply.")
	s.Sees("> ")
	s.Type(termtest.CtrlD)
	if out := ended(t, s, 0); strings.Contains(out, "very-secret") {
		t.Errorf("the key is shown:\n%s", out)
	}
	file := filepath.Join(home, ".config", "lathe", "settings.json")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(text), "sk-very-secret") {
		t.Errorf("%v %v: %s", err, info.Mode(), text)
	}
}

// No request leaves the machine: the proxy of these tests does not exist, so trying a key fails.
func TestAFirstStartKeepsTheKeyOfEachProviderAndGoesOnWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct{ number, key, model string }{
		{"1", "ANTHROPIC_API_KEY", "claude-"},
		{"2", "OPENAI_API_KEY", "gpt-"},
	} {
		t.Run(tt.key, func(t *testing.T) {
			home := t.TempDir()
			c := exec.Command(buildLathe(t))
			c.Dir = home
			c.Env = []string{
				"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8",
				"HTTPS_PROXY=http://127.0.0.1:1", "CLAUDE_CODE_MAX_RETRIES=0",
			}
			s := termtest.Start(t, c, 90, 30)
			login := func(key string) {
				s.Sees("Number (1 to 3):")
				s.Type("9\n") // there is no such number
				s.Sees("Type one of the numbers above")
				s.Sees("Number (1 to 3):")
				s.Type(tt.number + "\n")
				if tt.number == "2" {
					s.Sees("The model to use (enter for gpt-")
					s.Type("\n")
				}
				s.Sees("keys are made at https://")
				s.Type(key + "\n")
				s.Sees("Kept in ")
				s.Sees("that failed: ")
				s.Sees("Go on anyway? [y/N]")
				s.Type("y\n")
			}
			s.Sees("No model is set up yet.")
			login("sk-very-secret")
			s.Shows("? keys")
			s.Shows(tt.model)
			s.Shows("The provider did not answer: ")
			s.Shows("The settings are in")
			s.Shows("Explain how this project is built")
			s.Line("/login")
			s.Sees("Who should answer? (ctrl+d goes back)")
			login("sk-the-second")
			s.Shows("Changed: env." + tt.key)
			s.Line("/login")
			s.Sees("Number (1 to 3):")
			s.Type(termtest.CtrlD)
			s.Shows("nothing was changed")
			s.Line("/quit")
			if out := ended(t, s, 0); strings.Contains(out, "very-secret") || strings.Contains(out, "sk-the-second") {
				t.Errorf("the key is shown:\n%s", out)
			}
			file := filepath.Join(home, ".config", "lathe", "settings.json")
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), "sk-the-second") || strings.Contains(string(text), "very-secret") {
				t.Errorf("%v: %s", err, text)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v: %v", err, info.Mode())
			}
		})
	}
}

// Another provider is another model and another address: what was kept for the one before does not stay in force.
func TestAnotherProviderReplacesTheOneBefore(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".config", "lathe", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"model": "gpt-test", "env": {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(buildLathe(t))
	c.Dir = home
	c.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8",
		"HTTPS_PROXY=http://127.0.0.1:1", "CLAUDE_CODE_MAX_RETRIES=0",
	}
	s := termtest.Start(t, c, 90, 30)
	s.Shows("? keys")
	login := func(number, removed string) string {
		s.Line("/login")
		s.Sees("Number (1 to 3):")
		s.Type(number + "\n")
		if number == "2" {
			s.Sees("The model to use (enter for gpt-")
			s.Type("\n")
		}
		s.Sees("keys are made at https://")
		s.Type("sk-very-secret\n")
		s.Sees("The setting " + removed)
		s.Sees("Go on anyway? [y/N]")
		text, err := os.ReadFile(file)
		s.Type("y\n")
		s.Shows("Changed: ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := login("2", `env.OPENAI_BASE_URL ("http://127.0.0.1:1/v1")`); strings.Contains(text, "127.0.0.1") ||
		!strings.Contains(text, `"model": "gpt-`) {
		t.Errorf("the address or the model of the server stays: %s", text)
	}
	if text := login("1", `model ("gpt-`); strings.Contains(text, `"model"`) {
		t.Errorf("OpenAI's model stays: %s", text)
	}
	s.Line("/quit")
	ended(t, s, 0)
}

func TestSettingsAreChangedInTheTerminal(t *testing.T) {
	s := converse(t, "xterm-256color", twoReplies())
	s.Shows("? keys")
	s.Line("/config language Spanish")
	s.Shows("force: Spanish")
	s.Line("/config language")
	s.Shows("language is Spanish")
	s.Shows("> /config language Spanish") // ready to be changed
	s.Type(termtest.CtrlC)
	s.Line("/config unset language")
	s.Shows("language was removed from")
	s.Line("/config langauge Spanish")
	s.Shows("langauge")
	s.Line("/quit")
	ended(t, s, 0)
}

func TestTheDemoShowsTheTerminal(t *testing.T) {
	home := t.TempDir()
	c := exec.Command(buildLathe(t), "demo", "--tui")
	c.Dir = home
	// mostly without Go, whose first build takes long
	c.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "TERM=xterm-256color"}
	s := termtest.Start(t, c, 90, 30)
	s.Shows("Find out why and fix it.")
	s.Shows("acceptEdits")
	s.Hides("Working")
	s.Press(termtest.CtrlC, "again leaves")
	s.Type(termtest.CtrlC)
	ended(t, s, 0)
}

func TestPlainLinesThroughAPipe(t *testing.T) {
	home := t.TempDir()
	srv := llmtest.New(twoReplies(), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	c := exec.Command(buildLathe(t), "--plain")
	c.Dir = home
	c.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=sk-test",
	}
	c.Stdin = strings.NewReader("hello\n/cost\nmore")
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	for _, want := range []string{"The first reply.", "in 1 turn", "The second reply."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if errOut.Len() > 0 {
		t.Errorf("on stderr: %s", errOut.String())
	}
}

// The list of sessions opens, and a prompt that came with it waits for the choice.
func TestResumeWithoutASessionAsksForOne(t *testing.T) {
	for _, term := range []string{"xterm-256color", "dumb"} {
		home := t.TempDir()
		stored(t, home)
		c := exec.Command(buildLathe(t), "--resume", "go on now")
		c.Dir = home
		c.Env = []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=" + term,
			"ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=sk-test", "LANG=C.UTF-8",
		}
		s := termtest.Start(t, c, 90, 30)
		s.Shows("and so on and so on")
		s.Signal(syscall.SIGTERM)
		if out := s.All(); strings.Contains(out, "a turn is running") {
			t.Errorf("%s: %q", term, out)
		}
	}
}
