package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/permission/shell"
)

//go:embed bash.md
var bashDescription string

// Bounds of one command, unless Limits say otherwise.
const (
	bashTimeout    = 120 * time.Second
	bashMaxTimeout = 600 * time.Second
	bashOutput     = 30_000   // characters inline
	bashFlood      = 5 << 30  // bytes after which a command is ended
	bashKept       = 64 << 20 // bytes of output that are saved
)

var (
	errBashTimeout = errors.New("the command ran out of time")
	errBashFlood   = errors.New("the command wrote too much")
)

type bashInput struct {
	Command     string `json:"command"`
	Timeout     int64  `json:"timeout,omitempty" limits:"minimum=1"` // milliseconds
	Description string `json:"description,omitempty" jsonschema:"What it does, in five to ten words"`
	Background  bool   `json:"run_in_background,omitempty"`
	Shell       string `json:"shell_id,omitempty"`      // the shell whose state the command continues
	Pty         bool   `json:"pty,omitempty"`           // it gets a terminal
	Leave       bool   `json:"leave_running,omitempty"` // processes started with & may stay
}

type basher struct {
	env   *Commands
	flood int64 // bytes
}

// BashName is the tool that runs commands.
const BashName = "Bash"

var bashTool = call.Declaration{
	Name: BashName,
	Aliases: []string{
		"shell", "run_shell", "run_shell_command", "shell_command", "local_shell", "run_terminal_cmd",
		"run_terminal_command", "run_command",
		"run_in_terminal", "execute", "execute_command", "exec", "exec_command", "terminal", "sh", "execute_bash",
		"create_directory",
	},
	Input: schemaOf[bashInput](),
	Params: map[string]string{
		"command":           "cmd script shell_command command_line",
		"timeout":           "timeout_ms timeout_secs timeout_seconds",
		"run_in_background": "background is_background",
		"shell_id":          "session_id shell_name terminal_id",
		"pty":               "tty",
		"cwd":               "workdir working_directory working_dir directory dir_path dir cd",
	},
	Ignored: "goal safe_to_auto_run wait_ms_before_async risk_level is_input=false reset=false wait_for_completion" +
		" blocking shell=bash shell=/bin/bash shell=sh shell=/bin/sh shell=zsh",
	Mend:    mendBash,
	Subject: permission.SubjectCommand, SubjectIn: []string{"command"},
	Accesses: call.Typed(bashAccesses),
}

// bashAccesses is the command, and all that it would read, write and reach as far as known.
func bashAccesses(in bashInput, at call.Place) ([]permission.Access, error) {
	if strings.TrimSpace(in.Command) == "" {
		return nil, errors.New("the command is empty; say what to run")
	}
	found := shell.Analyze(in.Command, at.Dir, at.World)
	if len(found.Accesses) == 0 || found.Accesses[0].Kind != permission.Exec { // it never is, and must not pass
		return nil, nil
	}
	command := found.Accesses[0].Command
	if command.Class.ReadOnly() && at.Program("bash", at.Dir) == "" { // nothing else reads the line as it was judged
		command.Class = permission.ClassWrite
	}
	if in.Shell != "" { // earlier commands of the shell may have given its words another meaning
		command.Exact, command.Kept = false, true
		if command.Class.ReadOnly() {
			command.Class = permission.ClassWrite
		}
	}
	if m, ok := at.World.(*Machine); ok {
		m.env.unheld(in, at.Dir, m, found.Accesses)
	}
	return found.Accesses, nil
}

func newBash(env *Commands) agent.Tool {
	return newTool(bashTool, bashDescription, (&basher{env, bashFlood}).prepare)
}

func (t *basher) prepare(ctx context.Context, c llm.ToolCall, in bashInput) (*agent.Plan, error) {
	if i := strings.IndexByte(in.Command, 0); i >= 0 {
		return nil, fmt.Errorf("the command has a NUL byte at position %d, which no shell takes; write it as \\0 for printf",
			i)
	}
	if in.Leave && in.Background {
		return nil, errors.New("leave_running and run_in_background exclude each other: a background command ends with " +
			"the session. " +
			"To leave a process running, start it with & in a command that returns")
	}
	if refusal := needsScreen(in.Command); refusal != "" {
		return nil, errors.New(refusal)
	}
	sh, err := findShell(t.env)
	if err != nil {
		return nil, err
	}
	named, err := t.env.Shells.find(in.Shell, sh, t.env.Dir.Get())
	if err != nil {
		return nil, err
	}
	env := named.env(t.env)
	one := &bashCall{env: env, in: in, id: c.ID, input: c.Input, flood: t.flood, named: named}
	at := env.here()
	one.shell, one.at, one.dir = sh, at, at.dir
	plan := &agent.Plan{Title: bashTitle(in), Run: one.run}
	if plan.Accesses, one.safe, err = one.analyse(); err != nil {
		return nil, err
	}
	one.accesses = plan.Accesses
	one.outside = permission.RunsOutside(one.accesses)
	if in.Leave && t.env.Boundary.Confined() && !one.outside && !t.env.Boundary.Standard() {
		return nil, errors.New("nothing outlives a command in a sandbox that was requested, so leave_running cannot be " +
			"used: start it with run_in_background, or ask the user to start it")
	}
	plan.Preview = event.Command{Command: in.Command, Dir: one.dir, Warning: one.warnings(ctx, plan.Accesses)}
	plan.Parallel = one.safe != nil && one.safe.reads && !one.safe.moves
	return plan, nil
}

// warnings are the lines that the question before the command shows beside it.
func (c *bashCall) warnings(ctx context.Context, accesses []permission.Access) []string {
	lines := c.warning(ctx, accesses)
	if permission.RunsOutside(accesses) {
		lines = append(lines, "it runs outside of the sandbox")
	}
	if c.in.Leave {
		lines = append(lines, "what it leaves running stays after lathe ends")
	}
	return lines
}

// bashTitle is the first line of the command: the model's own description proves nothing.
func bashTitle(in bashInput) string {
	first, rest, more := strings.Cut(strings.TrimSpace(in.Command), "\n")
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	return first
}

// bashCall is one command on its way.
type bashCall struct {
	env   *Commands
	in    bashInput
	id    string
	input json.RawMessage
	shell shellProgram
	safe  *safeForm   // nil: it runs as it is written
	named *namedShell // nil: a new shell, without state
	plain bool        // the named shell had defined nothing when the call was decided on
	flood int64
	at    place
	dir   string
	notes []string

	accesses []permission.Access
	reach    permission.Reach
	detached bool          // it runs on after its call
	dropped  bool          // changes of its private view
	again    bool          // the first run left nothing, and a person approved a second one
	outside  bool          // it runs outside of the sandbox
	clock    *commandClock // nil in the background
	refusal  string        // why the sandbox may have made it fail; empty: nothing points to that
	started  time.Time
}

// startDir makes sure that the command runs in the folder of Prepare.
func (c *bashCall) startDir() error {
	if err := c.env.settle(c.at); err != nil {
		return err
	}
	if c.at.gone != "" {
		c.env.Dir.Set(c.at.dir)
		c.notes = append(c.notes, fmt.Sprintf("The working folder %s is gone; this ran in %s, the nearest that exists.",
			c.at.gone, c.at.dir))
	}
	return nil
}

// goNear moves to the nearest folder that exists, if the session may work there: the command removed its own.
func (c *bashCall) goNear() {
	near := c.env.here().dir
	p, err := c.env.Roots.Resolve(near, "")
	if err != nil || !p.Inside() || p.Root.ReadOnly {
		near = c.env.Roots.First()
	}
	c.env.Dir.Set(near)
	near = c.env.here().dir // the session's own folder may be gone, too
	c.notes = append(c.notes, fmt.Sprintf("The working folder %s is gone; the next command runs in %s.", c.dir, near))
}

func (c *bashCall) reset() {
	dir := c.env.Roots.First()
	c.env.Dir.Set(dir)
	c.notes = append(c.notes, "Shell cwd was reset to "+dir)
}

// endDir takes over the folder in which the command ended, if the session may work there.
func (c *bashCall) endDir(cwd string) {
	p, err := c.env.Roots.Resolve(cwd, c.dir)
	switch {
	case err == nil && p.Real == c.at.real: // it stayed where it was
	case c.env.here().gone != "":
		c.goNear()
	case err != nil || !p.Exists() || !p.Info.IsDir() || !p.Inside() || p.Root.ReadOnly:
		c.reset()
	case p.Real != c.dir:
		c.env.Dir.Set(p.Real)
	}
}

func (c *bashCall) timeout() time.Duration {
	longest := orDefault(c.env.Limits.BashMaxTimeout, bashMaxTimeout)
	if c.in.Timeout <= 0 {
		return min(orDefault(c.env.Limits.BashTimeout, bashTimeout), longest)
	}
	if c.in.Timeout > int64(longest/time.Millisecond) {
		return longest
	}
	return time.Duration(c.in.Timeout) * time.Millisecond
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func (c *bashCall) output(ctx context.Context, flooded func()) *bashText {
	return &bashText{
		limit: orDefault(c.env.Limits.BashOutput, bashOutput), flood: c.flood, flooded: flooded,
		live: liveText{send: func(s string) { agent.Output(ctx, s) }},
		blob: func() (BlobWriter, error) { return c.env.blobWriter(context.WithoutCancel(ctx), c.id+".txt") },
	}
}

// result puts the outcome into words.
func (c *bashCall) result(exit sandbox.Exit, err error, timeout time.Duration, out outputText) *agent.Result {
	view := event.Command{
		Command: c.in.Command, Dir: c.dir, Output: out.text, ExitCode: exit.Code, Duration: exit.Duration,
		OutputRef: out.path,
	}
	meta := map[string]any{"stdout": out.text, "stderr": "", "interrupted": false, "isImage": false, "exitCode": exit.Code}
	if box := c.sandboxName(); box != "" {
		meta["sandbox"] = box
	}
	if out.path != "" {
		meta["persistedOutputPath"], meta["persistedOutputSize"] = out.path, out.size
	}
	head, failed := "", false
	switch {
	case exit.Cancelled && errors.Is(err, errBashTimeout):
		head, failed, view.TimedOut = c.timedOut(timeout), true, true
		meta["timedOutAfterMs"] = timeout.Milliseconds()
	case exit.Cancelled && errors.Is(err, errBashFlood):
		head, failed = fmt.Sprintf("Command was ended because it wrote more than %s.", size(c.flood)), true
	case exit.Cancelled:
		head, failed, view.Cancelled = "Command was interrupted before it ended.", true, true
		meta["interrupted"] = true
	case exit.Code != 0:
		if said := exitMeaning(c.in.Command, exit.Code, out.text); said != "" {
			meta["returnCodeInterpretation"] = said
			c.notes = append(c.notes, fmt.Sprintf("(Exit code %d: %s)", exit.Code, said))
			break
		}
		head, failed = fmt.Sprintf("Exit code %d", exit.Code), true
		if exit.Signal != "" {
			head += " (ended by a signal: " + exit.Signal + ")"
		} else if meaning := codeMeaning(c.in.Command, exit.Code); meaning != "" {
			head += " (" + meaning + ")"
		}
	}
	if c.dropped && head == "" {
		head, failed = "The command's changes were not kept.", true
	}
	c.noteLeft(exit)
	c.notes = append(c.notes, c.env.Background.news(c.env.Owner)...)
	if out.note != "" {
		c.notes = append(c.notes, out.note)
	}
	if out.text == "" && out.size > 0 {
		c.notes = append(c.notes, fmt.Sprintf("(%s of output, none of it text)", size(out.size)))
	}
	r := agent.TextResult(compose(head, out.text, c.notes))
	r.IsError, r.Title, r.View, r.Meta = failed, bashTitle(c.in), view, meta
	return r
}

// timedOut explains why a command was ended at its time limit.
func (c *bashCall) timedOut(limit time.Duration) string {
	head := fmt.Sprintf("Command timed out after %s. It was ended with everything it had started", limit)
	if c.in.Leave {
		return head + ", since leave_running is for commands that return: start the long one with & and return, or give a " +
			"longer timeout."
	}
	return head + ", because no more commands may run in the background: end one of those with TaskStop, or give a " +
		"longer timeout."
}

func (c *bashCall) noteLeft(exit sandbox.Exit) {
	if len(exit.Left) > 0 {
		pids := make([]string, len(exit.Left))
		for i, pid := range exit.Left {
			pids[i] = strconv.Itoa(pid)
		}
		c.notes = append(c.notes, fmt.Sprintf("%s running, also after lathe ends: pid %s.", count(len(pids), "process stays",
			"processes stay"), strings.Join(pids, ", ")))
	}
	if exit.Ended > 0 && !exit.Cancelled {
		c.notes = append(c.notes, fmt.Sprintf("%s left running in the background and ended with the command.",
			count(exit.Ended, "process was", "processes were")))
	}
	if exit.Alive > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%s could not be ended.", count(exit.Alive, "process", "processes")))
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// compose joins the outcome, the output and the notes.
func compose(head, text string, notes []string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" && head == "" && len(notes) == 0 {
		return "(no output)"
	}
	var b strings.Builder
	b.WriteString(head)
	if text != "" {
		if head != "" {
			b.WriteString("\n")
		}
		b.WriteString(text)
	}
	for i, n := range notes {
		if b.Len() > 0 {
			b.WriteString("\n")
			if i == 0 {
				b.WriteString("\n")
			}
		}
		b.WriteString(n)
	}
	return b.String()
}
