package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// TestTheSameAsNobody runs the tests of the boundary again as an ordinary user, which has other ways in and out than
// root.
func TestTheSameAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests ran as an ordinary user already")
	}
	// The tests of whole programs need a home folder and are root's: what they need of the kernel is tried here.
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestAttack|^TestConfined", "-test.v="+fmt.Sprint(testing.Verbose()))
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/var/tmp", "HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// realDir is a folder without links in its path, and not in /tmp, which is another one inside.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "lathe-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// the kernel's folders of an overlay have no rights
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

// aim builds a world to attack and the policy that is to hold it.
func aim(t *testing.T) (target, confine.Policy) {
	dir := realDir(t)
	a := target{
		Work: dir + "/work", Outside: dir + "/outside", Secret: dir + "/work/.env", Pid: os.Getpid(),
		Abstract: "@" + uniqueName(), Shared: uniqueName(),
	}
	write(t, a.Outside+"/file", "outside")
	write(t, a.Secret, "KEY=1")
	for _, repo := range []string{a.Work, a.Work + "/sub"} {
		write(t, repo+"/.git/config", "[core]")
		if err := os.Mkdir(repo+"/.git/hooks", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if a.SysV, err = sysvSegment(); err != nil {
		t.Fatal(err)
	}
	if a.Fd, err = freeDescriptor(dir + "/outside/open"); err != nil {
		t.Fatal(err)
	}
	write(t, "/dev/shm/"+a.Shared, "x")
	sleeper := exec.Command("sleep", "1000")
	sleeper.Env = []string{outsideMark}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	a.Pid = sleeper.Process.Pid
	if a.Mapped, err = mapped(a.Pid); err != nil {
		t.Fatal(err)
	}
	a.TCP, a.UDP = serve(t, "tcp", "127.0.0.1:0"), serveUDP(t)
	serve(t, "unix", a.Abstract)
	a.Unix = filepath.Join(a.Work, "s")
	serve(t, "unix", a.Unix)
	t.Cleanup(func() {
		_, _ = unix.SysvShmCtl(a.SysV, unix.IPC_RMID, nil)
		unix.Close(a.Fd)
		os.Remove("/dev/shm/" + a.Shared)
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	})
	return a, confine.Policy{
		Mode: confine.Workspace, Write: []string{a.Work}, Mask: []string{a.Secret},
		Protect: []string{a.Work + "/.git/hooks", a.Work + "/.git/config", a.Work + "/sub/.git/hooks", a.Work +
			"/sub/.git/config"},
	}
}

// serve echoes on a stream.
func serve(t *testing.T, network, addr string) string {
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(c, c, 4)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func serveUDP(t *testing.T) string {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 16)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(b[:n], from)
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
	return c.LocalAddr().String()
}

// try runs an attack and reports whether it worked.
func (a attack) try(t *testing.T, r *Runner, at target, c *Confinement) (bool, string) {
	t.Helper()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	exit, err := r.Run(t.Context(), Spec{
		Argv: []string{"/proc/self/exe", string(text)}, Env: append(os.Environ(), "LATHE_TEST_ATTACK=run "+a.name),
		Dir: at.Work, Stdout: &out, Stderr: &out, Confine: c,
	})
	if err != nil || exit.Code > 1 {
		t.Fatalf("%v, exit %+v: %s", err, exit, out.String())
	}
	return exit.Code == 0, out.String()
}

func TestAttacksAreRefused(t *testing.T) {
	r := New()
	defer r.Close()
	tiers(t, func(t *testing.T, s confine.Support) {
		for _, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				if a.full && s.Tier != confine.Full {
					t.Skipf("held by the tier full only: %s", a.why)
				}
				at, policy := aim(t)
				worked, text := a.try(t, r, at, &Confinement{Policy: policy, Support: s})
				if worked {
					t.Errorf("it worked inside: %s", text)
				}
				t.Logf("inside %s", text)
				if !a.bare && (!a.root || os.Getuid() != 0) {
					return
				}
				at, _ = aim(t)
				if worked, text := a.try(t, r, at, nil); !worked {
					t.Errorf("the test shows nothing: it does not work outside either: %s", text)
				}
			})
		}
	})
}

// sh runs a command line inside and returns how it ended and its output.
func sh(t *testing.T, r *Runner, dir, line string, c *Confinement) (Exit, string) {
	t.Helper()
	var out bytes.Buffer
	exit, err := r.Run(t.Context(), Spec{
		Argv: []string{"/bin/sh", "-c", line}, Dir: dir, Stdout: &out, Stderr: &out,
		Confine: c,
	})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return exit, out.String()
}

func TestConfinedExitIsTheCommands(t *testing.T) {
	r := New()
	defer r.Close()
	tiers(t, func(t *testing.T, s confine.Support) {
		work := realDir(t)
		c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
		for line, want := range map[string]Exit{
			"exit 0": {}, "exit 7": {Code: 7}, "exit 255": {Code: 255}, "kill -9 $$": {Code: 137, Signal: "killed"},
			"kill -TERM $$": {Code: 143, Signal: "terminated"},
		} {
			got, out := sh(t, r, work, line, c)
			got.Duration = 0
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v: %s", line, got, want, out)
			}
		}
	})
}

func TestConfinedStartErrorsNameTheCause(t *testing.T) {
	r := New()
	defer r.Close()
	tiers(t, func(t *testing.T, s confine.Support) {
		work := realDir(t)
		c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
		plain := write(t, work+"/text", "x")
		for want, argv := range map[string][]string{
			"permission denied": {plain}, "no such file": {"/no/such/program"},
			"exec format error": {scriptWithoutProgram(t, work)},
		} {
			_, err := r.Run(t.Context(), Spec{Argv: argv, Dir: work, Confine: c})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: got %v, want %q in it", argv, err, want)
			}
		}
	})
}

func scriptWithoutProgram(t *testing.T, dir string) string {
	name := write(t, dir+"/junk", "\x7fELF junk")
	if err := os.Chmod(name, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConfinedWithoutATierStartsNothing(t *testing.T) {
	r := New()
	defer r.Close()
	work := realDir(t)
	_, err := r.Run(t.Context(), Spec{Argv: []string{"touch", work + "/x"}, Dir: work, Confine: &Confinement{
		Policy: confine.Policy{Mode: confine.ReadOnly}, Support: confine.Support{Why: "no reason"},
	}})
	if err == nil || !strings.Contains(err.Error(), "no reason") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(work + "/x"); err == nil {
		t.Error("the command ran")
	}
}

func TestConfinedReadOnlyWritesTempOnly(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work := realDir(t)
	c := &Confinement{Policy: confine.Policy{Mode: confine.ReadOnly, Write: []string{work}}, Support: s}
	exit, out := sh(t, r, work, "touch x; echo a >/tmp/a && cat /tmp/a; echo b >/dev/shm/b && cat /dev/shm/b", c)
	if exit.Code != 0 || !strings.Contains(out, "Read-only file system") || !strings.HasSuffix(out, "a\nb\n") {
		t.Errorf("got %+v: %s", exit, out)
	}
	if _, err := os.Stat("/tmp/a"); err == nil {
		t.Error("/tmp is not private")
	}
}

func TestConfinedFoldersBelowTmpAreThere(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil || !strings.HasPrefix(work, "/tmp/") {
		t.Skipf("the temporary folder is not in /tmp: %s, %v", work, err)
	}
	write(t, work+"/file", "here")
	write(t, work+"/sub/file", "there")
	for mode, want := range map[confine.Mode]string{
		confine.Workspace: "herethere written",
		confine.ReadOnly:  "herethere",
	} {
		c := &Confinement{Policy: confine.Policy{Mode: mode, Write: []string{work}}, Support: s}
		if _, out := sh(t, r, work+"/sub", "cat ../file file; : 2>/dev/null >new && echo ' written'", c); strings.TrimSpace(
			out) != want && !(mode == confine.ReadOnly && strings.HasPrefix(out, want)) {
			t.Errorf("%s: got %q", mode, out)
		}
		os.Remove(work + "/sub/new")
	}
	c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{realDir(t)}}, Support: s}
	if exit, out := sh(t, r, work, "cat file; : >new", c); exit.Code == 0 || !strings.HasPrefix(out, "here") {
		t.Errorf("a working folder that is no root: %+v %q", exit, out)
	}
}

func TestConfinedTempIsKeptBetweenCommands(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work, temp := realDir(t), realDir(t)
	c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}, Temp: temp}, Support: s}
	sh(t, r, work, "echo kept >/tmp/note", c)
	if _, out := sh(t, r, work, "cat /tmp/note", c); out != "kept\n" {
		t.Errorf("got %q", out)
	}
	if b, err := os.ReadFile(temp + "/note"); err != nil || string(b) != "kept\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestConfinedOverlayKeepsTheFolderAsItWas(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work, cache, own := realDir(t), realDir(t), realDir(t)
	write(t, cache+"/old", "old")
	o := confine.Overlay{Dir: cache, Upper: own + "/upper", Work: own + "/work"}
	if err := errors.Join(os.Mkdir(o.Upper, 0o700), os.Mkdir(o.Work, 0o700)); err != nil {
		t.Fatal(err)
	}
	c := &Confinement{Policy: confine.Policy{
		Mode: confine.Workspace, Write: []string{work},
		Overlay: []confine.Overlay{o},
	}, Support: s}
	if exit, out := sh(t, r, work, "cat "+cache+"/old; echo new >"+cache+"/old; echo more >"+cache+"/more",
		c); exit.Code != 0 {
		t.Fatalf("got %+v: %s", exit, out)
	}
	if _, out := sh(t, r, work, "cat "+cache+"/old "+cache+"/more", c); out != "new\nmore\n" {
		t.Errorf("inside, later: %q", out)
	}
	if b, err := os.ReadFile(cache + "/old"); err != nil || string(b) != "old" {
		t.Errorf("outside: %q, %v", b, err)
	}
	if _, err := os.Stat(cache + "/more"); err == nil {
		t.Error("outside: a file came through")
	}
}

// TestConfinedOverlayShowsWhatChangedBelow: the overlay is mounted once for many commands, and the kernel remembers
// names that it looked up.
func TestConfinedOverlayShowsWhatChangedBelow(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	if s.Carrier != "" {
		t.Skip("bubblewrap shows the changes alone")
	}
	work, cache, own := realDir(t), realDir(t), realDir(t)
	o := confine.Overlay{Dir: cache, Upper: own + "/upper", Work: own + "/work"}
	if err := errors.Join(os.Mkdir(o.Upper, 0o700), os.Mkdir(o.Work, 0o700)); err != nil {
		t.Fatal(err)
	}
	c := &Confinement{Policy: confine.Policy{
		Mode: confine.Workspace, Write: []string{work}, Overlay: []confine.Overlay{o},
	}, Support: s}
	write(t, cache+"/replaced", "before")
	write(t, cache+"/gone", "there")
	const line = "cat replaced gone new sub/new; ls"
	sh(t, r, cache, line, c)
	write(t, cache+"/other", "after")
	write(t, cache+"/new", "new")
	write(t, cache+"/sub/new", "below")
	if err := errors.Join(os.Rename(cache+"/other", cache+"/replaced"), os.Remove(cache+"/gone")); err != nil {
		t.Fatal(err)
	}
	_, out := sh(t, r, cache, line, c)
	if want := "aftercat: gone: No such file or directory\nnewbelownew\nreplaced\nsub\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestConfinedBackgroundProcessesEndWithTheCommand(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work := realDir(t)
	c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
	exit,
		out := sh(t, r, work,
		`setsid sh -c 'env -i setsid sleep 1001 >/dev/null 2>&1 </dev/null &' & (sleep 1001 &) ; until [ $(pgrep -c -x sleep) -ge 2 ]; do :; done`, c)
	if exit.Code != 0 || exit.Ended < 2 || exit.Alive != 0 {
		t.Errorf("got %+v: %s", exit, out)
	}
}

func TestConfinedCommandsAreEndedByCancel(t *testing.T) {
	r := New()
	defer r.Close()
	tiers(t, func(t *testing.T, s confine.Support) {
		work := realDir(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got bytes.Buffer
		p, err := r.Start(ctx, Spec{
			Argv: []string{"/bin/sh", "-c", `trap 'echo ended; exit 3' TERM; echo up; while :; do sleep 0.01; done`}, Dir: work,
			Stdout: writerFunc(func(b []byte) (int, error) {
				if bytes.Contains(b, []byte("up")) {
					cancel()
				}
				return got.Write(b)
			}),
			Confine: &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s},
		})
		if err != nil {
			t.Fatal(err)
		}
		if exit := p.Wait(); !exit.Cancelled || exit.Code != 3 || exit.Alive != 0 || !strings.Contains(got.String(),
			"ended") {
			t.Errorf("got %+v: %q", exit, got.String())
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestConfinedServerOnLoopbackWorks(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work := realDir(t)
	write(t, work+"/page", "hello")
	c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3")
	}
	_,
		out := sh(t, r, work,
		`/usr/bin/python3 -m http.server 8000 >/dev/null 2>&1 & curl -s --retry 100 --retry-connrefused --retry-delay 0 --retry-max-time 20 http://127.0.0.1:8000/page`, c)
	if out != "hello" {
		t.Errorf("got %q", out)
	}
}

func TestConfinedProxyConnectionsAreHandedOver(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work := realDir(t)
	var out bytes.Buffer
	exit, err := r.Run(t.Context(), Spec{
		Argv: []string{"/bin/bash", "-c", `exec 5<>/dev/tcp/127.0.0.1/61017; echo ping >&5; head -n1 <&5`}, Dir: work,
		Stdout: &out, Stderr: &out,
		Confine: &Confinement{
			Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}, Proxy: true}, Support: s,
			Proxy: func(l net.Listener, _ int) {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				b := make([]byte, 5)
				_, _ = io.ReadFull(c, b)
				fmt.Fprintf(c, "got %s", b)
			},
		},
	})
	if err != nil || exit.Code != 0 || out.String() != "got ping\n" {
		t.Errorf("got %+v, %v: %q", exit, err, out.String())
	}
}

func TestConfinedNetworksAreOfOneCommandAtATime(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	for _, name := range []string{"curl", "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
	work := realDir(t)
	write(t, work+"/page", "hello")
	c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
	const get = "curl -s --retry 100 --retry-connrefused --retry-delay 0 --retry-max-time 20 http://127.0.0.1:8000/page"
	for range 2 { // the second round has the network of the first one
		ready := arrival(t, work, "ready")
		server, err := r.Start(t.Context(), Spec{
			Argv: []string{"/bin/sh", "-c", "python3 -m http.server 8000 & " + get + " >got; echo >ready; wait"},
			Dir:  work, Confine: c,
		})
		if err != nil {
			t.Fatal(err)
		}
		ready()
		if exit, out := sh(t, r, work, "curl -s http://127.0.0.1:8000/page", c); exit.Code == 0 {
			t.Errorf("another command reached the server: %q", out)
		}
		server.End()
		if got, err := os.ReadFile(work + "/got"); err != nil || string(got) != "hello" {
			t.Errorf("the server does not work: %q, %v", got, err)
		}
		os.Remove(work + "/ready")
		if exit, out := sh(t, r, work, "curl -s http://127.0.0.1:8000/page", c); exit.Code == 0 {
			t.Errorf("a later command reached the server: %q", out)
		}
	}
}

func TestConfinedCommandsStartAfterTheirStemWasKilled(t *testing.T) {
	r := New()
	defer r.Close()
	s := full(t)
	work := realDir(t)
	c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
	sh(t, r, work, "true", c)
	for _, st := range allProcs() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", st.pid))
		if st.ppid == os.Getpid() && bytes.Contains(line, []byte("lathe-sandbox-stem")) {
			_ = syscall.Kill(st.pid, syscall.SIGKILL)
			if err := await.Exit(st.pid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if exit, out := sh(t, r, work, "echo here", c); exit.Code != 0 || out != "here\n" {
		t.Errorf("got %+v: %s", exit, out)
	}
}

// TestConfinedCommandsAndTheirStemDieWithLathe: the parent is this test in a process of its own, which is killed.
func TestConfinedCommandsAndTheirStemDieWithLathe(t *testing.T) {
	s := full(t)
	if dir := os.Getenv("SANDBOX_TEST_CONFINED_PARENT"); dir != "" {
		_, err := New().Start(context.Background(), Spec{
			Argv: []string{"/bin/sh", "-c", "trap '' TERM HUP; sleep 1000 & echo >ready; sleep 1000"}, Dir: dir,
			Confine: &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{dir}}, Support: s},
		})
		if err != nil {
			t.Fatal(err)
		}
		select {}
	}
	dir := realDir(t)
	ready := arrival(t, dir, "ready")
	parent := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	parent.Env = append(os.Environ(), "SANDBOX_TEST_CONFINED_PARENT="+dir)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ready()
	below := map[int]bool{parent.Process.Pid: true}
	for range 5 { // generations
		for _, st := range allProcs() {
			if below[st.ppid] {
				below[st.pid] = true
			}
		}
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if len(below) < 5 { // the parent, the stem, the first process, the command, sleep; perhaps the reaper
		t.Errorf("there are %d processes", len(below))
	}
	for pid := range below {
		if err := await.Exit(pid); err != nil {
			t.Errorf("process %d outlived a lathe that was killed: %v", pid, err)
		}
	}
}

func BenchmarkConfinedTrue(b *testing.B) {
	s := confine.Detect()
	for _, tier := range []confine.Tier{confine.Full, confine.Landlock} {
		b.Run(tier.String(), func(b *testing.B) {
			if tier > s.Tier {
				b.Skip(s.Why)
			}
			r := New()
			defer r.Close()
			work := b.TempDir()
			with := s
			with.Tier = tier
			c := &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: with}
			for b.Loop() {
				if _, err := r.Run(b.Context(), Spec{
					Argv: []string{"/bin/true"}, Dir: work, Stdout: io.Discard,
					Stderr: io.Discard, Confine: c,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
