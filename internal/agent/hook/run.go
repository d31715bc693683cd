package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// mostOutput is how much of a handler's output is read, in bytes.
const mostOutput = 1 << 20

// Callback runs a hook of the host program, which knows it by an id, and returns its JSON.
type Callback func(ctx context.Context, id string, input json.RawMessage, call string) (json.RawMessage, error)

// recorded runs a handler within its time and writes the run to the log.
func (h *Hooks) recorded(ctx context.Context, handler *Handler, o occasion, id string, input []byte) Run {
	limit := handler.limit()
	if ms := h.number("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", 0); o.event == "SessionEnd" && handler.Timeout == 0 &&
		ms > 0 {
		limit = min(time.Duration(ms)*time.Millisecond, time.Minute)
	}
	ran, cancel := context.WithTimeoutCause(ctx, limit, late(limit))
	defer cancel()
	r, stdout := h.timed(ran, handler, o, input)
	h.record(r, o, id, input, stdout)
	return r
}

func late(limit time.Duration) error { return fmt.Errorf("it did not end within %v", limit) }

// timed runs a handler until it ends or ctx does.
func (h *Hooks) timed(ctx context.Context, handler *Handler, o occasion, input []byte) (Run, []byte) {
	began := time.Now()
	r, stdout := h.run(ctx, handler, o, input)
	r.Handler, r.Took = handler, time.Since(began)
	if ctx.Err() != nil {
		r = Run{Handler: handler, Took: r.Took, Exit: -1, Err: context.Cause(ctx)}
	}
	return r, stdout
}

// record writes a run to the log.
func (h *Hooks) record(r Run, o occasion, id string, input, stdout []byte) {
	entry := session.HookRun{
		Event: o.event, Hook: r.Handler.Text(), From: r.Handler.From, Input: inLog(input), Output: bounded(string(stdout)),
		Stderr: r.Stderr,
		Exit:   r.Exit, DurationMS: r.Took.Milliseconds(),
	}
	if o.call != nil {
		entry.CallID = o.call.ID
	}
	if r.Err != nil {
		entry.Err = r.Err.Error()
	}
	body := event.HookRun{
		ID: id, Event: o.event, Hook: r.Handler.name(o.subject), Stdout: entry.Output, Stderr: r.Stderr, Exit: r.Exit,
		Err: entry.Err, Duration: r.Took,
	}
	_ = h.s.Add(entry) // what cannot be written, the journal reports
	h.s.Publish(body)
}

// inLog is the input as the log keeps it: one that is too long without what is in the log anyway.
func inLog(input []byte) json.RawMessage {
	if len(input) <= mostText {
		return input
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return nil
	}
	for key, v := range fields {
		if len(v) > 1000 {
			fields[key], _ = json.Marshal(fmt.Sprintf("[%d bytes]", len(v)))
		}
	}
	out, _ := json.Marshal(fields)
	return out
}

// run runs a handler.
func (h *Hooks) run(ctx context.Context, handler *Handler, o occasion, input []byte) (Run, []byte) {
	switch handler.Type {
	case typeHTTP:
		return h.post(ctx, handler, o, input)
	case typePrompt, typeAgent:
		return h.ask(ctx, handler, o, input)
	case typeMCP:
		return h.invoke(ctx, handler, o, input)
	case typeCallback:
		return h.callBack(ctx, handler, o, input)
	}
	return h.command(ctx, handler, o, input)
}

// command runs a program with the input on its standard input.
func (h *Hooks) command(ctx context.Context, handler *Handler, o occasion, input []byte) (r Run, stdout []byte) {
	spec := sandbox.Spec{Argv: h.argv(handler), Dir: h.s.Dir(), Env: h.environ(handler, o), Stdin: bytes.NewReader(input)}
	if handler.place.Foreign && h.m.Confine != nil {
		c, done, err := h.m.Confine()
		if err != nil {
			return Run{Exit: -1, Err: err}, nil
		}
		spec.Confine = c
		defer done()
	}
	out, errOut := head{first: leaving(o.leave)}, head{}
	spec.Stdout, spec.Stderr = &out, &errOut
	exit, err := h.m.Runner.Run(ctx, spec)
	if err != nil {
		return Run{Exit: -1, Err: err}, nil
	}
	r = Run{Exit: exit.Code, Stderr: h.kept(ctx, strings.TrimSpace(string(errOut.kept)))}
	var bad error
	text, _ := inBackground(out.kept)
	r.Output, r.Text, bad = h.parse(ctx, o.event, text)
	switch isJSON := r.Text == "" && bad == nil && len(bytes.TrimSpace(text)) > 0; {
	case exit.Code == 2:
	case bad != nil:
		r.Err = bad
	case exit.Code != 0 && !isJSON:
		line, _, _ := strings.Cut(r.Stderr, "\n")
		r.Err = fmt.Errorf("exit code %d: %s", exit.Code, cmp.Or(line, "it printed no error"))
	}
	return r, out.kept
}

// argv is the command line of a handler. A command with args is a program of its own; others are for the shell.
func (h *Hooks) argv(handler *Handler) []string {
	if handler.Args != nil {
		root := h.folders(handler, func(_, path string) string { return path })
		out := []string{root.Replace(handler.Command)}
		for _, a := range handler.Args {
			out = append(out, root.Replace(a))
		}
		return out
	}
	text := h.folders(handler, func(name, path string) string {
		switch {
		case isPlain(path):
			return path
		case handler.Shell == "powershell":
			return "${env:" + name + "}"
		}
		return "${" + name + "}" // which the shell knows as a variable: nothing in a name is run
	}).Replace(handler.Command)
	switch {
	case handler.Shell == "powershell":
		return []string{"pwsh", "-NoProfile", "-Command", text}
	case handler.Shell == "bash":
		return []string{"bash", "-c", text}
	case runtime.GOOS == "windows":
		return []string{"cmd", "/c", text}
	}
	return []string{"/bin/sh", "-c", text}
}

// folders fills in the folders that a command can name, as write spells them.
func (h *Hooks) folders(handler *Handler, write func(name, path string) string) *strings.Replacer {
	var pairs []string
	for name, path := range map[string]string{
		"CLAUDE_PROJECT_DIR": h.m.Root, "LATHE_PROJECT_DIR": h.m.Root,
		"CLAUDE_PLUGIN_ROOT": handler.place.Root, "CLAUDE_PLUGIN_DATA": handler.place.Data,
	} {
		pairs = append(pairs, "${"+name+"}", write(name, path))
	}
	return strings.NewReplacer(pairs...)
}

// isPlain reports a path that means itself to every shell, also without quotes.
func isPlain(path string) bool {
	return path != "" && strings.IndexFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:@,", r)
	}) < 0
}

// invoke runs a tool of an MCP server.
func (h *Hooks) invoke(ctx context.Context, handler *Handler, o occasion, input []byte) (Run, []byte) {
	args, err := fill(handler.Input, input)
	if err != nil {
		return Run{Exit: -1, Err: err}, nil
	}
	res := h.call(ctx, "mcp__"+handler.Server+"__"+handler.Tool, args)
	text := res.PlainText()
	if res.IsError {
		return Run{Exit: 1, Err: errors.New(firstLine(text))}, []byte(text)
	}
	var r Run
	r.Output, r.Text, r.Err = h.parse(ctx, o.event, []byte(text))
	return r, []byte(text)
}

// call runs a tool for a handler.
func (h *Hooks) call(ctx context.Context, name string, input json.RawMessage) llm.ToolResult {
	return h.s.Invoke(within(ctx), []llm.ToolCall{{ID: uuid.NewString(), Name: name, Input: input}})[0]
}

type withinKey struct{}

// within marks the calls of a handler: no hooks run for them, so that none runs for itself.
func within(ctx context.Context) context.Context { return context.WithValue(ctx, withinKey{}, true) }

func isWithin(ctx context.Context) bool { return ctx.Value(withinKey{}) != nil }

// callBack asks the host program.
func (h *Hooks) callBack(ctx context.Context, handler *Handler, o occasion, input []byte) (Run, []byte) {
	call := ""
	if o.call != nil {
		call = o.call.ID
	}
	out, err := handler.call(ctx, handler.CallbackID, forHost(input), call)
	if err != nil {
		return Run{Exit: -1, Err: err}, nil
	}
	var r Run
	r.Output, _, r.Err = h.parse(ctx, o.event, out)
	return r, out
}

// forHost is an input in the names of hosts, which know the tool for subagents as Agent.
func forHost(input []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || string(fields["tool_name"]) != `"Task"` {
		return input
	}
	fields["tool_name"] = json.RawMessage(`"Agent"`)
	if out, err := json.Marshal(fields); err == nil {
		return out
	}
	return input
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// head keeps the beginning of an output.
type head struct {
	kept  []byte
	first func(text []byte) bool // gets what there is until it returns true; nil: nobody waits for the first line
}

func (w *head) Write(p []byte) (int, error) {
	w.kept = append(w.kept, p[:min(len(p), mostOutput-len(w.kept))]...)
	if w.first != nil && w.first(w.kept) {
		w.first = nil
	}
	return len(p), nil
}
