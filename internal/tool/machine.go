package tool

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Machine is the machine as the analysis of one call sees it ([permission.World]). It starts no process, and
// remembers its answers, so that all of one decision rests on the same ones; make a new one for
// each. It is not safe for concurrent use.
type Machine struct {
	env      *Files
	path     []string // folders of the clean PATH; nil: not looked for yet
	home     string
	roots    []string
	nodes    map[string]permission.Node
	programs map[string]string
	git      map[string]gitPrograms
	texts    map[string]machineText
}

type gitPrograms struct {
	keys []string
	err  error
}

var _ permission.World = (*Machine)(nil)

// Machine looks at the machine from now on.
func (e *Files) Machine() *Machine {
	m := &Machine{env: e, nodes: map[string]permission.Node{}}
	for _, r := range e.rootList() {
		if !r.ReadOnly {
			m.roots = append(m.roots, r.Path)
		}
	}
	return m
}

// rootList: an Env that only says which shell there is has no roots.
func (e *Files) rootList() []files.Root {
	if e.Roots == nil {
		return nil
	}
	return e.Roots.List()
}

// variable is the value of an environment variable of children; the last one counts, as in os/exec.
func (e *Files) variable(name string) string {
	for _, kv := range slices.Backward(e.environ()) {
		if n, v, ok := strings.Cut(kv, "="); ok && (n == name || caseless && strings.EqualFold(n, name)) {
			return v
		}
	}
	return ""
}

// Home is the home folder, as the shell takes ~ for.
func (m *Machine) Home() string {
	if m.home == "" {
		m.home = filepath.Clean(cmp.Or(m.env.variable("HOME"), homeDir()))
	}
	return m.home
}

func homeDir() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return string(filepath.Separator)
	}
	return dir
}

// Roots are the folders that the session may write in, its own first.
func (m *Machine) Roots() []string { return slices.Clone(m.roots) }

// Stat follows links as far as their targets exist. A path that cannot be read is Unknown.
func (m *Machine) Stat(path string) permission.Node {
	if n, ok := m.nodes[path]; ok {
		return n
	}
	n := lookAt(path)
	m.nodes[path] = n
	return n
}

func lookAt(path string) permission.Node {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return permission.Node{Real: path, Kind: permission.Unknown}
	}
	real, err := files.FollowLinks(filepath.Clean(path))
	if err != nil {
		return permission.Node{Real: filepath.Clean(path), Kind: permission.Unknown}
	}
	info, err := os.Lstat(real)
	return nodeOf(real, info, err)
}

// nodeOf is the node at a real path.
func nodeOf(real string, info os.FileInfo, err error) permission.Node {
	n := permission.Node{Real: real}
	switch {
	case files.Nothing(err):
		n.Kind = permission.Missing
	case err != nil || info == nil:
		n.Kind = permission.Unknown
	case info.IsDir():
		n.Kind = permission.Folder
	case info.Mode().IsRegular():
		n.Kind, n.Links = permission.File, files.Links(info)
	case info.Mode()&os.ModeSymlink != 0: // it was put there since
		n.Kind = permission.Unknown
	default:
		n.Kind = permission.Special
	}
	return n
}

// toolDirs are the folders of the clean PATH.
func (m *Machine) toolDirs() []string {
	if m.path == nil {
		var work []string
		for _, r := range m.env.rootList() {
			work = append(work, r.Path)
		}
		m.path = append([]string{}, sandbox.ToolDirs(m.env.variable("PATH"), work)...)
	}
	return m.path
}

// Program finds a program: a bare name along the clean PATH, else along the user's, one with a slash from dir. The
// links of the folders are always resolved; that of the program itself is unless it leads to another name, because a
// program that is many (busybox, rustup) looks at the name by which it is run.
func (m *Machine) Program(name, dir string) string {
	key := name
	if strings.ContainsAny(name, `/\`) {
		key += "\x00" + dir
	}
	if p, ok := m.programs[key]; ok {
		return p
	}
	if m.programs == nil {
		m.programs = map[string]string{}
	}
	p := m.find(name, dir)
	m.programs[key] = p
	return p
}

func (m *Machine) find(name, dir string) string {
	if name == "" || strings.ContainsRune(name, 0) {
		return ""
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return m.executable(filepath.Clean(name))
	}
	for _, d := range m.toolDirs() {
		if p := m.executable(filepath.Join(d, name)); p != "" {
			return p
		}
	}
	for _, d := range filepath.SplitList(m.env.variable("PATH")) { // one of the project's is not a missing one
		if p := m.executable(filepath.Join(d, name)); p != "" {
			return p
		}
	}
	return ""
}

// executable resolves the path of a program that can be run.
func (m *Machine) executable(path string) string {
	found, err := exec.LookPath(path)
	if err != nil || !filepath.IsAbs(found) {
		return ""
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return ""
	}
	if filepath.Base(real) == filepath.Base(found) {
		return real
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(found))
	if err != nil {
		return ""
	}
	if slices.Contains(m.toolDirs(), dir) {
		return filepath.Join(dir, filepath.Base(found))
	}
	return real
}

// GitKeys reads the configuration of the repository that git would use in dir, and for secrets the user's and the
// machine's too.
func (m *Machine) GitKeys(dir string, kind permission.KeyKind) ([]string, error) {
	if kind == permission.SecretKeys {
		return git.Secrets(dir, m.Home())
	}
	if g, ok := m.git[dir]; ok {
		return g.keys, g.err
	}
	if m.git == nil {
		m.git = map[string]gitPrograms{}
	}
	keys, err := git.Programs(dir)
	m.git[dir] = gitPrograms{keys, err}
	return keys, err
}
