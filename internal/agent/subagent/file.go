package subagent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
	"github.com/lathe-dev/lathe/internal/permission"
)

const maxFile = 1 << 20 // bytes of a kind's file

// goodName excludes the slash, which separates names in a chain of agents, and the form of plugin names.
var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`) })

var colors = []string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"}

// ReadFile reads the kind in a Markdown file. The error says why the file cannot be used.
func ReadFile(path string) (Kind, error) { return readFile(path, false) }

// readFile is ReadFile. A plugin's file may leave out its name, which is that of the file then, and its description.
func readFile(path string, plugin bool) (Kind, error) {
	src, err := readText(path)
	if err != nil {
		return Kind{}, err
	}
	doc := frontmatter.Parse(src)
	k := Kind{Path: path, Prompt: strings.TrimSpace(doc.Body)}
	if doc.Problem != "" {
		k.note("the frontmatter is not valid YAML (%s); it was read line by line", doc.Problem)
	}
	if plugin && len(doc.Fields) > 0 {
		complete(doc.Fields, path)
	}
	if err := k.fill(doc.Fields); err != nil {
		return Kind{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// complete adds the name and description that a plugin's file leaves out.
func complete(f frontmatter.Fields, path string) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if !f.Has("name") {
		f["name"] = name
	}
	if f.Text("description") == "" {
		f["description"] = "the agent " + f.Text("name") + " of its plugin"
	}
}

func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot read %s: it is not a regular file", path)
	}
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(src) > maxFile:
		return nil, fmt.Errorf("cannot use %s: it has more than %d MB", path, maxFile>>20)
	case slices.Contains(src, 0):
		return nil, fmt.Errorf("cannot use %s: it is not text", path)
	}
	return src, nil
}

func (k *Kind) note(format string, args ...any) {
	k.Notes = append(k.Notes, fmt.Sprintf(format, args...))
}

// fill takes the fields of a file or of the command line. A field that restricts the agent and is not supported is an
// error.
func (k *Kind) fill(f frontmatter.Fields) error {
	k.Name, k.Description = f.Text("name"), f.Text("description")
	if err := k.named(); err != nil {
		return err
	}
	if f.Has("tools") {
		k.Tools = append([]string{}, f.List("tools")...)
	}
	k.Without = f.List("disallowedTools")
	k.limitSpawns()
	if slices.Contains(k.Tools, "*") {
		k.Tools = nil
	}
	if err := k.fillRules(f); err != nil {
		return err
	}
	k.limitTools()
	k.Model, k.Effort = f.Text("model"), f.Text("effort")
	if strings.EqualFold(k.Model, "inherit") {
		k.Model = ""
	}
	k.Skills = f.List("skills")
	k.Background, _ = f.Bool("background")
	k.Eval, _ = f.Bool("eval")
	if k.Color = strings.ToLower(f.Text("color")); k.Color != "" && !slices.Contains(colors, k.Color) {
		k.note("color: %s is none of %s", k.Color, strings.Join(colors, ", "))
		k.Color = ""
	}
	for _, name := range []string{"maxTurns", "maxSteps"} {
		if !f.Has(name) {
			continue
		}
		n, ok := f.Int(name)
		if !ok || n < 1 {
			return fmt.Errorf("%s: %s is no number of steps", name, f.Text(name))
		}
		k.MaxSteps = n
	}
	k.InitialPrompt = f.Text("initialPrompt")
	if err := k.fillMore(f); err != nil {
		return err
	}
	k.unknown(f)
	return k.fillMode(f)
}

func (k *Kind) named() error {
	switch {
	case k.Name == "":
		return errors.New(`it has no name; write "name: ..." at its top`)
	case !goodName().MatchString(k.Name):
		return fmt.Errorf("%q is no name of an agent: use letters, digits, '.', '-' and '_'", k.Name)
	case k.Description == "":
		return errors.New(`it has no description, by which the model chooses it; write "description: ..." at its top`)
	}
	return nil
}

// limitSpawns takes the kinds out of Agent(a, b) among the tools, Claude Code's form for the only kinds that it may
// start.
func (k *Kind) limitSpawns() {
	for i, name := range k.Tools {
		tool, kinds, ok := strings.Cut(name, "(")
		if !ok || tool != "Agent" && tool != "Task" || !strings.HasSuffix(kinds, ")") {
			continue
		}
		k.Tools[i] = tool
		k.Spawns = append(k.Spawns, strings.FieldsFunc(strings.TrimSuffix(kinds, ")"),
			func(r rune) bool { return r == ',' || r == ' ' })...)
	}
}

// limitTools takes the patterns out of Bash(git:*) among the tools: the agent has the tool, and what no pattern of it
// covers asks.
func (k *Kind) limitTools() {
	whole := map[string]bool{}
	for _, name := range k.Tools {
		whole[name] = true
	}
	var out []string
	for _, name := range k.Tools {
		tool, rest, pattern := strings.Cut(name, "(")
		if !pattern || rest == "*)" {
			out = append(out, tool)
			continue
		}
		if k.Permissions == nil {
			k.Permissions = &Rules{}
		}
		if !whole[tool] {
			k.Permissions.Allow = append(k.Permissions.Allow, name)
		}
		if !slices.Contains(out, tool) {
			out = append(out, tool)
		}
		if !whole[tool] && !slices.Contains(k.Permissions.Ask, tool) {
			k.Permissions.Ask = append(k.Permissions.Ask, tool)
		}
	}
	if k.Tools != nil {
		k.Tools = append([]string{}, out...)
	}
}

// fillMode takes the fields about permissions. A mode can only narrow: an agent never has more than its parent.
func (k *Kind) fillMode(f frontmatter.Fields) error {
	switch k.Mode = permission.Mode(f.Text("permissionMode")); k.Mode {
	case "", permission.Default:
	case permission.Plan:
		k.ReadOnly = true
	case permission.DontAsk:
		k.NoAsk = true
	case permission.AcceptEdits, permission.Bypass, permission.Auto:
		k.note("permissionMode: %s has no effect when another agent starts it: it has the mode of that session", k.Mode)
	default:
		return fmt.Errorf("permissionMode: there is no mode %q", k.Mode)
	}
	switch isolation := f.Text("isolation"); isolation {
	case "", "none":
	case "worktree":
		k.Isolated = true
	default:
		return fmt.Errorf("isolation: %q is not known; write worktree, or take the line out", isolation)
	}
	return k.fillServers(f)
}
