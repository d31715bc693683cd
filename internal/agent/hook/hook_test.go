package hook_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// machine makes the hooks of a user with these settings.
func machine(t testing.TB, settings string, given ...hook.Group) *hook.Machine {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "p")
	for _, d := range []string{dir, filepath.Join(home, ".claude")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{
		Dir: dir, Home: home, Environ: []string{"HOME=" + home},
		ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	return &hook.Machine{
		Config: func() *config.Config { return c }, Given: given, Root: dir, Runner: runner,
		Environ: func(bool) []string { return []string{"PATH=" + os.Getenv("PATH"), "TOKEN=t0ken", "OTHER=x"} },
	}
}

// open makes the hooks of a session that keeps nothing.
func open(t testing.TB, m *hook.Machine) (*hook.Hooks, *event.Bus) {
	t.Helper()
	bus := event.NewBus()
	t.Cleanup(bus.Close)
	h, err := m.New(hook.Session{
		Journal: journal.New(nil, bus, nil), Dir: func() string { return m.Root },
		Mode:   func() permission.Mode { return permission.Plan },
		Effort: func() llm.Effort { return "" }, Model: func() llm.ModelInfo { return llm.ModelInfo{} }, Life: t.Context(),
		Interactive: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, bus
}

func try(t testing.TB, settings, name, fields string) []hook.Run {
	t.Helper()
	h, _ := open(t, machine(t, settings))
	var in map[string]any
	if err := json.Unmarshal([]byte(fields), &in); err != nil {
		t.Fatal(err)
	}
	runs, err := h.Try(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestMatchersAreListsOrExpressions(t *testing.T) {
	for matcher, want := range map[string]string{
		"": "Bash Write Task mcp__a__b", "*": "Bash Write Task mcp__a__b", "Bash": "Bash", "Bash|Write": "Bash Write",
		"Bash, Write": "Bash Write",
		"bash":        "", "Agent": "Task", "mcp__a": "", "mcp__a__.*": "mcp__a__b", "^Wr": "Write",
		"B.sh|Task": "Bash Task", "MultiEdit": "",
		"^(?!Bash$)": "Write Task mcp__a__b", "^mcp__(?!b__).*": "mcp__a__b", "(?<=mcp__)b": "",
		"(?<server>a)__b": "mcp__a__b",
	} {
		var got []string
		for _, tool := range []string{"Bash", "Write", "Task", "mcp__a__b"} {
			settings := `{"hooks": {"PreToolUse": [{"matcher": "` + matcher +
				`", "hooks": [{"type": "command", "command": "true"}]}]}}`
			if len(try(t, settings, "PreToolUse", `{"tool_name": "`+tool+`", "tool_input": {}}`)) > 0 {
				got = append(got, tool)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("the matcher %q matches %q, want %q", matcher, s, want)
		}
	}
}

func TestAnExpressionThatTakesTooLongCountsAsMatching(t *testing.T) {
	const endless = `^(?=x)(x+x+)+y`
	settings := `{"hooks": {"PreToolUse": [{"matcher": "` + endless +
		`", "hooks": [{"type": "command", "command": "true"}]}]}}`
	if len(try(t, settings, "PreToolUse", `{"tool_name": "`+strings.Repeat("x", 64)+`-", "tool_input": {}}`)) != 1 {
		t.Error("the hook did not run")
	}
	if len(try(t, settings, "PreToolUse", `{"tool_name": "Bash", "tool_input": {}}`)) != 0 {
		t.Error("the hook ran for a name that cannot match")
	}
}

func TestEqualHandlersRunOnce(t *testing.T) {
	one := `{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}, {"command": "true", "type":"command", "timeout": 5}, {"type": "command",  "command": "true"}]}`
	if runs := try(t, `{"hooks": {"PreToolUse": [`+one+`]}}`, "PreToolUse", `{"tool_name": "Bash"}`); len(runs) != 2 {
		t.Errorf("%d runs, want 2", len(runs))
	}
}

func TestRequestsGoToTheAddressWithTheNamedVariablesOnly(t *testing.T) {
	var mu sync.Mutex
	var got []string
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, r.URL.Path+" "+r.Header.Get("X-A")+" "+r.Header.Get("X-B")+" "+string(body))
		mu.Unlock()
		switch r.URL.Path {
		case "/deny":
			_,
				_ = io.WriteString(w,
				`{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not today"}}`)
		case "/text":
			_, _ = io.WriteString(w, "hello")
		case "/moved":
			http.Redirect(w, r, "/deny", http.StatusTemporaryRedirect)
		case "/broken":
			http.Error(w, `{"decision": "block"}`, http.StatusInternalServerError)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(answer))
	defer srv.Close()
	for path, want := range map[string]string{
		"/deny": "deny not today ", "/empty": "  ",
		"/text": "  the answer is neither empty", "/moved": "  127.0.0.1", "/broken": "  127.0.0.1",
	} {
		settings := `{"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "` + srv.URL + path +
			`", "headers": {"X-A": "a $TOKEN", "X-B": "${OTHER}!"}, "allowedEnvVars": ["TOKEN"]}]}]}}`
		runs := try(t, settings, "PreToolUse", `{"tool_name": "Bash", "tool_input": {"command": "ls"}}`)
		word, why := runs[0].Verdict()
		text := word + " " + why + " "
		if runs[0].Err != nil {
			text += runs[0].Err.Error()
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: got %q, want %q", path, text, want)
		}
	}
	for _, g := range got {
		if !strings.Contains(g, " a t0ken ! ") || !strings.Contains(g, `"tool_input":{"command":"ls"}`) {
			t.Errorf("got %q", g)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d requests, want 5: a redirect was followed", len(got))
	}
}

func TestExitCodesAndOutputs(t *testing.T) {
	for command, want := range map[string]string{
		`exit 0`:              "",
		`echo plain`:          "",
		`echo no >&2; exit 2`: "deny no",
		`echo '{"reason":"r","decision":"block"}'`:                                                                            "deny r",
		`echo '{"decision":"approve","reason":"fine"}'`:                                                                       "allow fine",
		`echo '{"continue":false,"stopReason":"enough"}'`:                                                                     "stop enough",
		`echo '{"hookSpecificOutput":{"permissionDecision":"defer"}}'`:                                                        "ask ",
		`echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'; exit 2`:                                                "deny a hook blocked it",
		`echo '{"hookSpecificOutput":{"permissionDecision":"yes"}}'`:                                                          "failed",
		`echo '{"hookSpecificOutput":{"hookEventName":"Stop"}}'`:                                                              "failed",
		`echo '{"decision":"approve","hookSpecificOutput":{"permissionDecision":"yes"}}'`:                                     "failed",
		`echo '{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"Stop"}}'`:                              "failed",
		`echo '{"decision":"approve","hookSpecificOutput":{"hookEventName":"Stop"}}'; echo no >&2; exit 2`:                    "deny no",
		`echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}'; echo broken >&2; exit 1`: "deny r",
		`echo '{broken'`:            "failed",
		`echo oops; exit 1`:         "failed",
		`kill -9 $$`:                "failed",
		`head -c 3000000 /dev/zero`: "",
	} {
		settings,
			err := json.Marshal(
			map[string]any{"hooks": map[string]any{"PreToolUse": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		r := try(t, string(settings), "PreToolUse", `{"tool_name": "Bash"}`)[0]
		got := ""
		if word, why := r.Verdict(); word != "" {
			got = word + " " + why
		} else if r.Err != nil {
			got = "failed"
		}
		if got != want {
			t.Errorf("%s: got %q (%v), want %q", command, got, r.Err, want)
		}
	}
}

func TestAProgramWithArgumentsRunsWithoutAShell(t *testing.T) {
	r := try(t,
		`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "printf", "args": ["%s", "$HOME; ${CLAUDE_PROJECT_DIR}"]}]}]}}`, "UserPromptSubmit", `{"prompt": "x"}`)[0]
	if text := r.Context(); !strings.HasPrefix(text, "$HOME; /") || !strings.HasSuffix(text, "/p") {
		t.Errorf("got %q", text)
	}
}

func TestTheFoldersInACommandAreFilledIn(t *testing.T) {
	for command, want := range map[string]string{
		`cat '${CLAUDE_PROJECT_DIR}'/a; cat "${CLAUDE_PROJECT_DIR}/a"; cat $CLAUDE_PROJECT_DIR/a`: "aaa",
		`echo '${OTHER}'`: "${OTHER}",
	} {
		text, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		m := machine(t, `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": `+string(text)+`}]}]}}`)
		if err := os.WriteFile(filepath.Join(m.Root, "a"), []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
		h, _ := open(t, m)
		runs, err := h.Try(t.Context(), "UserPromptSubmit", map[string]any{"prompt": "x"})
		if err != nil || runs[0].Context() != want {
			t.Errorf("%s: got %q, %v, %v; want %q", command, runs[0].Context(), runs[0].Err, err, want)
		}
		m.Root += "/$(touch planted)'; touch planted; '" // nothing in the name of a folder is run
		if err := os.MkdirAll(m.Root, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Try(t.Context(), "UserPromptSubmit", map[string]any{"prompt": "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(m.Root, "planted")); err == nil {
			t.Error("the name of the folder was run")
		}
	}
}

func TestPowerShellGetsTheFoldersAsItNamesVariables(t *testing.T) {
	bin := t.TempDir()
	put(t, filepath.Join(bin, "pwsh"), "#!/bin/sh\necho \"$3\"\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	m := machine(t,
		`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "shell": "powershell", "command": "& ${CLAUDE_PROJECT_DIR}/x.ps1"}]}]}}`)
	h, _ := open(t, m)
	for _, want := range []string{"& " + m.Root + "/x.ps1", "& ${env:CLAUDE_PROJECT_DIR}/x.ps1"} {
		runs, err := h.Try(t.Context(), "UserPromptSubmit", map[string]any{"prompt": "x"})
		if err != nil || runs[0].Context() != want {
			t.Errorf("got %q, %v, %v; want %q", runs[0].Context(), runs[0].Err, err, want)
		}
		m.Root += "/a b"
		if err := os.MkdirAll(m.Root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnlyHooksOfSkillsRunOnce(t *testing.T) {
	const text = `{"PreToolUse": [{"hooks": [{"type": "command", "once": true, "command": "true"}]}]}`
	var hooks any
	if err := json.Unmarshal([]byte(text), &hooks); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"settings": 3, "agent": 3, "skill": 1} {
		m := machine(t, `{}`)
		if kind == "settings" {
			m = machine(t, `{"hooks": `+text+`}`)
		}
		h, _ := open(t, m)
		if kind != "settings" {
			if err := h.Use(t.Context(), hook.Scope{Kind: kind, Name: "x", File: "x.md", Hooks: hooks}); err != nil {
				t.Fatal(err)
			}
		}
		got := 0
		for range 3 {
			runs, err := h.Try(t.Context(), "PreToolUse", map[string]any{"tool_name": "Bash"})
			if err != nil {
				t.Fatal(err)
			}
			got += len(runs)
		}
		if got != want {
			t.Errorf("%s: %d runs, want %d", kind, got, want)
		}
	}
}

func TestVariablesOfSessionStartReachCommands(t *testing.T) {
	h,
		_ := open(t,
		machine(t,
			`{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "printf 'export A=1\\nB=\"$A$A\"\\nexport PATH=/x:$PATH\\nexport C='\"'\"'$A'\"'\"'\\n# D=2\\nrm -rf x\\n' > $CLAUDE_ENV_FILE"}]}]}}`))
	if _, err := h.Try(t.Context(), "SessionStart", map[string]any{"source": "startup"}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(h.Overlay([]string{"PATH=/bin", "Z=1"}), "\n")
	if want := "Z=1\nA=1\nB=11\nPATH=/x:/bin\nC=$A"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestAHookThatProtectsAndCannotBeReadIsAnError(t *testing.T) {
	for settings, want := range map[string]string{
		`{"PreToolUse": [{"hooks": [{"type": "command"}]}]}`:                     `needs "command"`,
		`{"UserPromptSubmit": [{"hooks": [{"type": "shell", "command": "x"}]}]}`: "cannot have the type",
		`{"Stop": [{"matcher": "x"}]}`:                                           "no list",
		`{"PreToolUse": [{"matcher": "a(", "hooks": []}]}`:                       "no regular expression",
		`{"PreToolUse": [{"hooks": [{"type": "http", "url": "file:///x"}]}]}`:    "http or https",
	} {
		if err := machine(t, `{"hooks": `+settings+`}`).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", settings, err, want)
		}
	}
	m := machine(t,
		`{"hooks": {"PostToolUse": [{"hooks": [{"type": "x"}]}], "SessionStart": [{"hooks": [{"type": "prompt", "prompt": "x"}]}], "Nothing": [{"hooks": []}]}}`)
	if err := m.Check(); err != nil || len(m.Notes()) != 3 {
		t.Errorf("got %v and the notes %q, want three notes", err, m.Notes())
	}
}

func TestAHostsHooksAreCalledByTheirIDs(t *testing.T) {
	var got string
	call := func(_ context.Context, id string, input json.RawMessage, use string) (json.RawMessage, error) {
		got = id + " " + use + " " + string(input)
		return json.RawMessage(`{"decision": "block", "reason": "the host says no"}`), nil
	}
	m := machine(t, `{"disableAllHooks": true}`, hook.Group{
		Event: "PreToolUse",
		JSON:  json.RawMessage(`{"matcher": "Bash", "hookCallbackIds": ["hook_0"]}`), From: "the host", Call: call,
	})
	m.SwitchOff(true)
	h, _ := open(t, m)
	runs, err := h.Try(t.Context(), "PreToolUse", map[string]any{
		"tool_name": "Bash", "tool_input": map[string]any{},
		"tool_use_id": "toolu_1",
	})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if word, why := runs[0].Verdict(); word != "deny" || why != "the host says no" || !strings.HasPrefix(got,
		"hook_0 toolu_1 {") || !strings.Contains(got, `"permission_mode":"plan"`) {
		t.Errorf("got %s %s after %s", word, why, got)
	}
}

func TestAQuestionThatNobodyAnswersIsNotified(t *testing.T) {
	m := machine(t,
		`{"hooks": {"Notification": [{"matcher": "permission_prompt", "hooks": [{"type": "command", "command": "cat > told"}]}]}}`)
	h, _ := open(t, m)
	h.Watch(event.Asked{ID: "q1", Question: event.Question{Title: "Bash"}})
	h.Watch(event.Asked{ID: "q2", Question: event.Question{Title: "Write"}})
	h.Watch(event.Answered{ID: "q1"})
	var text []byte
	for deadline := time.Now().Add(30 * time.Second); len(text) == 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		text, _ = os.ReadFile(filepath.Join(m.Root, "told"))
	}
	if !strings.Contains(string(text), "permission to use Write") {
		t.Errorf("got %q", text)
	}
}

func BenchmarkCallWithAHook(b *testing.B) {
	h,
		_ := open(b,
		machine(b, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "/bin/true", "args": []}]}]}}`))
	fields := map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}}
	for b.Loop() {
		if _, err := h.Try(context.Background(), "PreToolUse", fields); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProcessAlone(b *testing.B) {
	runner := sandbox.New()
	defer runner.Close()
	for b.Loop() {
		if _, err := runner.Run(context.Background(), sandbox.Spec{
			Argv: []string{"/bin/true"}, Env: []string{},
			Stdin: strings.NewReader("{}"),
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHooksRefuseTasksAndChangesOfSettings(t *testing.T) {
	h, _ := open(t, machine(t, `{"hooks": {
		"TaskCreated": [{"hooks": [{"type": "command", "command": "grep -q '\"task_subject\":\"bad\"' && { echo no such task >&2; exit 2; }; exit 0"}]}],
		"ConfigChange": [{"matcher": "project_settings|policy_settings", "hooks": [{"type": "command", "command": "echo '{\"decision\":\"block\",\"reason\":\"frozen\"}'"}]}]
	}}`))
	if err := h.TaskCreated(t.Context(), hook.Task{ID: "1", Subject: "good"}); err != nil {
		t.Error(err)
	}
	if err := h.TaskCreated(t.Context(), hook.Task{ID: "2", Subject: "bad"}); err == nil || !strings.Contains(err.Error(),
		"no such task") {
		t.Errorf("got %v", err)
	}
	change := func(l config.Layer) error {
		return h.ConfigChange([]config.Change{{Path: "model", Origin: config.Origin{Layer: l, File: "/x"}}})
	}
	if err := change(config.Project); err == nil || !strings.Contains(err.Error(), "frozen") {
		t.Errorf("a project's change: %v", err)
	}
	for _, l := range []config.Layer{config.User, config.Managed, config.Flags} {
		if err := change(l); err != nil {
			t.Errorf("layer %v: %v", l, err)
		}
	}
}

func TestAHookMakesWorktrees(t *testing.T) {
	m := machine(t,
		`{"hooks": {"WorktreeCreate": [{"hooks": [{"type": "command", "command": "mkdir -p made && echo making && echo made"}]}]}}`)
	h, _ := open(t, m)
	path, ok, err := h.CreateWorktree(t.Context(), "x")
	if want := filepath.Join(m.Root, "made"); err != nil || !ok || path != want {
		t.Errorf("got %q, %v, %v; want %q", path, ok, err, want)
	}
	for command, want := range map[string]string{"echo no room >&2; exit 1": "no room", "true": "printed no path"} {
		h, _ := open(t, machine(t, `{"hooks": {"WorktreeCreate": [{"hooks": [{"type": "command", "command": "`+command+
			`"}]}]}}`))
		if _, ok, err := h.CreateWorktree(t.Context(), "x"); !ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", command, ok, err)
		}
	}
	if _, ok, _ := (*hook.Hooks)(nil).CreateWorktree(t.Context(), "x"); ok {
		t.Error("without hooks one made a worktree")
	}
}

func TestOnlyNotificationsReachTheTerminal(t *testing.T) {
	for sequence, want := range map[string]string{
		`\u001b]0;title\u0007`:                       "\x1b]0;title\a",
		`\u001b]9;done\u001b\\x`:                     "\x1b]9;done\a",
		`\u0007`:                                     "\a",
		`\u001b]52;c;aGk=\u0007\u001b]2;t\u0007`:     "\x1b]2;t\a",
		`\u001b[2Jforged`:                            "",
		`\u001b]0;a\u001b]0;b\u0007`:                 "\x1b]0;b\a",
		`\u001b]0;no end`:                            "",
		`\u001b]777;notify;a;` + "\u0085" + `\u0007`: "",
	} {
		h,
			bus := open(t,
			machine(t,
				`{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "printf '%s' '{\"terminalSequence\": \"`+
					strings.ReplaceAll(sequence, `\`, `\\`)+`\"}'"}]}]}}`))
		sub := bus.Subscribe(t.Context(), event.Options{})
		h.Notify(t.Context(), "x", "y")
		bus.Close()
		got := ""
		for e := range sub.All(t.Context()) {
			if b, ok := e.Body.(event.Terminal); ok {
				got += b.Sequence
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", sequence, got, want)
		}
	}
}

func TestTheStrictestAnswerToAnElicitationCounts(t *testing.T) {
	h, _ := open(t, machine(t, `{"hooks": {"Elicitation": [
		{"matcher": "a", "hooks": [
			{"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"action\":\"accept\",\"content\":{\"x\":1}}}'"}]},
		{"matcher": "b", "hooks": [
			{"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"action\":\"accept\"}}'"},
			{"type": "command", "command": "exit 2"}]}
	]}}`))
	for server, want := range map[string]string{"a": `accept {"x":1}`, "b": "decline ", "c": " "} {
		action, content, ok := h.Elicit(t.Context(), server, map[string]any{"message": "?"})
		if got := action + " " + string(content); got != want || ok != (server != "c") {
			t.Errorf("%s: got %q, %v; want %q", server, got, ok, want)
		}
	}
}

func TestAHookInTheBackgroundWakesTheSession(t *testing.T) {
	h,
		_ := open(t,
		machine(t,
			`{"hooks": {"Notification": [{"hooks": [{"type": "command", "asyncRewake": true, "command": "echo the build broke >&2; exit 2"}]}]}}`))
	woken := make(chan struct{})
	h.Wakes(func() { close(woken) })
	h.Notify(t.Context(), "x", "y")
	<-woken
	m, ok := h.News()
	if !ok || !strings.Contains(m.PlainText(), "the build broke") {
		t.Errorf("got %v %q", ok, m.PlainText())
	}
	if _, again := h.News(); again {
		t.Error("the news came twice")
	}
}

func TestHooksOfPluginsFollowThePlugins(t *testing.T) {
	m := machine(t, `{}`)
	version, text := uint64(1), "one"
	m.PluginsVersion = func() uint64 { return version }
	m.Plugins = func() []hook.Group {
		return []hook.Group{{Event: "Stop", JSON: json.RawMessage(`{"hooks": [{"type": "command", "command": "echo ` + text +
			`"}]}`), From: "a plugin"}}
	}
	for _, want := range []string{"one", "two"} {
		if list := m.List(); len(list) != 1 || list[0].Text() != "echo "+want {
			t.Errorf("got %+v, want echo %s", list, want)
		}
		version, text = version+1, "two"
	}
	m.SwitchOff(true)
	if list := m.List(); len(list) != 0 {
		t.Errorf("switched off, but %+v", list)
	}
}

// An agent in the background that waits for the user is told apart from a question of the conversation in front.
func TestTheQuestionOfAnAgentInTheBackgroundIsNotifiedAsSuch(t *testing.T) {
	m := machine(t,
		`{"hooks": {"Notification": [{"matcher": "agent_needs_input", "hooks": [{"type": "command", "command": "cat > told.new; mv told.new told"}]}]}}`)
	log, err := session.NewStore(t.TempDir()).Create(t.Context(), session.Meta{Dir: m.Root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	bus := event.NewBus()
	t.Cleanup(bus.Close)
	parent, _ := open(t, m)
	h, err := m.New(hook.Session{
		Journal: journal.New(log, bus, nil), Dir: func() string { return m.Root }, Effort: func() llm.Effort { return "" },
		Life: t.Context(), Interactive: true, Agent: "Plan", Main: parent,
		Background: func() []event.BackgroundTask { return []event.BackgroundTask{{ID: log.ID(), Agent: "Plan"}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	h.Watch(event.Asked{ID: "q", Question: event.Question{Title: "Bash"}})
	told := filepath.Join(m.Root, "told")
	await.Until(func() bool { _, err := os.Stat(told); return err == nil })
	text, _ := os.ReadFile(told)
	if !strings.Contains(string(text), "the agent Plan needs your permission to use Bash") ||
		!strings.Contains(string(text), `"title":"An agent waits for you"`) {
		t.Errorf("%s", text)
	}
}

func TestTheTimeOfSessionEndComesFromTheEnvironment(t *testing.T) {
	for text, want := range map[string]string{"150": "within 150ms", "nonsense": "within 1.5s"} {
		m := machine(t, `{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 1000"}]}]}}`)
		environ := m.Environ
		m.Environ = func(foreign bool) []string {
			return append(environ(foreign), "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS="+text)
		}
		h, bus := open(t, m)
		events := bus.Subscribe(t.Context(), event.Options{})
		h.BeginNow(t.Context())
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		events.Close()
		said := ""
		for e := range events.All(t.Context()) {
			if r, ok := e.Body.(event.HookRun); ok && r.Event == "SessionEnd" {
				said = r.Err
			}
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", text, said, want)
		}
	}
}
