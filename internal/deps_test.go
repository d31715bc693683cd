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
		"llm":        {[]string{"fuzzy"}, "the vocabulary everyone shares knows nobody; fuzzy, which is plain computation, finds the model that a misspelled name means"},
		"permission": {[]string{"glob"}, "decisions must be testable and fuzzable alone, so they see no file, process or network; matching a pattern is plain computation"},
		"sandbox":    {[]string{"sandbox/confine"}, "what starts processes must be readable on its own, with the boundary that it starts them in"},
		"term":       {nil, "escaping is needed by every front end, and needs none of them"},
		"config":     {[]string{"files/watch", "fuzzy", "llm/hosts"}, "settings are plain data; those who use them import config, never the reverse; their files are watched with the one watcher of the process; fuzzy finds the key that a misspelled one means; the variables of providers are in the table of hosts"},

		"sandbox/confine":        {[]string{"sandbox/confine/inside"}, "the boundary is data and system calls; whose commands it holds is above"},
		"sandbox/confine/inside": {nil, "the process that confines itself runs no Go code, and the probe before anything else of lathe is initialized"},

		"netproxy": {[]string{"permission"}, "which addresses are private is the same for rules and for connections; who decides on a host is above"},
		"boundary": {[]string{"git", "netproxy", "permission", "sandbox", "sandbox/confine"}, "the policy of a session's commands is made from folders, repositories and settings, without the tools that run them; the names of secrets are those of permission"},

		"permission/permissiontest": {nil, "reading the lines of a test file needs nothing of ours"},
		"await":                     {nil, "what tests wait for is outside of lathe"},
		"term/termtest":             {[]string{"await", "term"}, "the terminal in which the tests of every front end run knows none of them"},

		"patch":        {nil, "patches are read and applied as texts; files and permissions are above"},
		"glob":         {nil, "matching a path with a stranger's pattern in bounded time is plain computation"},
		"document/pdf": {nil, "the objects of a PDF are read from its bytes alone"},

		"document/pdftest": {nil, "the files that tests read are written without the code that reads them"},

		"document": {[]string{"document/pdf", "llm", "sandbox"}, "hostile formats are read in a child process; whose files they are is above"},

		"web":         {[]string{"netproxy"}, "fetching a page needs the one judgement of which addresses are private; who may fetch is above"},
		"websearch":   {[]string{"llm"}, "the search of a model's provider is a request to the model; other engines take llm's client for HTTP"},
		"notebook":    {nil, "the cells of a notebook are read and changed as data; files and permissions are above"},
		"frontmatter": {nil, "a Markdown file with a YAML block is read the same way for skills, agents, rules and styles"},
		"style":       {[]string{"frontmatter"}, "output styles are files; where they are is said by those who know the settings"},
		"skill":       {[]string{"frontmatter", "glob"}, "finding skills and filling in their arguments touches only their files; app, which has permissions, runs their commands"},

		"skill/invoke": {[]string{"glob", "skill", "llm", "permission"}, "loading a skill makes texts of its files and lends its rules; running its commands is the session's, behind functions"},

		"fuzzy": {nil, "matching typed letters with names is plain computation, used at every level"},

		"snapshot": {[]string{"files", "git", "glob"}, "the state of files is kept and brought back without knowing who changes them"},

		"files/watch":    {nil, "changes of files are reported by path, from one connection of the process to the system; whose files they are is above"},
		"files/transact": {[]string{"files"}, "several files change together with the atomic writes of files; who changes them is above"},
		"files":          {[]string{"files/watch", "sandbox", "fuzzy"}, "finding files may start ripgrep; the index ranks paths, and hears of changes from the watcher"},
		"git":            {[]string{"sandbox"}, "git runs as a child process in the hardened environment"},

		"llm/anthropic":      {[]string{"llm", "llm/hosts"}, "a wire client knows the vocabulary and the table of hosts, not the other clients"},
		"llm/openai":         {[]string{"llm", "llm/hosts"}, "a wire client knows the vocabulary and the table of hosts, not the other clients"},
		"llm/google":         {[]string{"llm", "llm/hosts"}, "a wire client knows the vocabulary and the table of hosts, not the other clients"},
		"llm/converse":       {[]string{"llm"}, "a wire client knows the vocabulary, not the other clients"},
		"llm/cloud":          {[]string{"llm"}, "credentials of clouds authorize attempts; which provider needs them is above"},
		"llm/hosts":          {[]string{"llm"}, "the table of known hosts is data, read by settings, providers and the set-up"},
		"llm/gen":            {[]string{"llm/modelsdev"}, "the maker of the model catalogue is a program of its own"},
		"llm/modelsdev":      {nil, "turning one form of catalogue into another is plain computation"},
		"rank":               {nil, "finding texts by their words is plain computation, wanted by memory and the search for tools"},
		"compact":            {[]string{"llm"}, "how a conversation is made smaller is computed from its messages alone; who sends and stores is above"},
		"llm/llmtest":        {[]string{"llm"}, "the scripted server is a provider's counterpart, so it imports none"},
		"llm/llmtest/suite":  {[]string{"llm", "llm/llmtest"}, "the conformance suite serves every provider, so it imports none"},
		"memory":             {[]string{"frontmatter", "rank"}, "notes are files and their words; who asks before they are written is above"},
		"cost":               {[]string{"llm", "session"}, "prices are computed from a log alone"},
		"compact/onlog":      {[]string{"compact", "session", "event"}, "a compaction is written to a log by what knows both"},
		"permission/program": {[]string{"permission"}, "what a program does with its arguments is a table, known to nobody but the shell analysis"},
		"permission/shell":   {[]string{"permission", "permission/program"}, "reading a command line is pure"},

		"permission/call": {[]string{"permission", "fuzzy"}, "tools declare themselves to it, so that rules, checks and completion know them without importing them"},

		"session":     {[]string{"llm", "files"}, "a session stores messages, with the atomic writes of files"},
		"event":       {[]string{"llm", "permission"}, "events speak of messages and decisions; who makes or shows them is above"},
		"prompt":      {[]string{"llm", "files", "frontmatter", "git", "glob", "sandbox"}, "what the model is told is messages made from the folder, not from the loop"},
		"lsp/lsptest": {[]string{"lsp", "sandbox"}, "a language server with fixed answers, for the tests of all who ask one"},

		"usage": {nil, "what a process takes is a question to the system"},
		"lsp":   {[]string{"mcp/rpc", "sandbox", "usage"}, "a language server is a child process that speaks JSON-RPC; whose files they are is above"},

		"agent": {[]string{"llm", "permission", "event", "session", "fuzzy"}, "the loop knows functions and small interfaces, no tool and no front end; fuzzy finds the tool that a misspelled name means"},
	}
	t["worktree"] = row{[]string{"config", "git", "glob", "permission", "sandbox"}, "a copy of the project is made with git or by hand, as the settings say, and is where permissions hold"}
	t["subagent"] = row{[]string{"event", "frontmatter", "llm", "permission", "worktree"}, "whom a call of Task may start, and the work of one agent as functions; app opens the sessions"}
	t["best"] = row{[]string{"eval", "event", "subagent", "worktree"}, "attempts are agents in worktrees, and judges choose; sessions, git and printing are above"}
	t["team"] = row{[]string{"agent", "eval", "llm", "permission", "permission/call", "subagent", "worktree"}, "tasks, messages and merges are those of agents in worktrees; git and sessions come by way of interfaces"}
	t["ruleset"] = row{[]string{"config", "permission", "permission/call", "fuzzy"}, "settings know no rules and rules no settings; what reads one out of the other knows both and nothing else"}
	t["provider"] = row{[]string{"config", "sandbox", "llm", "llm/hosts", "llm/anthropic", "llm/openai", "llm/google", "llm/converse", "llm/cloud", "llm/llmtest", "keyring"}, "which wire client answers is said by the settings, and the key may come from a command or the keyring; a scripted model answers through the scripted server"}
	t["replay"] = row{[]string{"event", "llm"}, "a recording is the debugger's events; the wires that encode the requests to compare are behind llm.Model"}
	agent := with(t["agent"].may, "agent")
	t["tool"] = row{with(agent, "patch", "files/transact", "boundary", "netproxy", "document", "memory", "notebook", "files", "git", "glob", "sandbox", "lsp", "prompt", "permission/shell", "permission/call", "consult", "fuzzy", "rank", "subagent", "web", "websearch"), "tools are leaves: the loop sees them as agent.Tool; rank finds deferred ones by words; netproxy tells a command's clock to wait for an answer"}
	outside := row{[]string{"agent", "event", "llm", "permission", "sandbox"}, "what comes from outside sees the loop's contracts, not the built-in tools"}
	t["customtool"] = row{with(outside.may, "config", "permission/call"), "a program that is a tool is declared by files and settings, and sees the loop's contracts, not the built-in tools"}
	t["plugin/process"] = row{with(outside.may, "customtool", "mcp/rpc", "permission/call", "prompt", "usage"), "a process speaks JSON-RPC with the loop's contracts; its tools are declared like those of programs, and its texts are cleaned like those of files"}
	t["plugin"] = row{[]string{"config", "frontmatter", "sandbox", "lsp", "mcp/entry"}, "plugins are folders that the settings enable, whose servers are described as those who start them read them; what their parts do is done by those who know such parts"}
	t["eval"] = row{[]string{"agent", "event", "frontmatter", "llm", "session"}, "judges see the conversation, a diff and a check's result, by way of functions; their verdicts are entries of the log"}
	t["keyring"] = row{nil, "secrets are kept by the system or in a file; whose they are is above"}
	t["mcp/rpc"] = row{nil, "JSON-RPC with a stranger is bytes in and out; who asks what is above"}
	t["approved"] = row{nil, "an answer about a content is a file; what the content is, is above"}
	t["mcp/client"] = row{[]string{"mcp/rpc"}, "the protocol knows no tools of lathe's, no files and no processes"}
	t["mcp/entry"] = row{[]string{"approved"}, "where servers are declared is files and their approval"}
	t["mcp/remote"] = row{[]string{"mcp/rpc"}, "messages over HTTP know neither the protocol above nor settings"}
	t["mcp/serve"] = row{[]string{"mcp/client", "mcp/rpc"}, "serving the protocol knows no tools of lathe's; cli gives them"}
	t["mcp/oauth/oauthtest"] = row{nil, "the counterpart of a login is a server of its own, so it imports none of the client"}
	t["mcp/oauth"] = row{[]string{"keyring", "mcp/remote"}, "logging in to a server is HTTP and a kept secret, which reaches no address that a transport does not; who is asked for the consent is above"}
	t["mcp"] = row{with(outside.may, "approved", "permission/call", "keyring", "mcp/client", "mcp/entry", "mcp/oauth", "mcp/remote", "mcp/rpc"), outside.why}
	t["mcp/serverset"] = row{[]string{"boundary", "config", "keyring", "llm/hosts", "mcp", "mcp/entry", "sandbox"}, "which servers there are is said by the settings and the boundary; mcp knows neither"}
	t["transcript"] = row{[]string{"llm", "session"}, "another form of the log is made from the log alone"}
	t["hook"] = row{with(outside.may, "config", "journal", "session", "approved", "transcript"), "hooks are of the settings, judge calls and write their runs to the log; who opens the session is above"}
	t["registry"] = row{[]string{"agent", "consult", "customtool", "llm", "mcp", "permission/call", "plugin/process", "subagent", "tool"}, "which tools there are is asked of all that bring some; what they do is theirs"}
	t["format"] = row{nil, "which program formats a file is read from the project's files; who runs it is above"}
	t["language"] = row{[]string{"agent", "boundary", "config", "event", "files", "files/watch", "format", "git", "llm", "llm/hosts", "lsp", "permission", "sandbox", "tool"}, "servers know functions only; this gives them the settings and the sandbox of an instance, and their reports, with the changes of files, to its sessions"}
	t["command"] = row{[]string{"agent", "checkpoint", "consult", "cost", "event", "hook", "llm", "lsp", "memory", "session", "snapshot", "subagent", "fuzzy"}, "slash commands are the same for every front end, so they draw nothing; a prompt that one sends is a message of llm, and the kinds of agents are subagent's"}
	t["skill/locate"] = row{[]string{"config", "git", "prompt", "skill"}, "where skills are is said by the settings, the repository and the organisation's folders; reading them needs none of these"}
	t["journal"] = row{[]string{"event", "llm", "session"}, "an entry and its events are one step, for all who write the log of a session"}
	t["workspace"] = row{[]string{"files", "permission", "session", "tool"}, "the folders and files of a session, for those who act for the user; it knows their tracking in tool, and no conversation"}
	t["attach"] = row{[]string{"agent", "event", "files", "llm", "memory", "prompt", "session"}, "files that a prompt names are read by way of a function, so that permissions hold"}
	t["extension"] = row{[]string{"approved", "attach", "boundary", "config", "customtool", "eval", "event", "hook", "journal", "llm", "llm/hosts", "lsp", "mcp/entry", "permission", "permission/call", "prompt", "ruleset", "sandbox", "session", "skill", "skill/invoke", "skill/locate", "style", "subagent", "tool", "workspace", "websearch", "plugin", "agent", "plugin/process"}, "skills, styles and kinds of agents know functions only; this gives them those of a session"}
	t["consult"] = row{[]string{"agent", "event", "llm", "permission", "session"}, "questions and plans are turned into questions and decisions; who asks, and which calls they come from, is above"}
	t["approval"] = row{[]string{"agent", "boundary", "config", "consult", "event", "hook", "journal", "llm", "netproxy", "permission", "session", "workspace"}, "deciding on a call, or on a host that a command wants to reach, needs policy, a person, the small model and the journal, and none of the tools"}
	t["resume"] = row{[]string{"event", "llm", "session", "subagent", "tool"}, "the state beside the messages is read out of the log; who puts it in force is above"}
	t["window"] = row{[]string{"agent", "compact", "compact/onlog", "event", "journal", "llm", "permission", "session", "skill/invoke", "tool"}, "compactions are computed in compact; this joins them with the session's log, models and tools"}
	t["checkpoint"] = row{[]string{"agent", "config", "event", "files/transact", "git", "permission", "session", "snapshot"}, "what is saved before a call follows from its accesses and its place in the conversation; the store knows neither"}
	t["app"] = row{slices.Sorted(maps.Keys(t)), "the one place that puts the parts together"}
	t["team/start"] = row{[]string{"agent", "app", "git", "hook", "session", "team"}, "a team works in a session, and its boards are a project's; cli and console start it"}
	t["console"] = row{slices.Sorted(maps.Keys(t)), "what an interactive front end talks to: the session in front, switching, commands, completion; so it knows app and no front end"}

	face := row{[]string{"event", "llm", "session", "term", "fuzzy"}, "a front end declares the few methods it needs, so that it runs on a local session, a remote one or a fake"}
	t["repl"], t["server"] = face, face
	t["repl"] = row{with(face.may, "llm/hosts"), face.why + "; its hint how to keep a key names the variables of the known hosts"}
	below := []string{"tui/theme", "tui/line", "tui/syntax", "tui/markdown", "tui/view", "tui/keys", "tui/editor", "tui/dialog"}
	for i, part := range below {
		t[part] = row{with(face.may, below[:i]...), "a part of the terminal may draw with the parts before it in the list, never the reverse"}
	}
	t["tui/dialog"] = row{with(t["tui/dialog"].may, "permission"), "the permission dialog shows the accesses and findings that its question carries"}
	t["tui"] = row{with(face.may, append(slices.Clone(below), "permission")...), face.why + "; the names of the permission modes are permission's"}
	remote := row{[]string{"event", "llm"}, "a front end for machines and chats, kept as small as its stream of events"}
	t["gateway"], t["fleet"] = remote, remote
	t["cli"] = row{slices.Sorted(maps.Keys(t)), "the command line wires front ends to sessions"}
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

func TestCommandsImportOnlyTheCommandLine(t *testing.T) {
	for _, f := range tree(t) {
		if strings.HasPrefix(f.pkg, "internal") || f.isTest() {
			continue
		}
		if top := path.Dir(f.pkg); top != "cmd" && top != "tools" {
			t.Errorf("%s: Go packages live under internal/, programs under cmd/, those for development under tools/", f.path)
		}
		for _, p := range f.imports(t) {
			reads := strings.HasPrefix(f.pkg, "tools/") && p == modulePath+"/internal/term" // sequences in the output of programs
			if strings.HasPrefix(p, modulePath) && p != modulePath+"/internal/cli" && !reads {
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
	banned := []string{"util", "utils", "common", "helper", "helpers", "manager", "service", "core", "types", "misc", "base"}
	for dir, files := range packages(t) {
		name := files[0].ast.Name.Name
		if slices.Contains(banned, name) || slices.Contains(banned, path.Base(dir)) {
			t.Errorf("%s: the name %q says nothing of what is in it", dir, name)
		}
	}
}
