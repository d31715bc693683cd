package subagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

// Place is a folder where a new kind can be made.
type Place struct {
	Name string // "project", "shared" or "user"
	Help string
	Dir  string
}

// Places lists the folders for new kinds. Those that are not read here are left out.
func (c *Catalog) Places() []Place {
	var out []Place
	add := func(name, help, source string, claude bool) {
		for _, f := range slices.Backward(c.folders) {
			if f.Source == source && (filepath.Base(filepath.Dir(f.Path)) == ".claude") == claude {
				out = append(out, Place{name, help, f.Path})
				return
			}
		}
	}
	add("project", "for this project", "project", false)
	add("shared", "for this project, and for Claude Code too", "project", true)
	add("user", "for all projects", "user", false)
	return out
}

// Make writes the file of a new kind into a folder and returns its path. Tools nil means all, and model "" that of the
// parent. There must be no file of the name yet.
func Make(dir, name, description string, tools []string, model string) (string, error) {
	fields := frontmatter.Fields{"name": name, "description": description}
	k := Kind{}
	if err := k.fill(fields); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\n", name,
		strconv.Quote(strings.Join(strings.Fields(description), " ")))
	if tools != nil {
		fmt.Fprintf(&b, "tools: %s\n", strings.Join(tools, ", "))
	}
	if model != "" {
		fmt.Fprintf(&b, "model: %s\n", strconv.Quote(model))
	}
	b.WriteString("---\nYou do one task for another agent: " + description +
		"\n\nAnswer with the result, and name files with path and line.\n")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("the folder for agents cannot be made: %w", err)
	}
	path := filepath.Join(dir, name+".md")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is there already; change it with /agents edit %s", path, name)
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(b.String())
	return path, errors.Join(err, f.Close())
}
