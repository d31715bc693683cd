package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/tool"
)

func toolCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "tool", Short: "List the tools, call one, make one", RunE: needCommand,
		Long: "The tools that a model is given, for looking at and for use without a model. No key is needed.",
	}
	c.AddCommand(toolListCommand(p, o), toolCallCommand(p, o), toolNewCommand(p, o))
	return c
}

// detached opens a conversation that keeps nothing and needs no model.
func (p *program) detached(ctx context.Context, o *Options) (*conversation.Session, func() error, error) {
	inst, err := p.instance(o)
	if err != nil {
		return nil, nil, err
	}
	p.kids.add(inst.Close)
	s, err := inst.NewSession(ctx, conversation.SessionOptions{Detached: true})
	if err != nil {
		return nil, nil, startError(joinErrors(err, inst.Close()))
	}
	return s, func() error { return joinErrors(s.Close(), inst.Close()) }, nil
}

func toolListCommand(p *program, o *Options) *cobra.Command {
	var asJSON, tokens, origin bool
	c := &cobra.Command{
		Use: "list", Short: "List the tools", Args: noArgs,
		Long: `List the tools that a model is given here: settings and flags may take some away. With --tokens each has the bytes of
its name, description and schema and an estimate of their tokens, which every request carries, the largest first. Tools that
are deferred cost nothing until the model loads them: their names are in the description of ToolSearch. With --origin the deferred
ones are listed too, and where each comes from: lathe itself, a program, a plugin, an MCP server.`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			s, closeAll, err := p.detached(c.Context(), o)
			if err != nil {
				return err
			}
			if origin {
				return joinErrors(p.listOrigins(c.Context(), s, asJSON), closeAll())
			}
			if tokens {
				return joinErrors(p.listCosts(s.Specs(), asJSON), closeAll())
			}
			return joinErrors(p.listTools(s.Specs(), asJSON), closeAll())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with descriptions and input schemas")
	c.Flags().BoolVar(&origin, "origin", false, "show where each tool comes from, the deferred ones too")
	c.Flags().BoolVar(&tokens, "tokens", false, "show the size of each tool in a request")
	addPermissionFlags(c.Flags(), o)
	return c
}

// specJSON is a tool in the form of Anthropic's API.
type specJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func (p *program) listTools(specs []llm.ToolSpec, asJSON bool) error {
	if asJSON {
		out := make([]specJSON, 0, len(specs))
		for _, s := range specs {
			out = append(out, specJSON{s.Name, s.Description, s.Schema})
		}
		return writeJSON(p.out, out)
	}
	var rows [][]string
	for _, s := range specs {
		first, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
		rows = append(rows, []string{s.Name, first})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

// toolCost is the share of a tool in each request.
type toolCost struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"` // estimated
}

func costs(specs []llm.ToolSpec) (list []toolCost, total toolCost) {
	total.Name = "total"
	for _, s := range specs {
		c := toolCost{
			Name: s.Name, Bytes: len(s.Name) + len(s.Description) + len(s.Schema),
			Tokens: llm.EstimateRequest(&llm.Request{Tools: []llm.ToolSpec{s}}),
		}
		list = append(list, c)
		total.Bytes, total.Tokens = total.Bytes+c.Bytes, total.Tokens+c.Tokens
	}
	slices.SortStableFunc(list, func(a, b toolCost) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return list, total
}

func (p *program) listCosts(specs []llm.ToolSpec, asJSON bool) error {
	list, total := costs(specs)
	if asJSON {
		return writeJSON(p.out, append(list, total))
	}
	rows := [][]string{{"tool", "tokens", "bytes"}}
	for _, c := range append(list, total) {
		rows = append(rows, []string{c.Name, strconv.Itoa(c.Tokens), strconv.Itoa(c.Bytes)})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

func toolCallCommand(p *program, o *Options) *cobra.Command {
	var input string
	var asJSON bool
	c := &cobra.Command{
		Use: "call [NAME --input JSON]", Short: "Call a tool, or many from stdin",
		Long: `Call a tool as a model would, with the same checks and permissions; a call that would ask is denied unless
a rule or the mode allows it. --input is a JSON object, or @FILE that holds one (@- for stdin).

Without a NAME, stdin has one call per line, {"tool":"Read","input":{"file_path":"a.go"}}, and each is answered at once, in
order. They share one conversation: what one has read, another may edit. A line that is not a call is answered with an
error. With --json an answer is {"content","is_error","denied","view"}, one object per line, else its text. The exit
code is 1 when the last one is an error.`,
		Example: `  lathe tool call Grep --input '{"pattern":"TODO"}'
  lathe tool call Bash --input @build.json --allowedTools "Bash(make *)"
  generate-calls | lathe tool call --json --permission-mode acceptEdits`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return tool.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			calls, err := p.toolCalls(c, args, input)
			if err != nil {
				return err
			}
			s, closeAll, err := p.detached(c.Context(), o)
			if err != nil {
				return err
			}
			r := &toolRun{session: s, out: p.out, asJSON: asJSON}
			return joinErrors(r.all(c.Context(), calls), closeAll())
		},
	}
	f := c.Flags()
	f.StringVar(&input, "input", "", "the input: a `JSON` object, or @FILE")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per call")
	addPermissionFlags(f, o)
	return c
}

// callSource yields calls until io.EOF. An error that is not io.EOF represents one call that could not be
// read; a *Error ends the run.
type callSource func(ctx context.Context) (llm.ToolCall, error)

// toolCalls is the one call of the command line, or those of stdin.
func (p *program) toolCalls(c *cobra.Command, args []string, input string) (callSource, error) {
	switch {
	case len(args) > 1:
		return nil, usage("give the input with --input", "%s takes one tool, not %s", c.CommandPath(),
			plural(len(args), "argument"))
	case len(args) == 0 && c.Flags().Changed("input"):
		return nil, usage("see lathe tool list", "--input needs the name of a tool before it")
	case len(args) == 0 && p.inTTY:
		return nil,
			usage(`call one: lathe tool call Read --input '{"file_path":"README.md"}', or pipe lines of {"tool","input"} in`,
				"there is no tool to call")
	case len(args) == 0:
		return newCallLines(p.in).next, nil
	case !c.Flags().Changed("input"):
		return nil, usage(`give it as JSON: --input '{}', or --input @FILE`, "%s needs the input of %s", c.CommandPath(),
			args[0])
	}
	raw, err := p.inputOf(input)
	if err != nil {
		return nil, err
	}
	left := []llm.ToolCall{{Name: args[0], Input: raw}}
	return func(context.Context) (llm.ToolCall, error) {
		if len(left) == 0 {
			return llm.ToolCall{}, io.EOF
		}
		call := left[0]
		left = nil
		return call, nil
	}, nil
}

// inputOf reads --input.
func (p *program) inputOf(input string) (json.RawMessage, error) {
	raw := []byte(input)
	if file, ok := strings.CutPrefix(input, "@"); ok {
		var err error
		if file == "-" {
			raw, err = io.ReadAll(io.LimitReader(p.in, maxCallLine+1))
		} else {
			raw, err = config.ReadFile(file, maxCallLine)
		}
		if err != nil {
			return nil, &Error{Code: exitUsage, Msg: "--input", Err: err}
		}
	}
	if err := checkObject(raw); err != nil {
		return nil, usage(`write it like '{"file_path":"README.md"}'`, "--input is not a JSON object: %s", err)
	}
	return bytes.TrimSpace(raw), nil
}

// checkObject fails, with the reason, for text that is not one JSON object.
func checkObject(raw []byte) error {
	if len(raw) > maxCallLine {
		return fmt.Errorf("it has more than %d MB", maxCallLine>>20)
	}
	var v json.RawMessage
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	if b := bytes.TrimSpace(raw); b[0] != '{' {
		return fmt.Errorf("it begins with %q", b[0])
	}
	return nil
}

// toolRun calls tools of one conversation and prints their results.
type toolRun struct {
	session *conversation.Session
	out     io.Writer
	asJSON  bool
	n       int
}

// answered is a call's result as machines see it. Content is a text, or a list of blocks in the form of
// Anthropic's API.
type answered struct {
	Content any             `json:"content"`
	IsError bool            `json:"is_error"`
	Denied  bool            `json:"denied"`
	View    json.RawMessage `json:"view"`
	text    string
}

func (r *toolRun) all(ctx context.Context, next callSource) error {
	var last answered
	for {
		call, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e, ok := errors.AsType[*Error](err); ok {
			return e
		}
		if err != nil {
			last = answered{Content: err.Error(), IsError: true, View: json.RawMessage("null"), text: err.Error()}
		} else if last, err = r.call(ctx, call); err != nil {
			return err
		}
		if err := r.print(last); err != nil {
			return err
		}
	}
	if last.IsError {
		return &Error{Code: exitFailed, Msg: "the last call failed", Quiet: true}
	}
	return nil
}

// call sends one call through the choke point.
func (r *toolRun) call(ctx context.Context, call llm.ToolCall) (answered, error) {
	r.n++
	call.ID = fmt.Sprintf("call_%d", r.n)
	events := r.session.Subscribe(context.WithoutCancel(ctx))
	res := r.session.Invoke(ctx, []llm.ToolCall{call})[0]
	events.Close()
	a := answered{Content: contentOf(res.Parts), IsError: res.IsError, text: textOf(res), View: json.RawMessage("null")}
	for e := range events.All(context.WithoutCancel(ctx)) {
		end, ok := e.Body.(event.ToolEnd)
		if !ok || end.Call.ID != call.ID {
			continue
		}
		var err error
		if a.View, err = event.MarshalView(end.View); err != nil {
			return a, err
		}
		a.Denied = end.Denied
	}
	return a, nil
}

// textOf is a result for people: media are named.
func textOf(res llm.ToolResult) string {
	var b strings.Builder
	for _, p := range res.Parts {
		switch p := p.(type) {
		case llm.Text:
			b.WriteString(strings.TrimRight(p.Text, "\n") + "\n")
		case llm.Media:
			fmt.Fprintf(&b, "[%s, %s]\n", p.MIME, bytesOf(int64(len(p.Data))))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *toolRun) print(a answered) error {
	if r.asJSON {
		return writeJSON(r.out, a)
	}
	_, err := fmt.Fprintln(r.out, term.Escape(a.text))
	return err
}
