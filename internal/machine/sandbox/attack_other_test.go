//go:build unix && !linux

package sandbox

func attackMain() {}
