package cli

import (
	"github.com/spf13/cobra"
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
