package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/permission"
)

// prompted runs lathe against a fake and returns the prompt that reached it.
func prompted(t *testing.T, stdin io.Reader, args ...string) (string, error) {
	t.Helper()
	f := newFake()
	p, _, _ := fakeProgram(t, f, stdin)
	err := p.run(context.Background(), args)
	if len(f.prompts) == 0 {
		return "", err
	}
	return f.prompts[0].PlainText(), err
}

func TestThePromptIsTheWordsThenStdin(t *testing.T) {
	for _, tt := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"-p", "mcp", "is", "broken"}, "mcp is broken"},
		{"", []string{"fix it"}, "fix it"}, // no terminal: as with -p
		{"the diff\n", []string{"-p", "review"}, "review\n\nthe diff\n"},
		{"only this", []string{"-p"}, "only this"},
		{"only this", nil, "only this"},
		{"\ufeffwith a mark", []string{"-p"}, "with a mark"},
		{" \n", []string{"-p", "hi"}, "hi"},
		{"", []string{"-p", "--", "--help", "-x"}, "--help -x"},
		{"", []string{"-p", "--model", "m", "hi", "--max-turns=3"}, "hi"},
	} {
		got, err := prompted(t, strings.NewReader(tt.stdin), tt.args...)
		if err != nil || got != tt.want {
			t.Errorf("%q with %q: %q, %v; want %q", tt.args, tt.stdin, got, err, tt.want)
		}
	}
}

func TestStdinIsLimitedAndMustBeText(t *testing.T) {
	if got, err := prompted(t, io.LimitReader(letters{}, maxStdin), "-p"); err != nil || len(got) != maxStdin {
		t.Errorf("10 MB: %d bytes, %v", len(got), err)
	}
	for _, tt := range []struct {
		stdin io.Reader
		want  string
	}{
		{letters{}, "more than 10 MB"}, // endless: it must stop reading
		{strings.NewReader("a\x00b"), "not text"},
		{strings.NewReader("a\xffb"), "not text"},
		{io.MultiReader(strings.NewReader("a"), broken{}), "reading stdin"},
	} {
		got, err := prompted(t, tt.stdin, "-p", "hi")
		if exitCode(err) != exitUsage || got != "" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q: %q, %v", tt.want, got, err)
		}
	}
}

type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

func TestASignalWhileStdinIsReadEndsTheWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	p, _, _ := fakeProgram(t, newFake(), r)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.run(ctx, []string{"-p", "hi"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWaitingForStdinIsTold(t *testing.T) {
	r, w := io.Pipe()
	p, stdout, _ := fakeProgram(t, newFake(), r)
	p.stdinWait = 1
	told := make(chan string, 1)
	p.err = writerFunc(func(b []byte) (int, error) { told <- string(b); return len(b), nil })
	done := make(chan error, 1)
	go func() { done <- p.run(context.Background(), []string{"-p", "hi"}) }()
	if s := <-told; !strings.Contains(s, "</dev/null") {
		t.Errorf("told %q", s)
	}
	_ = w.Close()
	if err := <-done; err != nil || stdout.String() != "Hello there.\n" {
		t.Errorf("%q, %v", stdout, err)
	}
}

// Every mistake is exit code 2, one line, and the next move.
func TestMistakesOfTheCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-p"}, "there is no prompt"},
		{nil, "lathe demo"},
		{[]string{"-p", "hi", "--modle", "x"}, "did you mean --model?"},
		{[]string{"-p", "hi", "--allowedtools", "x"}, "did you mean --allowedTools?"},
		{[]string{"-p", "hi", "--xyzzy"}, "see lathe --help"},
		{[]string{"-p", "hi", "-q"}, "unknown flag -q"},
		{[]string{"-p", "hi", "--model"}, "--model needs a value"},
		{[]string{"-p", "hi", "--max-turns", "many"}, `--max-turns: "many" is not a whole number`},
		{[]string{"-p", "hi", "--max-turns", "0"}, "too small"},
		{[]string{"-p", "hi", "--max-budget-usd", "NaN"}, "too small"},
		{[]string{"-p", "hi", "--max-budget-usd", "-1"}, "too small"},
		{[]string{"-p", "hi", "--output-format", "xml"}, "text, json or stream-json"},
		{[]string{"-p", "hi", "--include-partial-messages"}, "--output-format stream-json"},
		{[]string{"-p", "hi", "--replay-user-messages"}, "--input-format stream-json"},
		{[]string{"-p", "--input-format", "stream-json"}, "--output-format stream-json"},
		{[]string{"-p", "hi", "--input-format", "stream-json", "--output-format", "stream-json"}, "on stdin"},
		{[]string{"-p", "hi", "--permission-prompt-tool", "ask"}, "use stdio"},
		{[]string{"-p", "hi", "--permission-prompt-tool", "stdio"}, "--input-format stream-json"},
		{[]string{"-p", "hi", "--continue", "--resume", "01"}, "exclude each other"},
		{[]string{"-p", "hi", "--fork-session"}, "--resume or --continue"},
		{[]string{"-p", "hi", "-c", "--session-id", "x"}, "--fork-session"},
		{[]string{"-p", "hi", "--system-prompt", "", "--system-prompt-file", "x"}, "exclude each other"},
		{[]string{"-p", "hi", "--append-system-prompt", "a", "--append-system-prompt-file", "x"}, "exclude each other"},
		{[]string{"-p", "hi", "--thinking", "hard"}, "adaptive or disabled"},
		{[]string{"-p", "hi", "--task-budget", "0"}, "too small"},
		{[]string{"-p", "hi", "--task-budget", "many"}, "not a whole number"},
		{[]string{"-p", "hi", "--permission-prompts", "all"}, "host or none"},
		{[]string{"-p", "hi", "--worktree=../x"}, "is not a name for a worktree"},
		{[]string{"-p", "hi", "--await-initialize"}, "add --input-format stream-json"},
		{[]string{"help", "me"}, `lathe -p "help me"`},
		{[]string{"version", "control"}, `lathe -p "version control"`},
		{[]string{"completion"}, "bash, zsh, fish, powershell"},
		{[]string{"completion", "csh"}, "bash, zsh, fish, powershell"},
	} {
		f := newFake()
		p, stdout, stderr := fakeProgram(t, f, strings.NewReader(""))
		code := report(stderr, p.run(context.Background(), tt.args))
		// the result line
		if strings.Contains(strings.Join(tt.args, " "), "--output-format stream-json") != (stdout.Len() > 0) {
			t.Errorf("%q: stdout %q", tt.args, stdout)
		}
		if code != exitUsage || len(f.prompts) > 0 || !strings.Contains(stderr.String(), tt.want) ||
			strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: code %d, stdout %q, stderr %q; want %q", tt.args, code, stdout, stderr, tt.want)
		}
	}
}

// Flags that SDKs and scripts for Claude Code pass are accepted when they ask for nothing.
func TestFlagsOfTheAgentSDKsAreAccepted(t *testing.T) {
	for _, flags := range [][]string{
		{"--output-format", "stream-json", "--verbose", "--system-prompt", "", "--setting-sources=", "--print", "--"},
		{
			"--thinking=adaptive", "--effort=high", "--max-turns=3", "--max-budget-usd=1", "--model=m",
			"--setting-sources=project", "--add-dir=/tmp", "-p",
		},
		{
			"--strict-mcp-config", "--mcp-config", `{"mcpServers": {}}`, "--betas", "", "--allow-dangerously-skip-permissions",
			"--debug-to-stderr", "-p",
		},
		{
			"--tools", "", "--allowed-tools", "Read,Bash(git *)", "--disallowed-tools", "Write", "--permission-mode",
			"acceptEdits", "-p",
		},
		{"--max-thinking-tokens", "0", "--fallback-model", "a,b", "--session-id", "x", "--no-session-persistence", "-p"},
	} {
		if got, err := prompted(t, strings.NewReader(""), append(flags, "hi")...); err != nil || got != "hi" {
			t.Errorf("%q: %q, %v", flags, got, err)
		}
	}
}

func TestTheHelpNamesEveryFlagAndCommandOnce(t *testing.T) {
	p, out, _ := fakeProgram(t, newFake(), strings.NewReader(""))
	if err := p.run(context.Background(), []string{"--help"}); err != nil {
		t.Fatal(err)
	}
	root := newRoot(p, invocation{command: true})
	for _, n := range flagNames(root) {
		if got := strings.Count(out.String(), "--"+n+" ") + strings.Count(out.String(), "--"+n+"\n"); got < 1 {
			t.Errorf("--%s is not in the help", n)
		}
	}
	for _, c := range visibleCommands(root) {
		if !strings.Contains(out.String(), "\n  "+c.Name()+" ") {
			t.Errorf("%s is not in the help", c.Name())
		}
		if !isCommand(c.Name()) {
			t.Errorf("%s is not in commandNames, so its name would be a prompt", c.Name())
		}
	}
	for l := range strings.Lines(out.String()) {
		if len([]rune(l)) > 121 {
			t.Errorf("%d characters: %s", len(l), l)
		}
	}
}

// walk calls f for a command and all below it.
func walk(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, s := range c.Commands() {
		walk(s, f)
	}
}

func TestEveryCommandAndFlagExplainsItself(t *testing.T) {
	p, out, _ := fakeProgram(t, newFake(), strings.NewReader(""))
	walk(newRoot(p, invocation{command: true}), func(c *cobra.Command) {
		out.Reset()
		if err := showHelp(c); err != nil {
			t.Error(err)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s: %q\n%s", c.CommandPath(), c.Short, out)
		}
		for _, n := range flagNames(c) {
			if _, text := flagUsage(lookupFlag(c, n)); text == "" {
				t.Errorf("%s --%s has no text", c.CommandPath(), n)
			}
		}
	})
}

func TestTheManualHasEveryCommandAndIsValidRoff(t *testing.T) {
	p, out, _ := fakeProgram(t, newFake(), strings.NewReader(""))
	if err := p.run(context.Background(), []string{"man"}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	walk(newRoot(p, invocation{command: true}), func(c *cobra.Command) {
		if c.HasParent() && c.IsAvailableCommand() && !c.HasSubCommands() && c.Name() != "help" && !strings.Contains(page,
			".SS "+roff(c.CommandPath())) {
			t.Errorf("%s is not in the manual", c.CommandPath())
		}
	})
	known := map[string]bool{
		".TH": true, ".SH": true, ".SS": true, ".TP": true, ".B": true, ".I": true, ".IR": true,
		".PP": true, ".nf": true, ".fi": true, ".br": true,
	}
	for l := range strings.Lines(page) {
		if strings.HasPrefix(l, ".") && !known[strings.Fields(l)[0]] {
			t.Errorf("not a macro: %s", l)
		}
	}
}

func TestRoffHidesItsOwnSigns(t *testing.T) {
	if got, want := roff(".x\n'y\na-b \\z"), "\\&.x\n\\&'y\na\\-b \\ez"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p, out, _ := fakeProgram(t, newFake(), strings.NewReader(""))
		if err := p.run(context.Background(), []string{"completion", shell}); err != nil || !strings.Contains(out.String(),
			"lathe") {
			t.Errorf("%s: %v, %d bytes", shell, err, out.Len())
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "se"}, "session"},
		{[]string{"__complete", "-p", "--permission-mode", ""}, strings.Join(permission.ModeNames(), "\n")},
		{[]string{"__complete", "session", "li"}, "list"},
		{[]string{"__complete", "tool", "call", "TaskS"}, "TaskStop"},
		{[]string{"__complete", "--mod"}, "--model\tthe model's name"},
		{[]string{"__complete", "--out"}, "--output-format"},
		{[]string{"__complete", "session", "list", "--cw"}, "--cwd"},
		{[]string{"__complete", "completion", "z"}, "zsh"},
		{[]string{"__complete", "--output-format", "st"}, "stream-json"},
		{[]string{"__complete", "--effort", "hi"}, "high"},
	} {
		p, out, _ := fakeProgram(t, newFake(), strings.NewReader(""))
		if err := p.run(context.Background(), tt.args); err != nil || !strings.Contains(out.String(), tt.want) ||
			strings.Contains(out.String(), "`") {
			t.Errorf("%q: %v: %s", tt.args, err, out)
		}
	}
}

func TestTheVersionIsOneLine(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"-v"}, {"version"}, {"-p", "--version"}} {
		var out bytes.Buffer
		p, _, _ := fakeProgram(t, newFake(), strings.NewReader(""))
		p.out = &out
		if err := p.run(context.Background(), args); err != nil || out.String() != versionLine()+"\n" {
			t.Errorf("%q: %q, %v", args, out.String(), err)
		}
	}
}

func TestBytesOfStdinThatAreNoTextAreReplaced(t *testing.T) {
	f := newFake()
	p, _, stderr := fakeProgram(t, f, strings.NewReader("a long line of text with \xff and \x00 and \ufffd in it\n"))
	if err := p.run(context.Background(), []string{"-p"}); err != nil {
		t.Fatal(err)
	}
	if got, want := f.prompts[0].PlainText(),
		"a long line of text with \ufffd and \ufffd and \ufffd in it\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(stderr.String(), "2 bytes of stdin are no text (UTF-8) and were replaced") {
		t.Errorf("stderr %q", stderr)
	}
	if _, err := prompted(t, strings.NewReader("PNG\x00\x01\xff\xfe\x00"), "-p"); exitCode(err) != exitUsage {
		t.Errorf("what is no text at all is refused, got %v", err)
	}
}
