package permission

import (
	"encoding/json"
	"testing"
)

var (
	readIn   = Access{Kind: Read, Target: "/w/a.go"}
	readOut  = Access{Kind: Read, Target: "/etc/passwd"}
	writeIn  = Access{Kind: Write, Target: "/w/a.go"}
	writeGit = Access{Kind: Write, Target: "/w/.GIT/config"}
	writeCI  = Access{Kind: Write, Target: "/w/.github/workflows/ci.yml"}
	writeOut = Access{Kind: Write, Target: "/w2/a.go"}
	todo     = Access{Kind: Tool, Target: "TodoWrite", Safe: true}
)

func run(cmd string) Access { return Access{Kind: Exec, Target: cmd} }

func rules(t *testing.T, e Effect, texts ...string) []Rule {
	t.Helper()
	rs, errs := ParseRules(testTools, texts, e, Source{Name: "test"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return rs
}

func TestModes(t *testing.T) {
	for _, tc := range []struct {
		mode   Mode
		tool   string
		access []Access
		want   Effect
	}{
		{Default, "Read", []Access{readIn}, Allow},
		{Default, "Read", []Access{readOut}, Ask},
		{Default, "Read", []Access{readIn, readOut}, Ask},
		{Default, "Edit", []Access{writeIn}, Ask},
		{Default, "Bash", []Access{run("ls")}, Ask},
		{Default, "TodoWrite", []Access{todo}, Allow},
		{Default, "mcp__x__y", nil, Ask},
		{Default, "Odd", []Access{{Kind: "odd"}}, Ask},
		{AcceptEdits, "Edit", []Access{writeIn}, Allow},
		{AcceptEdits, "Edit", []Access{writeGit}, Deny},
		{AcceptEdits, "Edit", []Access{writeCI}, Ask},
		{Bypass, "Edit", []Access{writeCI}, Allow},
		{Bypass, "Edit", []Access{writeGit}, Deny},
		{AcceptEdits, "Edit", []Access{writeOut}, Ask},
		{AcceptEdits, "Bash", []Access{run("ls")}, Ask},
		{Plan, "Read", []Access{readIn}, Allow},
		{Plan, "Edit", []Access{writeIn}, Deny},
		{Plan, "Bash", []Access{run("ls")}, Deny},
		{DontAsk, "Read", []Access{readIn}, Allow},
		{DontAsk, "Edit", []Access{writeIn}, Deny},
		{Bypass, "Bash", []Access{run("rm -rf x")}, Allow},
		{Bypass, "mcp__x__y", nil, Allow},
	} {
		p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
		d := p.Decide(Request{Tool: tc.tool, Accesses: tc.access, Mode: tc.mode, Dir: "/w"})
		if d.Effect != tc.want || d.Reason == "" {
			t.Errorf("%s %s %v: got %s (%s), want %s", tc.mode, tc.tool, tc.access, d.Effect, d.Reason, tc.want)
		}
	}
}

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name             string
		allow, ask, deny []string
		mode             Mode
		tool             string
		access           []Access
		input            string
		want             Effect
	}{
		{name: "bare allow", allow: []string{"Bash"}, tool: "Bash", access: []Access{run("make; rm x")}, want: Allow},
		{
			name: "prefix allows", allow: []string{"Bash(go test *)"}, tool: "Bash", access: []Access{run("go test ./...")},
			want: Allow,
		},
		{name: "prefix alone", allow: []string{"Bash(ls *)"}, tool: "Bash", access: []Access{run("ls")}, want: Allow},
		{name: "word boundary", allow: []string{"Bash(ls *)"}, tool: "Bash", access: []Access{run("lsof")}, want: Ask},
		{
			name: "colon star", allow: []string{"Bash(npm run:*)"}, tool: "Bash", access: []Access{run("npm run build")},
			want: Allow,
		},
		{
			name: "chained past a prefix", allow: []string{"Bash(go test *)"}, tool: "Bash",
			access: []Access{run("go test ./... && rm -rf ~")}, want: Ask,
		},
		{
			name: "newline past a prefix", allow: []string{"Bash(go test *)"}, tool: "Bash",
			access: []Access{run("go test\nrm x")}, want: Ask,
		},
		{
			name: "substitution past a prefix", allow: []string{"Bash(echo *)"}, tool: "Bash",
			access: []Access{run("echo $(rm x)")}, want: Ask,
		},
		{
			name: "redirect past a prefix", allow: []string{"Bash(echo *)"}, tool: "Bash",
			access: []Access{run("echo x > ~/.bashrc")}, want: Ask,
		},
		{
			name: "exact compound", allow: []string{"Bash(make && make test)"}, tool: "Bash",
			access: []Access{run("make && make test")}, want: Allow,
		},
		{
			name: "deny beats allow", allow: []string{"Bash"}, deny: []string{"Bash(rm *)"}, tool: "Bash",
			access: []Access{run("ls; rm x")}, want: Deny,
		},
		{
			name: "deny beats bypass", mode: Bypass, deny: []string{"Bash(rm *)"}, tool: "Bash", access: []Access{run("rm x")},
			want: Deny,
		},
		{
			name: "deny sees through sudo", deny: []string{"Bash(rm *)"}, tool: "Bash",
			access: []Access{run("FOO=1 sudo -n /bin/rm x")}, want: Deny,
		},
		{
			name: "deny sees through quotes", deny: []string{"Bash(rm *)"}, tool: "Bash", access: []Access{run(`r"m" x`)},
			want: Deny,
		},
		{
			name: "deny sees substitution", deny: []string{"Bash(rm *)"}, tool: "Bash", access: []Access{run("echo $(rm x)")},
			want: Deny,
		},
		{
			name: "deny sees bash -c", deny: []string{"Bash(rm *)"}, tool: "Bash", access: []Access{run("bash -c 'rm x'")},
			want: Deny,
		},
		{
			name: "deny is not a substring", deny: []string{"Bash(rm *)"}, allow: []string{"Bash"}, tool: "Bash",
			access: []Access{run("farm x")}, want: Allow,
		},
		{
			name: "ask beats bypass", mode: Bypass, ask: []string{"Bash(git push *)"}, tool: "Bash",
			access: []Access{run("git push origin")}, want: Ask,
		},
		{
			name: "edit in a folder", allow: []string{"Edit(/src/**)"}, tool: "Write",
			access: []Access{{Kind: Write, Target: "/w/src/a/b.go"}}, want: Allow,
		},
		{name: "edit elsewhere", allow: []string{"Edit(/src/**)"}, tool: "Write", access: []Access{writeIn}, want: Ask},
		{
			name: "read outside by rule", allow: []string{"Read(//etc/**)"}, tool: "Read", access: []Access{readOut},
			want: Allow,
		},
		{
			name: "home", deny: []string{"Read(~/.ssh/**)"}, tool: "Read",
			access: []Access{{Kind: Read, Target: "/home/u/.ssh/id"}}, want: Deny,
		},
		{
			name: "bare name at any depth", deny: []string{"Read(.env)"}, tool: "Grep",
			access: []Access{{Kind: Read, Target: "/w/x/.env"}}, want: Deny,
		},
		{
			name: "read deny forbids writing", deny: []string{"Read(.env)"}, mode: Bypass, tool: "Write",
			access: []Access{{Kind: Write, Target: "/w/.env"}}, want: Deny,
		},
		{
			name: "link target denied", deny: []string{"Read(secret.txt)"}, tool: "Read",
			access: []Access{{Kind: Read, Target: "/w/secret.txt", Named: "/w/ok.txt"}}, want: Deny,
		},
		{
			name: "link name alone does not allow", allow: []string{"Edit(/docs/**)"}, tool: "Edit",
			access: []Access{{Kind: Write, Target: "/w/src/a", Named: "/w/docs/a"}}, want: Ask,
		},
		{name: "mcp server", allow: []string{"mcp__github"}, tool: "mcp__github__get", access: nil, want: Allow},
		{name: "mcp glob", allow: []string{"mcp__github__get_*"}, tool: "mcp__github__get_x", access: nil, want: Allow},
		{name: "mcp other server", allow: []string{"mcp__git"}, tool: "mcp__github__get", access: nil, want: Ask},
		{
			name: "param", deny: []string{"Bash(run_in_background:true)"}, tool: "Bash", access: []Access{run("ls")},
			input: `{"run_in_background":true}`, want: Deny,
		},
		{
			name: "host", allow: []string{"WebFetch(domain:*.go.dev)"}, tool: "WebFetch",
			access: []Access{{Kind: Net, Target: "pkg.GO.dev"}}, want: Allow,
		},
		{
			name: "host suffix trick", allow: []string{"WebFetch(domain:go.dev)"}, tool: "WebFetch",
			access: []Access{{Kind: Net, Target: "evil-go.dev"}}, want: Ask,
		},
		{
			name: "one access allowed, one not", allow: []string{"Edit(/src/**)"}, tool: "X",
			access: []Access{{Kind: Write, Target: "/w/src/a"}, writeIn}, want: Ask,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rs := append(rules(t, Allow, tc.allow...), rules(t, Ask, tc.ask...)...)
			rs = append(rs, rules(t, Deny, tc.deny...)...)
			p := NewPolicy(testTools, "/home/u", []string{"/w"}, rs)
			mode := tc.mode
			if mode == "" {
				mode = Default
			}
			d := p.Decide(Request{Tool: tc.tool, Accesses: tc.access, Mode: mode, Dir: "/w", Input: json.RawMessage(tc.input)})
			if d.Effect != tc.want {
				t.Errorf("got %s (%s), want %s", d.Effect, d.Reason, tc.want)
			}
		})
	}
}

func TestReadRootMayBeReadButNotWritten(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	p.AddRoot("/blobs", true)
	in := Access{Kind: Read, Target: "/blobs/x"}
	if d := p.Decide(Request{Tool: "Read", Accesses: []Access{in}, Mode: Default}); d.Effect != Allow {
		t.Error(d)
	}
	in.Kind = Write
	if d := p.Decide(Request{Tool: "Write", Accesses: []Access{in}, Mode: AcceptEdits}); d.Effect != Ask {
		t.Error(d)
	}
}

func TestForbidBypass(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	for _, step := range []struct {
		forbidden bool
		want      Effect
	}{{true, Ask}, {false, Allow}} {
		p.ForbidBypass(step.forbidden)
		if d := p.Decide(Request{Tool: "Bash", Accesses: []Access{run("ls")}, Mode: Bypass}); d.Effect != step.want {
			t.Errorf("forbidden %v: %+v", step.forbidden, d)
		}
	}
}

func TestBadRulesAreNamed(t *testing.T) {
	for _, text := range []string{"Bash(ls", "", "(x)", "Ba sh(x)"} {
		if _, err := ParseRule(testTools, text, Deny, Source{}); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if _, err := ParseRule(testTools, "mcp__*", Allow, Source{}); err == nil {
		t.Error("an allow rule with a wide glob was accepted")
	}
}

func TestRemoved(t *testing.T) {
	p := NewPolicy(testTools, "", nil, rules(t, Deny, "Bash", "mcp__*", "Read(x)"))
	for tool, want := range map[string]bool{"Bash": true, "mcp__a__b": true, "Read": false, "Edit": false} {
		if p.Removed(tool) != want {
			t.Errorf("%s: %v", tool, !want)
		}
	}
}

// FuzzDecide: no input panics, and a deny rule on a program is never lost by chaining more commands on.
func FuzzDecide(f *testing.F) {
	f.Add("rm x", "ls")
	f.Fuzz(func(t *testing.T, a, b string) {
		p := NewPolicy(testTools, "/h", []string{"/w"}, rules(t, Deny, "Bash(rm *)"))
		dec := func(s string) Effect {
			return p.Decide(Request{Tool: "Bash", Accesses: []Access{run(s)}, Mode: Bypass, Dir: "/w"}).Effect
		}
		if dec(a) == Deny && dec(a+" && "+b) != Deny {
			t.Errorf("%q was denied, but not with %q after it", a, b)
		}
	})
}
