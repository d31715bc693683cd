// Package call turns a tool call as a model writes it, a name and a JSON object, into what it would touch,
// without the tool: for decisions about machines that are not there, and for the examples of rules.
//
// The words: a call names a tool of lathe's by its canonical name; its input is the tool's. A subject is a call
// in short, as rules are tried on it: a command, a path, "link -> target", a URL, a tool's name, or
// "Tool: subject".
//
// The promise: what is not known of a tool or of its input is unknown in the request, so that it asks.
package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/shell"
)

// Machine is where a call would run: its links and special files may be added to by the call's own fixture.
type Machine struct {
	permission.Paper
	Dir string // the working folder, absolute
}

// NewMachine is a machine of which only a working folder and a home are known.
func NewMachine(dir, home string) *Machine {
	return &Machine{Paper: permission.Paper{HomeDir: home, RootDirs: []string{dir}}, Dir: dir}
}

// Policy is the policy of a session that works there.
func (m *Machine) Policy(rules []permission.Rule) *permission.Policy {
	return permission.NewPolicy(m.HomeDir, m.RootDirs, rules)
}

// input holds every parameter of the tools that touch something. Other names are aliases.
type input struct {
	Command      *string `json:"command"`
	Dir          string  `json:"cwd"`
	WorkDir      string  `json:"workdir"`
	FilePath     *string `json:"file_path"`
	NotebookPath *string `json:"notebook_path"`
	Path         *string `json:"path"`
	Pattern      string  `json:"pattern"`
	URL          *string `json:"url"`
	Host         *string `json:"host"`
	Patch        string  `json:"patch"`

	// What lies on the machine, in words: "out -> /home/u/x (symlink)", "two names (hard link)", "fifo".
	Files    string `json:"_fs"`
	DNS      string `json:"_dns"`      // the addresses that a name leads to
	Redirect string `json:"_redirect"` // where a server sends on to
}

// Request is what a call of tool would touch. The error says what is missing from the input.
func (m *Machine) Request(tool string, raw json.RawMessage) (permission.Request, error) {
	req := permission.Request{Tool: tool, Input: raw, Mode: permission.Default, Dir: m.Dir}
	var in input
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return req, fmt.Errorf("the input of %s cannot be read: %w", tool, err)
		}
	}
	here := *m
	here.fixture(in)
	var err error
	req.Accesses, err = here.accesses(tool, in)
	return req, err
}

var errNoPath = errors.New(`the input names no path; give it as "file_path" or "path"`)

func (m *Machine) accesses(tool string, in input) ([]permission.Access, error) {
	switch tool {
	case "Bash":
		return m.command(in)
	case "Read", "LSP":
		return m.file(permission.Read, in.FilePath, in.Path)
	case "Write", "Edit", "MultiEdit":
		return m.file(permission.Write, in.FilePath, in.Path)
	case "NotebookEdit":
		return m.file(permission.Write, in.NotebookPath, in.FilePath, in.Path)
	case "Glob", "Grep":
		return m.search(tool, in), nil
	case "ApplyPatch":
		return m.patch(in.Patch), nil
	case "WebFetch", "Net":
		return m.net(in)
	case "TodoWrite", "Question", "BashOutput", "ToolSearch", "EnterPlanMode":
		return []permission.Access{{Kind: permission.Tool, Target: tool, Safe: true}}, nil
	case "Task", "Skill", "KillShell", "WebSearch":
		return []permission.Access{{Kind: permission.Tool, Target: tool}}, nil
	}
	return nil, nil
}

// command analyses a command line, in the folder the call names if it names one.
func (m *Machine) command(in input) ([]permission.Access, error) {
	if in.Command == nil || strings.TrimSpace(*in.Command) == "" {
		return nil, errors.New(`the input names no command; give it as "command"`)
	}
	dir := m.Dir
	var out []permission.Access
	for _, d := range []string{in.Dir, in.WorkDir} {
		if d != "" {
			a := m.access(permission.Read, d)
			dir, out = a.Target, append(out, a)
		}
	}
	return append(shell.Analyze(*in.Command, dir, &m.Paper).Accesses, out...), nil
}

func (m *Machine) file(kind permission.Kind, names ...*string) ([]permission.Access, error) {
	for _, name := range names {
		if name != nil && *name != "" {
			return []permission.Access{m.access(kind, *name)}, nil
		}
	}
	return nil, errNoPath
}

// search reads below its folder, and for a pattern that begins elsewhere, there.
func (m *Machine) search(tool string, in input) []permission.Access {
	start := "."
	if in.Path != nil && *in.Path != "" {
		start = *in.Path
	}
	out := []permission.Access{m.access(permission.Read, start)}
	if tool != "Glob" {
		return out
	}
	fixed, wild, _ := strings.Cut(in.Pattern, "*")
	if strings.Contains(wild, "..") {
		return append(out, m.access(permission.Read, "/")) // it may lead anywhere
	}
	if i := strings.LastIndexByte(fixed, '/'); i >= 0 && (path.IsAbs(fixed) || strings.HasPrefix(fixed, "~") || strings.Contains(in.Pattern, "..")) {
		if !path.IsAbs(fixed) && !strings.HasPrefix(fixed, "~") {
			fixed = path.Join(start, fixed)
		}
		out = append(out, m.access(permission.Read, fixed))
	}
	return out
}

// patch writes the files that its headers name; without one it is unknown.
func (m *Machine) patch(text string) []permission.Access {
	var out []permission.Access
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "--- a/"} {
			if name, ok := strings.CutPrefix(line, head); ok {
				out = append(out, m.access(permission.Write, strings.TrimSpace(name)))
			}
		}
	}
	return out
}

// net reaches the host of an address, the one a server sends on to, and what its name leads to.
func (m *Machine) net(in input) ([]permission.Access, error) {
	address := in.URL
	if address == nil {
		address = in.Host
	}
	if address == nil || *address == "" {
		return nil, errors.New(`the input names no address; give it as "url"`)
	}
	out := []permission.Access{permission.NetAccess(*address)}
	for _, word := range strings.Fields(in.Redirect) {
		if strings.Contains(word, "://") {
			out = append(out, permission.NetAccess(strings.Trim(word, `"',;()`)))
		}
	}
	for _, word := range strings.FieldsFunc(in.DNS, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }) {
		if a, err := netip.ParseAddr(word); err == nil && permission.PrivateAddr(a) && !strings.Contains(out[0].Target, word) {
			out = append(out, permission.Access{Kind: permission.Net, Target: word, Named: *address})
		}
	}
	return out, nil
}

// access follows the links of a path as the kernel does: .. behind a link leads to the parent of what the
// link names.
func (m *Machine) access(kind permission.Kind, name string) permission.Access {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		name = m.HomeDir + name[1:]
	case !path.IsAbs(name):
		name = m.Dir + "/" + name
	}
	at := "/"
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
		case "..":
			at = path.Dir(m.Stat(at).Real)
		default:
			at = path.Join(at, part)
		}
	}
	node := m.Stat(at)
	a := permission.Access{Kind: kind, Target: node.Real, Node: node.Kind, Links: node.Links}
	if named := path.Clean(name); named != a.Target {
		a.Named = named
	}
	return a
}

// fixture puts the links and odd files on the machine that the call's own description names.
func (m *Machine) fixture(in input) {
	if in.Files == "" {
		return
	}
	m.Links, m.Nodes = clone(m.Links), clone(m.Nodes)
	subject := firstOf(in.FilePath, in.Path, &in.Dir)
	for part := range strings.FieldsFuncSeq(in.Files, func(r rune) bool { return r == ';' || r == ',' || r == '\n' }) {
		link, target, ok := strings.Cut(part, " -> ")
		if ok {
			m.link(strings.TrimSpace(link), strings.TrimSpace(target), subject)
		}
	}
	if subject == "" {
		return
	}
	at := m.Stat(m.absolute(subject)).Real
	switch text := strings.ToLower(in.Files); {
	case strings.Contains(text, "hard link"), strings.Contains(text, "hardlink"), strings.Contains(text, "nlink"):
		m.Nodes[at] = permission.Node{Kind: permission.File, Links: 2}
	case strings.Contains(text, "fifo"), strings.Contains(text, "socket"), strings.Contains(text, "device"), strings.Contains(text, "pipe"):
		m.Nodes[at] = permission.Node{Kind: permission.Special}
	}
}

// link adds a link. A bare name is a part of the path that the call is about.
func (m *Machine) link(name, target, subject string) {
	if i := strings.IndexAny(target, " ("); i > 0 {
		target = target[:i]
	}
	m.Links[m.place(name, subject)] = target
}

// place finds where a name lies: at its path, else where the call's own path has a part of this name, else
// in the working folder.
func (m *Machine) place(name, subject string) string {
	if !strings.Contains(name, "/") {
		for at := m.absolute(subject); at != "/" && at != "."; at = path.Dir(at) {
			if path.Base(at) == name {
				return at
			}
		}
	}
	return m.absolute(name)
}

func (m *Machine) absolute(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(m.Dir, name)
	}
	return path.Clean(name)
}

func firstOf(names ...*string) string {
	for _, n := range names {
		if n != nil && *n != "" {
			return *n
		}
	}
	return ""
}

func clone[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	maps.Copy(out, m)
	return out
}
