// Package call holds the declarations of tools (see [Declaration]) and all that follows from them without the tool:
// other spellings of a call, its accesses, and the calls that rules are tried on.
//
// The words: a call names a tool and has a JSON object as its input; canonical is the one spelling of a tool's or
// parameter's name, an alias another that models use. A [Catalogue] holds the declarations, a [Place] says where a
// call would run, a [Machine] is such a place that need not exist. A subject is a call in short, as rules are tried
// on it: a command, a path, "link -> target", a URL, a tool's name, or "Tool: subject".
//
// The promise: a fact not known of a tool or of its input is unknown in the request, so that it asks.
package call

import (
	"encoding/json"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Machine is a hypothetical place where calls would run.
type Machine struct {
	permission.HypotheticalMachine
	Dir   string // the working folder, absolute
	tools *Catalogue
}

// NewMachine is a machine of which only a working folder and a home are known.
func NewMachine(tools *Catalogue, dir, home string) *Machine {
	return &Machine{
		HypotheticalMachine: permission.HypotheticalMachine{HomeDir: home, RootDirs: []string{dir}}, Dir: dir,
		tools: tools,
	}
}

// Policy is the policy of a session that works there.
func (m *Machine) Policy(rules []permission.Rule) *permission.Policy {
	return permission.NewPolicy(m.tools, m.HomeDir, m.RootDirs, rules)
}

// Fixture describes the special state of the machine for one call, in words.
type Fixture struct {
	Files    string `json:"files"`    // "out -> /home/u/x (symlink)", "two names (hard link)", "fifo"
	Dir      string `json:"dir"`      // the folder that the call runs in instead of the working folder
	DNS      string `json:"dns"`      // the addresses that a name leads to
	Redirect string `json:"redirect"` // where a server sends on to
}

// Request returns the permission request of a tool call. Other spellings are taken as in a session. The error names the
// parameter missing from the input.
func (m *Machine) Request(tool string, input json.RawMessage, f Fixture) (permission.Request, error) {
	name, mended := m.tools.Canonical(tool, input)
	if mended != nil {
		input = mended
	}
	req := permission.Request{Tool: name, Input: input, Mode: permission.Default, Dir: m.Dir}
	here := m.with(f, m.subjectOf(name, input))
	var more []permission.Access
	if f.Dir != "" {
		more = append(more, here.place().Access(permission.Read, f.Dir))
		here.Dir = more[0].Target
	}
	accesses, err := m.tools.Accesses(name, input, here.place())
	if err != nil || accesses == nil {
		return req, err
	}
	req.Accesses = slices.Concat(accesses, more, f.hosts(accesses))
	return req, nil
}

// subjectOf is the path that an input names, or "".
func (m *Machine) subjectOf(tool string, input json.RawMessage) string {
	t := m.tools.Traits(tool)
	if t.Subject != permission.SubjectRead && t.Subject != permission.SubjectEdit {
		return ""
	}
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, param := range t.Params {
		if s, _ := fields[param].(string); s != "" {
			return s
		}
	}
	return ""
}

func (m *Machine) place() Place {
	return Place{World: &m.HypotheticalMachine, Dir: m.Dir, Resolve: m.look}
}

// hosts are the further addresses that a call would reach: where a server sends it on to, and private ones that
// the name leads to.
func (f Fixture) hosts(accesses []permission.Access) (more []permission.Access) {
	i := slices.IndexFunc(accesses, func(a permission.Access) bool { return a.Kind == permission.Net })
	if i < 0 {
		return nil
	}
	for _, word := range strings.Fields(f.Redirect) {
		if strings.Contains(word, "://") {
			more = append(more, permission.NetAccess(strings.Trim(word, `"',;()`)))
		}
	}
	for _, word := range strings.FieldsFunc(f.DNS, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }) {
		if a, err := netip.ParseAddr(word); err == nil && permission.PrivateAddr(a) && !strings.Contains(accesses[i].Target,
			word) {
			more = append(more, permission.Access{Kind: permission.Net, Target: word, Named: accesses[i].Target})
		}
	}
	return more
}

// look follows the links of a path as the kernel does: .. behind a link leads to the parent of the link's
// target.
func (m *Machine) look(name string) (named string, node permission.Node) {
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
	return path.Clean(name), m.Stat(at)
}

// with puts the links and odd files on the machine that a fixture names. The subject is the path that the call is
// about.
func (m *Machine) with(f Fixture, subject string) *Machine {
	here := *m
	if f.Files == "" {
		return &here
	}
	if subject == "" {
		subject = f.Dir
	}
	here.Links, here.Nodes = clone(m.Links), clone(m.Nodes)
	for part := range strings.FieldsFuncSeq(f.Files, func(r rune) bool { return r == ';' || r == ',' || r == '\n' }) {
		if link, target, ok := strings.Cut(part, " -> "); ok {
			here.link(strings.TrimSpace(link), strings.TrimSpace(target), subject)
		}
	}
	here.odd(strings.ToLower(f.Files), subject)
	return &here
}

// odd makes the subject the kind of file that the words describe: one with two names, or none.
func (m *Machine) odd(words, subject string) {
	if subject == "" {
		return
	}
	at := m.Stat(m.absolute(subject)).Real
	says := func(any ...string) bool {
		return slices.ContainsFunc(any, func(w string) bool { return strings.Contains(words, w) })
	}
	switch {
	case says("hard link", "hardlink", "nlink"):
		m.Nodes[at] = permission.Node{Kind: permission.File, Links: 2}
	case says("fifo", "socket", "device", "pipe"):
		m.Nodes[at] = permission.Node{Kind: permission.Special}
	}
}

// link adds a link. A bare name is a part of the path that the call is about.
func (m *Machine) link(name, target, subject string) {
	if i := strings.IndexAny(target, " ("); i > 0 {
		target = target[:i]
	}
	m.Links[m.find(name, subject)] = target
}

// find says where a name lies: at its path, else where the call's own path has a part of this name, else
// in the working folder.
func (m *Machine) find(name, subject string) string {
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

func clone[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	maps.Copy(out, m)
	return out
}
