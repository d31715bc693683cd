package cli

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// demoFiles are two small projects with a failing test each, and the scripted model's replies about them:
// one in Go, one for machines without Go.
//
//go:embed demo
var demoFiles embed.FS

// demoKind is one of the projects.
type demoKind struct {
	name, folder string
	test         []string // the command that fails at first
	allow        string   // the rule that lets the agent run it
}

var (
	demoGo = demoKind{"Go", "demo/go", []string{"go", "test", "./..."}, "Bash(go test *)"}
	demoSh = demoKind{"shell", "demo/sh", []string{"sh", "test.sh"}, "Bash(sh test.sh)"}
)

func demoCommand(p *program) *cobra.Command {
	var keep, screen bool
	c := &cobra.Command{
		Use: "demo", Short: "Watch lathe fix a failing test, with a scripted model and no key", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.runDemo(c.Context(), keep, screen) },
	}
	c.Flags().BoolVar(&screen, "tui", false, "show the work in the terminal interface; leave it with ctrl+c twice")
	c.Flags().BoolVar(&keep, "keep", false, "keep the demo's folder")
	return c
}

// demo is one run: the real agent with its real tools, on a real repository, against a scripted model
// behind a real HTTP server.
type demo struct {
	kind demoKind
	home string // everything is in here: the project, settings, sessions
	dir  string // the project
	out  *demoPrinter
	srv  *llmtest.Server
}

func (p *program) runDemo(ctx context.Context, keep, screen bool) (err error) {
	if screen && (!p.inTTY || !p.outTTY || dumb()) {
		return usage("leave out --tui, or start it in a terminal", "there is no terminal to show the demo in")
	}
	d := &demo{kind: demoGo, out: newDemoPrinter(p.out, p.outTTY)}
	if _, err := exec.LookPath("go"); err != nil {
		d.kind = demoSh
	}
	if d.home, err = os.MkdirTemp("", "lathe-demo-"); err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(d.home)) }()
	}
	if err := d.setUp(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.srv.Close()) }()
	if screen {
		return d.inTerminal(ctx, p)
	}
	d.intro()
	if err := d.work(ctx); err != nil {
		return err
	}
	return d.outro(ctx, keep)
}

// setUp writes the project, commits it where git is there, and starts the scripted model.
func (d *demo) setUp(ctx context.Context) error {
	home, err := filepath.EvalSymlinks(d.home)
	if err != nil {
		return err
	}
	d.home, d.dir = home, filepath.Join(home, "stats")
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		return err
	}
	if err := d.copyFiles(); err != nil {
		return err
	}
	if _, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{
			{"init", "-q"},
			{"add", "."},
			{"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-q", "--no-gpg-sign", "-m", "Add stats"},
		} {
			if _, err := d.command(ctx, "git", args...); err != nil {
				return err
			}
		}
	}
	text, err := demoFiles.ReadFile(d.kind.folder + "/script.json")
	if err != nil {
		return err
	}
	script, err := llmtest.Parse(text)
	if err != nil {
		return err
	}
	d.srv = llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": d.dir}})
	return d.srv.Start("127.0.0.1:0")
}

func (d *demo) copyFiles() error {
	entries, err := fs.ReadDir(demoFiles, d.kind.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".txt")
		if !ok {
			continue
		}
		b, err := demoFiles.ReadFile(path.Join(d.kind.folder, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// command runs a program in the project, with the demo's environment.
func (d *demo) command(ctx context.Context, name string, args ...string) (string, error) {
	r := sandbox.New()
	defer r.Close()
	var out bytes.Buffer
	exit, err := r.Run(ctx, sandbox.Spec{
		Argv: append([]string{name}, args...), Dir: d.dir, Env: d.environ(),
		Stdout: &out, Stderr: &out,
	})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d", exit.Code)
	}
	if err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &out)
	}
	return out.String(), nil
}

// environ is the process's environment with a home of the demo's own, so that it neither reads nor writes
// the user's settings and sessions. Go keeps its build cache, or the test would take a minute.
func (d *demo) environ() []string {
	set := map[string]string{
		"HOME": d.home, "XDG_CONFIG_HOME": d.home + "/config", "XDG_DATA_HOME": d.home + "/data",
		"XDG_STATE_HOME": d.home + "/state", "XDG_CACHE_HOME": d.home + "/cache", "CLAUDE_CONFIG_DIR": d.home + "/claude",
		"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
	}
	if d.srv != nil {
		set["ANTHROPIC_BASE_URL"], set["ANTHROPIC_API_KEY"] = d.srv.URL(), "demo"
	}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		set["GOCACHE"] = filepath.Join(cache, "go-build")
	}
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		_, ours := set[name]
		if !ours && !strings.HasPrefix(name, "ANTHROPIC_") && !strings.HasPrefix(name, "OPENAI_") &&
			!strings.HasPrefix(name, "LATHE_") && !strings.HasPrefix(name, "CLAUDE_") {
			env = append(env, kv)
		}
	}
	for k, v := range set {
		env = append(env, k+"="+v)
	}
	return env
}

const demoPrompt = "The tests fail. Find out why and fix it."

func (d *demo) intro() {
	d.out.title("lathe demo")
	d.out.line("The agent, its tools, the files and the test are real. The model's replies are scripted:")
	d.out.line("they come from a server on this machine (%s). Nothing leaves it.", d.srv.URL())
	d.out.blank()
	d.out.line("project  %s  (%s, one failing test)", d.dir, d.kind.name)
	d.out.line("allowed  edits in the project, and %s", d.kind.allow)
	d.out.blank()
	d.out.user(demoPrompt)
}

// work runs the turn and prints it as it happens.
func (d *demo) work(ctx context.Context) error {
	env := d.environ()
	build, _ := currentVersion()
	cfg, err := config.Load(config.Options{Dir: d.dir, Home: d.home, Environ: env, ManagedPaths: []string{}})
	if err != nil {
		return err
	}
	inst, err := conversation.Open(conversation.Options{
		Config: cfg, Dir: d.dir, Environ: env, Version: build, Mode: permission.AcceptEdits, Allowed: []string{d.kind.allow},
	})
	if err != nil {
		return err
	}
	defer inst.Close()
	s, err := inst.NewSession(ctx, conversation.SessionOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	sub := s.Subscribe(ctx)
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for e := range sub.All(ctx) {
			d.out.event(e.Body)
			if _, over := e.Body.(event.TurnEnd); over {
				return
			}
		}
	}()
	began := time.Now()
	end, err := s.Prompt(ctx, llm.UserText(demoPrompt))
	<-printed
	if err == nil && end.Reason != event.EndCompleted {
		err = fmt.Errorf("the turn ended early: %s", end.Reason)
	}
	if err == nil {
		d.out.dim("%d steps in %s", end.Steps, time.Since(began).Round(10*time.Millisecond))
	}
	return err
}

// outro shows the changes, the passing test, and how to continue with a real model.
func (d *demo) outro(ctx context.Context, keep bool) error {
	d.out.title("What changed")
	if diff, err := d.command(ctx, "git", "--no-pager", "diff", "--no-color", "--no-ext-diff",
		"--no-textconv"); err == nil {
		d.out.diff(diff)
	} else {
		d.out.line("(git is not installed; the edit is shown above)")
	}
	d.out.title("The test, run once more")
	out, err := d.command(ctx, d.kind.test[0], d.kind.test[1:]...)
	if err != nil {
		return fmt.Errorf("the test should pass now, but it fails: %w", err)
	}
	d.out.line("%s", strings.TrimSpace(out))
	d.out.title("Now with a real model")
	d.out.line("%s", hosts.KeyHint())
	d.out.line(`lathe -p "explain this project"         in a folder of yours`)
	if keep {
		d.out.line("The demo's folder is kept: %s", d.home)
	}
	return d.out.err
}
