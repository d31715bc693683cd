package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
)

func pluginSchemaCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the protocol of plugin processes as JSON Schema", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := process.Schema()
			if err != nil {
				return &Error{Code: exitFailed, Err: err}
			}
			_, err = fmt.Fprintf(p.out, "%s\n", schema)
			return err
		},
	}
}
