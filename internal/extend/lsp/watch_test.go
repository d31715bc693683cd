package lsp

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func TestAServerThatNobodyUsesIsEndedAndStartsAnewWithTheNextFile(t *testing.T) {
	runner := sandbox.New()
	defer runner.Close()
	set := Settings{
		Enabled: true, StartMs: 20_000, RequestMs: 20_000, WaitMs: 20_000, IdleMinutes: 10,
		Servers: map[string]Definition{
			"fake": {
				Command: []string{os.Args[0]}, Languages: map[string]string{".fk": "fake"},
				Env: map[string]string{"LSP_FAKE": "good"},
			},
		},
	}
	p := New(Options{
		Settings: func() Settings { return set }, Environ: os.Environ, Trusted: func() bool { return true },
		Confined: func() bool { return false }, Every: time.Millisecond,
		Launch: func(ctx context.Context, argv []string, dir string, env map[string]string, stderr *Log) (*sandbox.Piped,
			func(), error,
		) {
			c, err := runner.StartPiped(ctx, sandbox.Spec{Argv: argv, Dir: dir, Env: sandbox.CleanEnv(os.Environ(),
				sandbox.Options{Set: env}), Stderr: stderr})
			return c, func() {}, err
		},
		Notice: func(text string) { t.Error(text) },
	})
	defer p.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := File{filepath.Join(dir, "a.fk"), dir}
	if err := os.WriteFile(f.Path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func() *run {
		t.Helper()
		if a, err := p.Ask(t.Context(), Query{Operation: Hover, File: f, Line: 1, Column: 1}); err != nil ||
			a.Text != "hello" {
			t.Fatalf("%+v, %v", a, err)
		}
		return p.each()[0].current()
	}
	first := ask()
	if again := ask(); again != first {
		t.Error("a server that is used was ended")
	}
	first.mu.Lock()
	first.used = time.Now().Add(-11 * time.Minute)
	first.mu.Unlock()
	if !await.Until(func() bool { return p.each()[0].current() == nil }) {
		t.Fatal("it still runs")
	}
	if st := p.Status(); st[0].State != "stopped" || st[0].Detail != "" {
		t.Errorf("%+v", st)
	}
	second := ask()
	if second == first {
		t.Error("it was not started anew")
	}
	if n := p.Restart("fake"); n != 1 || ask() == second {
		t.Errorf("asked to start %d servers again, and the process is the same", n)
	}
}
