// Command lathe is a coding agent for the terminal.
package main

import (
	"os"

	"github.com/lathe-dev/lathe/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
