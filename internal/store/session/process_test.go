//go:build unix

package session

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// TestMain lets the test binary play another lathe process.
func TestMain(m *testing.M) {
	switch os.Getenv("SESSION_TEST_ROLE") {
	case "writer":
		writer(os.Getenv("SESSION_TEST_HOME"))
	case "limited":
		limited(os.Getenv("SESSION_TEST_HOME"))
	default:
		os.Exit(m.Run())
	}
}

func child(t *testing.T, role, home string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), "SESSION_TEST_ROLE="+role, "SESSION_TEST_HOME="+home)
	c.Stderr = os.Stderr
	return c
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writer runs calls for ever and prints each result after it was journalled.
func writer(home string) {
	s, err := NewStore(home).Create(ctx, Meta{Dir: home})
	check(err)
	fmt.Println(s.ID())
	check(s.AddUser(ctx, llm.UserText("go"), false, false))
	for i := 0; ; i++ {
		c := toolCall(fmt.Sprint(i))
		check(s.AddPart(ctx, 0, c))
		check(s.StartCall(ctx, CallStart{CallID: c.ID}, i%10 == 0))
		check(s.EndCall(ctx, result(c.ID, fmt.Sprintf("result %d", i))))
		fmt.Println("result", i)
		check(s.AddReply(ctx, reply(c)))
	}
}

func TestEveryPrintedResultSurvivesKill(t *testing.T) {
	home := t.TempDir()
	for round := range 15 {
		c := child(t, "writer", home)
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		lines := bufio.NewScanner(out)
		lines.Scan()
		id := lines.Text()
		for range round * 20 {
			lines.Scan()
		}
		if round == 0 {
			_, err := NewStore(home).Open(ctx, id)
			var held *LockedError
			if !errors.As(err, &held) || held.PID != c.Process.Pid {
				t.Errorf("open elsewhere: %v", err)
			}
		}
		must(t, c.Process.Kill())
		printed := strings.TrimSpace(lines.Text())
		for lines.Scan() {
			printed = lines.Text()
		}
		_ = c.Wait() // killed
		s := open(t, NewStore(home), id)
		must(t, wellFormed(s.Messages()))
		found := printed == id
		for _, m := range s.Messages() {
			for _, p := range m.Parts {
				found = found || textOf(p) == printed
			}
		}
		if !found {
			t.Errorf("%q was printed and is lost", printed)
		}
		must(t, s.Close())
	}
}

// limited talks until its file size limit is reached and goes on in memory, lifts the limit and goes on.
func limited(home string) {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	full := limit
	full.Cur = 10_000
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
	s, err := NewStore(home).Create(ctx, Meta{Dir: home})
	check(err)
	fmt.Println(s.ID())
	n := 0
	for s.Unwritten() < 5 {
		check(s.AddUser(ctx, llm.UserText(fmt.Sprint(n, strings.Repeat("x", 700))), false, false))
		n++
	}
	read, write := toolCall("read"), toolCall("write")
	check(s.AddPart(ctx, 0, read))
	check(s.AddPart(ctx, 1, write))
	check(s.StartCall(ctx, CallStart{CallID: read.ID}, false))
	var w *WriteError
	if err := s.StartCall(ctx, CallStart{CallID: write.ID}, true); !errors.As(err, &w) || !w.Full() || !errors.Is(err,
		syscall.EFBIG) {
		check(fmt.Errorf("a call that writes gave %w", err))
	}
	if err := s.Checkout(""); !errors.As(err, &w) {
		check(fmt.Errorf("checkout gave %w", err))
	}
	check(s.EndCall(ctx, result(read.ID, "read")))
	check(s.EndCall(ctx, result(write.ID, "refused")))
	check(s.AddReply(ctx, reply(read, write)))
	if got := len(s.Messages()); got != n+2 {
		check(fmt.Errorf("%d messages after %d were said", got, n+2))
	}
	entries := 0
	for e := range s.Entries() { // from the file and from memory
		if u, ok := e.Body.(User); ok && !strings.HasPrefix(u.Message.PlainText(), fmt.Sprint(entries)) {
			check(fmt.Errorf("entry %d says %.10q", entries, u.Message.PlainText()))
		}
		entries++
	}
	if entries != n+6 {
		check(fmt.Errorf("%d entries, not %d", entries, n+6))
	}
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	check(s.AddUser(ctx, llm.UserText("room again"), false, false))
	if s.Unwritten() != 0 {
		check(errors.New("entries wait although there is room"))
	}
	fmt.Println(n)
	check(s.Close())
}

func TestAFullDiskLosesNothingAndIsTriedAgain(t *testing.T) {
	home := t.TempDir()
	c := child(t, "limited", home)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	printed, err := io.ReadAll(out)
	must(t, err)
	must(t, c.Wait())
	var id string
	var n int
	_, err = fmt.Sscan(string(printed), &id, &n)
	must(t, err)
	st := NewStore(home)
	s := open(t, st, id)
	same(t, len(s.Messages()), n+3)
	for i := range n {
		same(t, strings.TrimRight(s.Messages()[i].PlainText(), "x"), fmt.Sprint(i))
	}
	same(t, s.Messages()[n+2].PlainText(), "room again")
	same(t, s.Notes(), []string(nil))
	r, err := st.Verify(id)
	must(t, err)
	if !r.OK() || r.Torn != 0 {
		t.Errorf("verify: %+v", r)
	}
}

// A child that was being started when lathe was killed holds the lock a moment longer than lathe lived.
func TestTheLockOfADeadProcessIsWaitedFor(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "mine")
	gone := exec.Command("true")
	must(t, gone.Run())
	path := filepath.Join(s.Folder(), "lock")
	must(t, os.WriteFile(path, fmt.Appendf(nil, " %d\n", gone.Process.Pid), 0o600))
	var held *LockedError
	if _, err := st.Open(ctx, s.ID()); !errors.As(err, &held) || held.PID != gone.Process.Pid {
		t.Errorf("a lock that stays: got %v", err)
	}
	opened := make(chan error)
	go func() {
		again, err := st.Open(ctx, s.ID())
		if err == nil {
			err = again.Close()
		}
		opened <- err
	}()
	must(t, s.Close()) // before or while the other one waits
	must(t, <-opened)
}
