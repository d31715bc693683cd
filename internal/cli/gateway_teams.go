package cli

import "github.com/spf13/cobra"

func teamsCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{Use: "teams", Short: "Converse by a bot of Microsoft Teams", Args: noArgs, Hidden: true}
}
