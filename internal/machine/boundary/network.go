package boundary

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// Network decides on and records the connections of one command.
type Network struct {
	// decides on hosts that no pattern of the settings covers; nil: they are refused
	Ask    func(context.Context, netproxy.Request) netproxy.Verdict
	Record func(netproxy.Connection) // nil: no record
}

// Leave lets processes of the command outlive it and lathe. They have the machine's network, since lathe's proxy ends
// with lathe and a server that stays is there to be reached; for that the permissions ask. The temporary folder stays,
// too.
func (r *Run) Leave() {
	r.Policy.HostNetwork, r.Policy.Local, r.Policy.Proxy, r.Confinement.Proxy, r.Confinement.Local = true, false, false,
		nil, nil
	if r.b.support().ABI < abstractABI {
		r.Policy.Sockets = false
	}
	r.b.mu.Lock()
	r.b.kept = true
	r.b.mu.Unlock()
}

// connect gives the command a proxy as its only way out.
func (r *Run) connect(n Network, hosts netproxy.Rules) {
	if r.b.s.Network.StrictAllowlist {
		n.Ask = nil
	}
	var pid atomic.Int64
	r.proxy = netproxy.New(netproxy.Config{
		Rules: hosts, Ask: n.Ask, Record: n.Record,
		Program: func(client netip.AddrPort) string { return netproxy.ProgramBehind(int(pid.Load()), client) },
	})
	r.Policy.Proxy = true
	if r.b.s.Network.AllowLocalBinding {
		r.local = netproxy.NewLocal(confine.ProxyPort)
		r.Policy.Local, r.Confinement.Local = true, r.local.Serve
	}
	if set := r.b.s.Network; set.HTTPProxyPort > 0 || set.SOCKSProxyPort > 0 {
		own := ownProxy{http: set.HTTPProxyPort, socks: set.SOCKSProxyPort}
		r.Confinement.Proxy = func(l net.Listener, _ int) { own.serve(l) }
		return
	}
	r.Confinement.Proxy = func(l net.Listener, leader int) {
		pid.Store(int64(leader))
		r.proxy.Serve(l)
	}
}
