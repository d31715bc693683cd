package netproxy

import "net/netip"

// Private reports addresses of this machine, its networks and its cloud, whose services may trust this machine.
func Private(a netip.Addr) bool { return private(a) }
