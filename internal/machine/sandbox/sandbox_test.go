//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	attackMain() // a child that tries to break out of the sandbox; it does not return
	goleak.VerifyTestMain(m)
}

func TestExitTellsHowItEnded(t *testing.T) {
	r := New()
	defer r.Close()
	for text, want := range map[string]Exit{
		"exit 0":     {},
		"exit 7":     {Code: 7},
		"exit 255":   {Code: 255},
		"kill -9 $$": {Code: 137, Signal: "killed"},
	} {
		got, err := r.Run(t.Context(), Spec{Argv: []string{"sh", "-c", text}})
		got.Duration = 0
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestOutputKeepsItsOrderInOnePipe(t *testing.T) {
	r := New()
	defer r.Close()
	var out bytes.Buffer
	_, err := r.Run(t.Context(), Spec{
		Argv:   []string{"sh", "-c", "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done"},
		Stdout: &out, Stderr: &out,
	})
	if want := "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n"; err != nil || out.String() != want {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestOutputsCanBeApart(t *testing.T) {
	r := New()
	defer r.Close()
	var out, errs bytes.Buffer
	_, err := r.Run(t.Context(), Spec{Argv: []string{"sh", "-c", "echo out; echo err >&2"}, Stdout: &out, Stderr: &errs})
	if err != nil || out.String() != "out\n" || errs.String() != "err\n" {
		t.Errorf("got %q and %q, %v", out.String(), errs.String(), err)
	}
}

func TestChildHasNoTerminalNoInputAndNoOtherFiles(t *testing.T) {
	r := New()
	defer r.Close()
	var out bytes.Buffer
	_, err := r.Run(t.Context(), Spec{
		Argv: []string{
			"sh", "-c",
			`cat; (: </dev/tty) 2>/dev/null && echo tty; [ -t 0 ] && echo tty0
		[ ! -d /proc/self/fd ] || [ "$(ls /proc/self/fd | wc -l)" = 4 ] || ls -l /proc/self/fd; echo done`,
		}, Stdout: &out,
		Stderr: &out,
	})
	if err != nil || out.String() != "done\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestInputReachesTheChild(t *testing.T) {
	r := New()
	defer r.Close()
	var out bytes.Buffer
	_, err := r.Run(t.Context(), Spec{Argv: []string{"cat"}, Stdin: strings.NewReader("hello"), Stdout: &out})
	if err != nil || out.String() != "hello" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestAChildThatDoesNotReadItsInputIsNotWaitedFor(t *testing.T) {
	r := New()
	defer r.Close()
	pr, pw := io.Pipe()
	defer pw.Close() // lets the copying goroutine go
	exit, err := r.Run(t.Context(), Spec{Argv: []string{"true"}, Stdin: pr})
	if err != nil || exit.Code != 0 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestStartErrorsNameTheCause(t *testing.T) {
	r := New()
	defer r.Close()
	notExecutable := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(notExecutable, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, spec := range map[string]Spec{
		"empty":                 {},
		"not installed":         {Argv: []string{"no-such-program-here"}},
		"no such file":          {Argv: []string{"/no/such/program"}},
		"permission denied":     {Argv: []string{notExecutable}},
		"working folder":        {Argv: []string{"true"}, Dir: "/no/such/folder"},
		"too long":              {Argv: []string{"true", strings.Repeat("x", 1<<20), strings.Repeat("x", 8<<20)}},
		"invalid argument":      {Argv: []string{"true", "a\x00b"}},
		"the working folder / ": {Argv: []string{"no-such"}, Dir: "/ "},
	} {
		_, err := r.Run(t.Context(), spec)
		if err == nil || (!strings.Contains(err.Error(), want) && want != "the working folder / ") {
			t.Errorf("%v: got %v, want %q in it", spec.Argv, err, want)
		}
	}
}

func TestACancelledContextStartsNothing(t *testing.T) {
	r := New()
	defer r.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := r.Run(ctx, Spec{Argv: []string{"true"}}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestRunReturnsTheCauseOfACancel(t *testing.T) {
	r := New()
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	exit, err := r.Run(ctx, Spec{Argv: []string{"sleep", "1000"}})
	if !errors.Is(err, context.DeadlineExceeded) || !exit.Cancelled || exit.Code != 143 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestCloseEndsEverythingAndRefusesMore(t *testing.T) {
	r := New()
	var all []*Proc
	for range 5 {
		p, err := r.Start(t.Context(), Spec{Argv: []string{"sh", "-c", "sleep 1000 & sleep 1000"}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	r.Close()
	for _, p := range all {
		if exit := p.Wait(); !exit.Cancelled || exit.Alive != 0 {
			t.Errorf("got %+v", exit)
		}
	}
	if _, err := r.Start(t.Context(), Spec{Argv: []string{"true"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	r.Close()
}

func TestAWriterThatFailsDoesNotHangTheCommand(t *testing.T) {
	r := New()
	defer r.Close()
	exit, err := r.Run(t.Context(), Spec{Argv: []string{
		"sh", "-c",
		"while echo xxxxxxxxxxxxxxxxxxxxxxxxxxx; do :; done 2>/dev/null",
	}, Stdout: failing{}})
	if err != nil || exit.Cancelled {
		t.Errorf("got %+v, %v", exit, err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func BenchmarkRunTrue(b *testing.B) {
	r := New()
	defer r.Close()
	for b.Loop() {
		if _, err := r.Run(b.Context(), Spec{
			Argv: []string{"/bin/true"}, Stdout: io.Discard,
			Stderr: io.Discard,
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlainExec(b *testing.B) { // what the same costs with os/exec alone
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
