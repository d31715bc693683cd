package tool

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/glob"
)

// fileFilter chooses files by the glob and type of a search.
type fileFilter struct {
	want, refuse []fileGlob
	typ          string
	types        []string // base names of the type; nil for one that is not known
}

// fileGlob is a glob in ripgrep's sense.
type fileGlob struct {
	text   string
	file   nameGlob
	folder nameGlob // a folder of which it takes everything
}

// nameGlob matches as ignore files do: without a slash it names a file in any folder.
type nameGlob struct {
	any  bool
	glob glob.Glob
}

func newFileGlob(text string) (fileGlob, error) {
	if text == "" {
		return fileGlob{}, glob.ErrMalformed
	}
	file, err := newNameGlob(text)
	// no folder where nothing is left that can match
	folder, _ := newNameGlob(strings.TrimSuffix(strings.TrimSuffix(text, "/**"), "/"))
	return fileGlob{text, file, folder}, err
}

func newNameGlob(text string) (nameGlob, error) {
	g, err := glob.Compile(strings.TrimPrefix(strings.TrimPrefix(text, "./"), "/"))
	return nameGlob{!strings.Contains(text, "/"), g}, err
}

func (g nameGlob) match(rel string) bool {
	if g.any {
		rel = path.Base(rel)
	}
	return g.glob.Match(rel)
}

func newFileFilter(globs, typ string) (*fileFilter, error) {
	f := &fileFilter{typ: typ}
	for _, g := range splitGlobs(globs) {
		list := &f.want
		if strings.HasPrefix(g, "!") {
			list, g = &f.refuse, g[1:]
		}
		compiled, err := newFileGlob(g)
		if err != nil {
			return nil, fmt.Errorf("the glob %.200q is malformed: %w; give one such as *.go or src/**/*.{ts,tsx}",
				globs, err)
		}
		*list = append(*list, compiled)
	}
	if typ != "" {
		f.types = typeTable()[typ]
	}
	return f, nil
}

// unknown is an error when the type is not one of ours.
func (f *fileFilter) unknown() error {
	if f.typ != "" && f.types == nil {
		const frequent = "c cpp css go html java js json md php python ruby rust sh sql ts yaml"
		return fmt.Errorf("the type %.40q is not known; use glob instead (such as *.%.40s), or a type such as: %s",
			f.typ, strings.TrimLeft(f.typ, "*."), frequent)
	}
	return nil
}

// splitGlobs splits at spaces and at commas outside braces.
func splitGlobs(s string) []string {
	depth := 0
	return strings.Fields(strings.Map(func(c rune) rune {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			return ' '
		}
		return c
	}, s))
}

// match reports whether a file is to be searched. Like ripgrep, a glob that names a file beats the
// ignore files.
func (f *fileFilter) match(rel string, ignored bool) bool {
	for _, g := range f.refuse {
		if g.file.match(rel) {
			return false
		}
	}
	named := false
	for _, g := range f.want {
		named = named || g.file.match(rel)
	}
	if len(f.want) > 0 && !named || ignored && !named {
		return false
	}
	return f.ofType(rel)
}

// ofType reports whether a file is of the asked type, as far as that is known here.
func (f *fileFilter) ofType(rel string) bool {
	if f.types == nil {
		return true
	}
	return slices.ContainsFunc(f.types, func(g string) bool { return glob.Match(g, path.Base(rel)) })
}

// names reports whether a glob names a folder, which beats the ignore files as with a file: * names all.
func (f *fileFilter) names(rel string) bool {
	return slices.ContainsFunc(f.want, func(g fileGlob) bool {
		switch {
		case strings.HasSuffix(g.text, "/**"):
			return g.file.match(rel) && !g.folder.match(rel) // what is in the folder, not the folder
		case strings.HasSuffix(g.text, "/"):
			return g.folder.match(rel)
		}
		return g.file.match(rel)
	})
}

// enter reports whether a folder is to be searched.
func (f *fileFilter) enter(rel string) bool {
	for _, g := range f.refuse {
		if g.folder.match(rel) {
			return false
		}
	}
	return true
}
