// Command lathe-fleet runs jobs for lathe on many machines, and its benchmarks.
package main

import (
	"os"

	"github.com/lathe-dev/lathe/internal/fleet/program"
)

func main() { os.Exit(program.Main(os.Args[1:], os.Stdout, os.Stderr)) }
