package cli

import "github.com/lathe-dev/lathe/internal/machine/term"

// escape makes a block of foreign text safe for a terminal.
func escape(s string) string { return term.Escape(s) }
