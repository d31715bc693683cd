package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
)

// script runs a shell script in a fresh folder and returns its exit, its output and the folder.
func script(t *testing.T, r *Runner, text string) (Exit, string, string) {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	exit, err := r.Run(t.Context(), Spec{Argv: []string{"bash", "-c", text}, Dir: dir, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String(), dir
}

// alive reports whether the process whose id is in dir/name still runs.
func alive(t *testing.T, dir, name string) bool {
	t.Helper()
	st, ok := readStat(pidIn(t, dir, name))
	return ok && st.state != 'Z'
}

func pidIn(t *testing.T, dir, name string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// arrival makes the named pipe dir/name, to which a script writes when it got there, and returns the wait for that.
func arrival(t *testing.T, dir, name string) (wait func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// for writing too, so that neither side waits for the other to open it
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func() {
		t.Helper()
		_ = f.SetReadDeadline(time.Now().Add(await.Patience))
		if _, err := f.Read(make([]byte, 64)); err != nil {
			t.Fatalf("the script never got to %s: %v", name, err)
		}
	}
}

func newRunner(t *testing.T) *Runner {
	t.Helper()
	r := New()
	t.Cleanup(r.Close)
	return r
}

func TestWhatOutlivesItsCommandIsEnded(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	for name, text := range map[string]string{
		"background":                      `sleep 1000 & echo $! >pid`,
		"background, output closed":       `sleep 1000 >/dev/null 2>&1 & echo $! >pid`,
		"ignores SIGTERM":                 `(trap '' TERM; echo $BASHPID >pid.new; mv pid.new pid; while :; do sleep 1000; done) & while [ ! -e pid ]; do :; done`,
		"stopped":                         `sleep 1000 & echo $! >pid; kill -STOP $!`,
		"own session":                     `setsid bash -c 'echo $$ >pid; exec sleep 1000' & while [ ! -s pid ]; do :; done`,
		"double fork, no output":          `(setsid bash -c '(echo $BASHPID >pid; exec sleep 1000) & disown' </dev/null >/dev/null 2>&1 &) ; while [ ! -s pid ]; do :; done`,
		"own session, empty environment":  `env -i setsid /bin/bash -c 'echo $$ >pid; exec /bin/sleep 1000' & while [ ! -s pid ]; do :; done`,
		"own session, other name":         `setsid bash -c 'echo $$ >pid; exec -a ") Z 1 1" sleep 1000' >/dev/null 2>&1 & while [ ! -s pid ]; do :; done`,
		"grandchild of an own session":    `setsid bash -c 'bash -c "echo \$\$ >pid; exec sleep 1000" & wait' & while [ ! -s pid ]; do :; done`,
		"leader replaced by another":      `sleep 1000 & echo $! >pid; exec true`,
		"leader killed":                   `sleep 1000 & echo $! >pid; kill -9 $$`,
		"hundred in the background":       `for i in {1..100}; do sleep 1000 & done; echo $! >pid`,
		"nohup":                           `nohup sleep 1000 >/dev/null 2>&1 & echo $! >pid`,
		"left the folder and its streams": `d=$PWD; (cd /; exec setsid bash -c 'echo $$ >'"$d"'/pid; exec sleep 1000 <&- >&- 2>&-') & while [ ! -s pid ]; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			exit, _, dir := script(t, newRunner(t), text)
			if alive(t, dir, "pid") {
				t.Error("a process outlived its command")
			}
			if exit.Ended == 0 || exit.Alive != 0 || exit.Cancelled {
				t.Errorf("the exit does not tell of it: %+v", exit)
			}
		})
	}
}

func TestCancelEndsTheWholeTree(t *testing.T) {
	for name, text := range map[string]string{
		"children":     `sleep 1000 & echo $! >pid; echo up >up; wait`,
		"ignores TERM": `trap '' TERM; echo $$ >pid; echo up >up; while :; do sleep 1000; done`,
		"own session":  `setsid bash -c 'echo $$ >pid; echo up >up; exec sleep 1000'; true`,
		"keeps forking": `trap '' TERM; f() { while :; do sleep 0.01 & done; }; echo $$ >pid; f & f & echo up >up; wait
			while :; do sleep 1; done`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t)
			ctx, cancel := context.WithCancel(t.Context())
			dir := t.TempDir()
			up := arrival(t, dir, "up")
			p, err := r.Start(ctx, Spec{Argv: []string{"bash", "-c", text}, Dir: dir, Grace: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			up()
			cancel()
			exit := p.Wait()
			if !exit.Cancelled || exit.Alive != 0 || exit.Code == 0 {
				t.Errorf("got %+v", exit)
			}
			if alive(t, dir, "pid") {
				t.Error("a process outlived the cancel")
			}
		})
	}
}

func TestTreesAreKeptApart(t *testing.T) {
	r := newRunner(t)
	dir := t.TempDir()
	up := arrival(t, dir, "up")
	other, err := r.Start(t.Context(), Spec{Argv: []string{
		"bash", "-c",
		`(setsid sleep 1000 & echo $! >kid); echo $$ >pid; echo up >up; exec sleep 1000`,
	}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	up()
	if exit, _, _ := script(t, r, `setsid sleep 1000 & sleep 1000 & true`); exit.Ended != 2 {
		t.Errorf("ended %d processes, want the 2 of this command", exit.Ended)
	}
	if !alive(t, dir, "pid") || !alive(t, dir, "kid") {
		t.Error("the end of one command ended processes of another")
	}
	other.End()
	if alive(t, dir, "kid") {
		t.Error("the orphan of the other command is still there")
	}
}

func TestForeignChildrenAreLeftAlone(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	short := exec.Command("true")
	if err := short.Start(); err != nil {
		t.Fatal(err)
	}
	script(t, newRunner(t), `sleep 1000 & true`)
	if err := short.Wait(); err != nil {
		t.Errorf("somebody else's child was reaped: %v", err)
	}
	if st, ok := readStat(cmd.Process.Pid); !ok || st.state == 'Z' {
		t.Error("somebody else's child was ended")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestDeadOrphansAreReaped(t *testing.T) {
	_, _, dir := script(t, newRunner(t), `(sleep 0.01 & echo $! >pid); (setsid bash -c 'true & echo $! >pid2'); sleep 0.1`)
	for _, name := range []string{"pid", "pid2"} {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		if st, ok := readStat(pid); ok {
			t.Errorf("%s is still in the process table: %+v", name, st)
		}
	}
}

// The parent is this test in a process of its own, which is killed.
func TestTheWholeTreeDiesWithItsParent(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("SANDBOX_TEST_PARENT") != "" {
		_, err := New().Start(context.Background(), Spec{
			Dir: os.Getenv("SANDBOX_TEST_PARENT"),
			Argv: []string{"bash", "-c", `trap '' TERM HUP
			echo $$ >leader; sleep 1000 & echo $! >background
			setsid bash -c 'echo $$ >session; exec sleep 1000' >/dev/null 2>&1 & while [ ! -s session ]; do :; done
			echo >ready; sleep 1000; echo never`},
		})
		if err != nil {
			t.Fatal(err)
		}
		select {}
	}
	ready := arrival(t, dir, "ready")
	parent := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	parent.Env = append(os.Environ(), "SANDBOX_TEST_PARENT="+dir)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ready()
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for _, name := range []string{"leader", "background", "session"} {
		if err := await.Exit(pidIn(t, dir, name)); err != nil {
			t.Errorf("the %s outlived a parent that was killed: %v", name, err)
		}
	}
}

func TestStatOfAnyNameIsRead(t *testing.T) {
	st, ok := parseStat(7, []byte("7 (a) b) Z 1 (x)) S 1 2 3 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n"))
	want := procStat{pid: 7, ppid: 1, pgrp: 2, session: 3, state: 'S', start: 4711}
	if !ok || st != want {
		t.Errorf("got %+v, want %+v", st, want)
	}
	for _, bad := range []string{"", "7", "7 (x)", "7 (x) S 1 2"} {
		if _, ok := parseStat(7, []byte(bad)); ok {
			t.Errorf("%q was taken for a stat line", bad)
		}
	}
}

// Processes that each make the next one and exit are never where a search saw them; ending their group
// ends them all the same. Twenty chains run at a time, no more.
func TestProcessesThatMultiplyAreEnded(t *testing.T) {
	script := `chain() { trap '' TERM; chain & }; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do chain; done; sleep 100`
	r := New()
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := r.Start(ctx, Spec{Argv: []string{"bash", "-c", script}, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	pgrp := p.Pid()
	defer func() { _ = syscall.Kill(-pgrp, syscall.SIGKILL) }()
	time.AfterFunc(200*time.Millisecond, cancel)
	if exit := p.Wait(); exit.Alive > 0 {
		t.Errorf("%+v", exit)
	}
	for _, st := range allProcs() {
		if st.pgrp == pgrp && st.state != 'Z' {
			t.Errorf("process %d of the group is left", st.pid)
		}
	}
}
