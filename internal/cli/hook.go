package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/base/frontmatter"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func hookCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "hook", Short: "List and try the hooks of the settings", Args: noArgs,
		Long: "Hooks are commands, requests and questions to a model that run at events of a session; docs/hooks.md " +
			"describes them.",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(hookListCommand(p, o), hookTestCommand(p, o), hookApproveCommand(p, o))
	return c
}

func hookListCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the hooks in force", Args: noArgs,
		Long: "List the hooks in force by event, each with its matcher and the file that it comes from. Hooks that cannot " +
			"be used are named on stderr.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			inst, err := p.instance(o)
			if err != nil {
				return err
			}
			hooks := inst.Hooks()
			for _, n := range hooks.Notes() {
				fmt.Fprintln(p.err, "lathe: warning: "+term.EscapeLine(n))
			}
			return joinErrors(hooks.Check(), p.listHooks(hooks.List(), asJSON), inst.Close())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (p *program) listHooks(all []hook.Handler, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []hook.Handler{}
		}
		return writeJSON(p.out, all)
	}
	var rows [][]string
	for _, h := range all {
		matcher := h.Matcher
		if h.If != "" {
			matcher += " if " + h.If
		}
		rows = append(rows, []string{h.Event, matcher, h.Text(), h.From})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

func hookTestCommand(p *program, o *Options) *cobra.Command {
	var input string
	c := &cobra.Command{
		Use: "test EVENT", Short: "Run the hooks of an event with an input", Args: exactly("EVENT"),
		Long: `Run the hooks of an event as if it had happened, and print their decisions. --input has the fields that the event adds, such as
{"tool_name": "Bash", "tool_input": {"command": "ls"}} for PreToolUse. The programs really run.`,
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			fields := map[string]any{}
			if input != "" {
				if err := json.Unmarshal([]byte(input), &fields); err != nil {
					return &Error{Code: exitUsage, Err: fmt.Errorf("--input is no JSON object: %w", err)}
				}
			}
			return p.testHooks(c.Context(), o, args[0], fields)
		},
	}
	c.Flags().StringVar(&input, "input", "", "the event's own fields, a JSON object")
	return c
}

func hookApproveCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "approve FILE", Short: "Approve the hooks of a skill or an agent of the project", Args: exactly("FILE"),
		Long: `Skills and agents of a project can bring hooks, which run commands. Print those of a file, and approve them as they are: they run from then on, in
the sandbox and without your keys, until they change.`,
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.approveHooks(o, args[0])
		},
	}
}

func (p *program) approveHooks(o *Options, name string) error {
	file, err := filepath.Abs(filepath.Join(o.Dir, name))
	if filepath.IsAbs(name) {
		file, err = name, nil
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	hooks := frontmatter.Parse(data).Fields["hooks"]
	if hooks == nil {
		return usage("give the file of a skill or an agent", "%s has no hooks", name)
	}
	text, err := json.MarshalIndent(hooks, "", "  ")
	if err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, term.Escape(string(text)))
	return joinErrors(inst.Hooks().Approve(file, hooks), inst.Close())
}

func (p *program) testHooks(ctx context.Context, o *Options, name string, fields map[string]any) error {
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	s, err := inst.NewSession(ctx, conversation.SessionOptions{Detached: true})
	if err != nil {
		return joinErrors(err, inst.Close())
	}
	runs, err := s.Hooks().Try(ctx, name, fields)
	if err == nil && len(runs) == 0 {
		fmt.Fprintln(p.out, "no hook matches")
	}
	for _, r := range runs {
		p.printRun(r)
	}
	return joinErrors(err, s.Close(), inst.Close())
}

// printRun prints the result of one hook.
func (p *program) printRun(r hook.Run) {
	line := func(format string, args ...any) { fmt.Fprintln(p.out, term.EscapeLine(fmt.Sprintf(format, args...))) }
	line("%s (%s): exit %d, %v", r.Handler.Text(), r.Handler.From, r.Exit, r.Took.Round(time.Millisecond))
	if word, why := r.Verdict(); word != "" {
		line("  %s: %s", word, why)
	}
	if r.Output.Specific.UpdatedInput != nil {
		line("  input: %s", r.Output.Specific.UpdatedInput)
	}
	for _, text := range []struct{ name, text string }{
		{"for the model", r.Context()}, {"for you", r.Output.SystemMessage}, {"stderr", r.Stderr},
	} {
		if text.text != "" {
			line("  %s: %s", text.name, text.text)
		}
	}
	if r.Err != nil {
		line("  failed, and decides nothing: %v", r.Err)
	}
}
