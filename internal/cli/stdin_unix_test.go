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
		t.Skip(err)
	}
	in, other := os.NewFile(uintptr(fds[0]), "stdin"), os.NewFile(uintptr(fds[1]), "other")
	defer other.Close()
	defer in.Close()
	p, stdout, stderr := fakeProgram(t, newFake(), in)
	p.stdinWait = 1
	if err := p.run(context.Background(), []string{"-p", "hi"}); err != nil || stdout.String() != "Hello there.\n" {
		t.Errorf("%q, %v", stdout, err)
	}
	if !strings.Contains(stderr.String(), "going on without it") {
		t.Errorf("stderr %q", stderr)
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
