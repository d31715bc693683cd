//go:build amd64 || arm64

package inside

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// emulator runs programs of another machine, so that the assembler of one is tried on another: qemu-aarch64. Its clone
// knows no child that shares memory without being a thread, so scripts run in a copy there.
const emulator = "LATHE_TEST_EMULATOR"

// runCopy runs a script in a copy of this process, and returns its exit status.
func runCopy(t *testing.T, s *script) int {
	t.Helper()
	r := &run{flags: uintptr(unix.SIGCHLD), script: *s}
	r.ops = &r.script.ops[0]
	pid, err := r.fork()
	if err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || !ws.Exited() {
		t.Fatalf("%v, %v", err, ws)
	}
	return ws.ExitStatus()
}

func TestAScriptJumpsStoresAndDereferences(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := &script{}
	write := func(fd arg, text string) { s.call("write "+text, unix.SYS_WRITE, fd, s.text(text), num(len(text))) }
	_, fd := s.result("dup", unix.SYS_FCNTL, num(w.Fd()), num(unix.F_DUPFD_CLOEXEC), num(freeFd))
	write(at(fd), "stored ")
	i := s.call("close nothing", unix.SYS_CLOSE, num(-1)) // EBADF
	write(at(fd), "BAD ")
	s.onError(i, uintptr(unix.ENOENT))
	s.onError(i, uintptr(unix.EBADF))
	j := s.call("close nothing", unix.SYS_CLOSE, num(-1))
	write(at(fd), "BAD ")
	s.onError(j, anyError)
	k := s.call("succeed", unix.SYS_GETPID)
	write(at(fd), "BAD ")
	s.onSuccess(k)
	write(at(fd), "end")
	s.call("exit", unix.SYS_EXIT_GROUP, num(7))
	if code := runCopy(t, s); code != 7 {
		t.Errorf("it ended with %d", code)
	}
	w.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil || out.String() != "stored end" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestAScriptEndsWithTheFirstErrorThatIsNotExpected(t *testing.T) {
	s := &script{}
	i := s.call("close nothing", unix.SYS_CLOSE, num(-1))
	s.call("exit", unix.SYS_EXIT_GROUP, num(7))
	s.onError(i, uintptr(unix.ENOENT))
	if code := runCopy(t, s); code != 99 {
		t.Errorf("it ended with %d", code)
	}
}

// startInit runs the init program as a program of its own, not the first of a PID namespace: so it must not be of the
// kind that ends every process it may.
func startInit(t *testing.T, kind string, command ...string) (messages []byte, out string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "init")
	if err := os.WriteFile(file, initImage(), 0o700); err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := os.NewFile(uintptr(fds[0]), "theirs"), os.NewFile(uintptr(fds[1]), "ours")
	defer ours.Close()
	argv := []string{file}
	if with := os.Getenv(emulator); with != "" {
		argv = []string{with, "-0", "lathe-sandbox", file}
	}
	argv = append(append(argv, kind), command...)
	c := exec.Command(argv[0], argv[1:]...)
	c.ExtraFiles = []*os.File{theirs}
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	err = c.Run()
	theirs.Close()
	for {
		b := make([]byte, 16)
		n, rerr := ours.Read(b)
		if rerr != nil || n == 0 {
			break
		}
		messages = append(messages, b[:n]...)
	}
	t.Logf("%v", err)
	return messages, text.String(), c.ProcessState.ExitCode()
}

func TestTheInitProgramStartsReportsAndReaps(t *testing.T) {
	messages, out, code := startInit(t, "l", "/bin/sh", "sh", "-c", "echo ran; exit 5")
	if code != 0 || !strings.Contains(out, "ran") || len(messages) != 18 || messages[0] != MsgStarted ||
		messages[9] != MsgEnded {
		t.Fatalf("%d, %q, %q", code, out, messages)
	}
	if ws := unix.WaitStatus(binary.NativeEndian.Uint32(messages[10:])); ws.ExitStatus() != 5 {
		t.Errorf("the status is %v", ws)
	}
	if messages, out, code = startInit(t, "d", "/bin/sh", "sh", "-c", "echo ran; exit 6"); code != 6 ||
		!strings.Contains(out, "ran") || len(messages) == 0 || messages[0] != MsgStarted {
		t.Errorf("direct: %d, %q, %q", code, out, messages)
	}
	if messages, _, code = startInit(t, "d", "/nonexistent", "x"); code != 99 || !bytes.Contains(messages,
		[]byte{MsgError, byte(unix.ENOENT)}) {
		t.Errorf("a program that is not there: %d, %q", code, messages)
	}
}
