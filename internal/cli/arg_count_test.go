package cli

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

// A wrong number of arguments is a usage error with the next move, for every command.
func TestTheNumberOfArgumentsIsAUsageError(t *testing.T) {
	p := newProgram(newStreams(nil, nil, nil))
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.Runnable() || c.Name() == "completion" || !c.HasParent() {
			return
		}
		for n := range 12 {
			err := c.ValidateArgs(make([]string, n))
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Code != exitUsage) {
				t.Errorf("%s with %d arguments: %v", c.CommandPath(), n, err)
			}
		}
	}
	walk(newRoot(p, invocation{command: true}))
}
