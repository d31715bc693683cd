package confine

import (
	"path/filepath"
	"slices"
	"strings"
)

// seatbeltBase is what every command may do: run programs, signal and inspect those of its own sandbox, read the
// system's state, and use the services without which programs of the system do not start.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow pseudo-tty)
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow iokit-get-properties)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SystemConfiguration.configd"))
(allow file-read* file-test-existence)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/fd/") (regex #"^/dev/ttys[0-9]+$") (literal "/dev/ptmx"))
(allow file-ioctl (literal "/dev/null") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$") (literal "/dev/ptmx"))
(allow network-bind (local ip "localhost:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
`

// SeatbeltProfile returns the policy as a profile of macOS's sandbox-exec. Paths are real ones. The last rule that
// matches counts, so what is protected comes after what is open. Unlike Linux's, this boundary has no /tmp of its own,
// no processes of its own, and shares the machine's loopback; Apple events, which steer other programs, are refused
// with all services that are not listed.
func SeatbeltProfile(p *Policy) string {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	rule := func(text string, paths []string, filter string) {
		if len(paths) == 0 {
			return
		}
		b.WriteString("(" + text)
		for _, path := range paths {
			b.WriteString("\n  (" + filter + " " + seatbeltQuote(path) + ")")
		}
		b.WriteString(")\n")
	}
	if p.Temp != "" {
		rule("allow file-write*", []string{p.Temp}, "subpath")
	}
	if p.Private != "" {
		rule("allow file-write*", []string{p.Private}, "subpath")
	}
	if p.Mode == Workspace {
		rule("allow file-write*", p.Write, "subpath")
	}
	if p.Sockets {
		b.WriteString("(allow network* (local unix-socket) (remote unix-socket))\n")
	}
	rule("deny file-write*", p.Protect, "subpath")
	rule("deny file-read* file-write*", p.Mask, "subpath")
	// A folder above a protected path could be renamed, and another one made in its place.
	rule("deny file-write-unlink file-write-create", seatbeltAncestors(p), "literal")
	return b.String()
}

// seatbeltAncestors are the folders between the writable ones and what is protected in them, and the writable ones.
func seatbeltAncestors(p *Policy) (out []string) {
	if p.Mode != Workspace {
		return nil
	}
	for _, path := range slices.Concat(p.Protect, p.Mask) {
		for _, root := range p.Write {
			if path != root && !strings.HasPrefix(path, root+"/") {
				continue
			}
			for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
				out = append(out, dir)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// seatbeltQuote makes a string of the profile's language, a dialect of Scheme.
func seatbeltQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
