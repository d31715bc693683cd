//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

func TestTheDefaultSandboxIsLookedForAtTheFirstCommand(t *testing.T) {
	probes := 0
	o := newPlace(t).options("", "")
	o.Detect = func() confine.Support {
		probes++
		return confine.Support{Tier: confine.Landlock, ABI: 7, Why: "no namespaces"}
	}
	b, err := boundary.Open(o)
	if err != nil || b.Name() != "default" || b.Note() != "" || b.Runner().Readers != nil || probes != 0 {
		t.Fatalf("%v, %q, %d probes", err, b.Name(), probes)
	}
	if b.Confined() || b.Word() != "no sandbox" || b.Enforced() != "" || probes != 1 || !strings.Contains(b.Describe(),
		"no namespaces") {
		t.Errorf("in a weaker tier: %v, %q, %d probes, %s", b.Confined(), b.Word(), probes, b.Describe())
	}
	o.Settings = []byte(`{"failIfUnavailable": true}`)
	if _, err := boundary.Open(o); err == nil || !strings.Contains(err.Error(), "no namespaces") {
		t.Errorf("failIfUnavailable: %v", err)
	}
}

func TestAnApprovedCommandThatNobodyWatchesHasTheMachinesNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	line := "echo >/dev/tcp/127.0.0.1/" + l.Addr().String()[len("127.0.0.1:"):] + " && echo reached"
	for _, tt := range []struct {
		settings string
		reach    permission.Reach
		reached  bool
	}{
		{"", permission.ReachOpen, true},
		{"", permission.ReachWrite, false},
		{"", permission.ReachView, false},
		{"", permission.ReachRead, false},
		{`{"network": {"deniedDomains": ["x.example"]}}`, permission.ReachOpen, false},
		{`{"enabled": true}`, permission.ReachOpen, false},
	} {
		p := newPlace(t)
		b := p.open(t, tt.settings)
		r, err := b.ForCopy([]string{p.dir}, nil, tt.reach, boundary.Network{}, func(path string) string { return path })
		if err != nil {
			t.Fatal(err)
		}
		if _, out := start(t, r, p.dir, line); strings.Contains(out, "reached") != tt.reached {
			t.Errorf("%s %q: %s", tt.settings, tt.reach, out)
		}
		if why := r.Refusal(p.dir, "curl: (6) Could not resolve host: x.example"); (why == "") != tt.reached {
			t.Errorf("%s %q: the refusal is %q", tt.settings, tt.reach, why)
		}
		r.Done()
	}
}

func TestTheMachinesTmpShowsThroughAndStaysAsItIs(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); os.Getuid() != 0 && strings.Contains(string(mounts), " /tmp/") {
		t.Skip("something is mounted below /tmp, and then the kernel lets only root have an overlay on it")
	}
	f, err := os.CreateTemp("", "lathe-shown-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	write(t, f.Name(), "outside")
	made := filepath.Base(f.Name()) + "-made"
	code, out, _, _ := run(t, b, p.dir, "cat "+f.Name()+" && echo inside >"+f.Name()+" && echo made >/tmp/"+made)
	if code != 0 || !strings.Contains(out, "outside") {
		t.Fatalf("%d: %s", code, out)
	}
	if _, out, _, _ := run(t, b, p.dir, "cat "+f.Name()+" /tmp/"+made); out != "inside\nmade\n" {
		t.Errorf("the next command: %q", out)
	}
	if text, _ := os.ReadFile(f.Name()); string(text) != "outside" {
		t.Errorf("a command changed a file of the machine's /tmp: %s", text)
	}
	if _, err := os.Lstat("/tmp/" + made); err == nil {
		t.Error("a command made a file in the machine's /tmp")
	}
	if text, err := os.ReadFile(b.Seen("/tmp/" + made)); string(text) != "made\n" || b.Seen(f.Name()) != f.Name() {
		t.Errorf("a file tool sees %q, %v", text, err)
	}
}

func TestCommandsRunWhereLatheKeepsNothing(t *testing.T) {
	p := newPlace(t)
	p.cache = "/proc/nowhere"
	b := p.open(t, "")
	if code, out, _, _ := run(t, b, p.dir, `mkdir -p "$XDG_CACHE_HOME" && touch "$XDG_CACHE_HOME/x" made`); code != 0 {
		t.Errorf("%d: %s", code, out)
	}
}

func TestAHarmfulGitSettingIsUndone(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, "")
	gitIn(t, p.dir, "init", "-q")
	config := filepath.Join(p.dir, ".git", "config")
	old, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"git config core.fsmonitor ./evil": "core.fsmonitor", "git config user.name B": "",
		"rm .git/config; mkdir .git/config": "set aside", "rm .git/config; ln -s ../evil .git/config": "set aside",
		"rm .git/config": "",
	} {
		if err := os.RemoveAll(config); err != nil {
			t.Fatal(err)
		}
		write(t, config, string(old))
		r, err := b.For([]string{p.dir}, boundary.Network{})
		if err != nil {
			t.Fatal(err)
		}
		r.OpenConfig()
		if code, out := start(t, r, p.dir, line); code != 0 {
			t.Errorf("%s: %d: %s", line, code, out)
		}
		notes := strings.Join(r.Done(), "\n")
		now, err := os.ReadFile(config)
		if err != nil || !strings.Contains(notes, want) || want != "" && string(now) != string(old) || want == "" &&
			notes != "" {
			t.Errorf("%s: %v, %q, now %s", line, err, notes, now)
		}
	}
}

func TestCommandsThatNeedTheOutsideRunThere(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"excludedCommands": ["make e2e"]}`)
	line := func(programs, covered string, writes ...string) boundary.Line {
		all := strings.Split(covered, ",")
		covers := func(patterns []string) bool {
			return !slices.ContainsFunc(all, func(p string) bool { return !slices.Contains(patterns, p) })
		}
		own := func() bool { return false }
		return boundary.Line{
			Programs: strings.Fields(programs), Writes: writes, Covered: covers, Excluded: covers,
			Foreign: own,
		}
	}
	for _, tt := range []struct {
		line boundary.Line
		want bool
	}{
		{line("docker", "docker"), true},
		{line("docker npm", "docker,npm test"), false},
		{line("git git", "git commit:*,git push:*"), true},
		{line("git", "git commit:*"), false},
		{line("touch", "touch:*", "/etc/x"), true},
		{line("touch", "touch:*", p.dir+"/x", "/tmp/x"), false},
		{line("make touch", "make,touch:*", "/etc/x"), false},
		{line("make", "make e2e"), true},
	} {
		if got := b.Outside(tt.line, p.dir, []string{p.dir}); got != tt.want {
			t.Errorf("%v %v: %v", tt.line.Programs, tt.line.Writes, got)
		}
	}
	write(t, filepath.Join(p.home, ".gitconfig"), "[commit]\n\tgpgSign = true\n")
	if !b.Outside(line("git", "git commit:*"), p.dir, []string{p.dir}) {
		t.Error("a commit that is signed runs inside, where the keys are masked")
	}
}

func TestAForkBombIsBounded(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	r, err := b.For([]string{p.dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Policy.Processes == 0 {
		t.Error("a command's processes are not limited")
	}
	r.Policy.Processes = 350 // the kernel takes none below 301
	defer r.Done()
	// It forks until it cannot. The other shell counts by itself, since it could not start a program either.
	code,
		out := start(t, r, p.dir,
		`sh -c 'for i in $(seq 1000); do sleep 1000 & done' 2>err; set -- /proc/[0-9]*; echo $# >count`)
	count, _ := os.ReadFile(filepath.Join(p.dir, "count"))
	fault, _ := os.ReadFile(filepath.Join(p.dir, "err"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(count)))
	if n < 100 {
		t.Fatalf("the bomb did not go off: %d: %s %s %s", code, out, count, fault)
	}
	if n > 350 {
		t.Skipf("this kernel does not limit the processes of a PID namespace (Linux 6.14), and root is not held to "+
			"RLIMIT_NPROC: %d processes", n)
	}
}
