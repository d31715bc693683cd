package permission

import (
	"strings"
	"testing"
)

var everyMode = []Mode{Default, AcceptEdits, Plan, DontAsk, Bypass}

// A guard's refusal stands in every mode, with any rules and grants.
func TestNothingLiftsWhatAGuardRefuses(t *testing.T) {
	for _, path := range []string{
		"/w/.git/hooks/pre-commit", "/w/.git/config", "/w/..odd/.git/config", "/w/a/.GIT/x", "/w/.git./x", "/w/.git /config",
		"/w/.git::$INDEX_ALLOCATION/x", "/w/GIT~1/x", "/w/.g\u200cit/x", "/w/.git", "/w/.git/modules/a/config", "/w/HEAD",
		"/w/sub/HEAD",
		"/w/.bashrc", "/w/.BASHRC", "/home/u/.zshrc", "/home/u/.ssh/authorized_keys", "/w/.mcp.json.",
		"/w/.lathe/settings.json",
		"/w/LATHE~1/settings.json", "/home/u/.config/lathe/settings.json", "/home/u/.local/state/lathe/trust/x",
		"/w/.claude/settings.json", "/w/.claude/settings.local.json", "/w/.claude/x.local.md.d/run.sh",
		"/w/CLAUDE~1/settings.json", "/w/.vscode/tasks.json", "/w/.idea/workspace.xml", "/w/.cursor/mcp.json",
		"/home/u/.config/fish/config.fish",
		"/home/u/.gitconfig", "/etc/profile", "/dev/sda", "/proc/sysrq-trigger", "/own/settings.json",
		"/w/.vscode\u0301/../.vscode/settings.json",
	} {
		a := Access{Kind: Write, Target: path}
		p := policy(t, Allow, "Edit", "Write", "Edit(//**)", PathRule("Edit", path))
		p.Own = []string{"/own"}
		p.SetRules(append(p.Rules(), Rule{Text: "edit", Tool: "Edit", Effect: Allow, Ordered: true}))
		p.Grant(rules(t, Allow, "Edit")[0])
		p.Grant(rules(t, Allow, PathRule("Edit", path))[0])
		for _, mode := range everyMode {
			d := p.Decide(Request{Tool: "Edit", Mode: mode, Dir: "/w", Accesses: []Access{a}})
			if d.Effect != Deny || d.Layer != LayerGuards || d.Reason == "" {
				t.Errorf("%s in %s: %+v", path, mode, d)
			}
			if d.Confirm != (mode != DontAsk && mode != Plan) {
				t.Errorf("%s in %s: confirm %v", path, mode, d.Confirm)
			}
		}
	}
}

// What a guard asks about is not lifted by a mode or a rule for many files, but by one that names just this
// file, by the user's word in this session, and in the mode that asks nothing.
func TestGuardsAskAboutFilesThatRunLater(t *testing.T) {
	for _, path := range []string{
		"/w/.github/workflows/ci.yml", "/w/.cargo/config.toml", "/w/.venv/bin/python", "/w/node_modules/.bin/tsc",
		"/w/x.code-workspace",
		"/w/.npmrc", "/w/.husky/pre-commit", "/w/.envrc", "/w/lefthook.yml", "/w/vendor/m/config", "/w/hooks/pre-commit",
		"/w/.env",
		"/w/.claude/skills/x/SKILL.md", "/w/.claude/claude.local.md", "/w/.claude/agents/x.local.md", "/w/.claude/loop.md",
		"/w/.codex/x.local.md", "/w/.git/index.lock", "/w/Jenkinsfile", "/w/.gitattributes",
	} {
		a := Access{Kind: Write, Target: path}
		p := policy(t, Allow, "Edit", "Write", "Edit(/**)")
		for _, mode := range []Mode{Default, AcceptEdits} {
			if d := p.Decide(Request{Tool: "Edit", Mode: mode, Dir: "/w", Accesses: []Access{a}}); d.Effect != Ask ||
				d.Layer != LayerGuards {
				t.Errorf("%s in %s: %+v", path, mode, d)
			}
		}
		if got := decide(p, Bypass, "Edit", a); got != Allow {
			t.Errorf("%s in bypass: %s", path, got)
		}
		if got := decide(policy(t, Allow, PathRule("Edit", path)), Default, "Edit", a); got != Allow {
			t.Errorf("%s named by a rule: %s", path, got)
		}
		p.Grant(rules(t, Allow, "Edit(/**)")[0])
		if got := decide(p, Default, "Edit", a); got != Allow {
			t.Errorf("%s as granted by the user: %s", path, got)
		}
	}
}

func TestOrdinaryFilesAreNotGuarded(t *testing.T) {
	for _, path := range []string{
		"/w/.gitignore", "/w/.github/dependabot.yml", "/w/src/head.go", "/w/git/config.go", "/w/.env.example",
		"/w/hooks/useThing.ts",
		"/w/config.toml", "/w/.claude/worktrees/a/src/x.go", "/w/venv.go", "/w/settings.json",
		"/w/.claude/ralph-loop.local.md", "/w/.claude/ralph-loop.local.md.tmp.12", "/w/.claude/hookify.rm.local.md",
	} {
		if got := decide(NewPolicy(testTools, "/home/u", []string{"/w"}, nil), AcceptEdits, "Edit",
			Access{Kind: Write, Target: path}); got != Allow {
			t.Errorf("%s: %s", path, got)
		}
	}
	p := NewPolicy(testTools, "/home/u", []string{"/home/u/.claude/worktrees/x"}, nil)
	if got := decide(p, AcceptEdits, "Edit", Access{
		Kind:   Write,
		Target: "/home/u/.claude/worktrees/x/a.go",
	}); got != Allow {
		t.Errorf("a root inside a guarded folder: %s", got)
	}
}

func TestSecretsInTheWorkingFoldersAreAskedAbout(t *testing.T) {
	for path, want := range map[string]Effect{
		"/w/.env": Ask, "/w/.ENV": Ask, "/w/sub/.env.production": Ask, "/w/server.pem": Ask, "/w/.env.example": Allow,
		"/w/a.go":   Allow,
		"/w/id_rsa": Ask, "/home/u/.lathe/auth.json": Deny, "/home/u/.config/lathe/settings.json": Deny, "/w/.npmrc": Ask,
		"/w/.ssh/config": Ask,
	} {
		if got := decide(policy(t, Allow, "Read(/src/**)"), Default, "Read", Access{Kind: Read, Target: path}); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := decide(policy(t, Allow, "Read(/.env)"), Default, "Read",
		Access{Kind: Read, Target: "/w/.env"}); got != Allow {
		t.Errorf("a rule that names the secret: %s", got)
	}
	if got := decide(policy(t, Allow, "Read(/**)"), Default, "Read", Access{Kind: Read, Target: "/w/.env"}); got != Ask {
		t.Errorf("a rule for everything lifted a secret: %s", got)
	}
}

func TestLinksAndOddNodesAsk(t *testing.T) {
	edit := []string{"Edit(/**)", "Read(/**)", "Edit(//w/a)"}
	for name, a := range map[string]Access{
		"hard link":      {Kind: Write, Target: "/w/a", Node: File, Links: 2},
		"unknown":        {Kind: Write, Target: "/w/a", Node: Unknown},
		"device":         {Kind: Read, Target: "/w/fifo", Node: Special},
		"link out":       {Kind: Write, Target: "/home/u/notes", Named: "/w/a"},
		"read link out":  {Kind: Read, Target: "/home/u/notes", Named: "/w/a"},
		"link to secret": {Kind: Read, Target: "/w/.env", Named: "/w/a"},
	} {
		d := policy(t, Allow, edit...).Decide(Request{Tool: "Edit", Mode: AcceptEdits, Dir: "/w", Accesses: []Access{a}})
		if d.Effect != Ask || !strings.Contains(d.Reason, a.Target) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := policy(t, Allow).Decide(Request{
		Tool: "Edit", Mode: Bypass,
		Accesses: []Access{{Kind: Write, Target: "/home/u/.bashrc", Named: "/w/out"}},
	}); d.Effect != Deny ||
		!strings.Contains(d.Reason, "/w/out (a link to /home/u/.bashrc)") {
		t.Errorf("a link to a protected file: %+v", d)
	}
}

func TestANulCharacterIsRefusedWithoutAsking(t *testing.T) {
	for _, a := range []Access{
		{Kind: Write, Target: "/w/a\x00.txt"},
		{Kind: Read, Target: "/w/a\x00"},
		{Kind: Net, Target: "https://a.test%00.b.org/"},
	} {
		d := policy(t, Allow, "Edit", "WebFetch").Decide(Request{
			Tool: "WebFetch", Mode: Bypass, Dir: "/w",
			Accesses: []Access{a},
		})
		if d.Effect != Deny || d.Confirm {
			t.Errorf("%q: %+v", a.Target, d)
		}
	}
}

func TestPlainNames(t *testing.T) {
	for name, want := range map[string]string{
		".GIT": ".git", ".git. .": ".git", ".git:stream": ".git", ".g\u200bit": ".git", "\u212a": "k", "...": "...",
		"cafe\u0301": "caf\u00e9",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for short, want := range map[string]bool{"git~1": true, "git~12": true, "gi~1": false, "git~x": false, "git": false} {
		if shortOf(short, ".git") != want {
			t.Errorf("%s: %v", short, !want)
		}
	}
	if !shortOf("settin~1", "settings.json") || shortOf("sett~1", "settings.json") {
		t.Error("long names are cut to six characters")
	}
}
