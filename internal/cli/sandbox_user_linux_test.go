//go:build amd64 || arm64

package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// nobody is the ordinary user.
const nobody = 65534

// attempts are what the command of the model tries; each line of its output is a name and whether it worked.
const attempts = `try() { name=$1; shift; if "$@" 2>/dev/null; then echo "$name worked"; else echo "$name refused"; fi; }
write() { echo x >"$1"; }
reach() { exec 3<>"/dev/tcp/127.0.0.1/$1"; }
try inside write inside
try outside write "$HOME/outside"
try hooks write .git/hooks/pre-commit
try secret grep -q hush "$HOME/.netrc"
try environment grep -qa OUTSIDE_MARK "/proc/$2/environ"
try signal kill -0 "$2"
try network reach "$1"
try rights grep -q 'NoNewPrivs:.*1' /proc/self/status
sleep 31536217 &
`

// userWay is a machine as an ordinary user finds it.
type userWay struct {
	name, status string // what lathe sandbox status says there
	carried      bool   // bubblewrap must be there
	wrap         func(t *testing.T, base string, argv []string) *exec.Cmd
	confined     []string // what a command may, in the sandbox of the settings
	full         bool
}

var (
	fullAttempts = []string{
		"inside worked", "outside refused", "hooks refused", "secret refused",
		"environment refused", "signal refused", "network refused", "rights worked",
	}
	landlockAttempts = []string{"inside worked", "outside refused", "network refused", "rights worked"}
	freeAttempts     = []string{
		"inside worked", "outside worked", "hooks worked", "secret worked", "signal worked",
		"network worked",
	}
)

// TestTheSandboxOfAnOrdinaryUser runs the whole program as a user without rights, in each tier that such a user can
// have.
func TestTheSandboxOfAnOrdinaryUser(t *testing.T) {
	if runFiltered() {
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can set up the machines that an ordinary user finds")
	}
	for _, way := range []userWay{
		{
			name: "own namespaces", status: "tier: full (own namespaces with a user namespace", wrap: asNobody,
			confined: fullAttempts, full: true,
		},
		{
			name: "bubblewrap", status: "tier: full (namespaces by /usr/bin/bwrap", wrap: withoutNamespaces(true),
			confined: fullAttempts, full: true, carried: true,
		},
		{name: "landlock", status: "tier: landlock (", wrap: withoutNamespaces(false), confined: landlockAttempts},
		{
			name: "none", status: "tier: none: the kernel's Landlock is version 0", wrap: withoutLandlock,
			confined: freeAttempts,
		},
	} {
		t.Run(way.name, func(t *testing.T) { way.test(t) })
	}
}

func (way userWay) test(t *testing.T) {
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil && way.carried {
		t.Skip("bubblewrap is not installed")
	}
	u := newUser(t, way)
	if out, _, _ := u.lathe("sandbox", "status"); !strings.Contains(out, way.status) {
		t.Skipf("this machine has no such tier: %s", out)
	}
	want := []string{"settings: on by default (workspace)", `"mode":"workspace"`}
	if !way.full {
		want = []string{"settings: on by default, but only in the tier full", `"mode":"off"`}
	}
	for i, flags := range [][]string{{"sandbox", "status"}, {"sandbox", "status", "--json"}} {
		if out, _, _ := u.lathe(flags...); !strings.Contains(out, want[i]) {
			t.Errorf("%q: not %q: %s", flags, want[i], out)
		}
	}
	if out, _, code := u.lathe("doctor"); strings.Contains(out, "ok    sandbox") != way.full || strings.Contains(out,
		"warn  sandbox") == way.full || !strings.Contains(out, strings.TrimPrefix(way.status, "tier: ")) {
		t.Errorf("doctor: exit code %d: %s", code, out)
	}
	said, stderr, code := u.prompt(`{"sandbox":{"enabled":true}}`)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, said, stderr)
	}
	u.check("with sandbox.enabled", way.confined)
	if weak := strings.Contains(stderr, "sandbox: "); weak == way.full {
		t.Errorf("the warning is wrong: %s", stderr)
	}
	said, stderr, code = u.prompt(`{}`)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, said, stderr)
	}
	if !way.full {
		u.check("by default", freeAttempts)
	} else {
		u.check("by default", way.confined)
	}
	for _, c := range []struct {
		settings string
		flags    []string
	}{
		{`{}`, []string{"--sandbox", "workspace"}},
		{`{"sandbox":{"enabled":true,"failIfUnavailable":true}}`, nil},
		{`{"sandbox":{"failIfUnavailable":true}}`, nil},
		{`{}`, []string{"--settings", `{"sandbox":{"enabled":true}}`}}, // as the SDKs request it
		{`{}`, []string{"--settings", `{"sandbox":{"failIfUnavailable":true}}`}},
	} {
		_, stderr, code := u.prompt(c.settings, c.flags...)
		if refused := code != 0 && strings.Contains(stderr, "the requested sandbox is not available"); refused == way.full {
			t.Errorf("%s %q: exit code %d, %s", c.settings, c.flags, code, stderr)
		}
	}
}

// user is a machine with lathe's program, a home folder, a project and a scripted model.
type user struct {
	t         *testing.T
	way       userWay
	base      string
	server    *llmtest.Server
	port, pid string
}

func newUser(t *testing.T, way userWay) *user {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "lathe-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	u := &user{t: t, way: way, base: base}
	u.files()
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outside.Close() })
	_, u.port, _ = net.SplitHostPort(outside.Addr().String())
	sleeper := exec.Command("sleep", "1000")
	sleeper.Env = []string{"OUTSIDE_MARK=1"}
	sleeper.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	u.pid = fmt.Sprint(sleeper.Process.Pid)
	script, err := llmtest.Parse([]byte(fmt.Sprintf("reply\n  when result=\"tried\"\n  say Done.\nreply\n  when "+
		"contains=\"try it\"\n  call Bash {\"command\":\"bash try.sh %s %s >results; echo tried\"}\nfinal\n  say Done.\n",
		u.port, u.pid)))
	if err != nil {
		t.Fatal(err)
	}
	u.server = llmtest.New(script, llmtest.Options{})
	if err := u.server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.server.Close() })
	return u
}

// files makes the user's files, and a program that everybody may run.
func (u *user) files() {
	u.t.Helper()
	copied := func(from, to string) {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err == nil {
			err = os.Chmod(to, 0o755)
		}
		if err != nil {
			u.t.Fatal(err)
		}
	}
	copied(buildLathe(u.t), u.base+"/lathe")
	copied("/proc/self/exe", u.base+"/tests")
	for name, text := range map[string]string{
		"home/.netrc": "machine a password hush4711hush", "home/p/try.sh": attempts,
		"home/p/.git/HEAD": "ref: refs/heads/main\n", "home/p/.git/config": "[core]\n",
		"home/.config/lathe/settings.json": "{}",
	} {
		path := filepath.Join(u.base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			u.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
	for _, dir := range []string{"hooks", "objects", "refs"} {
		if err := os.MkdirAll(u.base+"/home/p/.git/"+dir, 0o700); err != nil {
			u.t.Fatal(err)
		}
	}
	if err := os.Chmod(u.base, 0o755); err != nil {
		u.t.Fatal(err)
	}
	err := filepath.WalkDir(u.base+"/home", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

// lathe runs the program as the user.
func (u *user) lathe(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	c := u.way.wrap(u.t, u.base, append([]string{u.base + "/lathe"}, args...))
	var o, e bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = u.base+"/home/p", &o, &e
	c.Env = append(c.Env, "HOME="+u.base+"/home", "PATH=/usr/local/bin:/usr/bin:/bin", "PWD="+c.Dir,
		"ANTHROPIC_BASE_URL="+u.server.URL(), "ANTHROPIC_API_KEY=sk-test")
	if err := c.Run(); c.ProcessState == nil {
		u.t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// prompt has the model's command try everything, with the files as they were at first.
func (u *user) prompt(settings string, flags ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	if err := os.WriteFile(u.base+"/home/.config/lathe/settings.json", []byte(settings), 0o600); err != nil {
		u.t.Fatal(err)
	}
	for _, name := range []string{"home/outside", "home/p/inside", "home/p/results", "home/p/.git/hooks/pre-commit"} {
		if err := os.RemoveAll(filepath.Join(u.base, name)); err != nil {
			u.t.Fatal(err)
		}
	}
	return u.lathe(append(append([]string{"-p"}, flags...), "--allowedTools", "Bash", "--", "try it")...)
}

// check compares what the command could do, and that it left no process.
func (u *user) check(when string, want []string) {
	u.t.Helper()
	text, err := os.ReadFile(u.base + "/home/p/results")
	if err != nil {
		u.t.Fatalf("%s: %v", when, err)
	}
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			u.t.Errorf("%s: not %q:\n%s", when, line, text)
		}
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if line, _ := os.ReadFile(name); bytes.Contains(line, []byte("31536217")) {
			u.t.Errorf("%s: a process of the command stays: %q", when, line)
		}
	}
}

// become is a script that becomes the ordinary user, and the arguments' program. What the machine's owner set for root
// alone is hidden.
const become = `for d in /etc/claude-code /etc/lathe; do if [ -d $d ]; then mount -t tmpfs -o mode=0755 tmpfs $d || exit 99; fi; done
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`

func asNobody(_ *testing.T, _ string, argv []string) *exec.Cmd {
	c := exec.Command("/bin/sh", append([]string{"-c", become, "sh"}, argv...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	return c
}

// withoutNamespaces starts a program as an ordinary user who may make no user namespace: with a setuid bubblewrap, or
// without any. The restriction is the kernel's own (user.max_user_namespaces), in a user namespace that has all ids.
func withoutNamespaces(carried bool) func(*testing.T, string, []string) *exec.Cmd {
	return func(t *testing.T, base string, argv []string) *exec.Cmd {
		t.Helper()
		cover := "/dev/null" // not a program: there is no bubblewrap then
		if carried {
			cover = base + "/bwrap"
			b, err := os.ReadFile("/usr/bin/bwrap")
			if err == nil {
				err = os.WriteFile(cover, b, 0o600)
			}
			if err == nil {
				err = unix.Chmod(cover, 0o4755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		const script = `cover=$1; shift; for f in /usr/bin/bwrap /usr/local/bin/bwrap; do if [ -e $f ]; then mount --bind "$cover" $f || exit 99; fi; done
echo 0 >/proc/sys/user/max_user_namespaces || exit 99
` + become
		c := exec.Command("/bin/sh", append([]string{"-c", script, "sh", cover}, argv...)...)
		all := []syscall.SysProcIDMap{{Size: 65536}}
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: all,
			GidMappings: all, GidMappingsEnableSetgroups: true,
		}
		return c
	}
}

// filteredMark is set where this test's program takes Landlock away and becomes another one.
const filteredMark = "LATHE_TEST_WITHOUT_LANDLOCK"

// withoutLandlock starts a program as an ordinary user on a kernel that says it has no Landlock.
func withoutLandlock(_ *testing.T, base string, argv []string) *exec.Cmd {
	c := asNobody(nil, base, append([]string{base + "/tests", "-test.run=^TestTheSandboxOfAnOrdinaryUser$", "--"},
		argv...))
	c.Env = []string{filteredMark + "=1"}
	return c
}

// runFiltered becomes the program after --, without Landlock, if this process was started for it.
func runFiltered() bool {
	if os.Getenv(filteredMark) == "" {
		return false
	}
	_ = os.Unsetenv(filteredMark)
	at := slices.Index(os.Args, "--")
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = unix.Exec(os.Args[at+1], os.Args[at+1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
	return true
}
