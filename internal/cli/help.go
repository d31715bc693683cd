package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `lathe is a coding agent for the terminal.

Usage:
  lathe                                  converse; lathe "fix the failing test" begins with that
  lathe -c                               converse, going on with the newest session of this folder
  lathe -p "fix the failing test"        answer and exit
  git diff | lathe -p "review this"      stdin is context
  lathe -c -p "and the other one"        go on with the newest session of this folder
  lathe demo                             a tour without any key
  lathe <command>

Commands:
  session      list, show, replay, cost, verify, export and remove sessions
  ps           list the sessions in the background (lathe --bg "..." starts one)
  dash         all sessions of this machine on one screen
  fleet        many jobs, on this machine or on many
  bench        measure agents on tasks
  acp          sessions in an editor: Zed, JetBrains, Neovim, Emacs
  attach       open a session in the background in this terminal
  logs         print its conversation
  stop         end its process
  respawn      start its process afresh, where it was
  rm           end it and take it off the list
  daemon       their supervisor: status, stop
  schedule     prompts for later, and sessions by cron: list, add, edit, rm
  telegram     converse by a bot of Telegram
  teams        converse by a bot of Microsoft Teams
  gateway      both, as the settings say: run, check, pair, pairs, unpair
  serve        all sessions by HTTP, for scripts, browsers and phones: token, pair, devices
  web          all sessions in the browser, and a code for the phone
  port         the protocol between a session and its faces: schema
  undo         take the file changes of the last steps back
  redo         bring them again
  snapshot     list, show, restore and verify the states of files
  stats        sum up tokens and cost by day, model and project
  agents       list the kinds of subagents
  models       list the models that can be chosen
  auth         keep, show and remove the keys of providers
  best         attempt a task several times, choose the best
  team         have a coordinator and workers reach a goal
  config       show and change settings
  tool         list the tools, call one, make one
  hook         list the hooks, try one
  plugin       install, update and make plugins
  mcp          list, add, test and approve MCP servers
  lsp          list language servers, print diagnostics
  prompt       show what a new session sends before your words
  permission   try permission rules, explain decisions
  sandbox      run a command in the sandbox, see what works here
  doctor       check the installation
  demo         see it work on a scripted model
  completion   shell completion for bash, zsh, fish, powershell
  man          print the manual page
  version      print the version
`

const rootHelpEnd = `
Exit codes: 0 done, 1 the turn failed (or ran out of steps or budget), 2 wrong command line or settings,
130 and 143 ended by SIGINT and SIGTERM. "lathe <command> --help" tells more; "lathe man" tells all.
`

// showHelp prints the help of a command, flags in groups.
func showHelp(c *cobra.Command) error {
	var b bytes.Buffer
	if c.HasParent() {
		commandHelp(&b, c)
	} else {
		b.WriteString(rootHelp)
		for _, g := range flagGroups {
			fmt.Fprintf(&b, "\n%s:\n", g.title)
			writeFlags(&b, c, g.names)
		}
		b.WriteString(rootHelpEnd)
	}
	_, err := c.OutOrStdout().Write(b.Bytes())
	return err
}

func commandHelp(w io.Writer, c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(text), useLine(c))
	if subs := visibleCommands(c); len(subs) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
		for _, s := range subs {
			fmt.Fprintf(w, "  %-12s %s\n", s.Name(), lowerFirst(s.Short))
		}
	}
	if names := localFlagNames(c); len(names) > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		writeFlags(w, c, names)
	}
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	fmt.Fprint(w, "\nAlso: --cwd, --settings, --setting-sources, --debug, --help.\n")
}

// useLine is "lathe session list [flags]".
func useLine(c *cobra.Command) string {
	path := c.CommandPath()
	if i := strings.IndexByte(c.Use, ' '); i > 0 {
		path += c.Use[i:]
	}
	if visibleCommands(c) != nil {
		path += " <command>"
	}
	return path
}

func visibleCommands(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, s := range c.Commands() {
		if !s.Hidden && s.Name() != "help" {
			out = append(out, s)
		}
	}
	return out
}

func localFlagNames(c *cobra.Command) []string {
	var names []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && c.InheritedFlags().Lookup(f.Name) == nil {
			names = append(names, f.Name)
		}
	})
	return names
}

func writeFlags(w io.Writer, c *cobra.Command, names []string) {
	for _, n := range names {
		if f := lookupFlag(c, n); f != nil && !f.Hidden {
			left, text := flagUsage(f)
			fmt.Fprintf(w, "  %-39s %s\n", left, text)
		}
	}
}

func lookupFlag(c *cobra.Command, name string) *pflag.Flag {
	if f := c.Flags().Lookup(name); f != nil {
		return f
	}
	return c.InheritedFlags().Lookup(name)
}

// flagUsage is "-r, --resume [id]" and the text without its back quotes.
func flagUsage(f *pflag.Flag) (left, text string) {
	arg, text := pflag.UnquoteUsage(f)
	left = "    --" + f.Name
	if f.Shorthand != "" {
		left = "-" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal == pickValue:
		left += " [" + arg + "]"
	case arg != "":
		left += " <" + arg + ">"
	}
	return left, text
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// helpCommand is "lathe help [command...]"; anything else after help is an error, not a page.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Show help for a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c := root
			for i, a := range args {
				next := findCommand(c, a)
				if next == nil {
					return usage(`to send it to the model: lathe -p "help `+strings.Join(args, " ")+`"`,
						"there is no command %q", strings.Join(args[:i+1], " "))
				}
				c = next
			}
			return showHelp(c)
		},
	}
}

func findCommand(c *cobra.Command, name string) *cobra.Command {
	for _, s := range c.Commands() {
		if s.Name() == name {
			return s
		}
	}
	return nil
}
