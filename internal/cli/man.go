package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

func manCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Args: noArgs,
		Long:    "Print the manual page in man(7) format.",
		Example: "  lathe man | man -l -\n  lathe man > ~/.local/share/man/man1/lathe.1",
		RunE: func(c *cobra.Command, _ []string) error {
			return writeMan(p.out, c.Root())
		},
	}
}

// writeMan writes the page from the command tree, so that it cannot fall behind.
func writeMan(out io.Writer, root *cobra.Command) error {
	var b strings.Builder
	v, _ := currentVersion()
	fmt.Fprintf(&b, ".TH LATHE 1 \"\" %s \"lathe manual\"\n", roffArg("lathe "+v))
	b.WriteString(".SH NAME\nlathe \\- a coding agent for the terminal\n.SH SYNOPSIS\n")
	for _, l := range []string{"lathe -p [flags] prompt...", "lathe [flags] <command> [arguments]"} {
		fmt.Fprintf(&b, ".B %s\n.br\n", roff(l))
	}
	b.WriteString(".SH DESCRIPTION\n" + roff(manIntro) + "\n.SH OPTIONS\n")
	for _, g := range flagGroups {
		fmt.Fprintf(&b, ".SS %s\n", roff(g.title))
		manFlags(&b, root, g.names)
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range visibleCommands(root) {
		manCommandText(&b, c)
	}
	fmt.Fprintf(&b, manEnd, hosts.Variables("apiKey"), hosts.Variables("apiBase"))
	_, err := io.WriteString(out, b.String())
	return err
}

func manCommandText(b *strings.Builder, c *cobra.Command) {
	if subs := visibleCommands(c); len(subs) > 0 {
		for _, s := range subs {
			manCommandText(b, s)
		}
		return
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, ".SS %s\n%s\n", roff(useLine(c)), roff(strings.TrimSpace(text)))
	manFlags(b, c, localFlagNames(c))
	if c.Example != "" {
		fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(strings.TrimRight(c.Example, "\n")))
	}
}

func manFlags(b *strings.Builder, c *cobra.Command, names []string) {
	for _, n := range names {
		f := lookupFlag(c, n)
		if f == nil || f.Hidden {
			continue
		}
		left, text := flagUsage(f)
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(left)), roff(text))
	}
}

// roff escapes text for man(7): backslashes, hyphens, and lines that begin with a control character.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func roffArg(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }

const manIntro = `lathe loops between a language model and tools on this machine until the work is done. With -p it answers and exits: the arguments are the prompt, and stdin, when it is not a terminal, is added to it as context (10 MB at most). Every conversation is kept as a session; -c goes on with the newest one of the folder and -r with any other.`

const manEnd = `.SH "EXIT STATUS"
.TP
.B 0
The work is done.
.TP
.B 1
The turn failed, or ran out of steps or budget.
.TP
.B 2
Wrong command line or configuration; nothing was run.
.TP
.B 130, 143
Ended by SIGINT or SIGTERM. The first signal ends the turn in order, the second one at once.
.SH ENVIRONMENT
.TP
.B %s
The key for the model API.
.TP
.B %s
Another address of the API.
.TP
.B HTTPS_PROXY, NO_PROXY
The proxy for requests, and the hosts that need none.
.TP
.B LATHE_LOG
What goes to the log: debug, info (the default), warn, error or off.
.TP
.B XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME
Where settings, sessions and logs live.
.SH FILES
.TP
.I ~/.config/lathe/settings.json
The user's settings. A project's are in
.I .lathe/settings.json
and
.IR .lathe/settings.local.json ;
those of
.I .claude
are read too.
.TP
.I ~/.local/share/lathe/projects
The sessions.
.TP
.I ~/.local/state/lathe/logs/lathe.log
The log.
`
