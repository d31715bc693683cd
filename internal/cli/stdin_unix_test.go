//go:build unix

package cli

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Programs that start others (Node, for one) leave a socket open as stdin and never write to it.
func TestASilentSocketIsNotWaitedForWhenThereIsAPrompt(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Skipf("no pair of sockets can be made here: %v", err)
	}
	in, other := os.NewFile(uintptr(fds[0]), "stdin"), os.NewFile(uintptr(fds[1]), "other")
	defer other.Close()
	defer in.Close()
	goesOnWithout(t, in)
}

// goesOnWithout runs a prompt with a silent stdin.
func goesOnWithout(t *testing.T, in *os.File) {
	t.Helper()
	p, stdout, stderr := fakeProgram(t, newFake(), in)
	p.stdinWait = 1
	if err := p.run(context.Background(), []string{"-p", "hi"}); err != nil || stdout.String() != "Hello there.\n" {
		t.Errorf("%q, %v", stdout, err)
	}
	if !strings.Contains(stderr.String(), "going on without it") {
		t.Errorf("stderr %q", stderr)
	}
}

// A shell or a supervisor hands its own pipe down and never closes it.
func TestASilentPipeIsNotWaitedForWhenThereIsAPrompt(t *testing.T) {
	in, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	defer in.Close()
	goesOnWithout(t, in)
}

func TestStdinThatHasBegunIsReadToItsEnd(t *testing.T) {
	in, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := other.WriteString("first "); err != nil {
		t.Fatal(err)
	}
	f := newFake()
	p, _, _ := fakeProgram(t, f, in)
	begun := make(chan struct{}, 1)
	done := make(chan stdinResult, 1)
	go func() { done <- slurp(p.in, begun) }()
	<-begun
	_, _ = other.WriteString("second")
	_ = other.Close()
	if r := <-done; r.err != nil || r.text != "first second" {
		t.Errorf("%+v", r)
	}
}

func TestAClosedStdinIsEmpty(t *testing.T) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	if got, err := prompted(t, in, "-p", "hi"); err != nil || got != "hi" {
		t.Errorf("%q, %v", got, err)
	}
}
