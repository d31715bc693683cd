package boundary

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// Name is the boundary in the session's log: its tier and mode, "full workspace", or "default". "" without one.
func (b *Boundary) Name() string {
	if b == nil {
		return ""
	}
	if b.standard { // a start does not wait for the probe; each command's result has the tier
		return "default"
	}
	return b.Enforced()
}

// Enforced is the tier and mode of commands, "full workspace". "" where nothing is enforced.
func (b *Boundary) Enforced() string {
	if b == nil || b.standard && !b.Confined() {
		return ""
	}
	return b.support().Tier.String() + " " + string(b.mode)
}

// Word is the boundary in the status line. "" without one, and while the default one has not been looked for: Word
// starts that.
func (b *Boundary) Word() string {
	switch {
	case b == nil:
		return ""
	case b.standard && !b.known.Load():
		b.looked.Do(func() { go b.support() })
		return ""
	case b.standard && !b.Confined():
		return "no sandbox"
	case b.support().Tier == confine.Full:
		return "sandboxed"
	case b.support().Tier == confine.Landlock:
		return "landlock"
	case b.support().Tier == confine.Seatbelt:
		return "seatbelt"
	case b.support().Tier == confine.Restricted:
		return "restricted"
	}
	return "unconfined"
}

// Describe returns a Markdown list of the boundary's facts, for people.
func (b *Boundary) Describe() string {
	if b == nil {
		return "Commands run without the sandbox: it is switched off. `lathe sandbox status` shows what this machine " +
			"offers.\n"
	}
	var out strings.Builder
	if b.standard && !b.Confined() {
		return "Commands run without the sandbox, which is on by default only in the tier full: " + code(b.support().Why) +
			"\n"
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&out, "- %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	row("tier", "%s", b.support().Tier)
	if b.support().Why != "" {
		row("not full because", "%s", code(b.support().Why))
	}
	if b.mode == confine.ReadOnly {
		row("may write", "/tmp, private to this session's commands")
	} else {
		row("may write", "the working folders%s, and a private /tmp", list(", ", b.s.Filesystem.AllowWrite))
	}
	switch {
	case b.support().Tier == confine.Restricted:
		row("network", "the machine's own")
	case b.support().Tier < confine.Full:
		row("network", "none")
	case b.s.Network.HTTPProxyPort > 0 && b.s.Network.SOCKSProxyPort > 0:
		row("network", "a proxy of yours decides, at ports %d and %d", b.s.Network.HTTPProxyPort, b.s.Network.SOCKSProxyPort)
	case b.s.Network.HTTPProxyPort+b.s.Network.SOCKSProxyPort > 0:
		row("network", "a proxy of yours decides, at port %d", b.s.Network.HTTPProxyPort+b.s.Network.SOCKSProxyPort)
	case b.standard && !b.strictNetwork():
		row("network", "package registries, hosts that an approved command names, and others that you allow%s; the "+
			"machine's own where nobody can be asked", list(": ", b.s.Network.AllowedDomains))
	case b.s.Network.StrictAllowlist:
		row("network", "the allowed hosts only%s", list(": ", b.s.Network.AllowedDomains))
	default:
		row("network", "lathe asks about each host%s", list(" but ", b.s.Network.AllowedDomains))
	}
	if b.s.Network.AllowLocalBinding {
		row("servers", "reached on this machine's loopback, under the ports that they listen on")
	}
	if len(b.s.Excluded) > 0 {
		row("outside of it", "%s", list("", b.s.Excluded))
	}
	if b.standard {
		row("outside by default", "programs that cannot work inside, such as docker, ssh and git push; see docs/security.md")
	}
	if b.RunsUnasked() {
		row("approval", "commands run unasked where no rule or guard asks")
	}
	return out.String()
}

// list joins settings behind a text, "" if there are none.
func list(before string, all []string) string {
	if len(all) == 0 {
		return ""
	}
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = code(s)
	}
	return before + strings.Join(quoted, ", ")
}

func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }
