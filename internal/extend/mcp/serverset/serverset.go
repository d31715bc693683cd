// Package serverset makes the set of MCP servers of a folder from its settings and the command line. Nothing is read
// before the set is used.
package serverset

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// Flags are the choices of the command line.
type Flags struct {
	Configs []string // --mcp-config: files, or JSON texts
	Strict  bool     // only Configs count
	Trust   bool     // the servers of .mcp.json start without a question
	// Host and Elicit are as in mcp.Options.
	Host   func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)
	Elicit func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)
}

// Options configure New.
type Options struct {
	Config   func() *config.Config
	Dir      string // of the instance, with links resolved
	Flags    Flags
	Bare     bool // only the servers of Flags
	Keep     bool // approvals and lists of tools are kept
	Version  string
	Plugins  func() map[string]entry.PluginServer // as in entry.Places
	Agents   func() []entry.Own                   // the servers that kinds of agents declare for themselves; nil: none
	Builtin  []string                             // the names of lathe's tools
	Runner   *sandbox.Runner
	Boundary *boundary.Boundary
	Environ  func() []string

	runs *sync.Map // the newest *boundary.Run of each confined server, by the id of its entry
}

// refused says what the sandbox refused a server, by what it printed.
func (o Options) refused(e *entry.Entry, output string) string {
	run, ok := o.runs.Load(e.ID())
	if !ok {
		return ""
	}
	return run.(*boundary.Run).Refusal(cmp.Or(e.Base, o.Dir), output)
}

// New makes the set.
func New(o Options) *mcp.Set {
	paths := o.Config().Paths()
	root := cmp.Or(paths.Root, o.Dir)
	state := paths.StateHome
	if !o.Keep {
		state = ""
	}
	set := o.Config().Settings
	logins := o.logins
	if paths.StateHome == "" {
		logins = nil
	}
	o.runs = &sync.Map{}
	confined := ""
	if o.Boundary.Confined() {
		confined = "the sandbox: it reads the project and the system, writes its caches and a /tmp of its own, and the " +
			"network is asked about"
	}
	return mcp.New(mcp.Options{
		Refused: o.refused, Sandbox: confined,
		Places: o.places, StateHome: state, Root: root, Dir: o.Dir, Version: o.Version, Builtin: o.Builtin, Agents: o.Agents,
		Runner: o.Runner, Environ: o.Environ, Confine: o.confine, Host: o.Flags.Host, Elicit: o.Flags.Elicit, Logins: logins,
		Clean:      sandbox.Options{Drop: secrets(o.Config()), ScrubCredentials: set.Bash.ScrubCredentials},
		ApproveAll: o.Flags.Trust || set.EnableAllProjectMCPServers,
		Approved:   func(name string) bool { return slices.Contains(set.EnabledMCPJSONServers, name) },
		Disabled:   func(name string) bool { return slices.Contains(set.DisabledMCPJSONServers, name) },
		Variable:   func(name string) string { v, _, _ := o.Config().Env(name); return v },
	})
}

// logins are kept with the other secrets of the user.
func (o Options) logins() *keyring.Store {
	get := func(name string) string { v, _, _ := o.Config().Env(name); return v }
	return keyring.Open(filepath.Join(o.Config().Paths().StateHome, "credentials.json"), keyring.OS(get))
}

// places follow the sources that the command line selects.
func (o Options) places() entry.Places {
	c := o.Config()
	p := PlacesOf(c, o.Dir)
	p.Plugins = o.Plugins
	p.Flags, p.Strict = o.Flags.Configs, o.Flags.Strict || o.Bare
	return p
}

// PlacesOf returns where the entries of a folder are.
func PlacesOf(c *config.Config, dir string) entry.Places {
	paths, set := c.Paths(), c.Settings
	root := cmp.Or(paths.Root, dir)
	p := entry.Places{
		Settings: set.MCPServers, Dir: dir, Dirs: []string{root, dir},
		Lookup:  func(name string) (string, bool) { v, _, ok := c.Env(name); return v, ok },
		Private: func(name string) bool { return slices.Contains(secrets(c), name) },
		Managed: c.ManagedFiles("managed-mcp.json"),
		Policy:  entry.Policy{Allowed: c.AllowedMCPServers(), Denied: set.DeniedMCPServers},
	}
	if c.Reads(config.User) {
		p.ClaudeJSON = ClaudeJSON(paths)
	}
	if c.Reads(config.Project) {
		p.ProjectDir = root
	}
	return p
}

// secrets are variables of lathe's own that no server gets.
func secrets(c *config.Config) []string {
	return slices.Concat(c.PrivateVariables(), []string{"MCP_CLIENT_SECRET", "MCP_ID_TOKEN"})
}

// ClaudeJSON is the path of the file in which Claude Code keeps the servers of the user.
func ClaudeJSON(p config.Paths) string {
	if p.ClaudeHome != filepath.Join(p.Home, ".claude") { // CLAUDE_CONFIG_DIR
		return filepath.Join(p.ClaudeHome, ".claude.json")
	}
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".claude.json")
}

// confine is the boundary of a server that the project or a plugin declares. The user installed a plugin after its
// report, so its servers have the network as an allowed command has it, and write to the plugin's folder of data.
func (o Options) confine(e *entry.Entry) (*sandbox.Confinement, func(), error) {
	if !o.Boundary.Confined() {
		return nil, nil, nil
	}
	installed := e.Scope == entry.Plugin
	run, err := o.Boundary.ForServer([]string{cmp.Or(e.Base, o.Dir)}, installed, boundary.Network{})
	if err != nil {
		return nil, nil, err
	}
	if e.Plugin != nil {
		run.Policy.Show = append(run.Policy.Show, real(e.Plugin.Root)...)
		run.Policy.Write = append(run.Policy.Write, real(e.Plugin.Data)...)
	}
	if o.runs != nil {
		o.runs.Store(e.ID(), run)
	}
	return run.Confinement, run.Finish, nil
}

// real is a folder with its links resolved; one that is not there is left out.
func real(dir string) []string {
	path, err := filepath.EvalSymlinks(dir)
	if dir == "" || err != nil {
		return nil
	}
	return []string{path}
}
