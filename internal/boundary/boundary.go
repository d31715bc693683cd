// Package boundary makes the sandbox of a session: out of the settings, the folders that it works in and the machine it comes to the policy
// that package confine enforces on commands.
//
// The words: [Settings] are the setting sandbox; a [Boundary] is an instance's sandbox, with the temporary folder and the caches that its commands
// share; a watch notes which protected names a command made.
//
// Promises:
//
//   - A boundary that was asked for by flag, or with failIfUnavailable, is there in the tier full or opening it is an error. Otherwise Notes says what is
//     missing.
//   - A protected name that a command made, because it was not there to be mounted over, is set aside when the command ends.
//   - Nothing in a repository widens the boundary: its paths come from the folders themselves and the user's settings.
package boundary

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/sandbox"
	"github.com/lathe-dev/lathe/internal/sandbox/confine"
)

// Settings are the setting sandbox, in Claude Code's form, with a mode. Paths may begin with ~/; others are relative to the folder of the instance.
type Settings struct {
	Enabled           bool         `json:"enabled"`
	Mode              confine.Mode `json:"mode"` // read-only or workspace; empty: workspace
	FailIfUnavailable bool         `json:"failIfUnavailable"`
	Filesystem        struct {
		AllowWrite []string `json:"allowWrite"`
		DenyWrite  []string `json:"denyWrite"`
		DenyRead   []string `json:"denyRead"`
	} `json:"filesystem"`
	Network struct {
		AllowAllUnixSockets bool `json:"allowAllUnixSockets"`
	} `json:"network"`
}

// Options say what to make a Boundary of.
type Options struct {
	Settings json.RawMessage // the setting; nil: none
	Flag     string          // --sandbox: read-only, workspace, off; empty: not given
	Dir      string          // the instance's folder, with links resolved
	Home     string
	Config   string // lathe's folder of settings, which may hold keys
	State    string // lathe's folder of state; files that are set aside go there
	Cache    string // lathe's folder of caches; those of commands are kept there, one for each Dir
	Detect   func() confine.Support
}

// Boundary is the sandbox of an instance. It is safe for concurrent use.
type Boundary struct {
	o        Options
	s        Settings
	mode     confine.Mode
	support  confine.Support
	mu       sync.Mutex
	temp     string
	tempErr  error
	tempOnce sync.Once
}

// Open makes the boundary that is asked for, nil when none is. An error names the next move.
func Open(o Options) (*Boundary, error) {
	b := &Boundary{o: o}
	if len(o.Settings) > 0 {
		if err := json.Unmarshal(o.Settings, &b.s); err != nil {
			return nil, fmt.Errorf("the setting sandbox cannot be read: %w", err)
		}
	}
	switch m := confine.Mode(o.Flag); {
	case m == confine.Off, m == "" && !b.s.Enabled:
		return nil, nil
	case m == confine.ReadOnly, m == confine.Workspace:
		b.mode = m
	case m != "":
		return nil, fmt.Errorf("--sandbox: %q is none of read-only, workspace and off", o.Flag)
	case b.s.Mode == "":
		b.mode = confine.Workspace
	default:
		b.mode = b.s.Mode
	}
	if o.Detect == nil {
		o.Detect = confine.Detect
	}
	b.support = o.Detect()
	if b.support.Tier < confine.Full && (o.Flag != "" || b.s.FailIfUnavailable) {
		return nil, fmt.Errorf("the sandbox that is asked for is not there: %s; leave --sandbox and sandbox.failIfUnavailable out to run without it", b.support.Why)
	}
	return b, nil
}

// BypassForbidden refuses the mode that asks nothing where the settings, as they are now, ask for a sandbox that this session does not have in full.
// otherwise is asked where they do not.
func (b *Boundary) BypassForbidden(settings json.RawMessage, otherwise func() error) error {
	var s Settings
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &s); err != nil {
			return fmt.Errorf("the setting sandbox cannot be read: %w", err)
		}
	}
	if !s.Enabled || b != nil && b.support.Tier == confine.Full {
		return otherwise()
	}
	return errors.New("the mode bypassPermissions is refused: the settings ask for a sandbox, and this session runs without a full one; " +
		"use another mode, or see lathe sandbox status")
}

// Mode is how much commands may write.
func (b *Boundary) Mode() confine.Mode { return b.mode }

// Support is what enforces the boundary.
func (b *Boundary) Support() confine.Support { return b.support }

// Note is the line that tells that the boundary is weaker than asked for; empty in the tier full.
func (b *Boundary) Note() string {
	switch b.support.Tier {
	case confine.Full:
		return ""
	case confine.Landlock:
		return "sandbox: only the tier landlock is there: protected and secret files are not guarded, and no command reaches the network, not even loopback: " + b.support.Why
	}
	return "sandbox: commands are not confined: " + b.support.Why
}

// Confined reports whether commands are confined at all.
func (b *Boundary) Confined() bool { return b != nil && b.support.Tier > confine.None }

// Run is the confinement of one command.
type Run struct {
	*sandbox.Confinement
	temp  string
	watch watch
	b     *Boundary
}

// For is the confinement of a command that works in folders, the first of which are absolute and without links. Call Done when it has ended.
func (b *Boundary) For(folders []string) (*Run, error) {
	temp, err := b.Temp()
	if err != nil {
		return nil, err
	}
	p := confine.Policy{Mode: b.mode, Temp: temp, Sockets: b.s.Network.AllowAllUnixSockets}
	roots := slices.Clone(folders)
	for _, dir := range folders {
		roots = append(roots, gitFolders(dir)...)
	}
	roots = append(roots, b.resolve(b.s.Filesystem.AllowWrite)...)
	slices.Sort(roots)
	p.Write = slices.Compact(roots)
	var names []string
	for _, dir := range p.Write {
		names = append(names, protectedIn(dir)...)
		p.Mask = append(p.Mask, secretsIn(dir)...)
	}
	p.Protect = append(names, b.resolve(b.s.Filesystem.DenyWrite)...)
	p.Mask = append(p.Mask, b.resolve(b.s.Filesystem.DenyRead)...)
	for _, secret := range b.secrets() {
		if !slices.ContainsFunc(p.Write, func(dir string) bool { return within(dir, secret) }) { // a folder that one works in is not hidden
			p.Mask = append(p.Mask, secret)
		}
	}
	if b.mode == confine.Workspace {
		p.Write = append(p.Write, b.cache())
	}
	return &Run{Confinement: &sandbox.Confinement{Policy: p, Support: b.support}, temp: temp, watch: newWatch(names), b: b}, nil
}

// resolve makes absolute paths of those in the settings, and follows their links.
func (b *Boundary) resolve(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		switch rest, home := strings.CutPrefix(p, "~/"); {
		case home:
			p = filepath.Join(b.o.Home, rest)
		case strings.HasPrefix(p, "//"): // Claude Code's form of an absolute path
			p = p[1:]
		case !filepath.IsAbs(p):
			p = filepath.Join(b.o.Dir, p)
		}
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		out = append(out, filepath.Clean(p))
	}
	return out
}

// Temp is the folder that commands have as /tmp. It is made with the first command and removed by Close.
func (b *Boundary) Temp() (string, error) {
	b.tempOnce.Do(func() {
		dir, err := os.MkdirTemp("", "lathe-sandbox-")
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err == nil {
			err = errors.Join(os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.MkdirAll(b.cache(), 0o700))
		}
		if err != nil {
			b.tempErr = fmt.Errorf("no temporary folder for the sandbox: %w", err)
			return
		}
		b.mu.Lock()
		b.temp = dir
		b.mu.Unlock()
	})
	if b.tempErr != nil {
		return "", b.tempErr
	}
	return filepath.Join(b.temp, "tmp"), nil
}

// cache is the folder of the commands' caches. It outlives lathe, and nothing outside the sandbox uses it.
func (b *Boundary) cache() string {
	sum := sha256.Sum256([]byte(b.o.Dir))
	return filepath.Join(b.o.Cache, "sandbox", hex.EncodeToString(sum[:8]))
}

// Close removes the temporary folder. Commands must have ended.
func (b *Boundary) Close() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.temp == "" {
		return nil
	}
	dir := b.temp
	b.temp = ""
	return os.RemoveAll(dir)
}

// Environ are the variables that lead programs to a cache that they may write: the user's own are read-only inside, so that nothing that
// a command leaves there is run outside.
func (r *Run) Environ() map[string]string {
	if r.Policy.Mode != confine.Workspace {
		return nil
	}
	cache := r.b.cache()
	return map[string]string{
		"XDG_CACHE_HOME": cache, "GOCACHE": cache + "/go-build", "npm_config_cache": cache + "/npm", "PIP_CACHE_DIR": cache + "/pip",
	}
}

// TempFile is the path of a file that lathe shares with the command: as lathe names it, and as the command does.
func (r *Run) TempFile(name string) (outside, inside string) {
	outside = filepath.Join(r.temp, name)
	if r.Support.Tier == confine.Full {
		return outside, "/tmp/" + name
	}
	return outside, outside
}

// Done looks for protected names that the command made, moves them away and returns a line about each.
func (r *Run) Done() []string { return r.watch.sweep(filepath.Join(r.b.o.State, "set-aside")) }

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}
