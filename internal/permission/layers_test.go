package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

// readOnly is a read-only command, as the analysis gives it.
func readOnly(line string) Access {
	return Access{Kind: Exec, Target: line, Command: &Command{
		Class: ClassRead, Exact: true,
		Parts: []Part{{Text: line, Raw: line, Program: "git", Path: "/usr/bin/git", Class: ClassRead, Exact: true}},
	}}
}

// changed is a command of one part that changes something.
func changed(line string, class Class, findings ...Finding) Access {
	program, _, _ := strings.Cut(line, " ")
	return Access{Kind: Exec, Target: line, Command: &Command{
		Class: class, Exact: true, Findings: findings,
		Parts: []Part{{
			Text: line, Raw: line, Program: program, Path: "/usr/bin/" + program, Class: class, Exact: true,
			Reason: "it changes things",
		}},
	}}
}

var disaster = Finding{Check: "catastrophic-removal", Text: "it destroys the home folder", Effect: Deny}

// A line of which some word is known only when it runs asks, however harmless its parts are.
func TestACommandThatIsNotKnownWordByWordAsks(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	for _, a := range []Access{readOnly("git log"), changed("mkdir a", ClassWrite)} {
		a.Command.Exact = false
		for _, mode := range []Mode{Default, AcceptEdits} {
			if got := decide(p, mode, "Bash", a); got != Ask {
				t.Errorf("%s in %s: %s, want ask", a.Target, mode, got)
			}
		}
	}
}

// Each layer decides its own cases, and the decision names it.
func TestEachLayerDecidesAndNamesItself(t *testing.T) {
	for _, tc := range []struct {
		layer Layer
		mode  Mode
		tool  string
		input string
		deny  []string
		as    []Access
		want  Effect
	}{
		{LayerSchema, Bypass, "Bash", `["ls"]`, nil, []Access{readOnly("ls")}, Deny},
		{LayerSchema, Bypass, "Bash", `{"command": "ls"`, nil, []Access{readOnly("ls")}, Deny},
		{LayerMode, Plan, "Edit", `{}`, nil, []Access{writeIn}, Deny},
		{LayerMode, DontAsk, "Edit", `{}`, nil, []Access{writeIn}, Deny},
		{LayerMode, AcceptEdits, "Edit", `{}`, nil, []Access{writeIn}, Allow},
		{LayerMode, Bypass, "Bash", `{}`, nil, []Access{changed("make x", ClassWrite)}, Allow},
		{LayerGuards, Bypass, "Open", `{}`, nil, []Access{{Kind: Tool, Target: "Open", Asks: true}, readIn}, Ask},
		{LayerGuards, Default, "Open", `{}`, nil, []Access{{Kind: Tool, Target: "Open", Asks: true}, readIn}, Ask},
		{LayerDeny, Bypass, "Bash", `{}`, []string{"Bash(git *)"}, []Access{readOnly("git log")}, Deny},
		{LayerGuards, Bypass, "Bash", `{}`, nil, []Access{changed("rm -rf ~", ClassDestructive, disaster)}, Deny},
		{LayerGuards, AcceptEdits, "Edit", `{}`, nil, []Access{writeCI}, Ask},
		{LayerAnalysis, Default, "Bash", `{}`, nil, []Access{readOnly("git log"), readIn}, Allow},
		{LayerAnalysis, Default, "Bash", `{}`, nil, []Access{changed("make x", ClassWrite)}, Ask},
		{LayerAnalysis, Default, "Read", `{}`, nil, []Access{readOut}, Ask},
		{LayerAsk, Bypass, "Bash", `{}`, nil, []Access{changed("deploy now", ClassWrite)}, Ask},
	} {
		rs := append(rules(t, Deny, tc.deny...), rules(t, Ask, "Bash(deploy *)")...)
		d := NewPolicy(testTools, "/home/u", []string{"/w"}, rs).Decide(Request{
			Tool: tc.tool, Mode: tc.mode, Dir: "/w",
			Input: json.RawMessage(tc.input), Accesses: tc.as,
		})
		if d.Effect != tc.want || d.Layer != tc.layer || d.Reason == "" {
			t.Errorf("%s %s: %+v", tc.layer, tc.mode, d)
		}
	}
}

// An earlier layer is not undone by a later one.
func TestTheOrderOfTheLayers(t *testing.T) {
	p := policy(t, Allow, "Bash", "Edit")
	p.Grant(rules(t, Allow, "Bash(rm -rf ~)")[0])
	if d := p.Decide(Request{
		Tool: "Bash", Mode: Bypass, Dir: "/w",
		Accesses: []Access{changed("rm -rf ~", ClassDestructive, disaster)},
	}); d.Effect != Deny || !d.Confirm ||
		!strings.Contains(d.Reason, "home folder") {
		t.Errorf("a guard: %+v", d)
	}
	p.SetRules(append(p.Rules(), rules(t, Deny, "Bash(rm *)")...))
	if d := p.Decide(Request{
		Tool: "Bash", Mode: Bypass, Dir: "/w",
		Accesses: []Access{changed("rm -rf ~", ClassDestructive, disaster)},
	}); d.Effect != Deny || d.Confirm ||
		d.Rule != "Bash(rm *)" {
		t.Errorf("a deny rule leaves nothing to confirm: %+v", d)
	}
}

func TestDestructiveCommandsAskInEveryModeButBypass(t *testing.T) {
	remove := changed("rm -r build", ClassDestructive, Finding{
		Check: "remove", Text: "it removes files: rm -r build",
		Effect: Ask,
	})
	gone := Access{Kind: Write, Target: "/w/build"}
	for mode, want := range map[Mode]Effect{Default: Ask, AcceptEdits: Ask, Plan: Deny, DontAsk: Deny, Bypass: Allow} {
		d := NewPolicy(testTools, "/home/u", []string{"/w"}, nil).Decide(Request{
			Tool: "Bash", Mode: mode, Dir: "/w",
			Accesses: []Access{remove, gone},
		})
		if d.Effect != want || mode == Default && !strings.Contains(d.Reason, "removes") {
			t.Errorf("%s: %+v", mode, d)
		}
	}
}

func TestAcceptEditsAlsoCoversTheCommandsThatEdit(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	in := Access{Kind: Write, Target: "/w/a"}
	for _, tc := range []struct {
		as   []Access
		want Effect
	}{
		{[]Access{changed("mkdir a", ClassWrite), in}, Allow},
		{[]Access{changed("sed -i s/a/b/ a", ClassWrite), in}, Allow},
		{[]Access{changed("cp a /etc/x", ClassWrite), {Kind: Write, Target: "/opt/x"}}, Ask},
		{[]Access{changed("cp a .npmrc", ClassWrite), {Kind: Write, Target: "/w/.npmrc"}}, Ask},
		{[]Access{changed("mv a .git/config", ClassWrite), {Kind: Write, Target: "/w/.git/config"}}, Deny},
		{[]Access{changed("make a", ClassWrite), in}, Ask},
		{[]Access{readOnly("git log"), {Kind: Write, Target: "/w/a", Redirect: true}}, Allow},
	} {
		if got := decide(p, AcceptEdits, "Bash", tc.as...); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.as[0].Target, got, tc.want)
		}
		if got := decide(p, Default, "Bash", tc.as...); got == Allow {
			t.Errorf("%s ran in the default mode", tc.as[0].Target)
		}
	}
}

func TestPlanModeLetsReadOnlyCommandsThrough(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	if got := decide(p, Plan, "Bash", readOnly("git log"), readIn); got != Allow {
		t.Error(got)
	}
	if got := decide(p, Plan, "Bash", readOnly("git log"), writeIn); got != Deny {
		t.Error(got)
	}
}

func TestKindsOfAgentsNarrow(t *testing.T) {
	p := policy(t, Allow, "Bash", "Edit", "Task", "TodoWrite", "mcp__x")
	p.AddKind(AgentKind{Name: "reviewer", Tools: []string{"Read", "Bash"}, ReadOnly: true})
	for _, tc := range []struct {
		chain []string
		tool  string
		as    []Access
		want  Effect
	}{
		{nil, "Edit", []Access{writeIn}, Allow},
		{[]string{"general/call_1"}, "Edit", []Access{writeIn}, Allow},
		{[]string{"general/call_1"}, "TodoWrite", []Access{todo}, Deny},
		{[]string{"explore"}, "Edit", []Access{writeIn}, Deny},
		{[]string{"explore"}, "Read", []Access{readIn}, Allow},
		{[]string{"explore"}, "Bash", []Access{readOnly("git log")}, Deny},
		{[]string{"plan"}, "Bash", []Access{readOnly("git log")}, Allow},
		{[]string{"plan"}, "Bash", []Access{changed("make", ClassWrite)}, Deny},
		{[]string{"plan"}, "mcp__x__y", nil, Ask},
		{[]string{"general/1", "explore/2"}, "Edit", []Access{writeIn}, Deny}, // its own
		{[]string{"explore/1", "general/2"}, "Edit", []Access{writeIn}, Deny}, // its ancestor's
		{[]string{"reviewer"}, "Bash", []Access{readOnly("git log")}, Allow},
		{[]string{"reviewer"}, "Grep", []Access{readIn}, Deny},
		{[]string{"unheard-of"}, "TodoWrite", []Access{todo}, Deny}, // counts as general
		{[]string{""}, "TodoWrite", []Access{todo}, Deny},
	} {
		d := p.Decide(Request{Tool: tc.tool, Mode: Default, Dir: "/w", Agent: tc.chain, Accesses: tc.as})
		if d.Effect != tc.want {
			t.Errorf("%v %s: %+v", tc.chain, tc.tool, d)
		}
	}
	p.SetAgent(AgentKinds[1])
	if got := decide(p, Bypass, "Edit", writeIn); got != Deny || !p.Removed("Edit") || p.Removed("Read") {
		t.Errorf("the main agent switched to plan: %s", got)
	}
	p.SetAgent(AgentKind{})
	if got := decide(p, Default, "Edit", writeIn); got != Allow {
		t.Error(got)
	}
}

// The default question is one that a hook may answer, so it must not hide the question of the agent's kind.
func TestTheQuestionOfAKindComesBeforeTheDefaultOne(t *testing.T) {
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, nil)
	d := p.Decide(Request{Tool: "mcp__x__y", Mode: Default, Dir: "/w", Agent: []string{"plan"}})
	if d.Effect != Ask || d.Layer != LayerMode {
		t.Errorf("%+v", d)
	}
}

func ordered(t *testing.T, triples ...string) *Policy {
	var rs []Rule
	for i := 0; i < len(triples); i += 3 {
		r, err := ParseOrdered(testTools, triples[i], triples[i+1], Effect(triples[i+2]), Source{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return NewPolicy(testTools, "/home/u", []string{"/w"}, rs)
}

func TestOrderedRulesKnowKindsOfAccess(t *testing.T) {
	tmp := Access{Kind: Read, Target: "/tmp/a/b"}
	for _, tc := range []struct {
		p    *Policy
		tool string
		a    Access
		want Effect
	}{
		{ordered(t, "external_directory", "*", "deny"), "Read", readOut, Deny},
		{ordered(t, "external_directory", "*", "deny"), "Read", readIn, Allow},
		{ordered(t, "external_directory", "*", "deny", "external_directory", "/tmp/**", "allow"), "Read", tmp, Allow},
		{ordered(t, "external_directory", "*", "deny", "external_directory", "/tmp/**", "allow"), "Read", readOut, Deny},
		{ordered(t, "external_directory", "*", "allow"), "Write", writeOut, Ask},
		{ordered(t, "webfetch", "*.example.com", "allow"), "WebFetch", NetAccess("https://a.example.com/"), Allow},
		{
			ordered(t, "webfetch", "https://docs.example.com/*", "allow"), "WebFetch", NetAccess("https://docs.example.com/x"),
			Allow,
		},
		{ordered(t, "webfetch", "*", "deny"), "WebFetch", NetAccess("https://a.test/"), Deny},
		{ordered(t, "list", "*", "deny"), "Read", readIn, Deny},
		{ordered(t, "*", "*", "ask"), "Read", readIn, Ask},
		{ordered(t, "bash", "git *", "allow", "bash", "git push *", "ask"), "Bash", changed("git push", ClassWrite), Ask},
		{ordered(t, "bash", "*", "allow"), "Bash", changed("rm -rf ~", ClassDestructive, disaster), Deny},
	} {
		if got := decide(tc.p, Default, tc.tool, tc.a); got != tc.want {
			t.Errorf("%v on %v: %s, want %s", tc.p.Rules(), tc.a, got, tc.want)
		}
	}
}

func TestRulesForRepetition(t *testing.T) {
	p := ordered(t, "doom_loop", "*", "deny", "doom_loop", "Read", "allow")
	if p.DoomLoop("Read") != Allow || p.DoomLoop("Bash") != Deny || NewPolicy(testTools, "", nil, nil).DoomLoop(
		"Bash") != Ask {
		t.Error(p.DoomLoop("Read"), p.DoomLoop("Bash"))
	}
}

// A rule covers a part as a whole: a part with unknown words, or with options that run programs, only by
// its own text; a wrapper by the command it wraps; and no file that the shell itself writes.
func TestAllowRulesSpeakOfSingleParts(t *testing.T) {
	two := changed("npm test && rm x", ClassDestructive)
	two.Command.Parts = []Part{
		{Text: "npm test", Raw: "npm test", Program: "npm", Class: ClassWrite, Exact: true},
		{Text: "rm x", Raw: "rm x", Program: "rm", Class: ClassDestructive, Exact: true},
	}
	literal, unknown, wrapped := changed("find . -exec x", ClassWrite), changed("npm test $X", ClassWrite),
		changed("timeout 5 npm test", ClassWrite)
	literal.Command.Parts[0].Literal = true
	unknown.Command.Exact, unknown.Command.Parts[0].Exact = false, false
	wrapped.Command.Parts = []Part{
		{Text: "timeout 5 npm test", Covered: true, Class: ClassWrite, Exact: true},
		{Text: "npm test", Class: ClassWrite, Exact: true},
	}
	found := changed("npm test", ClassWrite, Finding{Check: "x", Text: "odd", Effect: Ask})
	found.Command.Parts = append(found.Command.Parts, Part{Text: "ls", Class: ClassList, Exact: true})
	redirect := Access{Kind: Write, Target: "/w/out", Redirect: true}
	for name, tc := range map[string]struct {
		allow []string
		as    []Access
		want  Effect
	}{
		"one of two":        {[]string{"Bash(npm test *)"}, []Access{two}, Ask},
		"both":              {[]string{"Bash(npm test *)", "Bash(rm *)"}, []Access{two}, Allow},
		"literal by prefix": {[]string{"Bash(find *)"}, []Access{literal}, Ask},
		"literal by text":   {[]string{"Bash(find . -exec x)"}, []Access{literal}, Allow},
		"unknown by prefix": {[]string{"Bash(npm test *)"}, []Access{unknown}, Ask},
		"unknown by line":   {[]string{"Bash(npm test $X)"}, []Access{unknown}, Allow},
		"wrapper":           {[]string{"Bash(npm test *)"}, []Access{wrapped}, Allow},
		"finding on a part": {[]string{"Bash(npm test *)"}, []Access{found}, Ask},
		"redirect":          {[]string{"Bash(npm test *)"}, []Access{changed("npm test", ClassWrite), redirect}, Ask},
		"redirect with a rule": {[]string{"Bash(npm test *)", "Edit(/out)"}, []Access{
			changed("npm test", ClassWrite),
			redirect,
		}, Allow},
		"its own file":     {[]string{"Bash(touch *)"}, []Access{changed("touch a", ClassWrite), writeIn}, Allow},
		"a file elsewhere": {[]string{"Bash(touch *)"}, []Access{changed("touch a", ClassWrite), writeOut}, Ask},
		"what it reaches": {[]string{"Bash(curl *)"}, []Access{
			changed("curl https://a.test", ClassWrite),
			{Kind: Net, Target: "a.test"},
		}, Allow},
		"device": {[]string{"Bash(npm test *)"}, []Access{changed("npm test", ClassWrite), {
			Kind: Write, Target: "/dev/null",
			Redirect: true, Node: Special,
		}}, Allow},
	} {
		if got := decide(policy(t, Allow, tc.allow...), Default, "Bash", tc.as...); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestEvidenceIsCompact(t *testing.T) {
	a := changed(strings.Repeat("x", 5000), ClassWrite, Finding{Check: "odd", Text: "odd", Effect: Ask})
	for range 50 {
		a.Command.Parts = append(a.Command.Parts, a.Command.Parts[0])
	}
	req := Request{Tool: "Bash", Mode: Default, Accesses: []Access{a, readOut}, Input: json.RawMessage(`{"command":"x"}`)}
	b, err := json.Marshal(NewEvidence(req, Decision{Effect: Ask, Layer: LayerAnalysis, Reason: "because"}))
	if err != nil || len(b) > 40_000 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	for _, want := range []string{
		`"class":"write"`, `"findings":["odd"]`, `"layer":"analysis"`, `"target":"/etc/passwd"`,
		`"more":31`, `"exact":true`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in %s", want, b[:300])
		}
	}
	if a.Command == nil || req.Accesses[0].Command == nil {
		t.Error("the request was changed")
	}
}

func TestWarningsNameRulesWithoutEffect(t *testing.T) {
	for text, effect := range map[string]Effect{
		"Bash(command:rm *)": Deny, "WebSearch(x)": Deny, "WebFetch(example.com)": Allow, "Grep(src/**)": Allow,
	} {
		if r := rules(t, effect, text)[0]; !strings.Contains(r.Warning(), text) {
			t.Errorf("%s: %q", text, r.Warning())
		}
	}
	for _, text := range []string{"Bash(git *)", "Read(a)", "WebFetch(domain:a)", "Bash(run_in_background:true)"} {
		if w := rules(t, Deny, text)[0].Warning(); w != "" {
			t.Error(w)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	var rs []Rule
	for _, text := range []string{"Bash(npm *)", "Bash(go test *)", "Edit(/src/**)", "Read(~/.ssh/**)", "Bash(rm *)"} {
		r, _ := ParseRule(testTools, text, Deny, Source{})
		rs = append(rs, r)
	}
	p := NewPolicy(testTools, "/home/u", []string{"/w"}, rs)
	req := Request{Tool: "Bash", Mode: Default, Dir: "/w", Accesses: []Access{readOnly("git log"), readIn}}
	for b.Loop() {
		p.Decide(req)
	}
}

func TestADenyRuleAsksAboutATreeThatNobodyLookedThrough(t *testing.T) {
	deny := func(spec string) *Policy {
		return NewPolicy(testTools, "/home/u", []string{"/p"}, rules(t, Deny, "Read("+spec+")"))
	}
	for _, tt := range []struct {
		spec string
		want Effect
	}{
		{".env", Ask},
		{"secrets/**", Ask},
		{"src/*.key", Ask},
		{"//p/src/deep/k", Ask},
		{"//p/other/**", Allow},
		{"~/.ssh/**", Allow},
		{"src/**", Deny},
	} {
		for _, mode := range []Mode{Default, Bypass} {
			req := Request{Tool: "Bash", Dir: "/p", Mode: mode, Accesses: []Access{{Kind: Read, Target: "/p/src", Below: true}}}
			if d := deny(tt.spec).Decide(req); d.Effect != tt.want {
				t.Errorf("%s in %s: %s (%s), want %s", tt.spec, mode, d.Effect, d.Reason, tt.want)
			}
		}
	}
}
