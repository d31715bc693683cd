// Package style finds output styles: texts that change how the model answers, as a part of the system prompt.
//
// The words: a style is a Markdown file in an output-styles folder, in Claude Code's form, or one that lathe brings;
// one that keeps the instructions leaves lathe's own on how to work in the prompt, any other replaces them.
//
// Promise: nothing is read before it is asked for, and a file that cannot be read is left out.
package style

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/frontmatter"
)

// Default is the style that changes nothing.
const Default = "default"

// maxFile is the longest file that is read, in bytes.
const maxFile = 256 << 10

// Style is one output style.
type Style struct {
	Name        string
	Description string
	Source      string // "lathe", or the file
	Text        string // for the system prompt; empty for the default one
	Keeps       bool   // keep-coding-instructions: lathe's own instructions on how to work stay
}

//go:embed builtin/*.md
var builtin embed.FS

// BuiltIn lists the styles that lathe brings, the default one first.
func BuiltIn() []Style {
	out := []Style{{Name: Default, Description: "Brief answers: the result first", Source: "lathe", Keeps: true}}
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		return out
	}
	for _, e := range entries {
		if src, err := builtin.ReadFile("builtin/" + e.Name()); err == nil {
			s := parse(src, strings.TrimSuffix(e.Name(), ".md"))
			s.Source = "lathe"
			out = append(out, s)
		}
	}
	return out
}

// Find lists the built-in styles and those of the folders, given from the weakest to the strongest: of two with one
// name the later one holds. The default one comes first, the others by name.
func Find(folders []string) []Style {
	all := BuiltIn()
	for _, dir := range folders {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, f := range files {
			if !strings.EqualFold(filepath.Ext(f.Name()), ".md") {
				continue
			}
			s, err := load(filepath.Join(dir, f.Name()))
			if err != nil {
				continue
			}
			all = append(slices.DeleteFunc(all, func(o Style) bool { return strings.EqualFold(o.Name, s.Name) }), s)
		}
	}
	slices.SortStableFunc(all, func(a, b Style) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	return all
}

func rank(s Style) int {
	if s.Name == Default {
		return 0
	}
	return 1
}

// Get finds a style by name, in any case; "" is the default one.
func Get(folders []string, name string) (Style, error) {
	all := Find(folders)
	name = cmp.Or(strings.TrimSpace(name), Default)
	names := make([]string, len(all))
	for i, s := range all {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names[i] = s.Name
	}
	return Style{}, fmt.Errorf("there is no output style %q; the styles are %s", name, strings.Join(names, ", "))
}

func load(path string) (Style, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Style{}, err
	}
	if !info.Mode().IsRegular() {
		return Style{}, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Style{}, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Style{}, err
	}
	if len(src) > maxFile {
		return Style{}, fmt.Errorf("%s has more than %d kB", path, maxFile>>10)
	}
	s := parse(src, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	s.Source = path
	return s, nil
}

func parse(src []byte, name string) Style {
	doc := frontmatter.Parse(src)
	s := Style{
		Name: cmp.Or(doc.Fields.Text("name"), name), Description: doc.Fields.Text("description"),
		Text: strings.TrimSpace(doc.Body),
	}
	s.Keeps, _ = doc.Fields.Bool("keep-coding-instructions")
	return s
}
