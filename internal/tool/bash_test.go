//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// bashIn makes the Env of a session in a fresh folder, with a fixed shell.
func bashIn(t testing.TB, shell string) *tool.Env {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	env, err := tool.NewEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Runner.Close)
	env.Shell = shell
	return env
}

// runBash runs one command through Prepare and Run.
func runBash(t testing.TB, ctx context.Context, env *tool.Env, in map[string]any) *agent.Result {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := toolOf(env, "Bash").Prepare(ctx, llm.ToolCall{ID: "call_1", Name: "Bash", Input: b})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func textOf(r *agent.Result) string { return llm.ToolResult{Parts: r.Parts}.PlainText() }

// bash runs a command line and returns the text for the model.
func bash(t testing.TB, env *tool.Env, command string) string {
	t.Helper()
	return textOf(runBash(t, t.Context(), env, map[string]any{"command": command}))
}

var shells = []string{"bash", "zsh", "sh"}

// inShell is bashIn for a shell that may not be installed.
func inShell(t *testing.T, sh string) *tool.Env {
	t.Helper()
	if _, err := exec.LookPath(sh); err != nil {
		t.Skipf("%s is not installed", sh)
	}
	return bashIn(t, sh)
}

func TestBashGivesTheOutputInOrder(t *testing.T) {
	t.Setenv("FORCE_COLOR", "1")
	t.Setenv("COLORTERM", "truecolor")
	for _, sh := range shells {
		t.Run(sh, func(t *testing.T) {
			env := inShell(t, sh)
			for command, want := range map[string]string{
				"echo out; echo err >&2; echo out2":         "out\nerr\nout2",
				"true":                                      "(no output)",
				"printf 'no newline'":                       "no newline",
				"cat":                                       "(no output)",
				"echo a; exit 3":                            "Exit code 3\na",
				"exit 4":                                    "Exit code 4",
				"kill -9 $$":                                "Exit code 137 (ended by a signal: killed)",
				"cat <<'E'\n$HOME 'x' \"y\"\nE":             "$HOME 'x' \"y\"",
				"echo \"[$1][$*][$#]\"":                     "[][][0]",
				"# only a comment":                          "(no output)",
				"  echo 'quo''ted'  ":                       "quoted",
				"-x 2>/dev/null; true":                      "(no output)",
				"echo a && (exit 1) || echo b":              "a\nb",
				"set -e; false; echo not here":              "Exit code 1",
				"for i in 1 2; do\n  echo $i\ndone":         "1\n2",
				"echo $LATHE $CLAUDECODE $TERM $PAGER":      "1 1 dumb cat",
				"echo $NO_COLOR:$FORCE_COLOR$COLORTERM":     "1:",
				"grep -q nothing /dev/null":                 "(Exit code 1: no lines matched)",
				"echo x | grep nothing":                     "(Exit code 1: no lines matched)",
				"[ 1 = 2 ]":                                 "(Exit code 1: the condition is false)",
				"echo a >f1; echo b >f2; diff -q f1 f2":     "Files f1 and f2 differ\n\n(Exit code 1: the files differ)",
				"git --version >/dev/null; false | grep -q": "Exit code 2",
			} {
				got := bash(t, env, command)
				if strings.HasPrefix(want, "Exit code 2") {
					got, _, _ = strings.Cut(got, "\n")
				}
				if got != want {
					t.Errorf("%q: got %q, want %q", command, got, want)
				}
			}
		})
	}
}

func TestBashKeepsTheWorkingFolder(t *testing.T) {
	for _, kind := range shells {
		t.Run(kind, func(t *testing.T) {
			env := inShell(t, kind)
			root := env.Roots.First()
			for _, tt := range []struct{ command, want string }{
				{"cd sub", "sub"},
				{"cd deep && false", "sub/deep"},
				{"cd ..; exit 7", "sub"},
				{"(cd deep); cd deep | cat", "sub"},
				{"cd deep; set -e; false; cd ..", "sub/deep"},
				{"set -u; set -x; cd ..; echo $unset_variable", "sub"},
				{"cd deep; PWD=/tmp; OLDPWD=/; pwd() { echo /tmp; }", "sub/deep"},
				{"cd ..; echo /tmp >&3; printf '/tmp\\n'", "sub"},
				{"cd deep; exec >/dev/null 2>&1 3>&1", "sub/deep"},
				{"cd ..; set -C; set -f; IFS=/", "sub"},
				{"cd deep; trap 'cd /' INT; trap 'true' TERM", "sub/deep"},
				{"cd .. ; sleep 1000 & true", "sub"},
				{"cd deep; kill -9 $$", "sub"},
				{"cd nowhere", "sub"},
				{"cd deep; if true; then", "sub"},
				{"cd deep\n)", "sub"},
			} {
				bash(t, env, tt.command)
				want := filepath.Join(root, tt.want)
				if kind != "bash" && strings.HasPrefix(tt.command, "cd deep\n)") { // whether the first line runs differs
					env.Dir.Set(want)
				}
				if env.Dir.Get() != want && !strings.HasPrefix(tt.command, "cd deep\n)") {
					t.Errorf("after %q: in %s, want %s", tt.command, env.Dir.Get(), want)
				}
				env.Dir.Set(want)
				if got := bash(t, env, "command pwd -P"); got != want {
					t.Errorf("after %q: the next command runs in %s, want %s", tt.command, got, want)
				}
			}
		})
	}
}

func TestBashKeepsTheWorkingFolderBesideTrapsOfTheCommand(t *testing.T) {
	for _, sh := range []string{"bash", "zsh"} {
		t.Run(sh, func(t *testing.T) {
			env := inShell(t, sh)
			for command, want := range map[string]string{
				`trap 'echo "bye $?"' EXIT; cd sub; exit 3`:                     "Exit code 3\nbye 3",
				`cd sub; trap 'echo one' EXIT; trap 'echo "it'"'"'s two"' EXIT`: "it's two",
				`trap 'echo never' EXIT; trap - EXIT; cd sub; exit 0`:           "(no output)",
				`trap "rm -f x" 0; cd sub; set -e; false`:                       "Exit code 1",
				`cd sub; (trap 'echo inner; cd /' EXIT; cd deep); exit 0`:       "inner",
				`f() { trap 'echo outer' EXIT; }; ` + map[string]string{"bash": "f; ", "zsh": ""}[sh] +
					`cd sub`: map[string]string{"bash": "outer", "zsh": "(no output)"}[sh],
			} {
				env.Dir.Set(env.Roots.First())
				if got := bash(t, env, command); got != want {
					t.Errorf("%s: got %q, want %q", command, got, want)
				}
				if want := filepath.Join(env.Roots.First(), "sub"); env.Dir.Get() != want {
					t.Errorf("%s: ended in %s", command, env.Dir.Get())
				}
			}
		})
	}
}

func TestBashResetsAFolderOutsideTheRoots(t *testing.T) {
	env := bashIn(t, "bash")
	root := env.Roots.First()
	note := "Shell cwd was reset to " + root
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	readOnly, added := t.TempDir(), t.TempDir()
	if err := env.Roots.Add(readOnly, true); err != nil {
		t.Fatal(err)
	}
	if err := env.Roots.Add(added, false); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"cd / && pwd":               "/\n\n" + note,
		"cd link":                   note,
		"cd sub; cd /; exit 3":      "Exit code 3\n\n" + note,
		"cd " + readOnly:            note,
		"mkdir g; cd g; rmdir ../g": note,
	} {
		if got := bash(t, env, command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
		if env.Dir.Get() != root {
			t.Errorf("%s: in %s", command, env.Dir.Get())
		}
	}
	bash(t, env, "cd "+added)
	if real, _ := filepath.EvalSymlinks(added); env.Dir.Get() != real {
		t.Errorf("an added root was refused: in %s", env.Dir.Get())
	}
	env.Dir.Set(filepath.Join(root, "vanished"))
	if got := bash(t, env, "pwd"); !strings.Contains(got, root) || !strings.Contains(got, "vanished is gone") {
		t.Errorf("a vanished folder: got %q", got)
	}
}

func TestBashGoesOnFromTheNearestFolderThatExists(t *testing.T) {
	env := bashIn(t, "bash")
	root := env.Dir.Get()
	if err := os.MkdirAll(filepath.Join(root, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	bash(t, env, "cd a/b/c")
	got := bash(t, env, "rm -r "+root+"/a/b")
	if !strings.Contains(got, "is gone; the next command runs in "+root+"/a.") || env.Dir.Get() != root+"/a" {
		t.Errorf("%q, then in %s", got, env.Dir.Get())
	}
	if err := os.Remove(root + "/a"); err != nil { // by somebody else
		t.Fatal(err)
	}
	got = bash(t, env, "pwd")
	if !strings.HasPrefix(got, root+"\n") || !strings.Contains(got, "is gone; this ran in "+root+",") ||
		env.Dir.Get() != root {
		t.Errorf("%q, then in %s", got, env.Dir.Get())
	}
	got = bash(t, env, "rm -r "+root) // the session's own
	if !strings.Contains(got, "is gone; the next command runs in "+filepath.Dir(root)+".") {
		t.Errorf("%q", got)
	}
	got = bash(t, env, "echo on")
	if !strings.HasPrefix(got, "on\n") || !strings.Contains(got, "the nearest that exists") {
		t.Errorf("%q", got)
	}
}

func TestBashSaysThatOutputIsNoText(t *testing.T) {
	env := bashIn(t, "bash")
	if got := bash(t, env, `printf '\0\0\0'`); got != "(3 bytes of output, none of it text)" {
		t.Errorf("%q", got)
	}
}

func TestOutputIsSavedUpToALimit(t *testing.T) {
	env := bashIn(t, "bash")
	r := runBash(t, t.Context(), env, map[string]any{"command": "yes | head -c 70000000"})
	path, _ := r.Meta["persistedOutputPath"].(string)
	t.Cleanup(func() { _ = os.Remove(path) })
	info, err := os.Stat(path)
	if err != nil || info.Size() != tool.BashKept || !strings.Contains(text(r),
		"Of the 66.8 MB of output the file has the first 64.0 MB.") {
		t.Errorf("%v, %v: %s", info, err, text(r)[max(0, len(text(r))-300):])
	}
}

func TestACommandPastItsTimeIsEndedWhereNoMoreMayRunInTheBackground(t *testing.T) {
	env := bashIn(t, "bash")
	if err := env.Background.Close(); err != nil {
		t.Fatal(err)
	}
	r := runBash(t, t.Context(), env, map[string]any{"command": "echo before; sleep 1000; echo after", "timeout": 200})
	want := "Command timed out after 200ms. It was ended with everything it had started"
	if !strings.HasPrefix(textOf(r), want) || !strings.Contains(textOf(r), "\nbefore") || !r.IsError ||
		!r.View.(event.Command).TimedOut || r.Meta["timedOutAfterMs"] != int64(200) {
		t.Errorf("got %q, %+v", textOf(r), r)
	}
}

func TestBashCancelKeepsTheOutputSoFar(t *testing.T) {
	env := bashIn(t, "bash")
	ctx, cancel := context.WithCancel(t.Context())
	ctx = agent.WithOutput(ctx, func(s string) {
		if strings.Contains(s, "up") {
			cancel()
		}
	})
	r := runBash(t, ctx, env, map[string]any{"command": "echo up; sleep 1000"})
	// bash may add that its child was "Terminated".
	if want := "Command was interrupted before it ended.\nup"; !strings.HasPrefix(textOf(r), want) || !r.IsError ||
		r.Meta["interrupted"] != true {
		t.Errorf("got %q", textOf(r))
	}
}

func TestBashEndsBackgroundProcessesAndSaysSo(t *testing.T) {
	env := bashIn(t, "bash")
	got := bash(t, env, "sleep 1000 & echo $!; sleep 1000 &")
	pid, rest, _ := strings.Cut(got, "\n\n")
	if want := "2 processes were left running in the background and ended with the command."; rest != want {
		t.Errorf("got %q", got)
	}
	if err := exec.Command("kill", "-0", pid).Run(); err == nil {
		t.Error("the process still runs")
	}
}

func TestBashShowsHeadAndTailOfLongOutputAndKeepsAllOfIt(t *testing.T) {
	env := bashIn(t, "bash")
	env.Limits.BashOutput = 1000
	r := runBash(t, t.Context(), env, map[string]any{"command": "seq 1 2000; printf '\\033[31mend\\033[0m'"})
	text, view := textOf(r), r.View.(event.Command)
	all, err := os.ReadFile(view.OutputRef)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(view.OutputRef)
	want, _ := exec.Command("bash", "-c", "seq 1 2000; printf '\\033[31mend\\033[0m'").Output()
	if diff := cmp.Diff(string(want), string(all)); diff != "" {
		t.Errorf("the file differs: %s", diff)
	}
	head, tail, _ := strings.Cut(text, "[... ")
	note, tail, _ := strings.Cut(tail, " ...]\n\n")
	if !strings.HasPrefix(head, "1\n2\n3\n") || !strings.HasSuffix(tail, "\n1999\n2000\nend") {
		t.Errorf("got %q", text)
	}
	var left int
	if _, err := fmt.Sscanf(note, "%d characters left out here; all of the output is in "+view.OutputRef,
		&left); err != nil {
		t.Errorf("the note is %q: %v", note, err)
	}
	if got, total := len(strings.TrimSuffix(head, "\n"))+left+len(tail), len(want)-9; got != total {
		t.Errorf("%d characters are accounted for, want %d", got, total)
	}
	if n := len(head) + len(tail); n > 1001 || n < 700 {
		t.Errorf("%d characters inline, want about 1000", n)
	}
	if r.Meta["persistedOutputPath"] != view.OutputRef {
		t.Error("the structured output does not name the file")
	}
}

func TestBashOutputUpToTheLimitIsWhole(t *testing.T) {
	env := bashIn(t, "bash")
	env.Limits.BashOutput = 1000
	if got, want := bash(t, env, "printf 'ä%.0s' {1..1000}"), strings.Repeat("ä", 1000); got != want {
		t.Errorf("got %d bytes: %.200q", len(got), got)
	}
	r := runBash(t, t.Context(), env, map[string]any{"command": "printf '\\033[1;31m%.0s' {1..100000}; echo x"})
	if textOf(r) != "x" || r.View.(event.Command).OutputRef != "" {
		t.Errorf("escapes alone made a file: %q", textOf(r))
	}
}

func TestBashEndsAFlood(t *testing.T) {
	env := bashIn(t, "bash")
	plan, err := tool.FloodingBash(env, 10<<20).Prepare(t.Context(),
		llm.ToolCall{ID: "c", Input: json.RawMessage(`{"command":"yes"}`)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ref := r.View.(event.Command).OutputRef
	defer os.Remove(ref)
	if !strings.HasPrefix(textOf(r), "Command was ended because it wrote more than 10 MB") && !strings.HasPrefix(
		textOf(r), "Command was ended because it wrote more than 10") {
		t.Errorf("got %.200q", textOf(r))
	}
}

func TestBashStreamsWholeCharactersAndNotTooOften(t *testing.T) {
	env := bashIn(t, "bash")
	var mu sync.Mutex
	var got []string
	ctx := agent.WithOutput(t.Context(), func(s string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, s)
	})
	start := time.Now()
	runBash(t, ctx, env,
		map[string]any{"command": `for i in {1..300}; do printf 'ä\xe2'; printf '\x82\xac\033[1m\r'; done`})
	if most := int(time.Since(start)/tool.LivePause) + 3; len(got) > most {
		t.Errorf("%d pieces, want at most %d", len(got), most)
	}
	if all := strings.Join(got, ""); all != strings.TrimSuffix(strings.Repeat("ä€\n", 300), "\n") {
		t.Errorf("got %q", all)
	}
}

func TestBashHidesKeysAndEndsPrompts(t *testing.T) {
	env := bashIn(t, "bash")
	env.Environ = func() []string {
		return append(os.Environ(), "ANTHROPIC_API_KEY=secret", "LD_PRELOAD=", "BASH_ENV=/dev/null", "MINE=1")
	}
	if got := bash(t, env,
		`env | grep -E '^(ANTHROPIC|LD_PRELOAD|BASH_ENV|MINE)'; read x; echo "$?$x"; test -t 0 || echo none`); got != "MINE=1\n1\nnone" {
		t.Errorf("got %q", got)
	}
}

func TestBashTellsTheCacheAndTheView(t *testing.T) {
	env := bashIn(t, "bash")
	path := filepath.Join(env.Roots.First(), "f")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	glob := func() string {
		plan, err := toolOf(env, "Glob").Prepare(t.Context(), llm.ToolCall{
			ID: "g", Name: "Glob",
			Input: json.RawMessage(`{"pattern":"*.new"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := plan.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return textOf(r)
	}
	before := glob()
	bash(t, env, "touch a.new")
	if after := glob(); before == after {
		t.Errorf("Glob still says %q", after)
	}
}

func TestBashPlanNamesTheWholeCommand(t *testing.T) {
	env := bashIn(t, "bash")
	in := json.RawMessage(`{"command":"# nothing\nrm -rf x","description":"list files"}`)
	plan, err := toolOf(env, "Bash").Prepare(t.Context(), llm.ToolCall{ID: "c", Name: "Bash", Input: in})
	if err != nil {
		t.Fatal(err)
	}
	a := plan.Accesses[0]
	if a.Kind != permission.Exec || a.Target != "# nothing\nrm -rf x" || a.Command == nil || a.Command.Class.ReadOnly() ||
		plan.Parallel || !plan.Writes() {
		t.Errorf("accesses: %+v", plan.Accesses)
	}
	if v := plan.Preview.(event.Command); v.Command != "# nothing\nrm -rf x" || v.Dir != env.Dir.Get() {
		t.Errorf("preview %+v", v)
	}
}

func TestBashRefusesWhatNoShellTakes(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":""}`:            "empty",
		`{"command":" \n"}`:         "empty",
		`{"command":"echo \u0000"}`: "NUL",
		`{"command":7}`:             "does not fit",
	} {
		_, err := toolOf(bashIn(t, "bash"), "Bash").Prepare(t.Context(), llm.ToolCall{
			ID: "c", Name: "Bash",
			Input: json.RawMessage(in),
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", in, err)
		}
	}
	_, err := toolOf(bashIn(t, "no-such-shell"), "Bash").Prepare(t.Context(), llm.ToolCall{
		ID: "c", Name: "Bash",
		Input: json.RawMessage(`{"command":"true"}`),
	})
	if err == nil || !strings.Contains(err.Error(), "bash.shell") {
		t.Errorf("got %v", err)
	}
}

func TestBashTakesVeryLongCommands(t *testing.T) {
	for _, sh := range shells {
		t.Run(sh, func(t *testing.T) {
			env := inShell(t, sh)
			text := strings.Repeat("it's long\n", 50_000)
			bash(t, env, "cat >long <<'END'\n"+text+"END\ncd sub")
			got, err := os.ReadFile(filepath.Join(env.Roots.First(), "long"))
			if err != nil || string(got) != text {
				t.Errorf("%d bytes arrived, %v", len(got), err)
			}
			if filepath.Base(env.Dir.Get()) != "sub" {
				t.Error("the folder was not kept")
			}
		})
	}
}

func TestBashLeavesNoTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	env := bashIn(t, "bash")
	env.Lasting = t.TempDir()
	for _, c := range []string{"true", "kill -9 $$", "exit 3", "echo '" + strings.Repeat("x", 200<<10) + "' >/dev/null"} {
		bash(t, env, c)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func BenchmarkBashEcho(b *testing.B) {
	env := bashIn(b, "bash")
	b.ReportAllocs()
	for b.Loop() {
		if got := textOf(runBash(b, b.Context(), env, map[string]any{"command": "echo hi"})); got != "hi" {
			b.Fatal(got)
		}
	}
}
