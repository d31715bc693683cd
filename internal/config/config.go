// Package config turns files, the environment and flags into plain data, and records the origin of each
// value.
//
// Terms: a [Layer] is a source of settings; the layers, lowest first, are built-in defaults, the
// organisation's defaults, the user's files, the project's shared file, the project's local file, the process
// environment, the env object of the user's settings, flags, and managed policy. An [Origin] is the exact
// place of a value. A value is held when a repository's file sets it and it could do harm: it counts once the
// folder is trusted.
//
// For scalars the highest layer wins, objects are merged by key, and lists are joined. Within the user's and
// the project's layers, lathe's own files win over Claude Code's.
//
// Promises:
//
//   - No state outside [Config]: two projects in one process do not affect each other. A Config is immutable;
//     a change on disk makes a new one ([Config.Watch]).
//   - A mistake in one of lathe's own files, or in one named on the command line, is one error that names
//     file, line, key, the value found and the values allowed. In another program's file it is a warning.
//   - A project's files can restrict permissions at once, extend them only when trusted, and never set where
//     requests go, which key they carry, or variables that lathe itself reads.
//   - Rewriting a file keeps its comments, its order and unknown keys.
//   - Loading starts no goroutine, watches nothing and uses no network, except that it waits up to one second
//     for an organisation's document that was never fetched.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Options configure Load. The zero value uses the current folder, process environment and user.
type Options struct {
	Dir        string   // the working folder; "" is the process's
	Home       string   // these override the environment; "" keeps it
	ConfigHome string   // lathe's own folder, not its parent; likewise below
	StateHome  string   //
	CacheHome  string   //
	DataHome   string   //
	Environ    []string // as from os.Environ; nil is the process's

	Flags        []Flag      // single flags, in order
	amended      *amendments // on top of SettingsFlag; see Amend
	SettingsFlag string      // --settings: a file, or a JSON object in the argument itself

	HostPolicy string // --managed-settings: a JSON object of restrictions

	// ManagedPaths replace the machine's managed-settings.json files, lowest first; an empty list that is
	// not nil is none. A folder named claude-code or ClaudeCode marks Claude Code's own.
	ManagedPaths []string
	// Sources limits which file layers are read (--setting-sources): of User, Project, Local; nil is all.
	Sources []Layer

	// Trust reports whether the folder is trusted with the held values, which the digest (Config.HeldDigest)
	// identifies. It is called once, and only if there are held values. Nil uses the answer that Config.Trust
	// saved.
	Trust func(root, digest string) bool
	// TrustLocal trusts the local files: the caller knows that git does not track them, so they are the
	// user's own.
	TrustLocal bool

	// HTTPClient makes the client for the organisation's document; nil is Go's own, with the proxy variables
	// of the process.
	HTTPClient       func(Network) (*http.Client, error)
	OrganizationWait time.Duration // longest wait for a document never fetched before; 0 is one second
	Debounce         time.Duration // quiet time Watch waits for after a change; 0 is 100 ms
}

// Flag is a single command-line flag that sets a key.
type Flag struct {
	Name  string // as the user wrote it: "--model"
	Key   string // dotted: "model"
	Value any    // a string, bool, number, []string or anything else that marshals to JSON
}

// Config is one loaded configuration. It is immutable and safe for concurrent use.
type Config struct {
	Settings Settings
	Warnings []Warning // without duplicates, in the order of the layers

	opts         Options
	paths        Paths
	env          environment
	settingsEnv  *node
	merged       *node
	held         []Value
	waiting      []*node // the documents of the held values; none when they count
	heldDigest   string
	trusted      bool
	projectTools []ToolFile // count if trusted
	files        []File
	localDigest  string // of lathe's local file when it was read
	orgURL       string
	layers       [Managed + 1][]*node // as loaded, for the network settings
}

// File is a candidate settings file.
type File struct {
	Path    string `json:"path"`
	Layer   Layer  `json:"layer"`
	Foreign bool   `json:"foreign,omitempty"` // Claude Code's
	Found   bool   `json:"found"`
}

// Load reads all layers for one folder. The project's root is the nearest folder from Options.Dir upwards
// with .lathe, .claude or .git in it, below the home folder; else Options.Dir itself. Errors are *Error
// values, or come from the operating system.
func Load(opts Options) (*Config, error) {
	l, err := newLoader(opts)
	if err != nil {
		return nil, err
	}
	if err := l.read(); err != nil {
		return nil, err
	}
	merged, err := l.merge()
	if err != nil {
		return nil, err
	}
	c := &Config{
		Warnings: l.warnings, opts: l.opts, paths: l.paths, env: l.env, settingsEnv: l.settingsEnv, merged: merged,
		held: l.held, waiting: l.waiting(), heldDigest: l.heldDigest, trusted: l.trusted, projectTools: l.projectTools,
		files: l.files, localDigest: l.localDigest, orgURL: l.orgURL, layers: l.layers,
	}
	return c, c.decode()
}

// decode fills Settings from the merged tree.
func (c *Config) decode() error {
	c.Settings = Settings{}
	if err := json.Unmarshal(c.merged.appendJSON(nil), &c.Settings); err != nil {
		return fmt.Errorf("settings: %w", err) // valid for the schema, but not for the struct
	}
	return nil
}

// Paths are the places this instance uses.
func (c *Config) Paths() Paths { return c.paths }

// Files lists the candidate settings files, lowest layer first.
func (c *Config) Files() []File { return slices.Clone(c.files) }

// Reads reports whether a layer's files count (Options.Sources excludes some).
func (c *Config) Reads(l Layer) bool {
	return c.opts.Sources == nil || slices.Contains(c.opts.Sources, l)
}

// Origin returns the place of the value at a dotted path; for an object or a list, that of its highest part.
// The zero Origin (layer default) means that no one set it.
func (c *Config) Origin(path string) Origin {
	p, err := parsePath(path)
	if err != nil {
		return Origin{}
	}
	if n := c.merged.at(p); n != nil {
		return n.origin()
	}
	return Origin{}
}

// Get returns the merged value at a dotted path as JSON, including keys that Settings does not have.
func (c *Config) Get(path string) (json.RawMessage, Origin, bool) {
	p, err := parsePath(path)
	if err != nil {
		return nil, Origin{}, false
	}
	n := c.merged.at(p)
	if n == nil {
		return nil, Origin{}, false
	}
	return n.appendJSON(nil), n.origin(), true
}

// Digest is a hash of all merged values: equal digests mean equal settings.
func (c *Config) Digest() string { return digest(c.merged.appendJSON(nil)) }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Held returns the values of the project's files that need trust. They are part of the settings only if the
// folder is trusted. They are not masked, since the user decides on them; their text is foreign and needs
// escaping.
func (c *Config) Held() []Value { return slices.Clone(c.held) }

// HeldDigest identifies the held values for Options.Trust; "" when there are none.
func (c *Config) HeldDigest() string { return c.heldDigest }

// TrustsPrograms reports whether programs of the project (of node_modules/.bin, of a virtual environment) may run: the
// held values count, or there are none and the user trusted the folder all the same.
func (c *Config) TrustsPrograms() bool {
	return c.trusted || len(c.held) == 0 && c.paths.remembersTrust(nothingHeld)
}

// Trusted reports whether the held values count.
func (c *Config) Trusted() bool { return c.trusted }

// Rule is one permission rule with its origin.
type Rule struct {
	Action     string // "allow", "ask" or "deny"
	Text       string // of the plain lists: Tool or Tool(pattern)
	Permission string // of permissions.rules, as is Pattern
	Pattern    string
	Match      []string // calls that the rule must cover
	NotMatch   []string // and must not cover
	Origin     Origin
}

// Rules lists the permission rules: deny, ask and allow lists, then permissions.rules in order.
func (c *Config) Rules() []Rule {
	var out []Rule
	perms := c.merged.get("permissions")
	for _, action := range []string{"deny", "ask", "allow"} {
		if list := perms.get(action); list != nil {
			for _, e := range list.elems {
				out = append(out, listRule(action, e))
			}
		}
	}
	if list := perms.get("rules"); list != nil {
		for i, e := range list.elems {
			r := c.Settings.Permissions.Rules[i]
			if r.Pattern == "" {
				r.Pattern = "*"
			}
			out = append(out, Rule{
				Action: r.Action, Permission: r.Permission, Pattern: r.Pattern, Match: r.Match, NotMatch: r.NotMatch,
				Origin: e.origin(),
			})
		}
	}
	return out
}

// listRule is one entry of a plain list: a text, or an object with examples.
func listRule(action string, e *node) Rule {
	r := Rule{Action: action, Text: e.text, Origin: e.origin()}
	if e.kind == '{' {
		var entry ruleEntry
		if json.Unmarshal(e.appendJSON(nil), &entry) == nil { // valid for the schema
			r.Text, r.Match, r.NotMatch = entry.Rule, entry.Match, entry.NotMatch
		}
	}
	return r
}

// resolve fills in defaults for unset options.
func (o Options) resolve() (Options, environment, Paths, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	env := newEnvironment(o.Environ)
	paths := resolvePaths(env, o.Home)
	for _, over := range []struct {
		dst *string
		val string
	}{
		{&paths.ConfigHome, o.ConfigHome},
		{&paths.StateHome, o.StateHome},
		{&paths.CacheHome, o.CacheHome},
		{&paths.DataHome, o.DataHome},
	} {
		if over.val != "" {
			*over.dst = over.val
		}
		if !filepath.IsAbs(*over.dst) {
			return o, env, paths, &Error{
				Text: "there is no home folder to keep settings in",
				Hint: "set HOME to an absolute path",
			}
		}
	}
	dir, err := filepath.Abs(o.Dir) // "" is the current folder
	if err != nil {
		return o, env, paths, &Error{Text: "the current folder is gone", Hint: "change to one that exists", Err: err}
	}
	o.Dir = dir
	paths.Dir, paths.Root = dir, projectRoot(dir, paths.Home)
	if o.ManagedPaths == nil {
		o.ManagedPaths = managedPaths(env)
	}
	return o, env, paths, nil
}

// ManagedFiles are the paths of a file of the administrator's, one beside each managed-settings.json of the machine.
func (c *Config) ManagedFiles(name string) []string {
	out := make([]string, len(c.opts.ManagedPaths))
	for i, path := range c.opts.ManagedPaths {
		out[i] = filepath.Join(filepath.Dir(path), name)
	}
	return out
}
