package console

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// exercises has one entry for each command: its test in a session with one turn, which edited a.txt.
var exercises = map[string]func(*testing.T, *seat, *place){
	"lsp": func(t *testing.T, s *seat, _ *place) {
		if got := s.command("lsp", "").Text; !strings.Contains(got, "No language server was started") {
			t.Error(got)
		}
		s.refuses("lsp", "restart nothing", "no language server nothing")
	},
	"plugin": func(t *testing.T, s *seat, p *place) {
		if pick := s.command("plugin", "").Pick; len(pick.Items) != 0 || !strings.Contains(pick.Empty, "/plugin install") {
			t.Errorf("%+v", pick)
		}
		p.write(t, "demo/.claude-plugin/plugin.json",
			`{"name": "demo", "version": "1.0", "processes": {"bg": {"command": "./bg"}}}`)
		s.refuses("plugin", "agree demo@path", "look at the plugin first")
		out := s.command("plugin", "install ./demo")
		if !strings.Contains(out.Text, "runs the process bg: runs: ./bg") || out.Pick.Items[1].ID != "agree demo@path" {
			t.Errorf("%s %+v", out.Text, out.Pick)
		}
		if pick := s.command("plugin", "").Pick; len(pick.Items) != 0 {
			t.Error("it was installed before anybody agreed")
		}
		s.shows("plugin", "agree demo@path", "installed and enabled")
		if pick := s.command("plugin", "").Pick; len(pick.Items) != 1 || pick.Items[0].Detail != "enabled 1.0" {
			t.Errorf("%+v", pick)
		}
		s.shows("plugin", "demo", "demo@path", "runs the process bg")
		s.shows("plugin", "disable demo", "was disabled")
		s.shows("plugin", "update demo", "up to date")
		p.write(t, "demo/commands/hi.md", "hello")
		s.shows("plugin", "update demo", "commands: hi", "+hello")
		s.shows("plugin", "agree demo@path", "installed, and stays disabled")
		if pick := s.command("plugin", "").Pick; len(pick.Items) != 1 || pick.Items[0].Detail != "disabled 1.0" {
			t.Errorf("after the update %+v", pick)
		}
		s.shows("plugin", "enable demo", "was enabled")
		p.write(t, "demo/commands/hi.md", "hello again")
		s.shows("plugin", "update demo", "+hello again")
		s.shows("plugin", "agree demo@path", "installed and enabled")
		s.shows("plugin", "remove demo", "was removed")
		s.refuses("plugin", "demo", "no plugin")
		s.refuses("plugin", "enable gone@corp", "the plugin gone@corp is not installed; lathe plugin list")
		s.refuses("plugin", "install", "name the plugin")
		neededPlugin(t, s, p)
	},
	"find-sessions": func(t *testing.T, s *seat, _ *place) {
		if p := s.command("find-sessions", "here change").Pick; len(p.Items) != 1 || p.Search != "find-sessions here" {
			t.Errorf("%+v", p)
		}
		if p := s.command("find-sessions", "all zzz").Pick; len(p.Items) != 0 || p.Search != "find-sessions all" {
			t.Errorf("%+v", p)
		}
	},
	"memory": func(t *testing.T, s *seat, _ *place) {
		s.shows("memory", "", "none yet")
		s.shows("memory", "save db starting the database\nRun make db.", "Saved")
		s.shows("memory", "", "db", "starting the database")
		s.shows("memory", "db", "Run make db.")
		if out := s.command("memory", "edit db"); !strings.HasPrefix(out.Insert,
			"/memory save db starting the database\nRun make db.") {
			t.Errorf("%q", out.Insert)
		}
		s.shows("memory", "forget db", "Forgot")
		s.refuses("memory", "db", "no note")
	},
	"mcp": func(t *testing.T, s *seat, p *place) {
		s.shows("mcp", "", "No MCP servers")
		s.refuses("mcp", "reconnect x", "lathe mcp add")
	},
	"hooks": func(t *testing.T, s *seat, p *place) {
		s.shows("hooks", "", "No hooks are in force")
		p.write(t, "../.claude/settings.json",
			`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo bye"}]}], "Nothing": [{"hooks": []}]}}`)
		s.shows("reload", "")
		s.shows("hooks", "", "Stop", "echo bye", "no event")
		s.shows("hooks", "off", "off until lathe ends", "No hooks")
		s.shows("hooks", "on", "echo bye")
		s.shows("hooks", `try Stop {"stop_hook_active": false}`, "echo bye", "decides nothing")
		s.refuses("hooks", "try Stop {", "a JSON object")
		s.refuses("hooks", "try Nothing", "there is no event")
		s.refuses("hooks", "maybe", "neither on nor off")
	},
	"agents": func(t *testing.T, s *seat, p *place) {
		list := s.command("agents", "").Pick
		if list == nil || !has(list, "Explore") || !has(list, "general-purpose") || !has(list, "new") ||
			has(list, "running") {
			t.Fatalf("%+v", list)
		}
		p.write(t, ".claude/agents/judge.md", "---\nname: judge\ndescription: Judges changes\ntools: Read, "+
			"Grep\nmaxTurns: 3\n---\nYou judge.")
		p.write(t, ".claude/agents/broken.md", "no block")
		s.shows("agents", "", "broken.md")
		if list := s.command("agents", "").Pick; !has(list, "judge") {
			t.Errorf("%+v", list)
		}
		s.shows("agents", "judge", "Read, Grep", "most steps", "judge.md", "Judges changes")
		s.refuses("agents", "nobody", "there is no agent")
		s.refuses("agents", "broken", "it has no name")
		if e := s.command("agents", "edit judge").Edit; e == nil || !strings.HasSuffix(e.Path, "judge.md") ||
			e.Then != "agents judge" {
			t.Errorf("%+v", e)
		}
		s.refuses("agents", "edit Explore", "has no file")
		if p := s.command("agents", "running").Pick; p == nil || len(p.Items) > 0 || p.Live != "agents running" {
			t.Errorf("%+v", p)
		}

		// A new one is made in four steps.
		for args, want := range map[string]string{
			"new": "project", "new project": "project/read",
			"new project/read": "project/read/small",
		} {
			if p := s.command("agents", args).Pick; p == nil || p.Command != "agents new" || !has(p, want) {
				t.Errorf("/agents %s: %+v", args, p)
			}
		}
		if out := s.command("agents", "new project/read/small"); out.Insert != "/agents new project/read/small " ||
			out.Text == "" {
			t.Errorf("%+v", out)
		}
		s.refuses("agents", "new project/read/small two words: x", "is no name of an agent")
		out := s.command("agents", `new project/read/small reviewer: Reviews "changes": all of them`)
		if out.Edit == nil || filepath.Base(out.Edit.Path) != "reviewer.md" ||
			filepath.Base(filepath.Dir(filepath.Dir(out.Edit.Path))) != ".lathe" {
			t.Fatalf("%+v", out)
		}
		s.shows("agents", "reviewer", `Reviews "changes": all of them`, "Read, Glob, Grep", "small", "reviewer.md")
		s.refuses("agents", "new project/all/inherit reviewer: x", "is there already")
		s.command("agents", "new user/all/inherit mine: Mine")
		s.shows("agents", "mine", "(user)", "tools: `all`")
	},
	"team": func(t *testing.T, s *seat, _ *place) {
		s.refuses("team", "", "there is no team yet")
		s.refuses("team", "stop", "no team works")
		s.refuses("team", "resume", "there is no team")
		s.refuses("team", "--time soon do it", "is no duration")
		s.refuses("team", "--workers 0 do it", "is no number of workers")
		s.refuses("team", "--check 'go test do it", "the quote is not closed")
		s.refuses("team", "--speed 3 do it", "there is no option --speed")
		s.refuses("team", "--workers 2", "give the goal")
		s.refuses("team", "do it", "git repository with a commit")
	},
	"skills": func(t *testing.T, s *seat, p *place) {
		s.shows("skills", "", "no skills")
		p.write(t, ".lathe/skills/greet/SKILL.md", "---\ndescription: Says hello\nargument-hint: <name>\n---\nGreet $0.")
		p.write(t, ".lathe/commands/help.md", "Not the built-in one.")
		p.write(t, ".lathe/skills/quiet/SKILL.md", "---\nuser-invocable: no\n---\nx")
		s.shows("skills", "", "/greet <name>", "project", "Says hello", "/project:help",
			"only the model invokes it")
		s.shows("skills", "greet", "SKILL.md")
		s.refuses("skills", "nothing", "no skill")
		s.shows("help", "greet", "/greet <name>")
		if out := s.command("greet", "World"); out.Prompt == nil || out.Prompt.PlainText() != "/greet World" {
			t.Errorf("%+v", out)
		}
		s.refuses("quiet", "", "for the model only")
		s.refuses("gret", "", "/greet")
		found := s.Complete(t.Context(), event.Query{Kind: event.QueryCommand, Text: "gree"})
		if len(found) == 0 || found[0].Text != "greet" || found[0].Hint != "<name>" {
			t.Errorf("%+v", found)
		}
	},
	"agent": func(t *testing.T, s *seat, p *place) {
		p.write(t, ".claude/agents/reader.md", "---\nname: reader\ndescription: Reads\ntools: Read\neffort: low\n---\nYou "+
			"only read.")
		s.refuses("agent", "nobody", "there is no agent")
		s.shows("agent", "", "lathe's own agent")
		s.shows("agent", "reader", "reader")
		system, err := s.session().System(t.Context())
		if err != nil || system[0].(llm.Text).Text != "You only read." || !slices.Equal(s.session().Tools(),
			[]string{"Read"}) || s.session().Effort() != "low" {
			t.Errorf("%q %q %v", system, s.session().Tools(), err)
		}
		s.command("fork", "")
		if now := s.session().Agent(); now != "reader" {
			t.Errorf("the copy is of %q", now)
		}
		s.shows("agent", "default", "lathe's own agent")
		if len(s.session().Tools()) < 5 {
			t.Errorf("%q", s.session().Tools())
		}
	},
	"output-style": func(t *testing.T, s *seat, p *place) {
		p.write(t, ".claude/output-styles/pirate.md", "---\nname: Pirate\ndescription: Arr\n---\nTalk like a pirate.")
		if pick := s.command("output-style", "").Pick; pick == nil || len(pick.Items) != 4 || !pick.Items[0].Current {
			t.Fatalf("%+v", pick)
		}
		s.refuses("output-style", "none", "Pirate")
		s.shows("output-style", "pirate", "Pirate", "next conversation", "default")
		s.command("new", "")
		system, err := s.session().System(t.Context())
		if err != nil || s.session().Style() != "Pirate" || !strings.Contains(system[0].(llm.Text).Text,
			"Talk like a pirate.") {
			t.Errorf("%q %v", s.session().Style(), err)
		}
	},
	"new": func(t *testing.T, s *seat, _ *place) {
		old := s.session().ID()
		s.command("clear", "")
		if s.session().ID() == old || s.Status().ContextUsed != 0 {
			t.Error("the same conversation")
		}
	},
	"retry": func(t *testing.T, s *seat, _ *place) {
		if out := s.command("retry", ""); out.Prompt == nil || out.Prompt.PlainText() != "change it" {
			t.Errorf("%+v", out)
		}
		s.refuses("retry", "", "nothing in this conversation") // its only message is before the head now
	},
	"rewind": func(t *testing.T, s *seat, _ *place) {
		s.refuses("rewind", "nonsense", "no message")
		if p := s.command("rewind", "").Pick; p == nil || p.Command != "rewind" || len(p.Items) != 1 {
			t.Errorf("%+v", p)
		}
	},
	"tree": func(t *testing.T, s *seat, _ *place) {
		s.refuses("tree", "nonsense", "no message")
		if p := s.command("tree", "").Pick; p == nil || len(p.Items) != 1 || !p.Items[0].Current {
			t.Errorf("%+v", p)
		}
	},
	"history": func(t *testing.T, s *seat, _ *place) {
		s.shows("history", "", "change it", "[Edit]", "Done.")
		s.shows("history", "1", "Done.", "before these")
		s.refuses("history", "x", "not a number")
	},
	"copy": func(t *testing.T, s *seat, _ *place) {
		if out := s.command("copy", ""); out.Copy != "Done." {
			t.Errorf("%+v", out)
		}
		s.refuses("copy", "9", "no such reply")
	},
	"hlep": func(t *testing.T, s *seat, _ *place) { s.refuses("hlep", "", "did you mean /help?") },
	"export": func(t *testing.T, s *seat, p *place) {
		s.shows("export", "md out.md", "out.md")
		s.shows("export", "out.html", "out.html")
		s.shows("export", "json", ".jsonl")
		s.shows("export", "json", "-2.jsonl")
		if !strings.Contains(p.read(t, "out.md"), "change it") || !strings.Contains(p.read(t, "out.html"), "<html") {
			t.Error("not what was asked for")
		}
		s.refuses("export", "md out.md", "exists")
		s.refuses("export", "pdf", "md, html and json")
	},
	"resume": func(t *testing.T, s *seat, _ *place) {
		s.shows("resume", s.session().ID(), "open already")
		s.refuses("resume", "nonsense", "no session")
		if p := s.command("resume", "").Pick; p == nil || len(p.Items) != 1 || !p.Items[0].Current {
			t.Errorf("%+v", p)
		}
	},
	"sessions": func(t *testing.T, s *seat, _ *place) {
		p := s.command("sessions", "all").Pick
		if p == nil || len(p.Items) != 1 || len(p.Actions) != 2 || !strings.Contains(p.Items[0].Preview, "claude") {
			t.Errorf("%+v", p)
		}
		s.command(p.Actions[0].Refresh, "") // a whole line
	},
	"rename": func(t *testing.T, s *seat, _ *place) {
		s.shows("rename", "a new\nname", "a new name")
		s.waits(func(st event.Status) bool { return st.Title == "a new name" })
		s.refuses("rename", "", "give the title")
	},
	"fork": func(t *testing.T, s *seat, _ *place) { s.shows("fork", "", "leads back") },
	"save": func(t *testing.T, s *seat, _ *place) { s.shows("save", "", s.session().Log().Folder()) },
	"delete-session": func(t *testing.T, s *seat, _ *place) {
		old := s.session().ID()
		s.refuses("delete-session", old, "in front")
		s.command("new", "")
		s.shows("delete-session", old, "restore-session "+old)
		s.refuses("resume", old, "no session")
	},
	"restore-session": func(t *testing.T, s *seat, _ *place) {
		old := s.session().ID()
		s.command("new", "")
		s.command("delete-session", old)
		s.shows("restore-session", old, "is back")
		s.command("resume", old)
		s.refuses("restore-session", "", "give the id")
	},
	"rename-session": func(t *testing.T, s *seat, _ *place) {
		old := s.session().ID()
		s.command("rename-session", old+" while in front")
		s.command("new", "")
		s.shows("rename-session", old+" the old one", "the old one")
		s.command("resume", "the old one")
		s.refuses("rename-session", old, "its title")
	},
	"model": func(t *testing.T, s *seat, _ *place) {
		p := s.command("models", "").Pick
		if p == nil || len(p.Items) < 5 {
			t.Fatalf("%+v", p)
		}
		s.shows("model", "opus", "claude-opus")
		if s.Status().Model == "" || !strings.Contains(s.Status().Model, "opus") {
			t.Errorf("%+v", s.Status())
		}
	},
	"smallmodel": func(t *testing.T, s *seat, _ *place) {
		s.shows("smallmodel", "haiku", "haiku")
		if p := s.command("smallmodel", "").Pick; p == nil || !has(p, "claude-haiku-4-5") {
			t.Errorf("%+v", p)
		}
	},
	"effort": func(t *testing.T, s *seat, _ *place) {
		s.shows("effort", "HIGH", "high")
		if s.Status().Effort != "high" {
			t.Errorf("%+v", s.Status())
		}
		s.shows("effort", "default", "default")
		s.refuses("effort", "enormous", "the levels are")
	},
	"status": func(t *testing.T, s *seat, p *place) {
		s.shows("status", "", "claude-sonnet", "turns: 1", p.dir, "cost: $0.0")
	},
	"tokens": func(t *testing.T, s *seat, _ *place) { s.shows("tokens", "", "of 1,000,000 tokens", "read") },
	"context": func(t *testing.T, s *seat, _ *place) {
		s.shows("context", "", "system prompt", "tools", "  Edit", "█", "free",
			"A compaction comes by itself at 850,000 tokens")
	},
	"cost": func(t *testing.T, s *seat, _ *place) { s.shows("usage", "", "in 1 turn", "claude-sonnet", "3 steps") },
	"cache": func(t *testing.T, s *seat, _ *place) {
		s.shows("cache", "", "prompts:", "entries 0, hits 0, misses 1, invalidations 1,",
			"evictions 0, hit rate 0.0 %")
	},
	"mode": func(t *testing.T, s *seat, _ *place) {
		s.shows("mode", "PLAN", "nothing is changed")
		s.command("mode", "next")
		if s.Status().Mode != "default" {
			t.Errorf("%s", s.Status().Mode)
		}
		for _, m := range s.command("mode", "").Pick.Items {
			if m.Detail == "" {
				t.Errorf("/mode does not explain %s", m.ID)
			}
		}
		s.refuses("mode", "yolo", "the modes are")
	},
	"plan": func(t *testing.T, s *seat, _ *place) {
		s.shows("plan", "", "Plan mode is on")
		if s.Status().Mode != "plan" {
			t.Errorf("%s", s.Status().Mode)
		}
		s.shows("plan", "", "there is no plan yet")
		s.command("mode", "default")
	},
	"permissions": func(t *testing.T, s *seat, p *place) {
		s.shows("permissions", "deny Bash(rm *)", "this project, for you")
		if got := p.read(t, ".lathe/settings.local.json"); !strings.Contains(got, "Bash(rm *)") {
			t.Errorf("%s", got)
		}
		s.shows("permissions", "ask WebFetch in user", "all your projects")
		list := s.command("permissions", "").Pick
		if !has(list, "deny Bash(rm *) in local") || !has(list, "ask WebFetch in user") {
			t.Errorf("%+v", list)
		}
		s.refuses("permissions", "frobnicate x", "neither allow")
	},
	"permissions-remove": func(t *testing.T, s *seat, p *place) {
		s.command("permissions", "deny Bash(rm *)")
		s.shows("permissions-remove", "deny Bash(rm *) in local", "Add it again")
		if got := p.read(t, ".lathe/settings.local.json"); strings.Contains(got, "Bash(rm *)") {
			t.Errorf("%s", got)
		}
		s.refuses("permissions", "remove deny Bash(rm *)", "does not have")
	},
	"permissions-add": func(t *testing.T, s *seat, _ *place) {
		s.shows("permissions-add", "allow Read(~/x/**) in session", "this session")
		s.shows("permissions-remove", "allow Read(~/x/**) in session", "Removed")
	},
	"add-dir": func(t *testing.T, s *seat, p *place) {
		other := t.TempDir()
		s.shows("add-dir", other, filepath.Base(other))
		s.refuses("add-dir", "nowhere", "cannot be added")
	},
	"diff": func(t *testing.T, s *seat, _ *place) {
		s.shows("diff", "", "+1 -", "+two")
		s.refuses("diff", "git", "no git repository")
		s.refuses("diff", "x", "takes all, agents, theirs or git")
		s.shows("diff", "all", "a.txt", "+two")
		s.shows("diff", "theirs", "No covered file was changed")
	},
	"tasks": func(t *testing.T, s *seat, _ *place) {
		if p := s.command("tasks", "").Pick; p == nil || p.Empty == "" {
			t.Errorf("%+v", p)
		}
		s.refuses("tasks end", "bash_9", "bash_9")
	},
	"undo": func(t *testing.T, s *seat, p *place) {
		s.refuses("undo", "nonsense", "neither a number")
		s.refuses("undo", "--stash", "no git repository")
		s.shows("undo", "show", "-two", "+one")
		s.shows("undo", "", "1 file changed", "a.txt", "/redo")
		if got := p.read(t, "a.txt"); got != "one\n" {
			t.Errorf("%q", got)
		}
		s.refuses("undo", "", "nothing to undo")
	},
	"redo": func(t *testing.T, s *seat, p *place) {
		s.refuses("redo", "", "nothing to undo or redo")
		s.shows("undo", "", "1 file changed")
		s.shows("redo", "", "1 file changed", "/undo")
		if got := p.read(t, "a.txt"); got != "two\n" {
			t.Errorf("%q", got)
		}
	},
	"help": func(t *testing.T, s *seat, _ *place) {
		s.shows("help", "", "/permissions", "/quit")
		s.shows("help", "/model", "Also: `/models`")
		s.refuses("help", "nonsense", "no command")
	},
	"keys": func(t *testing.T, s *seat, _ *place) {
		if out := s.command("keys", ""); out.Open != "keys" {
			t.Errorf("%+v", out)
		}
	},
	"compact": func(t *testing.T, s *seat, _ *place) {
		s.shows("compact", "", "Little is gained", "`/compact --force`")
		s.command("compact", "--force keep the names")
		if done := until(s, func(c event.Compacted) bool { return c.Level == 4 }); done.Trigger != "manual" {
			t.Errorf("%+v", done)
		}
		if log, err := os.ReadFile(s.session().Log().Path()); err != nil || !strings.Contains(string(log), "change it") {
			t.Errorf("the log has lost what was compacted: %v", err)
		}
	},
	"theme": func(t *testing.T, s *seat, _ *place) {
		if out := s.command("theme", "light"); out.Theme != "light" {
			t.Errorf("%+v", out)
		}
		s.refuses("theme", "mauve", "the themes are")
	},
	"init": func(t *testing.T, s *seat, p *place) {
		fresh := s.command("init", "mention the Makefile").Prompt
		if fresh == nil || !strings.Contains(fresh.PlainText(), "Write it as AGENTS.md in "+p.dir) ||
			!strings.Contains(fresh.PlainText(), "mention the Makefile") {
			t.Errorf("%+v", fresh)
		}
		p.write(t, "CLAUDE.md", "old\n")
		if again := s.command("init", "").Prompt; again == nil || !strings.Contains(again.PlainText(), "There is "+
			filepath.Join(p.dir, "CLAUDE.md")) {
			t.Errorf("%+v", again)
		}
	},
	"doctor":  func(t *testing.T, s *seat, _ *place) { s.shows("doctor", "", "all is well") },
	"sandbox": func(_ *testing.T, s *seat, _ *place) { s.shows("sandbox", "", "without the sandbox") },
	"reload": func(t *testing.T, s *seat, p *place) {
		s.shows("reload", "", "as they were")
		p.user(t, `{"theme": "dark"}`)
		s.command("reload", "")
		if got := s.inst.Config().Settings.Theme; got != "dark" {
			t.Errorf("%s", got)
		}
	},
	"config": func(t *testing.T, s *seat, p *place) {
		p.user(t, `{"theme": "dark", "env": {"MY_API_KEY": "sk-secret"}}`)
		s.command("reload", "")
		if pick := s.command("config", "").Pick; !has(pick, "theme") {
			t.Errorf("%+v", pick)
		}
		s.shows("config", "theme", "`theme` is `dark`", "settings.json:1:11")
		if out := s.command("config", "theme"); out.Insert != "/config theme dark" {
			t.Errorf("%+v", out)
		}
		if out := s.command("config", "env.MY_API_KEY"); out.Insert != "" || strings.Contains(out.Text, "sk-secret") {
			t.Errorf("a secret is shown: %+v", out)
		}
		if out := s.command("config", "theme light"); out.Theme != "light" {
			t.Errorf("%+v", out)
		}
		s.command("reload", "")
		if got := s.inst.Config().Settings.Theme; got != "light" {
			t.Errorf("%s", got)
		}
		s.refuses("config", "theme lihgt", "there is no theme")
		s.shows("config", "unset theme", "`theme` was removed from")
		s.shows("config", "language Spanish", "In force: `Spanish`")
		s.refuses("config", "theem dark", "theem")
		s.refuses("config", "theem", "theem")
	},
	"login": func(t *testing.T, s *seat, _ *place) {
		if out := s.command("login", ""); out.Open != "login" {
			t.Errorf("%+v", out)
		}
	},
	"bg": func(_ *testing.T, s *seat, _ *place) {
		s.refuses("bg", "", "ends with its terminal")
		s.opts.Job = "1a2b3c4d"
		if out := s.command("bg", ""); !out.Quit || !strings.Contains(out.Text, "lathe attach 1a2b3c4d") {
			s.t.Errorf("%+v", out)
		}
	},
	"quit": func(t *testing.T, s *seat, _ *place) {
		if out := s.command("exit", ""); !out.Quit {
			t.Errorf("%+v", out)
		}
	},
}

// shows runs a command whose text must contain all of want.
func (s *seat) shows(name, args string, want ...string) {
	s.t.Helper()
	out := s.command(name, args)
	for _, w := range want {
		if !strings.Contains(out.Text, w) {
			s.t.Errorf("/%s %s: %q is missing in\n%s", name, args, w, out.Text)
		}
	}
}

// refuses runs a command that must fail with an error containing want.
func (s *seat) refuses(name, args, want string) {
	s.t.Helper()
	if out, err := s.Command(s.t.Context(), name, args); err == nil || !strings.Contains(err.Error(), want) {
		s.t.Errorf("/%s %s: %v, %+v", name, args, err, out)
	}
}

func has(p *event.Pick, id string) bool {
	for _, i := range p.Items {
		if i.ID == id {
			return true
		}
	}
	return false
}

func TestTheStateOfALogIsTheSameWithoutItsHistory(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
		llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/a.txt", "old_string": "one",
			"new_string": "two",
		})),
		llmtest.Say(llmtest.Tool("TodoWrite", map[string]any{"todos": []map[string]any{{
			"content": "a", "status": "pending",
			"activeForm": "doing a",
		}}})),
		llmtest.Say(llmtest.Text("Done.")),
	))
	p.write(t, "a.txt", "one\n")
	s := p.open(t, nil)
	s.command("mode", "acceptEdits")
	s.prompt("change it")
	until[event.TurnEnd](s, nil)
	s.command("!", "echo pending")
	whole, state := replay(s.session().Log(), true), replay(s.session().Log(), false)
	if len(whole.bodies) == 0 || len(whole.statusValues.changed) != 1 || len(whole.statusValues.todos) != 1 ||
		len(whole.pending) == 0 {
		t.Fatalf("%+v", whole)
	}
	whole.bodies = nil
	if !reflect.DeepEqual(whole, state) {
		t.Errorf("%+v\nwant %+v", state, whole)
	}
}

func TestEveryCommandDoesItsWork(t *testing.T) {
	for _, c := range command.All() {
		try, ok := exercises[c.Name]
		if !ok {
			t.Errorf("/%s is not tested", c.Name)
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, llmtest.Replies(
				llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})),
				llmtest.Say(llmtest.Tool("Edit", map[string]any{
					"file_path": "${WORKDIR}/a.txt", "old_string": "one",
					"new_string": "two",
				})),
				llmtest.Say(llmtest.Text("Done.")),
			))
			p.write(t, "a.txt", "one\n")
			s := p.open(t, func(o *Options) {
				o.Themes = func() []string { return []string{"auto", "dark", "light"} }
				o.Doctor = func(context.Context) (string, error) { return "all is well", nil }
			})
			s.command("mode", "acceptEdits")
			s.prompt("change it")
			until[event.TurnEnd](s, nil)
			s.waits(func(st event.Status) bool { return st.CostUSD > 0 && len(st.Changed) == 1 })
			try(t, s, p)
		})
	}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestUndoStashesAndRestores(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, "a.txt", "one\n")
	runGit(t, p.dir, "init", "-q", "-b", "main")
	runGit(t, p.dir, "add", "a.txt")
	runGit(t, p.dir, "commit", "-qm", "first")
	s := p.open(t, nil)
	s.shows("undo", "--stash", "no uncommitted changes")
	s.refuses("undo", "--stash restore", "put nothing away")
	p.write(t, "a.txt", "two\n")
	p.write(t, "sub/new file.txt", "new\n")
	s.shows("diff", "git", "+two", "untracked: sub/new file.txt")
	pick := s.command("undo", "--stash").Pick
	if pick == nil || !strings.Contains(pick.Title, "2 changed paths") || !strings.Contains(pick.Items[0].Preview,
		"new file.txt") {
		t.Fatalf("%+v", pick)
	}
	if p.read(t, "a.txt") != "two\n" {
		t.Fatal("it did not ask")
	}
	s.shows(pick.Command, pick.Items[0].ID, "git stash apply")
	if got := p.read(t, "a.txt"); got != "one\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "sub")); err == nil {
		t.Error("the untracked file is still there")
	}
	s.shows("undo", "--stash restore", "are back")
	if p.read(t, "a.txt") != "two\n" || p.read(t, "sub/new file.txt") != "new\n" {
		t.Error("not restored")
	}
	if got := runGit(t, p.dir, "stash", "list"); !strings.Contains(got, "lathe /undo") {
		t.Errorf("%q", got)
	}
}

func TestUndoRefusesWhereFiltersWouldBeSkipped(t *testing.T) {
	p := newPlace(t, talk3())
	p.write(t, ".gitattributes", "*.bin filter=lfs\n")
	runGit(t, p.dir, "init", "-q", "-b", "main")
	runGit(t, p.dir, "add", ".")
	runGit(t, p.dir, "commit", "-qm", "first")
	p.write(t, "b.bin", "x")
	s := p.open(t, nil)
	s.refuses("undo", "--stash all", "filters")
	if p.read(t, "b.bin") != "x" {
		t.Error("it is gone")
	}
}
