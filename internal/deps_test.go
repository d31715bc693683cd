package internal_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// row says which of our packages one of our packages may import, and why not more.
type row struct {
	may []string // packages by their path below internal/
	why string
}

// table is the direction of imports. A package that is not in it fails the test: adding one is a decision
// that somebody writes down here. Imports of tests are not counted: a test of the loop may well use a real
// provider and a real tool.
var table = func() map[string]row {
	t := map[string]row{
		"llm": {[]string{"base/fuzzy"}, "the vocabulary everyone shares knows nobody; fuzzy, which is plain " +
			"computation, finds the model that a misspelled name means"},
		"permission": {[]string{"base/glob"}, "decisions must be testable and fuzzable alone, so they see no file, " +
			"process or network; matching a pattern is plain computation"},
		"machine/sandbox": {
			[]string{"machine/sandbox/confine"},
			"what starts processes must be readable on its own, with the boundary that it starts them in",
		},
		"machine/term": {nil, "escaping is needed by every front end, and needs none of them"},
		"config": {[]string{"machine/files/watch", "base/fuzzy", "llm/hosts"}, "settings are plain data; those who " +
			"use them import config, never the reverse; their files are watched with the one watcher of the process; fuzzy " +
			"finds the key that a misspelled one means; the variables of providers are in the table of hosts"},

		"machine/sandbox/confine": {
			[]string{"machine/sandbox/confine/inside"},
			"the boundary is data and system calls; whose commands it holds is above",
		},
		"machine/sandbox/confine/inside": {nil, "the stem, from which confined processes start, and the probe run before " +
			"the rest of lathe is initialized"},

		"machine/netproxy": {
			[]string{"permission"},
			"which addresses are private is the same for rules and for connections; who decides on a host is above",
		},
		"machine/boundary": {[]string{
			"machine/git", "machine/netproxy", "permission", "machine/sandbox",
			"machine/sandbox/confine",
		}, "the policy of a session's commands is made from folders, repositories and settings, " +
			"without the tools that run them; the names of secrets are those of permission"},

		"permission/permissiontest": {nil, "reading the lines of a test file needs nothing of ours"},
		"base/await":                {nil, "what tests wait for is outside of lathe"},
		"machine/term/termtest": {
			[]string{"base/await", "machine/term"},
			"the terminal in which the tests of every front end run knows none of them",
		},

		"tool/patch":        {nil, "patches are read and applied as texts; files and permissions are above"},
		"base/glob":         {nil, "matching a path with a stranger's pattern in bounded time is plain computation"},
		"tool/document/pdf": {nil, "the objects of a PDF are read from its bytes alone"},

		"tool/document/pdftest": {nil, "the files that tests read are written without the code that reads them"},

		"tool/document": {
			[]string{"tool/document/pdf", "llm", "machine/sandbox"},
			"hostile formats are read in a child process; whose files they are is above",
		},

		"tool/web": {
			[]string{"machine/netproxy"},
			"fetching a page needs the one judgement of which addresses are private; who may fetch is above",
		},
		"tool/websearch": {[]string{"llm"}, "the search of a model's provider is a request to the model; other engines " +
			"take llm's client for HTTP"},
		"tool/notebook": {nil, "the cells of a notebook are read and changed as data; files and permissions are above"},
		"base/frontmatter": {nil, "a Markdown file with a YAML block is read the same way for skills, agents, rules and " +
			"styles"},
		"extend/style": {
			[]string{"base/frontmatter"},
			"output styles are files; where they are is said by those who know the settings",
		},
		"extend/skill": {[]string{"base/frontmatter", "base/glob"}, "finding skills and filling in their arguments " +
			"touches only their files; app, which has permissions, runs their commands"},

		"extend/skill/invoke": {[]string{"base/glob", "extend/skill", "llm", "permission"}, "loading a skill makes texts " +
			"of its files and lends its rules; running its commands is the session's, behind functions"},

		"base/fuzzy": {nil, "matching typed letters with names is plain computation, used at every level"},

		"store/snapshot": {
			[]string{"machine/files", "machine/git", "base/glob"},
			"the state of files is kept and brought back without knowing who changes them",
		},

		"machine/files/watch": {nil, "changes of files are reported by path, from one connection of the process to the " +
			"system; whose files they are is above"},
		"machine/files/transact": {
			[]string{"machine/files"},
			"several files change together with the atomic writes of files; who changes them is above",
		},
		"machine/files": {
			[]string{"machine/files/watch", "machine/sandbox", "base/fuzzy"},
			"finding files may start ripgrep; the index ranks paths, and hears of changes from the watcher",
		},
		"machine/git": {[]string{"machine/sandbox"}, "git runs as a child process in the hardened environment"},

		"llm/anthropic": {
			[]string{"llm", "llm/hosts"},
			"a wire client knows the vocabulary and the table of hosts, not the other clients",
		},
		"llm/openai": {
			[]string{"llm", "llm/hosts"},
			"a wire client knows the vocabulary and the table of hosts, not the other clients",
		},
		"llm/google": {
			[]string{"llm", "llm/hosts"},
			"a wire client knows the vocabulary and the table of hosts, not the other clients",
		},
		"llm/converse": {[]string{"llm"}, "a wire client knows the vocabulary, not the other clients"},
		"llm/cloud": {[]string{"llm"}, "credentials of clouds authorize attempts; which provider needs them is " +
			"above"},
		"llm/hosts": {[]string{"llm"}, "the table of known hosts is data, read by settings, providers and the " +
			"set-up"},
		"llm/gen":       {[]string{"llm/modelsdev"}, "the maker of the model catalogue is a program of its own"},
		"llm/modelsdev": {nil, "turning one form of catalogue into another is plain computation"},
		"base/rank": {nil, "finding texts by their words is plain computation, wanted by memory and the search " +
			"for tools"},
		"agent/compact": {[]string{"llm"}, "how a conversation is made smaller is computed from its messages alone; " +
			"who sends and stores is above"},
		"llm/llmtest": {[]string{"llm"}, "the scripted server is a provider's counterpart, so it imports none"},
		"llm/llmtest/suite": {
			[]string{"llm", "llm/llmtest"},
			"the conformance suite serves every provider, so it imports none",
		},
		"tool/memory": {
			[]string{"base/frontmatter", "base/rank"},
			"notes are files and their words; who asks before they are written is above",
		},
		"store/cost": {[]string{"llm", "store/session"}, "prices are computed from a log alone"},
		"agent/compact/onlog": {
			[]string{"agent/compact", "store/session", "event"},
			"a compaction is written to a log by what knows both",
		},
		"permission/program": {
			[]string{"permission"},
			"what a program does with its arguments is a table, known to nobody but the shell analysis",
		},
		"permission/shell": {[]string{"permission", "permission/program"}, "reading a command line is pure"},

		"permission/call": {
			[]string{"permission", "base/fuzzy"},
			"tools declare themselves to it, so that rules, checks and completion know them without importing them",
		},

		"store/session": {
			[]string{"llm", "machine/files"},
			"a session stores messages, with the atomic writes of files",
		},
		"event": {
			[]string{"llm", "permission"},
			"events speak of messages and decisions; who makes or shows them is above",
		},
		"prompt": {[]string{
			"llm", "machine/files", "base/frontmatter", "machine/git", "base/glob",
			"machine/sandbox",
		}, "what the model is told is messages made from the folder, not from the loop"},
		"extend/lsp/lsptest": {
			[]string{"extend/lsp", "machine/sandbox"},
			"a language server with fixed answers, for the tests of all who ask one",
		},

		"base/usage": {nil, "what a process takes is a question to the system"},
		"extend/lsp": {
			[]string{"base/jsonrpc", "machine/sandbox", "base/usage"},
			"a language server is a child process that speaks JSON-RPC; whose files they are is above",
		},

		"agent": {[]string{"llm", "permission", "event", "store/session", "base/fuzzy"}, "the loop knows functions and " +
			"small interfaces, no tool and no front end; fuzzy finds the tool that a misspelled name means"},
	}
	t["store/schedule"] = row{
		[]string{"base/atomicfile"},
		"prompts and their times are a file; who sends them, and to which session, is above",
	}
	t["store/worktree"] = row{
		[]string{"config", "machine/git", "base/glob", "permission", "machine/sandbox"},
		"a copy of the project is made with git or by hand, as the settings say, and is where permissions hold",
	}
	t["agent/subagent"] = row{
		[]string{"event", "base/frontmatter", "llm", "permission", "store/worktree"},
		"whom a call of Task may start, and the work of one agent as functions; app opens the sessions",
	}
	t["agent/best"] = row{
		[]string{"agent/eval", "event", "agent/subagent", "store/worktree"},
		"attempts are agents in worktrees, and judges choose; sessions, git and printing are above",
	}
	t["conversation/team"] = row{[]string{
		"agent", "agent/eval", "llm", "permission", "permission/call", "agent/subagent",
		"store/worktree",
	}, "tasks, messages and merges are those of agents in worktrees; git and sessions come by way of " +
		"interfaces"}
	t["conversation/ruleset"] = row{
		[]string{"config", "permission", "permission/call", "base/fuzzy"},
		"settings know no rules and rules no settings; what reads one out of the other knows both and nothing else",
	}
	t["provider"] = row{[]string{
		"config", "machine/sandbox", "llm", "llm/hosts", "llm/anthropic", "llm/openai",
		"llm/google", "llm/converse", "llm/cloud", "llm/llmtest", "store/keyring",
	}, "which wire client answers is said by " +
		"the settings, and the key may come from a command or the keyring; a scripted model answers through the scripted " +
		"server"}
	t["agent/replay"] = row{
		[]string{"event", "llm"},
		"a recording is the debugger's events; the wires that encode the requests to compare are behind llm.Model",
	}
	agent := with(t["agent"].may, "agent")
	t["tool"] = row{with(agent, "tool/patch", "machine/files/transact", "machine/boundary", "machine/netproxy",
		"tool/document", "tool/memory", "tool/notebook", "machine/files", "machine/git", "base/glob", "machine/sandbox",
		"extend/lsp", "prompt", "permission/shell", "permission/call", "agent/consult", "base/fuzzy", "base/rank",
		"agent/subagent", "agent/workflow", "tool/web", "tool/websearch", "store/schedule", "machine/files/watch"), "tools are leaves: the " +
		"loop sees them as agent.Tool; rank finds deferred ones by words; netproxy tells a command's clock to wait for an " +
		"answer; schedules and watched files are what some are about"}
	outside := row{
		[]string{"agent", "event", "llm", "permission", "machine/sandbox"},
		"what comes from outside sees the loop's contracts, not the built-in tools",
	}
	t["extend/customtool"] = row{
		with(outside.may, "config", "permission/call"),
		"a program that is a tool is declared by files and settings, and sees the loop's contracts, not the built-in tools",
	}
	t["extend/plugin/process"] = row{with(outside.may, "base/openschema", "extend/customtool", "base/jsonrpc", "permission/call", "prompt",
		"base/usage"), "a process speaks JSON-RPC with the loop's contracts; its tools are declared like those of " +
		"programs, and its texts are cleaned like those of files"}
	t["extend/plugin"] = row{
		[]string{"config", "base/frontmatter", "machine/sandbox", "extend/lsp", "extend/mcp/entry"},
		"plugins are folders that the settings enable, whose servers are described as those who start them read them; " +
			"what their parts do is done by those who know such parts",
	}
	t["agent/eval"] = row{
		[]string{"agent", "event", "base/frontmatter", "llm", "store/session"},
		"judges see the conversation, a diff and a check's result, by way of functions; " +
			"their verdicts are entries of the log",
	}
	t["agent/review"] = row{nil, "reviewers are asked by way of functions; who they are is above"}
	t["agent/workflow"] = row{nil, "a script starts agents by way of functions, and reaches nothing else"}
	t["store/keyring"] = row{nil, "secrets are kept by the system or in a file; whose they are is above"}
	t["base/jsonrpc"] = row{nil, "JSON-RPC with a stranger is bytes in and out; who asks what is above"}
	t["base/approved"] = row{nil, "an answer about a content is a file; what the content is, is above"}
	t["extend/mcp/client"] = row{
		[]string{"base/jsonrpc"},
		"the protocol knows no tools of lathe's, no files and no processes",
	}
	t["extend/mcp/entry"] = row{[]string{"base/approved"}, "where servers are declared is files and their approval"}
	t["extend/mcp/remote"] = row{
		[]string{"base/jsonrpc"},
		"messages over HTTP know neither the protocol above nor settings",
	}
	t["extend/mcp/serve"] = row{
		[]string{"extend/mcp/client", "base/jsonrpc"},
		"serving the protocol knows no tools of lathe's; cli gives them",
	}
	t["extend/mcp/oauth/oauthtest"] = row{nil, "the counterpart of a login is a server of its own, so it imports none " +
		"of the client"}
	t["extend/mcp/oauth"] = row{[]string{"store/keyring", "extend/mcp/remote"}, "logging in to a server is HTTP and a " +
		"kept secret, which reaches no address that a transport does not; who is asked for the consent is above"}
	t["extend/mcp"] = row{with(outside.may, "base/approved", "permission/call", "store/keyring", "extend/mcp/client",
		"extend/mcp/entry", "extend/mcp/oauth", "extend/mcp/remote", "base/jsonrpc"), outside.why}
	t["extend/mcp/serverset"] = row{[]string{
		"machine/boundary", "config", "store/keyring", "llm/hosts", "extend/mcp",
		"extend/mcp/entry", "machine/sandbox",
	}, "which servers there are is said by the settings and the boundary; mcp " +
		"knows neither"}
	t["store/transcript"] = row{[]string{"llm", "store/session"}, "another form of the log is made from the log alone"}
	t["agent/hook"] = row{with(outside.may, "config", "store/journal", "store/session", "base/approved",
		"store/transcript"), "hooks are of the settings, judge calls and write their runs to the log; who opens the " +
		"session is above"}
	t["extend/format"] = row{nil, "which program formats a file is read from the project's files; who runs it is above"}
	t["conversation/language"] = row{[]string{
		"agent", "machine/boundary", "config", "event", "machine/files",
		"base/glob", "machine/files/watch", "extend/format", "machine/git", "llm", "llm/hosts", "extend/lsp", "permission",
		"machine/sandbox", "tool",
	}, "servers know functions only; this gives them the settings and the sandbox of an " +
		"instance, and their reports, with the changes of files, to its sessions"}
	t["extend/skill/locate"] = row{
		[]string{"config", "machine/git", "prompt", "extend/skill"},
		"where skills are is said by the settings, the repository and the organisation's folders; reading them needs none " +
			"of these",
	}
	t["store/journal"] = row{
		[]string{"event", "llm", "store/session"},
		"an entry and its events are one step, for all who write the log of a session",
	}
	t["conversation/extension"] = row{
		[]string{
			"agent/eval", "agent/hook", "agent/subagent", "base/approved", "config", "conversation/ruleset",
			"extend/customtool", "extend/lsp", "extend/mcp/entry", "extend/plugin", "extend/plugin/process", "extend/skill",
			"extend/skill/locate", "extend/style", "llm", "machine/boundary", "machine/sandbox", "permission",
			"permission/call", "prompt",
		},
		"skills, styles and kinds of agents know functions only; this gives them those of an instance",
	}
	t["agent/consult"] = row{
		[]string{"agent", "event", "llm", "permission", "store/session"},
		"questions and plans are turned into questions and decisions; who asks, and which calls they come from, is above",
	}
	t["conversation/approval"] = row{
		[]string{
			"agent", "machine/boundary", "config", "agent/consult", "event",
			"agent/hook", "store/journal", "llm", "machine/netproxy", "permission", "store/session",
		},
		"deciding on a call, or on a host that a command wants to reach, needs policy, a person, the small model and the " +
			"journal, and none of the tools",
	}
	t["conversation/checkpoint"] = row{
		[]string{
			"agent", "config", "event", "machine/files/transact", "machine/git",
			"permission", "store/session", "store/snapshot",
		},
		"what is saved before a call follows from its accesses and its place in the conversation; the store knows neither",
	}
	t["conversation"] = row{slices.Sorted(maps.Keys(t)), "the one place that puts the parts together"}
	t["face/port"] = row{
		[]string{"base/jsonrpc", "base/openschema", "event", "llm"},
		"the contract between a face and a session, with its wire; it knows neither of the two",
	}
	t["face/port/porttest"] = row{
		[]string{"base/await", "event", "face/port", "llm"},
		"the conformance suite serves every way to a session, so it knows none",
	}
	t["base/openschema"] = row{nil, "opening a schema is plain computation"}
	t["base/atomicfile"] = row{nil, "replacing a small file is a few system calls"}
	t["face/supervisor"] = row{
		[]string{"base/atomicfile", "face/port", "store/schedule"},
		"session processes are started and found by the port that they speak; what a session is, is theirs",
	}
	t["face/notify"] = row{
		[]string{"event", "face/port", "llm", "machine/term"},
		"what a session did becomes a line for the user's services; which those are is in the settings, which cli reads",
	}
	t["conversation/team/start"] = row{[]string{
		"agent", "conversation", "machine/git", "agent/hook", "store/session",
		"conversation/team",
	}, "a team works in a session, and its boards are a project's; cli and console start it"}
	t["ui/command"] = row{slices.Sorted(maps.Keys(t)), "slash commands act on an instance and the session in front, " +
		"and are the same for every front end, so they draw nothing and know no console"}
	t["ui/console"] = row{slices.Sorted(maps.Keys(t)), "what an interactive front end talks to: the session in front, " +
		"switching, commands, completion; so it knows app and no front end"}

	t["base/syntax"] = row{nil, "the colours of code follow from its words alone; every face shows them in its own way"}
	t["base/unified"] = row{nil, "reading a diff is plain computation"}
	t["base/gfm"] = row{nil, "where a text has its blocks and links is plain computation; every face shows them in its own way"}
	face := row{
		[]string{"event", "face/port", "llm", "store/session", "machine/term", "base/fuzzy", "base/syntax", "base/gfm", "base/unified"},
		"a front end declares the few methods it needs, so that it runs on a local session, a remote one or a fake",
	}
	t["face/web"] = row{
		[]string{
			"base/atomicfile", "base/gfm", "base/syntax", "base/unified", "event", "face/port", "llm", "machine/term",
			"permission",
		},
		"the page shows the events of a session as HTML; sessions and who may see them are given by cli, from the server",
	}
	t["ui/repl"] = face
	t["face/server"] = row{
		[]string{
			"base/atomicfile", "base/openschema", "config", "event", "face/port", "face/supervisor", "llm", "machine/files",
			"permission", "store/session",
		},
		"HTTP is a wire to the port of sessions, which the supervisor starts; stored ones, files " +
			"and settings are read without one; models and diffs are given by cli; names of secrets are permission's",
	}
	t["ui/repl"] = row{with(face.may, "llm/hosts"), face.why +
		"; its hint how to keep a key names the variables of the known hosts"}
	below := []string{
		"ui/tui/theme", "ui/tui/line", "ui/tui/markdown", "ui/tui/view", "ui/tui/keys",
		"ui/tui/editor", "ui/tui/dialog",
	}
	for i, part := range below {
		t[part] = row{with(face.may, below[:i]...), "a part of the terminal may draw with the parts before it in the " +
			"list, never the reverse"}
	}
	t["ui/tui/dialog"] = row{
		with(t["ui/tui/dialog"].may, "permission"),
		"the permission dialog shows the accesses and findings that its question carries",
	}
	t["ui/tui"] = row{with(face.may, append(slices.Clone(below), "permission")...), face.why +
		"; the names of the permission modes are permission's"}
	t["ui/dash"] = row{with(face.may, "base/atomicfile", "face/supervisor", "ui/tui", "ui/tui/theme", "ui/tui/line",
		"ui/tui/view", "ui/tui/keys"), "the screen of all sessions lists the supervisor's jobs, speaks the port to one, and " +
		"draws with the terminal's parts; how sessions are opened and started is given by cli"}
	t["face/gateway"] = row{
		[]string{"base/atomicfile", "event", "face/port", "face/supervisor", "llm", "machine/term", "permission"},
		"a host of chats is a face: it speaks the port with sessions that the supervisor starts, and knows transports by " +
			"an interface; settings and programs come from cli",
	}
	t["face/gateway/telegram"] = row{[]string{"face/gateway"}, "a transport carries messages, and knows no session"}
	t["face/gateway/teams"] = t["face/gateway/telegram"]
	t["face/gateway/telegram/fake"] = row{nil, "the counterpart of a transport is a server of its own, so it imports none"}
	t["face/gateway/teams/fake"] = t["face/gateway/telegram/fake"]
	t["fleet"] = row{
		[]string{"event", "face/port", "face/supervisor", "llm", "store/schedule"},
		"a job is a session of this machine, reached by the port; what a session is, is its process's",
	}
	t["fleet/bench"] = row{
		[]string{"event", "fleet", "llm"},
		"a trial of a benchmark is a job of the fleet with a folder and tests",
	}
	t["fleet/program"] = row{
		[]string{"config", "face/supervisor", "fleet", "fleet/bench", "machine/term"},
		"the command line of a program of its own, since the engine costs 11 MB",
	}
	t["face/acp"] = row{
		[]string{
			"base/atomicfile", "base/jsonrpc", "event", "face/port", "face/supervisor", "llm", "store/session",
		},
		"an editor speaks with session processes by the port; what is on disk of a session is in its store, and flags and " +
			"keys are cli's",
	}
	t["face/acp/acptest"] = row{nil, "the editor of the tests knows the published schema and nothing of lathe's"}
	notFleet := slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(p string) bool { return strings.HasPrefix(p, "fleet") })
	t["cli"] = row{notFleet, "the command line wires front ends to sessions; the fleet is another program, which it starts"}
	t["base/regular"] = row{nil, "reading a file that may be a pipe is a system call"}
	for _, name := range []string{ // they read files at the start
		"config", "store/keyring", "base/approved", "ui/console", "extend/mcp", "extend/mcp/entry", "extend/customtool",
		"extend/plugin", "machine/sandbox/confine", "conversation/team", "store/snapshot", "prompt", "agent/hook",
	} {
		t[name] = row{with(t[name].may, "base/regular"), t[name].why}
	}
	return t
}()

func with(a []string, b ...string) []string { return append(slices.Clone(a), b...) }

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, f := range tree(t) {
		name, ours := strings.CutPrefix(f.pkg, "internal/")
		if !ours || f.isTest() {
			continue
		}
		r, listed := table[name]
		if !listed {
			t.Errorf("%s: package %q is not in the table of internal/deps_test.go; add a row with its reason", f.path, name)
			continue
		}
		for _, p := range f.imports(t) {
			if imported, ok := strings.CutPrefix(p, modulePath+"/internal/"); ok && !slices.Contains(r.may, imported) {
				t.Errorf("%s: %s may not import %s: %s", f.path, name, imported, r.why)
			}
		}
	}
}

// layers are the folders below internal, from the top. A package imports those of its own row and of the rows below.
var layers = [][]string{
	{"cli"},
	{"ui", "face", "fleet"},
	{"conversation"},
	{"tool"},
	{"extend"},
	{"agent"},
	{"prompt", "provider"},
	{"store"},
	{"config"},
	{"event", "llm"},
	{"machine"},
	{"permission"},
	{"base"},
}

func TestImportsGoDownTheLayers(t *testing.T) {
	layer := func(name string) int {
		top, _, _ := strings.Cut(name, "/")
		return slices.IndexFunc(layers, func(row []string) bool { return slices.Contains(row, top) })
	}
	for name, r := range table {
		if layer(name) < 0 {
			t.Errorf("%s lies in no layer", name)
		}
		for _, p := range r.may {
			if layer(p) < layer(name) {
				t.Errorf("%s may import %s, which lies in a layer above", name, p)
			}
		}
	}
}

func TestCommandsImportOnlyTheCommandLine(t *testing.T) {
	for _, f := range tree(t) {
		if strings.HasPrefix(f.pkg, "internal") || f.isTest() {
			continue
		}
		if f.pkg == "client" { // for programs of others, so it knows nothing of ours
			for _, p := range f.imports(t) {
				if strings.HasPrefix(p, modulePath) {
					t.Errorf("%s may not import %s: it is for programs of others", f.path, p)
				}
			}
			continue
		}
		if top := path.Dir(f.pkg); top != "cmd" && top != "tools" {
			t.Errorf("%s: Go packages live under internal/, programs under cmd/, those for development under tools/", f.path)
		}
		for _, p := range f.imports(t) {
			// the sequences in the output of programs, and the model that programs are measured with
			dev := strings.HasPrefix(f.pkg, "tools/") && (p == modulePath+"/internal/machine/term" ||
				p == modulePath+"/internal/llm/llmtest")
			fleet := f.pkg == "cmd/lathe-fleet" && p == modulePath+"/internal/fleet/program"
			if strings.HasPrefix(p, modulePath) && p != modulePath+"/internal/cli" && !dev && !fleet {
				t.Errorf("%s: a main package is one call of cli.Main; it may not import %s", f.path, p)
			}
		}
	}
}

func TestTableNamesOnlyPackagesItLists(t *testing.T) {
	for name, r := range table {
		if r.why == "" {
			t.Errorf("%s: the row has no reason", name)
		}
		for _, p := range r.may {
			if _, ok := table[p]; !ok {
				t.Errorf("%s: the row names %q, which has no row", name, p)
			}
		}
	}
}

func TestPackageNamesSayWhatTheyHold(t *testing.T) {
	banned := []string{
		"util", "utils", "common", "helper", "helpers", "manager", "service", "core", "types", "misc",
		"base",
	}
	for dir, files := range packages(t) {
		name := files[0].ast.Name.Name
		if slices.Contains(banned, name) || slices.Contains(banned, path.Base(dir)) {
			t.Errorf("%s: the name %q says nothing of what is in it", dir, name)
		}
	}
}
