package permission

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A decision on a call in a copy is never milder than that on the same call in the project, unless a rule allows
// exactly the copy's path; and no mode writes to the project.
func TestACopyOfTheProjectLoosensNothing(t *testing.T) {
	place := &Place{
		Project: "/w", Dir: "/w.worktrees/agent-1", Work: "/w.worktrees/agent-1/sub", Shared: "/w/.git",
		Others: []string{"/w", "/w.worktrees"},
	}
	r := rand.New(rand.NewPCG(13, 7))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	written := 0
	for range 20_000 {
		var rs []Rule
		for range r.IntN(5) {
			effect := Effect(pick("allow", "ask", "deny"))
			rs = append(rs, rules(t, effect, pick("Read", "Edit")+"("+pick("//w/**", "//w/secret/**", "//w/sub/*.go",
				"//w/**/.env", "**/c.go", "//x/**")+")")...)
		}
		p := NewPolicy(testTools, "/home/u", []string{"/w/sub", "/x"}, rs)
		name := pick("/sub/a.go", "/secret/b", "/sub/.env", "/.git/config", "/.git", "/sub/deep/c.go", "/W/a.go",
			"/.claude/settings.json")
		tool, kind := "Read", Read
		if r.IntN(2) == 0 {
			tool, kind = "Edit", Write
		}
		mode := Modes[r.IntN(len(Modes))]
		req := func(top string, at *Place) Request {
			return Request{
				Tool: tool, Mode: mode, Dir: top + "/sub", Place: at,
				Accesses: []Access{{Kind: kind, Target: top + name, Node: File}},
			}
		}
		home, copied := p.Decide(req("/w", nil)), p.Decide(req(place.Dir, place))
		if rank(copied.Effect) < rank(home.Effect) {
			t.Fatalf("%s %s in %s: %+v in the copy, %+v in the project", tool, name, mode, copied, home)
		}
		if kind != Write {
			continue
		}
		for _, top := range []string{"/w", "/w.worktrees/agent-2", "/W"} {
			if strings.HasPrefix(name, "/.git") {
				continue // guards keep it
			}
			outside := req(place.Dir, place)
			outside.Accesses = []Access{{Kind: Write, Target: top + name}}
			if d := p.Decide(outside); d.Effect != Deny {
				t.Fatalf("%s%s is written in %s: %+v", top, name, mode, d)
			}
			written++
		}
	}
	if written == 0 {
		t.Error("nothing was tried")
	}
}

// A line that writes does not work in the project; one that reads does.
func TestALineOfAnIsolatedAgentDoesNotWorkInTheProject(t *testing.T) {
	place := &Place{Project: "/w", Dir: "/c/1", Work: "/c/1", Shared: "/w/.git", Others: []string{"/w", "/c"}}
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	for _, tc := range []struct {
		words string
		class Class
		read  string
		want  Effect
	}{
		{"git -C /w reset --hard", ClassWrite, "", Deny},
		{"cd ../../w", ClassWrite, "", Deny},
		{"make --directory=/w", ClassWrite, "", Deny},
		{"touch /c/2/a", ClassWrite, "", Deny},
		{"make all", ClassWrite, "", Allow},
		{"make -C /c/1/sub", ClassWrite, "", Allow},
		{"cp /w/.env .", ClassWrite, "/w/.env", Allow},
		{"git -C /w log", ClassRead, "", Allow},
	} {
		req := Request{Tool: "Bash", Mode: Bypass, Dir: "/c/1", Place: place, Accesses: []Access{
			{Kind: Exec, Target: tc.words, Command: &Command{Class: tc.class, Parts: []Part{{Text: tc.words, Class: tc.class}}}},
		}}
		if tc.read != "" {
			req.Accesses = append(req.Accesses, Access{Kind: Read, Target: tc.read, Node: File})
		}
		if d := p.Decide(req); d.Effect != tc.want {
			t.Errorf("%s: %+v", tc.words, d)
		}
	}
}

func TestToolchainsAreReadUnasked(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/home/u/p"}, nil)
	for path, want := range map[string]Effect{
		"/usr/include/stdio.h": Allow, "/home/u/go/pkg/mod/x/y.go": Allow, "/home/u/.cargo/registry/src/a/b.rs": Allow,
		"/home/u/.cargo/credentials.toml": Ask, "/home/u/go/src/x.go": Ask, "/usr/local/etc/x": Ask,
	} {
		if d := p.Decide(Request{Tool: "Read", Accesses: []Access{{Kind: Read, Target: path, Node: File}}}); d.Effect != want {
			t.Errorf("%s: %s (%s)", path, d.Effect, d.Reason)
		}
	}
}
