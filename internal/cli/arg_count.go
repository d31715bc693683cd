package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// exactly takes the named arguments, all of them.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage(c.CommandPath()+" "+strings.Join(names, " "), "%s takes %s", c.CommandPath(),
				plural(len(names), "argument"))
		}
		return nil
	}
}

// atMost takes the first of the named arguments, or none.
func atMost(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return usage(c.CommandPath()+" ["+strings.Join(names, " [")+strings.Repeat("]", len(names)), "%s takes at most %s",
				c.CommandPath(), plural(len(names), "argument"))
		}
		return nil
	}
}

// atLeast takes one argument or more; the example shows them.
func atLeast(example string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(c.CommandPath()+" "+example, "%s needs an argument", c.CommandPath())
		}
		return nil
	}
}
