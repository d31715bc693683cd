//go:build !unix

package fleet

import "os/exec"

func detach(*exec.Cmd) {}

// pause does nothing here: a session over the rate goes on until its turn ends.
func pause(int) {}

func resume(int) {}
