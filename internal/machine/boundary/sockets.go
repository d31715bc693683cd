package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// allowSockets lets a policy make Unix sockets and reach those of allowed, and no other one that is there now. The
// filter of system calls sees no path, so the others are hidden: the folders of daemons are empty inside, and single
// sockets are masked. Abstract sockets are out of reach in any case, by the network namespace.
func allowSockets(p *confine.Policy, allowed []string) {
	p.Sockets = true
	for _, dir := range []string{"/run", "/var/run", os.Getenv("XDG_RUNTIME_DIR")} {
		if _, err := os.Lstat(filepath.Join(dir, "current-system")); err == nil {
			continue // NixOS has its programs there; single sockets are masked
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && dir != "" && filepath.IsAbs(real) && real != "/" &&
			!holds(p.Write, real) {
			p.Empty = append(p.Empty, real)
		}
	}
	p.Empty = slices.Compact(slices.Sorted(slices.Values(p.Empty)))
	p.Empty = slices.DeleteFunc(p.Empty, func(dir string) bool { // /run/user/1000 is hidden with /run
		return slices.ContainsFunc(p.Empty, func(other string) bool { return other != dir && within(dir, other) })
	})
	p.Show = append(append(p.Show, allowed...), readFromRun()...)
	for _, path := range boundSockets() {
		if !slices.Contains(allowed, path) && !slices.ContainsFunc(append(slices.Clone(p.Empty), p.Mask...),
			func(dir string) bool { return within(path, dir) }) {
			p.Mask = append(p.Mask, path)
		}
	}
}

// readFromRun returns the addresses of name servers, which programs read in /run.
func readFromRun() (out []string) {
	for _, name := range []string{
		"/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf", "/run/resolvconf/resolv.conf",
		"/run/NetworkManager/resolv.conf",
	} {
		if real, err := filepath.EvalSymlinks(name); err == nil && within(real, "/run") {
			out = append(out, real)
		}
	}
	return out
}

// holds reports whether one of the folders is dir, or lies in it or above it.
func holds(folders []string, dir string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(f, dir) || within(dir, f) })
}

// boundSockets returns the paths of the Unix sockets of this machine, without links (proc(5), /proc/net/unix).
func boundSockets() (out []string) {
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		const columns = 7
		f := strings.SplitN(strings.TrimSpace(line), " ", columns+1)
		path := f[len(f)-1]
		if i := strings.IndexByte(path, '/'); i >= 0 {
			path = path[i:]
		}
		if !filepath.IsAbs(path) {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if fi, err := os.Lstat(real); err == nil && fi.Mode()&os.ModeSocket != 0 {
				out = append(out, real)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
