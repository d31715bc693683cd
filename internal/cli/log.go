package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
)

// journal is lathe's log: records of slog in one file, for finding faults afterwards. Nothing is
// opened before the first record, and nothing of it ever reaches the terminal. Prompts, replies and results
// are not logged; values in the shape of a secret, and those of credential variables, are masked.
type journal struct {
	*slog.Logger
	file  *logFile
	level slog.LevelVar
}

// levelOff is above every record.
const levelOff slog.Level = 100

// levelTrace is below debug: every event is a record.
const levelTrace slog.Level = slog.LevelDebug - 4

var logLevels = map[string]slog.Level{
	"trace": levelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "off": levelOff,
}

// newJournal makes a log below the state folder; an empty one means no log.
func newJournal(stateHome, level string) *journal {
	j := &journal{file: &logFile{path: filepath.Join(stateHome, "logs", "lathe.log")}}
	j.setLevel(level)
	if stateHome == "" {
		j.level.Set(levelOff)
	}
	h := slog.NewTextHandler(j.file, &slog.HandlerOptions{Level: &j.level, ReplaceAttr: maskAttr})
	j.Logger = slog.New(h).With("pid", os.Getpid())
	return j
}

// startLog makes the log of this process. What others write with the log package (the standard library's
// HTTP client does) goes to it too, and not to the terminal.
func startLog() *journal {
	j := newJournal(config.ResolvePaths(os.Environ(), "").StateHome, os.Getenv("LATHE_LOG"))
	slog.SetDefault(j.Logger)
	return j
}

// setLevel sets a level by its name in logLevels; other names are ignored, since the settings report them.
func (j *journal) setLevel(name string) {
	if l, ok := logLevels[strings.ToLower(name)]; ok {
		j.level.Set(l)
	}
}

func (j *journal) close() { _ = j.file.Close() } // each record was written when it was made

// maskAttr takes secrets out of texts and errors.
func maskAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(logMask().Mask(v))
	case error:
		a.Value = slog.StringValue(logMask().Mask(v.Error()))
	}
	return a
}

// logMask masks by shape, and the values of the environment's credentials; the settings are not read yet.
var logMask = sync.OnceValue(func() *event.Masker {
	return event.NewMasker(new(config.Settings).Secrets(os.Environ())...)
})

// start records the command line, without any text of the user.
func (j *journal) start(args []string) {
	v, commit := currentVersion()
	j.Info("start", "version", v, "commit", commit, "args", strings.Join(loggedArgs(args), " "))
}

// loggedFlags are the flags whose values are useful and hold no secret.
var loggedFlags = strings.Fields(
	`model small-model provider effort fallback-model permission-mode output-format input-format
	max-turns max-budget-usd setting-sources thinking max-thinking-tokens format limit scope json verbose`)

// loggedArgs is a command line that may be kept: the subcommand, flags, and the values of loggedFlags. Words
// are prompts, keys of settings, paths: only their number is logged.
func loggedArgs(args []string) []string {
	var out []string
	words := 0
	for i, a := range args {
		name, _, hasValue := strings.Cut(a, "=")
		switch {
		case a == "--":
			words += len(args) - i - 1
			return append(out, fmt.Sprintf("-- (%d words)", words))
		case strings.HasPrefix(a, "-") && slices.Contains(loggedFlags, strings.TrimLeft(name, "-")):
			out = append(out, a)
		case strings.HasPrefix(a, "--"):
			if hasValue {
				name += "=..."
			}
			out = append(out, name)
		case len(a) == 2 && a[0] == '-':
			out = append(out, a)
		case words == 0 && isCommand(a):
			out = append(out, a)
			words++
		default:
			words++
		}
	}
	return append(out, fmt.Sprintf("(%d words)", words))
}

// event records the ends of turns, retries, failures and the like.
func (j *journal) event(e event.Event) {
	ctx := context.Background()
	j.Log(ctx, levelTrace, "event", "session", e.Session, "kind", e.Body.Kind(), "agent", strings.Join(e.Agent, " > "))
	switch b := e.Body.(type) {
	case event.TurnEnd:
		level := slog.LevelInfo
		if b.Reason == event.EndFailed {
			level = slog.LevelError
		}
		j.Log(ctx, level, "turn ended", "session", e.Session, "reason", b.Reason, "steps", b.Steps, "cost_usd", b.CostUSD,
			"input", b.Usage.Prompt(), "output", b.Usage.Output, "took", b.Duration, "api", b.APITime, "error", b.Err)
	case event.Retry:
		j.Warn("retry", "session", e.Session, "attempt", b.Attempt, "of", b.Max, "after", b.Delay, "status", b.Status,
			"error", b.Err)
	case event.Notice:
		level := logLevels["info"]
		if b.Level != "info" {
			level = slog.LevelWarn
		}
		j.Log(ctx, level, "notice", "session", e.Session, "text", b.Text)
	case event.Denied:
		j.Info("denied", "session", e.Session, "tool", b.Call.Name, "reason", b.Decision.Reason)
	case event.StepEnd:
		j.Debug("step ended", "session", e.Session, "step", b.Step, "stop", b.Stop, "input", b.Usage.Prompt(), "output",
			b.Usage.Output, "api", b.APITime)
	case event.ToolEnd:
		j.toolEnd(e, b)
	}
}

func (j *journal) toolEnd(e event.Event, b event.ToolEnd) {
	if stack, ok := b.Meta["stack"]; ok {
		j.Error("tool crashed", "session", e.Session, "tool", b.Call.Name, "panic", b.Meta["panic"], "stack", stack)
		return
	}
	j.Debug("tool ended", "session", e.Session, "tool", b.Call.Name, "id", b.Call.ID, "error", b.Result.IsError, "denied",
		b.Denied, "took", b.Duration)
}

// failed records the error a run ended with. A wrong command line is nothing to look up later.
func (j *journal) failed(err error, code int) {
	if err != nil && code != exitUsage && code != exitPipe {
		j.Error("failed", "exit", code, "error", err)
	}
}

// crashed turns a panic into an error that names the place of its stack.
func (j *journal) crashed(r any) error {
	stack := debug.Stack()
	j.Error("crashed", "panic", fmt.Sprint(r), "stack", string(stack))
	err := &Error{Code: exitFailed, Msg: fmt.Sprintf("lathe has a bug and stopped: %v", r)}
	if j.file.written() {
		err.Hint = "please report it with the last record of " + j.file.path
		return err
	}
	err.Err = errors.New(string(stack))
	return err
}
