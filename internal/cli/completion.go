package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/permission"
)

func completionCommand(p *program) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion <shell>", Short: "Print shell completion for bash, zsh, fish or powershell",
		ValidArgs: shells,
		Example: `  source <(lathe completion bash)
  lathe completion zsh > "${fpath[1]}/_lathe"
  lathe completion fish > ~/.config/fish/completions/lathe.fish
  lathe completion powershell | Out-String | Invoke-Expression`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("", "lathe completion needs one of: bash, zsh, fish, powershell")
			}
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.out, true)
			case "zsh":
				return root.GenZshCompletion(p.out)
			case "fish":
				return root.GenFishCompletion(p.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.out)
			}
			return usage("", "lathe completion needs one of: bash, zsh, fish, powershell; not %q", args[0])
		},
	}
}

// flagValues are the flags that take one of a few words.
var flagValues = map[string][]string{
	"output-format":          {"text", "json", "stream-json"},
	"input-format":           {"text", "stream-json"},
	"effort":                 {"off", "low", "medium", "high", "xhigh", "max"},
	"permission-mode":        permission.ModeNames(),
	"provider":               hosts.Names(),
	"permission-prompt-tool": {"stdio"},
	"setting-sources":        {"user", "project", "local"},
}

// completeFlags offers values of flags to the shell, in every command that has them.
func completeFlags(c *cobra.Command, o *Options) {
	offer := func(name string, f cobra.CompletionFunc) {
		if c.LocalNonPersistentFlags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
			// It fails only for a flag that is not there or has completion already.
			_ = c.RegisterFlagCompletionFunc(name, f)
		}
	}
	for name, values := range flagValues {
		offer(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, dir := range []string{"cwd", "add-dir"} {
		offer(dir, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	}
	offer("resume", completeIDs(o))
	for _, s := range c.Commands() {
		completeFlags(s, o)
	}
}

// plainUsages takes the quotes that mark the name of a value out of the flags' texts: shells show them as
// they are.
func plainUsages(c *cobra.Command) {
	plain := func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, s := range c.Commands() {
		plainUsages(s)
	}
}
