package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	return path
}

func TestAPipedChildAnswersUntilItsInputEnds(t *testing.T) {
	r := New()
	defer r.Close()
	p, err := r.StartPiped(t.Context(), Spec{Argv: []string{
		shell(t), "-c",
		`while read -r x; do echo "got $x"; done; exit 7`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(p.Out)
	for i := range 3 {
		if _, err := fmt.Fprintf(p.In, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); line != fmt.Sprintf("got line %d\n", i) {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	if exit := p.Shut(time.Minute); exit.Code != 7 || exit.Cancelled {
		t.Errorf("it did not end by itself: %+v", exit)
	}
}

// It ignores the end of its input and floods its output, with a child that would outlive it.
func TestAPipedChildThatDoesNotEndIsEndedWithItsTree(t *testing.T) {
	r := New()
	defer r.Close()
	p, err := r.StartPiped(t.Context(), Spec{Argv: []string{
		shell(t), "-c",
		`trap '' TERM; sleep 1000 & echo $!; while :; do echo flood; done`,
	}, Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.Out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	exit := p.Shut(time.Millisecond)
	if !exit.Cancelled || exit.Alive != 0 {
		t.Errorf("got %+v", exit)
	}
	if proc, err := os.FindProcess(atoi(t, strings.TrimSpace(line))); err == nil && proc.Signal(syscall.Signal(0)) == nil {
		t.Error("its child is still there")
	}
}

func atoi(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
