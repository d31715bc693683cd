package customtool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// project is a folder that the user trusts with the tool that it has.
func project(t *testing.T, script string) (p *place, path string) {
	t.Helper()
	p = &place{t: t, home: t.TempDir()}
	path = filepath.Join(p.home, "p", ".lathe", "tools", "tool")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{
		Dir: filepath.Join(p.home, "p"), Home: p.home, Environ: []string{"HOME=" + p.home}, ManagedPaths: []string{},
		Trust: func(string, string) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	p.set = customtool.New(customtool.Options{
		Config: func() *config.Config { return cfg }, Tools: call.NewCatalogue(), Runner: runner,
		Environ: func(bool) []string { return []string{"PATH=" + os.Getenv("PATH")} }, Dir: p.home,
	})
	return p, path
}

// disguise changes a file and keeps its size and time.
func disguise(t *testing.T, path, from, to string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || len(from) != len(to) || !strings.Contains(string(text), from) {
		t.Fatalf("%q, %v", text, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func TestAProgramOfTheProjectRunsWithTheContentThatIsTrustedOnly(t *testing.T) {
	p,
		path := project(t,
		`if [ "$1" = --describe ]; then echo '{"name":"a","description":"x","accesses":[]}'; exit; fi; echo good`)
	if _, r, err := p.run(context.Background(), `{}`); err != nil || text(r) != "good" {
		t.Fatalf("%v, %v", r, err)
	}
	disguise(t, path, "good", "evil")
	if _, r, err := p.run(context.Background(), `{}`); err == nil || !strings.Contains(err.Error(),
		"changed since you trusted the folder") {
		t.Errorf("%v, %v", r, err)
	}
}

func TestAProgramOfTheProjectIsAskedWithTheContentThatIsTrustedOnly(t *testing.T) {
	p, path := project(t, `false; exit 1`)
	p.set.Version()
	if got := p.tools(); len(got) != 0 {
		t.Fatal("it has a description")
	}
	disguise(t, path, "false; exit 1", "touch ../../r")
	p.set.Retry()
	p.tools()
	if left, _ := filepath.Glob(filepath.Join(p.home, "p", "r*")); len(left) > 0 {
		t.Errorf("it ran: %v", left)
	}
	if notes := strings.Join(p.set.Notes(), "\n"); !strings.Contains(notes, "changed since you trusted the folder") {
		t.Errorf("the notes are %q", notes)
	}
}

func TestACancelledCallEndsWithItsChildren(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.home, "pid")
	p.put("tool", `{"name":"a","description":"x","accesses":[],"timeout":1e300}`, "(trap '' TERM INT; sh -c 'echo $$ > "+
		file+".new; mv "+file+".new "+file+"; exec sleep 1000') & wait")
	if got := p.tools(); len(got) != 1 {
		t.Fatalf("the notes are %q", p.set.Notes())
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, _, err := p.run(ctx, `{}`)
		ended <- err
	}()
	var pid int
	if !await.Until(func() bool {
		b, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pid > 0
	}) {
		t.Error("it did not begin: a timeout that no number holds is the longest one")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if pid > 0 {
		if err := await.Exit(pid); err != nil {
			t.Error(err)
		}
	}
}
