//go:build !linux

package netproxy

import "net/netip"

// ProgramBehind finds nothing: commands are confined on Linux only.
func ProgramBehind(int, netip.AddrPort) string { return "" }
