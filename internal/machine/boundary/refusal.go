package boundary

import (
	"net"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// refusals are error messages that the sandbox may cause, each with the limit behind it.
var refusals = []struct{ text, kind string }{
	{"Read-only file system", "files"},
	{"EROFS", "files"},
	{"Device or resource busy", "files"},
	{"Could not resolve host", "network"},
	{"Couldn't resolve host", "network"},
	{"Temporary failure in name resolution", "network"},
	{"EAI_AGAIN", "network"},
	{"ENOTFOUND", "network"},
	{"Network is unreachable", "network"},
	{"network is unreachable", "network"},
	{"ENETUNREACH", "network"},
	{"no such host", "network"},
	{"Permission denied", "access"},
	{"permission denied", "access"},
	{"EACCES", "access"},
	{"Operation not permitted", "access"},
	{"operation not permitted", "access"},
	{"EPERM", "access"},
	{"No such file or directory", "hidden"},
	{"no such file or directory", "hidden"},
	{"ENOENT", "hidden"},
}

// Refusal explains the failure of a command that ran in dir to the model, if lines of its output name something that
// the policy refuses; "" otherwise. It quotes those lines. An error that the command would have had outside too is
// none.
func (r *Run) Refusal(dir, output string) string {
	return r.explain("The command ran in lathe's sandbox, which may be why it failed:", dir, output, r.refused)
}

// RefusedPart is Refusal for a command that ended with success, which may hide the failure of a part: that of a pipe
// before its last program. Only what the policy is sure to refuse counts.
func (r *Run) RefusedPart(dir, output string) string {
	return r.explain("The exit code is that of success, but lathe's sandbox refused a part of the command:", dir, output,
		r.surelyRefused)
}

// explain puts the refusals that judge finds behind a beginning.
func (r *Run) explain(begin, dir, output string, judge func(kind, dir, line, around string) bool) string {
	kinds := map[string]string{}
	var before [2]string // a stack trace names the call above the error
	for line := range strings.Lines(output) {
		for _, ref := range refusals {
			if kinds[ref.kind] == "" && strings.Contains(line, ref.text) && judge(ref.kind, dir, line, before[0]+before[1]+
				line) {
				kinds[ref.kind] = strings.TrimSpace(line)
			}
		}
		before[0], before[1] = before[1], line
	}
	hosts := r.refusedHosts()
	if len(kinds) == 0 && hosts == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(begin + hosts)
	if line := kinds["files"]; line != "" {
		b.WriteString(" only " + r.writable() + " can be written, and configuration of git, editors and agents there is " +
			"read-only (" + clip(line) + ").")
	}
	if line := kinds["network"]; line != "" && hosts == "" {
		b.WriteString(r.noNetwork() + " (" + clip(line) + ").")
	}
	if line := kinds["hidden"]; line != "" {
		b.WriteString(" the home folder is hidden from a command that nobody approved, but for toolchains and caches (" +
			clip(line) + ").")
	}
	if line := kinds["access"]; line != "" && len(kinds) == 1 {
		b.WriteString(
			" files with secrets cannot be read, Unix sockets are closed, and processes outside are out of reach (" +
				clip(line) + ").")
	}
	return b.String()
}

// refusedHosts names the hosts that the proxy refused.
func (r *Run) refusedHosts() string {
	if r.proxy == nil {
		return ""
	}
	var b strings.Builder
	for i, c := range r.proxy.Refused() {
		if i == mostHosts {
			b.WriteString(" More hosts were refused.")
			break
		}
		host := c.Host
		if c.Port != 0 {
			host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
		}
		b.WriteString(" the connection to " + host + " was refused: " + c.Reason + ".")
	}
	return b.String()
}

// mostHosts are named to the model.
const mostHosts = 5

// noNetwork is the limit on the network.
func (r *Run) noNetwork() string {
	if r.proxy == nil {
		return " there is no network"
	}
	return " there is no network but its own loopback and the proxy of HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, which " +
		"this program did not use"
}

func (r *Run) writable() string {
	if r.Policy.Mode == confine.ReadOnly {
		return "/tmp"
	}
	return "the working folders and /tmp"
}

// clip shortens a line of a program's output.
func clip(line string) string {
	const most = 160
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
