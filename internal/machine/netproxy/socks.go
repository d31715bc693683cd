package netproxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"time"
)

// SOCKS5 (RFC 1928), without authentication.
const (
	socksVersion = 5
	socksConnect = 1

	socksOK            = 0
	socksFailed        = 1
	socksNotAllowed    = 2
	socksHostUnreach   = 4
	socksNoCommand     = 7
	socksNoAddressType = 8

	socksNoMethods = 0xff
)

// socks serves one SOCKS5 client.
func (p *Proxy) socks(c *clientConn) {
	_ = c.SetDeadline(time.Now().Add(p.c.Limits.Handshake))
	t, code, err := socksTarget(c)
	if err != nil {
		if code != socksNoMethods {
			p.refuse(Connection{Protocol: "socks5"}, err.Error())
			_, _ = c.Write(socksReply(code))
		}
		return
	}
	_ = c.SetDeadline(time.Time{})
	out, err := p.connect(p.ctx, t, "socks5", p.program(c.RemoteAddr()))
	if err != nil {
		code = socksHostUnreach
		if _, refused := errors.AsType[*RefusedError](err); refused {
			code = socksNotAllowed
		}
		_, _ = c.Write(socksReply(code))
		return
	}
	defer out.Close()
	if _, err := c.Write(socksReply(socksOK)); err != nil {
		return
	}
	if outer, ok := out.(halfConn); ok {
		p.pipe(c, outer)
	}
}

// socksReply is a reply with an address of zeros, which no client needs.
func socksReply(code byte) []byte { return []byte{socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0} }

// socksTarget reads the greeting and the request. With an error, the code is the reply to send.
func socksTarget(c io.ReadWriter) (Target, byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:2]); err != nil {
		return Target{}, socksNoMethods, err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(c, methods); err != nil {
		return Target{}, socksNoMethods, err
	}
	open := false
	for _, m := range methods {
		open = open || m == 0
	}
	if !open {
		_, _ = c.Write([]byte{socksVersion, socksNoMethods})
		return Target{}, socksNoMethods, errors.New("the client offers no method without a password")
	}
	if _, err := c.Write([]byte{socksVersion, 0}); err != nil {
		return Target{}, socksNoMethods, err
	}
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return Target{}, socksNoMethods, err
	}
	if head[0] != socksVersion || head[1] != socksConnect {
		return Target{}, socksNoCommand, errors.New("only the command connect of SOCKS5 is served")
	}
	return socksAddress(c, head[3])
}

func socksAddress(c io.Reader, kind byte) (Target, byte, error) {
	size := map[byte]int{1: 4, 4: 16}[kind]
	if kind == 3 {
		var n [1]byte
		if _, err := io.ReadFull(c, n[:]); err != nil {
			return Target{}, socksFailed, err
		}
		size = int(n[0])
	}
	if size == 0 {
		return Target{}, socksNoAddressType, errors.New("the address is of an unknown kind")
	}
	buf := make([]byte, size+2)
	if _, err := io.ReadFull(c, buf); err != nil {
		return Target{}, socksFailed, err
	}
	t := Target{Port: binary.BigEndian.Uint16(buf[size:])}
	host := string(buf[:size])
	if kind != 3 {
		addr, _ := netip.AddrFromSlice(buf[:size])
		host = addr.Unmap().String()
	}
	if t.Port == 0 {
		return Target{}, socksFailed, errPort
	}
	var err error
	if t.Host, t.Addr, err = hostForm(host); err != nil {
		return Target{}, socksNotAllowed, err
	}
	return t, socksOK, nil
}
