package boundary

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Run is the confinement of one command.
type Run struct {
	*sandbox.Confinement
	watch    watch
	below    map[string]below // by working folder; nil where nothing may be written
	keeps    bool             // the command is unapproved: it changes none of keptNames
	kept     []string         // their paths
	recorded map[string]stamp // what of them git may change, as it was; nil: nothing
	b        *Boundary
	proxy    *netproxy.Proxy // nil: the tier has no proxy
	local    *netproxy.Local // nil: servers inside are reached from inside only

	configs []*openConfig
	lent    []lent
	made    []string          // folders for new work trees
	trees   map[string]string // the work trees that were known before
	since   int               // of Boundary.overlap
	began   bool
	beganAt time.Time
	heads   heads
	guard   *guard // nil before the start, and where nothing is mounted
}

// For returns the confinement of one command. The folders are absolute and free of symbolic links. Call Done when the
// command has ended.
func (b *Boundary) For(folders []string, n Network) (*Run, error) {
	return b.ForCopy(folders, nil, permission.ReachWrite, n, func(path string) string { return path })
}

// ForCopy is For in a copy of the project: the settings' paths hold there too. Moved returns the path in the copy for
// one in the project, and any other path as it is. The command cannot read the files of hidden, which are absolute;
// nil: those at the top of the folders whose names usually hold secrets. programs are the folders of its PATH; none:
// those of lathe's.
func (b *Boundary) ForCopy(folders, hidden []string, reach permission.Reach, n Network, moved func(string) string,
	programs ...string,
) (*Run, error) {
	since := b.overlap.now()
	temp, err := b.Temp()
	if err != nil {
		return nil, err
	}
	p := confine.Policy{Mode: b.mode, Temp: temp, Sockets: b.s.Network.AllowAllUnixSockets, Processes: mostProcesses}
	if err := errors.Join(b.private(&p), b.overlays(&p)); err != nil {
		return nil, fmt.Errorf("no temporary folder for the sandbox: %w", err)
	}
	roots := slices.Clone(folders)
	for _, dir := range folders {
		roots = append(roots, gitFolders(dir)...)
	}
	roots = append(roots, b.resolve(b.s.Filesystem.AllowWrite)...)
	slices.Sort(roots)
	p.Write = slices.Compact(roots)
	var names, watched []string
	var scanned map[string]below
	var kept []string
	if b.mode == confine.Workspace && reach != permission.ReachView && reach != permission.ReachRead {
		scanned = b.trees.scan(folders)
	}
	keeps := reach == permission.ReachEdit && scanned != nil
	if keeps {
		kept = keptIn(folders, scanned)
		names = slices.Clone(kept)
	}
	for _, dir := range p.Write {
		names, watched = append(names, protectedIn(dir)...), append(watched, watchedIn(dir)...)
		if hidden == nil {
			p.Mask = append(p.Mask, withTargets(secretsIn(dir))...)
		}
	}
	seen := newWatch(append(watched, names...))
	seen.state = newStateFolders(p.Write)
	names = slices.DeleteFunc(names, seen.missing) // nothing of them can be mounted over: the watch has them
	p.Mask = append(p.Mask, hidden...)
	p.Protect = append(withTargets(names), b.both(moved, b.s.Filesystem.DenyWrite)...)
	p.Mask = append(p.Mask, b.both(moved, b.s.Filesystem.DenyRead)...)
	for _, secret := range b.secrets() {
		// a working folder is not hidden
		if !slices.ContainsFunc(p.Write, func(dir string) bool { return within(dir, secret) }) {
			p.Mask = append(p.Mask, secret)
		}
	}
	if err := b.narrow(&p, slices.Clone(p.Write), reach); err != nil {
		return nil, fmt.Errorf("no private view of the working folders: %w", err)
	}
	if b.mode == confine.Workspace {
		p.Write = append(p.Write, b.cache())
	}
	if (len(b.s.Network.AllowUnixSockets) > 0 || b.standard && !p.Sockets) && b.support().Tier == confine.Full {
		allowSockets(&p, b.resolve(b.s.Network.AllowUnixSockets))
	}
	p.Mask = append(except(append(p.Mask, b.tmp.secrets(&p)...), b.both(moved, b.s.Filesystem.AllowRead)), b.temps())
	p.Show = append(p.Show, b.both(moved, b.s.Filesystem.AllowRead)...)
	b.hideHome(&p, reach, programs)
	seen.homes = slices.DeleteFunc(slices.Clone(p.Protect), func(path string) bool {
		return filepath.Base(path) != "config" || !isGitFolder(filepath.Dir(path)) || !there(path)
	})
	r := &Run{
		Confinement: &sandbox.Confinement{Policy: p, Support: b.support()}, since: since, watch: seen, b: b,
		beganAt: time.Now(), heads: headsOf(p.Write), below: scanned, keeps: keeps,
		kept: keepOnly(kept, p.Write),
	}
	r.Confinement.Watch = r.begin
	r.trees, r.watch.strict = seen.homes.entries(), keeps
	switch {
	case b.support().Tier < confine.Full:
	case b.opensNetwork(reach):
		r.Policy.HostNetwork = true
		if b.support().ABI < abstractABI {
			r.Policy.Sockets = false
		}
	default:
		hosts := b.wider
		if reach == permission.ReachView || reach == permission.ReachRead {
			hosts = b.hosts
		}
		r.connect(n, hosts)
	}
	return r, nil
}

// Environ returns the variables that point programs at writable caches. The user's own caches are read-only inside, so
// that nothing a command plants there runs outside.
func (r *Run) Environ() map[string]string {
	if r.Policy.Mode != confine.Workspace {
		return nil
	}
	cache := r.b.cache()
	if r.b.noCache {
		if cache = filepath.Join(r.Policy.Temp, "cache"); r.Support.Tier == confine.Full {
			cache = "/tmp/cache"
		}
	}
	env := map[string]string{
		"XDG_CACHE_HOME": cache, "GOCACHE": cache + "/go-build", "npm_config_cache": cache + "/npm", "PIP_CACHE_DIR": cache +
			"/pip",
		"GOMODCACHE": cache + "/go-mod", "CARGO_HOME": cache + "/cargo", "GOPROXY": r.b.goProxy(),
	}
	if len(r.Policy.Overlay) > 0 {
		env["GOCACHE"] = r.Policy.Overlay[0].Dir
	}
	return env
}

// PrivateFile returns the path of a file that lathe shares with this command, and with no other confined one: outside,
// and inside the sandbox. Done removes it.
func (r *Run) PrivateFile(name string) (outside, inside string) {
	outside = filepath.Join(r.Policy.Private, name)
	if r.Support.Tier == confine.Full {
		return outside, confine.PrivateDir + "/" + name
	}
	return outside, outside
}

// Done closes the network, moves away the protected names that the command created and returns one line for each.
func (r *Run) Done() []string {
	if r.proxy != nil {
		r.proxy.Close()
	}
	if r.local != nil {
		r.local.Close()
	}
	lines := r.returned()
	removeEmpty(r.made)
	_ = os.RemoveAll(r.Policy.Private) // Close removes it too
	lines = append(append(append(lines, r.unkept()...), r.told()...), r.heads.restore()...)
	lines = append(lines, r.sweep(filepath.Join(r.b.o.State, "set-aside"))...)
	for _, c := range r.configs {
		lines = append(lines, c.end()...)
	}
	b := r.b
	if r.began {
		r.began = false
		b.unswept.end(r.guard.left())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	lines = append(append(b.earlier, lines...), r.guard.done()...)
	b.earlier = nil
	return lines
}

// sweep sets aside what the command planted, also if another one had planted it before.
func (r *Run) sweep(aside string) []string {
	r.b.overlap.correct(r.since, r.watch, r.below, r.Policy.Write)
	lines, names := r.watch.sweep(aside)
	found := map[string]*repo{}
	for dir, was := range r.below {
		now := r.b.trees.of(dir).scan(dir)
		more, paths := was.planted(now, r.watch.homes, aside)
		if r.keeps {
			more = append(more, was.added(now, aside, paths)...)
		}
		lines = append(lines, more...)
		maps.Copy(found, paths)
	}
	r.b.overlap.add(r.watch, names, found)
	return lines
}
