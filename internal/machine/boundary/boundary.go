// Package boundary makes the sandbox of a session: it derives the policy that package confine enforces on commands from
// the settings, the working folders and the machine.
//
// The words: [Settings] are the setting sandbox; a [Boundary] is an instance's sandbox, with the temporary folder and
// the caches that its commands share; a watch detects protected names that a command created.
//
// Promises:
//
//   - A boundary requested by flag or with failIfUnavailable is in the tier full, or Ready and Open fail. Otherwise
//     Note names the
//     weakness.
//   - Without a request there is a default boundary where the tier full is there, and none elsewhere. It is looked for
//     at the first command. It leaves to the permissions whatever everyday work needs outside: see default.go.
//   - A protected name that did not exist could not be mounted over; if a command creates it, it is set aside when the
//     command ends.
//   - Nothing in a repository widens the boundary: its paths come from the folders themselves and the user's settings.
package boundary

import (
	"cmp"
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
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// Settings are the setting sandbox, in Claude Code's form, with a mode. A path is absolute, begins with ~/ or is
// relative to the instance's folder.
type Settings struct {
	Enabled           *bool        `json:"enabled"` // nil: the default boundary
	Mode              confine.Mode `json:"mode"`    // read-only or workspace; empty: workspace
	FailIfUnavailable bool         `json:"failIfUnavailable"`
	AutoAllow         *bool        `json:"autoAllowBashIfSandboxed"` // see RunsUnasked and AsksFirst
	// the user may let a refused command run once outside; nil: yes
	AllowOutside *bool    `json:"allowUnsandboxedCommands"`
	ViewMemoryMB *int     `json:"viewMemoryMB"`     // of a view's changes in memory; nil: 1,024; 0: they go to the disk
	Excluded     []string `json:"excludedCommands"` // patterns of rules on Bash: commands that run outside
	Filesystem   struct {
		AllowWrite []string `json:"allowWrite"`
		DenyWrite  []string `json:"denyWrite"`
		DenyRead   []string `json:"denyRead"`
		AllowRead  []string `json:"allowRead"` // exceptions to DenyRead and to the user's secrets
	} `json:"filesystem"`
	Network struct {
		AllowAllUnixSockets bool     `json:"allowAllUnixSockets"`
		AllowUnixSockets    []string `json:"allowUnixSockets"`  // paths of sockets of programs outside, in the tier Full
		AllowLocalBinding   bool     `json:"allowLocalBinding"` // servers inside are reached on the machine's loopback
		// of a proxy of the user's on this machine; it decides on the hosts
		HTTPProxyPort   int      `json:"httpProxyPort"`
		SOCKSProxyPort  int      `json:"socksProxyPort"`  // as HTTPProxyPort, for SOCKS
		AllowedDomains  []string `json:"allowedDomains"`  // patterns of netproxy
		DeniedDomains   []string `json:"deniedDomains"`   // patterns of netproxy
		StrictAllowlist bool     `json:"strictAllowlist"` // never ask about a host
	} `json:"network"`
}

// Options configure Open.
type Options struct {
	Settings json.RawMessage // the setting; nil: none
	Hosts    []string        // more patterns of hosts that commands may reach
	Ask      bool            // a question before every command that is not read-only
	Flag     string          // --sandbox: read-only, workspace, off; empty: not given
	Dir      string          // the instance's folder, with links resolved
	Home     string
	Config   string // lathe's settings folder, which may hold keys
	State    string // lathe's state folder; takes the files that are set aside
	Cache    string // lathe's cache folder; holds the caches of commands, one per Dir
	Detect   func() confine.Support
}

// Boundary is the sandbox of an instance. It is safe for concurrent use.
type Boundary struct {
	o        Options
	s        Settings
	mode     confine.Mode
	standard bool                   // nobody requested it
	known    atomic.Bool            // support has an answer
	looked   sync.Once              // of Word
	support  func() confine.Support // waits for the probe of the machine, which runs once
	hosts    netproxy.Rules         // of the settings
	wider    netproxy.Rules         // for commands that change the working folders: package registries too
	mu       sync.Mutex
	temp     string
	kept     bool // processes that use temp stay
	tempErr  error
	noCache  bool // lathe's cache folder cannot be written
	tempOnce sync.Once
	commands atomic.Int64 // that had views

	layersOnce          sync.Once
	layersDir, inMemory string // of the changes of private views; "": it is not in memory
	onDisk              atomic.Bool

	homeOnce    sync.Once
	home        string
	secretNames []string
	tmp         tmpNames
	trees       trees
	unswept     unswept
	overlap     overlap
	earlier     []string // lines on names that earlier sessions left; the first command reports them
}

// Open makes the boundary, nil if it is switched off. Errors name the user's next move.
func Open(o Options) (*Boundary, error) {
	b, err := Begin(o)
	if err == nil {
		err = b.Ready()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Begin is Open without Ready: the machine is probed in the background, so that a start does not wait for it. The first
// method that depends on the tier waits.
func Begin(o Options) (*Boundary, error) {
	b := &Boundary{o: o}
	if len(o.Settings) > 0 {
		if err := json.Unmarshal(o.Settings, &b.s); err != nil {
			return nil, fmt.Errorf("the setting sandbox cannot be read: %w", err)
		}
	}
	switch m := confine.Mode(o.Flag); {
	case m == confine.Off, m == "" && b.s.Enabled != nil && !*b.s.Enabled:
		return nil, nil
	case m == confine.ReadOnly, m == confine.Workspace:
		b.mode = m
	case m != "":
		return nil, fmt.Errorf("--sandbox: %q is none of read-only, workspace and off", o.Flag)
	default:
		b.mode = cmp.Or(b.s.Mode, confine.Workspace)
		b.standard = b.s.Enabled == nil
	}
	allowed := slices.Concat(b.s.Network.AllowedDomains, o.Hosts)
	var err error
	if b.hosts, err = netproxy.ParseRules(allowed, b.s.Network.DeniedDomains); err != nil {
		return nil, fmt.Errorf("the hosts of the sandbox: %w", err)
	}
	b.wider = b.hosts
	if b.standard {
		b.wider, _ = netproxy.ParseRules(append(allowed, netproxy.Registries()...), b.s.Network.DeniedDomains)
	}
	if o.State != "" {
		b.earlier = sweepUnswept(b.unsweptDir(), b.name(), filepath.Join(o.State, "set-aside"))
	}
	b.detect(o)
	return b, nil
}

// detect starts the probe of the machine. For the default boundary it waits for the first command.
func (b *Boundary) detect(o Options) {
	if o.Detect == nil {
		o.Detect = confine.Detect
		if o.Cache != "" {
			o.Detect = func() confine.Support { return confine.Remembered(filepath.Join(o.Cache, "sandbox", "tier.json")) }
		}
	}
	b.support = sync.OnceValue(func() confine.Support {
		s := o.Detect()
		b.known.Store(true)
		return s
	})
	if !b.standard {
		go b.support()
	}
}

// Ready waits for the probe. It returns an error if the tier must be full and is not.
func (b *Boundary) Ready() error {
	if b == nil || b.standard && !b.s.FailIfUnavailable {
		return nil
	}
	if s := b.support(); s.Tier < confine.Full && (b.o.Flag != "" || b.s.FailIfUnavailable) {
		return fmt.Errorf("the requested sandbox is not available: %s; leave out --sandbox and sandbox.failIfUnavailable "+
			"to run without it", s.Why)
	}
	return nil
}

// BypassForbidden returns an error if the mode bypassPermissions is refused: the current settings request a sandbox,
// and this session does not have the full one. In any other case it returns the result of otherwise.
func (b *Boundary) BypassForbidden(settings json.RawMessage, otherwise func() error) error {
	var s Settings
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &s); err != nil {
			return fmt.Errorf("the setting sandbox cannot be read: %w", err)
		}
	}
	if s.Enabled == nil || !*s.Enabled || b != nil && b.support().Tier == confine.Full {
		return otherwise()
	}
	return errors.New("the mode bypassPermissions is refused: the settings request a sandbox, and this session runs " +
		"without the full one; " +
		"use another mode, or see lathe sandbox status")
}

// Mode returns the write access of commands.
func (b *Boundary) Mode() confine.Mode { return b.mode }

// Support returns the tier that enforces the boundary.
func (b *Boundary) Support() confine.Support { return b.support() }

// Note returns one line that says why the boundary is weaker than requested; "" in the tier full, and if nobody
// requested it.
func (b *Boundary) Note() string {
	if b.standard {
		return ""
	}
	switch b.support().Tier {
	case confine.Full:
		return ""
	case confine.Seatbelt:
		return "sandbox: the tier is seatbelt: commands share the machine's processes and loopback, and reach no host"
	case confine.Restricted:
		return "sandbox: the tier is restricted: commands write in the working folders only, but read all of your files " +
			"and reach the network"
	case confine.Landlock:
		return "sandbox: only the tier landlock is available: protected and secret files are not guarded, and no command " +
			"reaches the network, not even loopback: " + b.support().Why
	}
	return "sandbox: commands are not confined: " + b.support().Why
}

// RunsUnasked reports whether a confined command may change the working folders without approval, unless a rule or a
// guard asks: by autoAllowBashIfSandboxed, in the tier Full.
func (b *Boundary) RunsUnasked() bool {
	return b != nil && b.s.AutoAllow != nil && *b.s.AutoAllow && b.Holds()
}

// AsksFirst reports whether the settings want a question before every command that is not read-only.
func (b *Boundary) AsksFirst() bool {
	return b != nil && (b.o.Ask || b.s.AutoAllow != nil && !*b.s.AutoAllow)
}

// Holds reports whether commands are in the full sandbox, where it does not matter which programs they turn out to run.
func (b *Boundary) Holds() bool { return b.Confined() && b.support().Tier == confine.Full }

// MayLeave reports whether a person may let a refused command run again outside.
func (b *Boundary) MayLeave() bool { return b != nil && (b.s.AllowOutside == nil || *b.s.AllowOutside) }

// Confined reports whether commands are confined.
func (b *Boundary) Confined() bool {
	if b == nil {
		return false
	}
	if b.standard {
		return b.support().Tier == confine.Full
	}
	return b.support().Tier > confine.None
}

// both resolves paths of the settings, and adds those in a copy of the project.
func (b *Boundary) both(moved func(string) string, paths []string) []string {
	out := b.resolve(paths)
	for _, p := range out {
		if m := moved(p); m != p {
			out = append(out, m)
		}
	}
	return out
}

// resolve makes the paths of the settings absolute and follows their links.
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

// Temp returns the folder that commands see as /tmp. The first command creates it, Close removes it.
func (b *Boundary) Temp() (string, error) {
	b.tempOnce.Do(func() {
		dir, err := b.makeTemp()
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
	return filepath.Join(b.o.Cache, "sandbox", b.name())
}

// name stands for the instance's folder.
func (b *Boundary) name() string {
	sum := sha256.Sum256([]byte(b.o.Dir))
	return hex.EncodeToString(sum[:8])
}

func (b *Boundary) unsweptDir() string { return filepath.Join(b.o.State, "sandbox") }

// Close removes the temporary folder. Commands must have ended.
func (b *Boundary) Close() error {
	if b == nil {
		return nil
	}
	b.tmp.close()
	b.unswept.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.temp == "" {
		return nil
	}
	if b.inMemory != "" && !b.kept {
		openFolders(b.inMemory)
		_ = os.RemoveAll(b.inMemory) // a later session removes what stays
	}
	dir := b.temp
	b.temp = ""
	if b.kept {
		return nil // a later session removes it
	}
	openFolders(filepath.Join(dir, "work")) // the kernel makes folders there that nobody may read
	return os.RemoveAll(dir)
}

// openFolders lets the owner into the folders below dir. It follows no links.
func openFolders(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() && (err == nil || errors.Is(err, os.ErrPermission)) {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}
