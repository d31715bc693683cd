// Package entry reads where MCP servers are declared: .mcp.json of the project, Claude Code's ~/.claude.json (for the
// user, and for the user in one project), the settings, and the command line.
//
// The words: an [Entry] declares one server; its scope is the kind of place it is in. An entry of the project is a
// stranger's until the user approves it, and any change makes it one again ([Approvals]).
//
// Promises: an entry counts as a whole, it is never merged with another of its name; an entry of the project that is
// not approved hides none of the user's; the keys of model providers are not put into an entry of the project or a
// plugin.
package entry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Scope is the kind of place where an entry is.
type Scope string

// The scopes, the strongest first.
const (
	Managed  Scope = "managed" // the administrator's managed-mcp.json, beside which nothing counts
	Flag     Scope = "flag"    // --mcp-config, or a host over the control protocol
	Local    Scope = "local"   // the user's, for one project
	Project  Scope = "project" // .mcp.json
	Settings Scope = "settings"
	User     Scope = "user"
	Plugin   Scope = "plugin"
)

// Kinds of servers.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
	SDK   = "sdk" // in the process of the host that drives lathe
)

// Entry declares one server.
type Entry struct {
	Name  string
	Scope Scope
	File  string          // where it is; empty: the command line
	Raw   json.RawMessage // as it is there
	Fields
	Missing []string          // variables that the entry names and that are not set
	Filled  map[string]string // values that were filled in, with the names of their variables
	Plugin  *PluginServer     // that declares it; nil: none
	Agent   string            // the kind of agent that it is for alone; empty: all
	Base    string            // the folder it runs in; empty: that of the set
}

// ID is the name under which people answer about the entry: that of an agent's own server has the agent's before it.
func (e *Entry) ID() string {
	if e.Agent == "" {
		return e.Name
	}
	return Own{Agent: e.Agent, Name: e.Name}.ID()
}

// Fields are an entry's fields, with variables filled in.
type Fields struct {
	Type          string            `json:"type,omitempty"`
	Command       string            `json:"command,omitempty"`
	Args          []string          `json:"args,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	Dir           string            `json:"cwd,omitempty"`
	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"`
	OAuth         *OAuth            `json:"oauth,omitempty"`

	TimeoutMs     int      `json:"timeout,omitempty"`        // of a call
	StartMs       int      `json:"startupTimeout,omitempty"` // of the handshake
	AlwaysLoad    bool     `json:"alwaysLoad,omitempty"`     // its tools are always sent
	Disabled      bool     `json:"disabled,omitempty"`
	EnabledTools  []string `json:"enabledTools,omitempty"` // nil: all
	DisabledTools []string `json:"disabledTools,omitempty"`
	// that the user knows to change nothing; "*": all. Not in a project's or plugin's entry
	ReadOnlyTools []string `json:"readOnlyTools,omitempty"`

	LogLevel string `json:"logLevel,omitempty"` // of the messages that the server is to send; "": info
	// requests to the model: ask (the default), allow or deny. No allow in a project's or plugin's entry
	Sampling string `json:"sampling,omitempty"`
	// that its requests may use in one session. Not in a project's or plugin's entry
	SamplingTokens int `json:"samplingTokens,omitempty"`
}

// OAuth presets the authorisation of a server.
type OAuth struct {
	ClientID       string `json:"clientId,omitempty"`
	CallbackPort   int    `json:"callbackPort,omitempty"`
	Metadata       string `json:"authServerMetadataUrl,omitempty"`
	Scopes         string `json:"scopes,omitempty"`
	ClientMetadata string `json:"clientMetadataUrl,omitempty"` // of a client ID metadata document
	// authorization_code (the default), client_credentials, cross_app_access or workload_identity
	Grant string `json:"grant,omitempty"`
	// for cross_app_access and workload_identity. Not in a project's or plugin's entry
	Identity *Identity `json:"identity,omitempty"`
	// PEM: proves the client's identity. Not in a project's or plugin's entry
	PrivateKeyFile string `json:"privateKeyFile,omitempty"`
}

// Identity is the user at the organisation's identity provider.
type Identity struct {
	Endpoint  string `json:"tokenEndpoint"`
	ClientID  string `json:"clientId,omitempty"`  // of lathe at the provider
	TokenFile string `json:"tokenFile,omitempty"` // has the ID token; else MCP_ID_TOKEN has it
}

// Sum identifies the entry's content.
func (e *Entry) Sum() string {
	var v any
	_ = json.Unmarshal(e.Raw, &v)
	plain, _ := json.Marshal(v) // keys sorted, no blanks
	sum := sha256.Sum256(append([]byte(e.Name+"\n"), plain...))
	return hex.EncodeToString(sum[:])
}

// ReadOnly reports whether the user marked a tool as one that changes nothing.
func (e *Entry) ReadOnly(tool string) bool {
	return !e.Foreign() && (slices.Contains(e.ReadOnlyTools, tool) || slices.Contains(e.ReadOnlyTools, "*"))
}

// SamplingAllowed reports whether the user lets the server's requests to the model pass without a question.
func (e *Entry) SamplingAllowed() bool { return !e.Foreign() && e.Sampling == "allow" }

// SamplingBudget is the number of tokens that the server's requests to the model may use in one session.
func (e *Entry) SamplingBudget(usual int) int {
	if e.Foreign() || e.SamplingTokens <= 0 {
		return usual
	}
	return e.SamplingTokens
}

// Offers reports whether a tool of the server may be used at all.
func (e *Entry) Offers(tool string) bool {
	return (e.EnabledTools == nil || slices.Contains(e.EnabledTools, tool)) && !slices.Contains(e.DisabledTools, tool)
}

// Timeout returns ms as a duration, at least a second, or else.
func Timeout(ms int, otherwise time.Duration) time.Duration {
	if ms <= 0 {
		return otherwise
	}
	return max(time.Duration(ms)*time.Millisecond, time.Second)
}

// Places are where entries are looked for.
type Places struct {
	Managed    []string                       // the administrator's files; where one is there, it has all servers
	ClaudeJSON string                         // the path of Claude Code's state file; empty: not read
	Dirs       []string                       // the folders that name the project there
	ProjectDir string                         // that may have .mcp.json; empty: not read
	Settings   json.RawMessage                // the setting mcpServers
	Plugins    func() map[string]PluginServer // the servers of plugins, by name; nil: none
	Flags      []string                       // files or JSON texts
	Strict     bool                           // only Flags count
	Dir        string                         // that relative paths of Flags start from

	Lookup  func(name string) (string, bool) // variables
	Private func(name string) bool           // variables that no entry of a project or plugin gets; nil: none
	Policy  Policy
}

// Read returns all entries, those of the strongest scope first, and the faults of those that are left out. Several may
// have one name: Choose. An error is that of a flag.
func Read(p Places) (entries []Entry, faults []string, err error) {
	if entries, faults, found, err := p.readManaged(); found || err != nil {
		if err != nil {
			return nil, nil, err
		}
		return p.Policy.Apply(entries, faults)
	}
	for _, f := range p.Flags {
		raw, file, err := flagText(p.Dir, f)
		if err != nil {
			return nil, nil, err
		}
		found, bad := p.parse(raw, Flag, file)
		if len(bad) > 0 {
			return nil, nil, fmt.Errorf("--mcp-config: %s", bad[0])
		}
		entries = append(entries, found...)
	}
	if p.Strict {
		return p.Policy.Apply(entries, faults)
	}
	add := func(raw []byte, scope Scope, file string) {
		found, bad := p.parse(raw, scope, file)
		entries, faults = append(entries, found...), append(faults, bad...)
	}
	user, locals, bad := readClaude(p.ClaudeJSON, p.Dirs)
	faults = append(faults, bad...)
	for _, raw := range locals {
		add(raw, Local, p.ClaudeJSON)
	}
	if p.ProjectDir != "" {
		file := filepath.Join(p.ProjectDir, ".mcp.json")
		switch data, err := readBounded(file); {
		case err == nil:
			add(data, Project, file)
		case !errors.Is(err, os.ErrNotExist):
			faults = append(faults, err.Error())
		}
	}
	if len(p.Settings) > 0 && string(p.Settings) != "null" {
		add(wrap(p.Settings), Settings, "")
	}
	if user != nil {
		add(user, User, p.ClaudeJSON)
	}
	if p.Plugins != nil {
		more, bad := p.readPlugins()
		entries, faults = append(entries, more...), append(faults, bad...)
	}
	return p.Policy.Apply(entries, faults)
}

func (p *Places) readPlugins() (entries []Entry, faults []string) {
	all := p.Plugins()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		server := all[name]
		e, err := p.Parse(name, server.Raw, Plugin)
		if err != nil {
			faults = append(faults, fmt.Sprintf("plugin: the MCP server %q is left out: %v", name, err))
			continue
		}
		e.Plugin = &server
		entries = append(entries, e)
	}
	return entries, faults
}

// readManaged reads the administrator's files. The faults name the servers of the command line, which have no effect
// then. A file that cannot be read is an error: the policy must not be lost.
func (p *Places) readManaged() (entries []Entry, faults []string, found bool, err error) {
	for _, file := range p.Managed {
		data, err := readBounded(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var doc map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(data, &doc)
		}
		if err != nil {
			return nil, nil, true,
				fmt.Errorf("the administrator's MCP servers cannot be read: %s: %w; ask them to mend the file", file, err)
		}
		more, bad := p.parse(data, Managed, file)
		entries, faults, found = append(more, entries...), append(faults, bad...), true // the later file is the stronger
	}
	if found && len(p.Flags) > 0 {
		faults = append(faults, "the servers of --mcp-config are left out: the administrator of this machine allows only "+
			"those of managed-mcp.json")
	}
	return entries, faults, found, nil
}

func wrap(servers json.RawMessage) []byte {
	return slices.Concat([]byte(`{"mcpServers":`), servers, []byte("}"))
}

// maxFile is the longest file that is read, in bytes.
const maxFile = 64 << 20

func readBounded(file string) ([]byte, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, fmt.Errorf("%s is no ordinary file, or too long; its MCP servers are left out", file)
	}
	return regular.ReadFile(file)
}

func flagText(dir, flag string) (raw []byte, file string, err error) {
	if strings.HasPrefix(strings.TrimSpace(flag), "{") {
		return []byte(flag), "", nil
	}
	if !filepath.IsAbs(flag) {
		flag = filepath.Join(dir, flag)
	}
	raw, err = readBounded(flag)
	if err != nil {
		return nil, "", fmt.Errorf("--mcp-config: %w; give a file or a JSON object", err)
	}
	return raw, flag, nil
}

// readClaude reads Claude Code's state file. One without servers is not parsed.
func readClaude(file string, dirs []string) (user []byte, locals [][]byte, faults []string) {
	if file == "" {
		return nil, nil, nil
	}
	data, err := readBounded(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	var state struct {
		Servers  json.RawMessage            `json:"mcpServers"`
		Projects map[string]json.RawMessage `json:"projects"`
	}
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		return nil, nil, []string{fmt.Sprintf("the MCP servers of %s are left out: %v", file, err)}
	}
	for _, dir := range slices.Compact(slices.Clone(dirs)) {
		if raw, ok := state.Projects[dir]; ok {
			locals = append(locals, raw)
		}
	}
	if len(state.Servers) > 0 {
		user = wrap(state.Servers)
	}
	return user, locals, nil
}

// mostOfProject is how many servers of a project's file are read: each is put to the user.
const mostOfProject = 100

// parse reads the object mcpServers of a file.
func (p *Places) parse(data []byte, scope Scope, file string) (out []Entry, faults []string) {
	where := cmp.Or(file, string(scope))
	var doc struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, []string{fmt.Sprintf("%s: the MCP servers cannot be read: %v", where, err)}
	}
	names := slices.Sorted(maps.Keys(doc.Servers))
	if scope == Project && len(names) > mostOfProject {
		faults = append(faults, fmt.Sprintf("%s: of its %d MCP servers the first %d are read", where, len(names),
			mostOfProject))
		names = names[:mostOfProject]
	}
	for _, name := range names {
		e, err := p.Parse(name, doc.Servers[name], scope)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: the MCP server %q is left out: %v", where, name, err))
			continue
		}
		e.File = file
		out = append(out, e)
	}
	return out, faults
}

// reserved are names that Claude Code keeps for its own servers.
var reserved = []string{"workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"}

// CheckName refuses names that cannot be part of a tool's name, or could be taken for another server's.
func CheckName(name string) error {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	switch {
	case name == "" || len(name) > 64 || strings.IndexFunc(name, func(r rune) bool { return !ok(r) }) >= 0:
		return errors.New("a name is up to 64 letters, digits, _ and -")
	case strings.Contains(name, "__") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_"):
		return errors.New("a name with two underscores, or one at an end, could be taken for another server's")
	case slices.Contains(reserved, name):
		return errors.New("the name is reserved")
	}
	return nil
}

// Parse reads one entry.
func (p *Places) Parse(name string, raw json.RawMessage, scope Scope) (Entry, error) {
	e := Entry{Name: name, Scope: scope, Raw: raw}
	if err := CheckName(name); err != nil {
		return e, err
	}
	if err := json.Unmarshal(raw, &e.Fields); err != nil {
		return e, err
	}
	e.fill(p)
	return e, e.check()
}

func (e *Entry) check() error {
	if e.Type == "" && e.URL == "" {
		e.Type = Stdio
	}
	switch e.Type {
	case Stdio:
		if e.Command == "" {
			return errors.New(`it has no "command"`)
		}
	case HTTP, "streamable-http", "streamableHttp", SSE:
		if e.Type != SSE {
			e.Type = HTTP
		}
		u, err := url.Parse(e.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return errors.New(`its "url" is no http or https address`)
		}
	case SDK:
		if e.Scope != Flag {
			return errors.New("a server of an SDK is declared by its host only")
		}
	case "":
		return errors.New(`it has a "url" and no "type": write "type": "http" or "sse"`)
	default:
		return fmt.Errorf("the type %q is not known; there are stdio, http and sse", e.Type)
	}
	return nil
}

// Choose returns one entry of each name: the first whose scope may be used. Those of the project that usable refuses
// stay in waiting.
func Choose(entries []Entry, usable func(*Entry) bool) (chosen, waiting []Entry) {
	taken := map[string]bool{}
	for _, e := range entries {
		if taken[e.Name] {
			continue
		}
		if !usable(&e) {
			waiting = append(waiting, e)
			continue
		}
		taken[e.Name] = true
		chosen = append(chosen, e)
	}
	return chosen, waiting
}
