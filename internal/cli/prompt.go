package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// maxStdin is how much context stdin may bring.
const maxStdin = 10 << 20

// stdinNotice is how long lathe waits for stdin before it prints a notice.
const stdinNotice = 3 * time.Second

// runPrompt answers one prompt, or with --input-format stream-json as many as come.
func (p *program) runPrompt(ctx context.Context, o *Options, f *pflag.FlagSet, words []string) error {
	if o.Version {
		_, err := fmt.Fprintln(p.out, versionLine())
		return err
	}
	words = o.withGoal(words)
	err := firstOf(errors.Join(checkFormats(o), checkCompat(f), checkSession(o), checkLimits(o)))
	if err == nil && o.Background {
		return p.toBackground(ctx, o, words)
	}
	if err == nil && o.Worker != "" {
		return p.work(ctx, o)
	}
	if err == nil && o.InitOnly {
		return p.inWorktree(ctx, o, func() error { return p.initOnly(ctx, o) })
	}
	if err == nil && o.ReplayFrom != "" && !o.Print {
		err = usage("add -p", "--replay answers one prompt and exits")
	}
	if err == nil && p.interactive(o) {
		return p.inWorktree(ctx, o, func() error { return p.converse(ctx, o, words) })
	}
	if err == nil {
		err = p.inWorktree(ctx, o, func() error { return p.runHeadless(ctx, o, words) })
	}
	return p.withResult(o, err)
}

// initOnly runs the hooks of the beginning of a session.
func (p *program) initOnly(ctx context.Context, o *Options) error {
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	s, err := openSession(ctx, inst, o)
	if err != nil {
		return startError(err)
	}
	s.session.Hooks().BeginNow(ctx)
	return s.Close()
}

// runHeadless answers the prompt of the words and stdin in the chosen formats.
func (p *program) runHeadless(ctx context.Context, o *Options, words []string) error {
	if f, ok := p.out.(*os.File); ok && goesNowhere(f) {
		p.warning("standard output is closed, or is the null device: the answer is not seen there")
	}
	if o.ResumePick { // without a terminal there is no choice: take the newest, as --continue does
		o.ResumePick, o.Continue = false, true
	}
	if o.ReplayFrom != "" {
		if err := openRecording(o); err != nil {
			return err
		}
	}
	if o.InputFormat == "stream-json" {
		if len(words) > 0 {
			return usage("send it on stdin as {\"type\":\"user\",...}",
				"a prompt argument does not go with --input-format stream-json")
		}
		return p.runStream(ctx, o)
	}
	if err := checkSchema(o); err != nil {
		return err
	}
	text, err := p.promptOf(ctx, o, words)
	if err != nil {
		return err
	}
	if name, args, ok := command.Parse(text); ok && !o.NoCommands && !o.Bare {
		fromFile, clash, err := isFileCommand(o, name)
		if clash != "" {
			fmt.Fprintf(p.err, "%s: %s\n", messagesName, escape(clash))
		}
		switch {
		case err != nil:
			return err
		case !fromFile:
			return p.runSlash(ctx, o, name, args)
		}
	}
	return p.answer(ctx, o, llm.UserText(text))
}

// answer runs one turn and prints it.
func (p *program) answer(ctx context.Context, o *Options, m llm.Message) error {
	conv, err := p.open(ctx, o)
	if err != nil {
		return err
	}
	out, err := p.headless(o, conv).once(ctx, m)
	if closeErr := conv.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	return replayedAll(o, p.verdict(o, out, err))
}

// withResult writes the result line of a run that failed before its first turn: a program that reads stdout waits
// for one, whatever went wrong.
func (p *program) withResult(o *Options, err error) error {
	machine := o.OutputFormat == "json" || o.OutputFormat == "stream-json"
	if err == nil || !machine || p.jsonLines().results > 0 {
		return err
	}
	pr := newStreamPrinter(p.jsonLines(), o, p.warnings)
	pr.only = true
	p.lines.session = cmp.Or(o.SessionID, o.Resume)
	t := newResultStats(nil)
	out := t.outcomeOf(notStarted{err})
	return joinErrors(err, pr.finish(t, &out), pr.close())
}

// checkSchema refuses a broken schema before anything is started.
func checkSchema(o *Options) error {
	if o.JSONSchema == "" {
		return nil
	}
	if err := tool.CheckSchema([]byte(o.JSONSchema)); err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	return nil
}

func (p *program) headless(o *Options, conv Conversation) *headless {
	about := conv.About()
	h := &headless{
		conv: conv, stats: newResultStats(about.Info),
		limits: limits{o.MaxTurns, cmp.Or(o.MaxBudget, about.BudgetUSD)}, schema: o.JSONSchema != "",
	}
	h.say = func(text string) { fmt.Fprintf(p.err, "%s: %s\n", messagesName, escape(text)) }
	if o.OutputFormat == "text" {
		printer := newTextPrinter(p.streams, p.now)
		printer.raw = o.Raw && !p.outTTY
		h.printer = printer
	} else {
		h.warn = func(n event.Notice) { fmt.Fprintf(p.err, "%s: %s: %s\n", messagesName, n.Level, escape(n.Text)) }
		printer := newStreamPrinter(p.jsonLines(), o, p.warnings)
		if l, ok := conv.(*local); ok {
			printer.agents.of = l.agentOf
		}
		h.printer = printer
	}
	if l, ok := conv.(*live); ok {
		h.asked = func(string, event.Question) { h.say("it waits for an answer: lathe attach " + l.job.ID) }
	}
	if l, ok := conv.(*local); ok && strings.HasPrefix(o.PermissionTool, mcp.Prefix) {
		h.asked = func(id string, q event.Question) { go l.askServer(o.PermissionTool, id, q) }
	}
	return h
}

// verdict joins the outcome of the turn with that of printing it. In the machine formats the failure of a turn
// was printed on stdout.
func (p *program) verdict(o *Options, out outcome, err error) error {
	if err != nil {
		return err
	}
	failed := out.asError()
	if e, ok := errors.AsType[*Error](failed); ok && o.OutputFormat != "text" {
		return &Error{Code: e.Code, Err: e, Quiet: true}
	}
	return failed
}

// firstOf takes the first of joined errors: one clear line is enough.
func firstOf(err error) error {
	if j, ok := err.(interface{ Unwrap() []error }); ok && len(j.Unwrap()) > 0 {
		return j.Unwrap()[0]
	}
	return err
}

func checkFormats(o *Options) error {
	switch o.OutputFormat {
	case "text", "json", "stream-json":
	default:
		return usage("use text, json or stream-json", "--output-format: %q is not a format", o.OutputFormat)
	}
	switch o.InputFormat {
	case "text":
	case "stream-json":
		if o.OutputFormat != "stream-json" {
			return usage("add --output-format stream-json", "--input-format stream-json needs output in the same form")
		}
	default:
		return usage("use text or stream-json", "--input-format: %q is not a format", o.InputFormat)
	}
	if o.Partial && o.OutputFormat != "stream-json" {
		return usage("add --output-format stream-json", "--include-partial-messages needs stream-json output")
	}
	if o.Replay && o.InputFormat != "stream-json" {
		return usage("add --input-format stream-json", "--replay-user-messages needs stream-json input")
	}
	if o.AwaitInit && o.InputFormat != "stream-json" {
		return usage("add --input-format stream-json", "--await-initialize waits for a request on stdin")
	}
	switch {
	case o.Prompts != "" && o.Prompts != "host" && o.Prompts != "none":
		return usage("use host or none", "--permission-prompts: %q does not answer questions", o.Prompts)
	case o.PermissionTool == "":
	case strings.HasPrefix(o.PermissionTool, mcp.Prefix):
	case o.PermissionTool != "stdio":
		return usage("use stdio", "--permission-prompt-tool: %q is not supported", o.PermissionTool)
	case o.InputFormat != "stream-json":
		return usage("add --input-format stream-json", "--permission-prompt-tool stdio asks over stdin")
	}
	return nil
}

func checkLimits(o *Options) error {
	switch {
	case o.Given("max-turns") && o.MaxTurns <= 0:
		return usage("use a number above 0", "--max-turns: %d is too small", o.MaxTurns)
	case o.Given("max-budget-usd") && !(o.MaxBudget > 0):
		return usage("use an amount above 0", "--max-budget-usd: %g is too small", o.MaxBudget)
	case o.Given("task-budget") && o.TaskBudget <= 0:
		return usage("use a number of tokens above 0", "--task-budget: %d is too small", o.TaskBudget)
	case o.Given("system-prompt") && o.SystemFile != "":
		return usage("give one of them", "--system-prompt and --system-prompt-file exclude each other")
	case o.AppendSystem != "" && o.AppendSystemFile != "":
		return usage("give one of them", "--append-system-prompt and --append-system-prompt-file exclude each other")
	case o.Thinking != "" && o.Thinking != "adaptive" && o.Thinking != "enabled" && o.Thinking != "disabled":
		return usage("use adaptive or disabled", "--thinking: %q is not a way to think", o.Thinking)
	}
	return nil
}

func checkSession(o *Options) error {
	resume := o.Resume != "" && o.Resume != pickValue
	o.ResumePick = o.Resume == pickValue
	if o.ResumePick {
		o.Resume = ""
	}
	switch {
	case o.Continue && (resume || o.ResumePick):
		return usage("give one of them", "--continue and --resume exclude each other")
	case o.Drops != "" && o.ResumeAt == "":
		return usage("add --resume-session-at", "--resume-drops-turn needs the message to go back to")
	case o.ResumeAt != "" && !resume:
		return usage("add --resume and the session's id", "--resume-session-at needs the session to go back in")
	case o.Fork && !o.Continue && !resume && !o.ResumePick:
		return usage("add --resume or --continue", "--fork-session needs a session to copy")
	case o.SessionID != "" && (o.Continue || resume) && !o.Fork:
		return usage("add --fork-session, or leave --session-id out", "--session-id is for a new session")
	}
	return nil
}

// promptText joins the words and, unless stdin is a terminal, its text.
func (p *program) promptText(ctx context.Context, words []string) (string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	extra := ""
	if !p.inTTY {
		var err error
		if extra, err = p.readStdin(ctx, text != ""); err != nil {
			return "", err
		}
	}
	switch {
	case text == "" && strings.TrimSpace(extra) == "":
		return "", &Error{
			Code: exitUsage, Msg: "there is no prompt",
			Hint: `give one: lathe -p "fix the failing test" (see lathe --help, or try lathe demo)`,
		}
	case text == "":
		return extra, nil
	case strings.TrimSpace(extra) == "":
		return text, nil
	}
	return text + "\n\n" + extra, nil
}

// readStdin reads context from stdin to its end. When there is a prompt already, a stdin that brings nothing for
// a while is given up: programs that start others leave theirs open and never write to it.
func (p *program) readStdin(ctx context.Context, hasPrompt bool) (string, error) {
	if f, ok := p.in.(*os.File); ok {
		if _, err := f.Stat(); err != nil {
			return "", nil // closed, as by "<&-"
		}
	}
	first, read := make(chan struct{}, 1), make(chan stdinResult, 1)
	go func() { read <- slurp(p.in, first) }()
	notice := time.NewTimer(p.stdinWait)
	defer notice.Stop()
	for {
		select {
		case r := <-read:
			if r.replaced > 0 {
				fmt.Fprintf(p.err, "lathe: %s of stdin are no text (UTF-8) and were replaced\n", plural(r.replaced, "byte"))
			}
			return r.text, r.err
		case <-ctx.Done():
			return "", ctx.Err()
		case <-first:
			notice.Stop()
		case <-notice.C:
			if hasPrompt {
				fmt.Fprintln(p.err, "lathe: nothing came on stdin; going on without it (use </dev/null to skip the wait, or "+
					"save slow output to a file)")
				return "", nil
			}
			fmt.Fprintln(p.err, "lathe: waiting for stdin to end (use </dev/null if there is nothing to read)")
		}
	}
}

type stdinResult struct {
	text     string
	replaced int // bytes that were no text
	err      error
}

// slurp reads all of r, at most maxStdin, and signals first when data arrives.
func slurp(r io.Reader, first chan<- struct{}) stdinResult {
	var b bytes.Buffer
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		if n > 0 && b.Len() == 0 {
			first <- struct{}{}
		}
		b.Write(chunk[:n])
		if b.Len() > maxStdin {
			return stdinResult{err: usage("save it to a file and name the file in the prompt", "stdin has more than 10 MB")}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return stdinResult{err: &Error{Code: exitUsage, Msg: "reading stdin", Err: err}}
		}
	}
	text, replaced := plainText(strings.TrimPrefix(b.String(), "\ufeff"))
	if replaced > b.Len()/10 {
		return stdinResult{err: usage("save it to a file and name the file in the prompt", "stdin is not text (UTF-8)")}
	}
	return stdinResult{text: text, replaced: replaced}
}

// plainText replaces NUL and every byte that is not UTF-8 by U+FFFD, and counts them.
func plainText(s string) (text string, replaced int) {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s, 0
	}
	var b strings.Builder
	for i, r := range s {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			r, replaced = utf8.RuneError, replaced+1
		}
		b.WriteRune(r)
	}
	return b.String(), replaced
}
