package eval

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

// Judge looks at the work from one perspective.
type Judge struct {
	Name   string  `json:"name"`
	Focus  string  `json:"focus"`           // the perspective: what it examines and when the work passes
	Model  string  `json:"model,omitempty"` // a name or an alias; "": the small model
	Weight float64 `json:"weight"`          // of its vote
	Tools  bool    `json:"tools,omitempty"` // it may read files with read-only tools
	Source string  `json:"source"`          // "built-in", or the file
}

// Folder is a folder with judges as Markdown files.
type Folder struct {
	Path  string
	Bound string // links of files must stay inside; empty: no limit
	Guest bool   // of a project that is not trusted: its judges do not count
}

// BuiltIn lists the judges that are always there.
func BuiltIn() []Judge {
	return []Judge{
		{Name: "Correctness", Weight: 1, Source: "built-in", Focus: "Bugs, logic errors, syntax, edge cases. The work " +
			"passes if it does correctly what was asked, without errors."},
		{Name: "Completeness", Weight: 1, Source: "built-in", Focus: "All parts of the request, consistent changes, no " +
			"TODOs or placeholders left. The work passes if every part of the request is covered."},
		{Name: "Goal Alignment", Weight: 1, Source: "built-in", Focus: "The user's underlying intent and the approach. " +
			"The work passes if the result serves the user's actual need."},
	}
}

// Bounds of judges from files.
const (
	mostJudges = 20
	maxFile    = 64 << 10 // bytes of a file
)

// Find reads the judges of folders, lowest precedence first, after the built-in ones. A file with the name of another
// judge replaces it; weight 0 removes it. A file that cannot be used is left out with a note.
func Find(folders []Folder) (judges []Judge, notes []string) {
	judges = BuiltIn()
	for _, f := range folders {
		paths, _ := filepath.Glob(filepath.Join(f.Path, "*.md"))
		if f.Guest && len(paths) > 0 {
			notes = append(notes, "the judges of "+f.Path+" are left out until you trust this folder (lathe config trust)")
			continue
		}
		for _, path := range paths {
			j, err := readFile(path, f.Bound)
			if err == nil && len(judges) >= mostJudges {
				err = fmt.Errorf("%s: there are more than %d judges", path, mostJudges)
			}
			if err != nil {
				notes = append(notes, "the judge is left out: "+err.Error())
				continue
			}
			judges = slices.DeleteFunc(judges, func(o Judge) bool { return strings.EqualFold(o.Name, j.Name) })
			judges = append(judges, j)
		}
	}
	return slices.DeleteFunc(judges, func(j Judge) bool { return j.Weight == 0 }), notes
}

// goodName allows the names of the built-in judges and those of agents.
var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}$`) })

func readFile(path, bound string) (Judge, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Judge{}, err
	}
	if rel, err := filepath.Rel(bound, real); bound != "" && (err != nil || !filepath.IsLocal(rel)) {
		return Judge{}, fmt.Errorf("%s leads out of the project to %s", path, real)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return Judge{}, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(real)
	if err != nil {
		return Judge{}, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Judge{}, err
	}
	if len(src) > maxFile {
		return Judge{}, fmt.Errorf("%s has more than %d KB", path, maxFile>>10)
	}
	return parse(path, src)
}

// parse reads a judge: the fields name, model, weight and tools, and the perspective as the text.
func parse(path string, src []byte) (Judge, error) {
	doc := frontmatter.Parse(src)
	j := Judge{
		Name: doc.Fields.Text("name"), Model: doc.Fields.Text("model"), Weight: 1, Source: path,
		Focus: strings.TrimSpace(strings.Join([]string{doc.Fields.Text("perspective"), doc.Body}, "\n")),
	}
	if j.Name == "" {
		j.Name = strings.TrimSuffix(filepath.Base(path), ".md")
	}
	if !goodName().MatchString(j.Name) {
		return j, fmt.Errorf("%s: %q is no name of a judge: use letters, digits, spaces, '.', '-' and '_'", path, j.Name)
	}
	if text := doc.Fields.Text("weight"); text != "" {
		w, err := strconv.ParseFloat(text, 64)
		if err != nil || !(w >= 0 && w <= 100) {
			return j, fmt.Errorf("%s: weight: %s is no number from 0 to 100", path, text)
		}
		j.Weight = w
	}
	tools, ok := doc.Fields.Bool("tools")
	if doc.Fields.Has("tools") && !ok {
		return j, fmt.Errorf("%s: tools: write true, for read-only tools, or false", path)
	}
	if j.Tools = tools; j.Focus == "" && j.Weight > 0 {
		return j, fmt.Errorf("%s: it has no perspective; write as its text what the judge examines and when the work passes",
			path)
	}
	return j, nil
}
