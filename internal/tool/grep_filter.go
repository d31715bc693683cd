package tool

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/glob"
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
	folder, _ := newNameGlob(strings.TrimSuffix(strings.TrimSuffix(text, "/**"), "/")) // no folder where nothing is left that can match
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
			return nil, fmt.Errorf("the glob %.200q is malformed: %w; give one such as *.go or src/**/*.{ts,tsx}", globs, err)
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
		return fmt.Errorf("the type %q is not known; use glob (such as *.%s) or one of: %s", f.typ, f.typ, strings.Join(slices.Sorted(maps.Keys(typeTable())), " "))
	}
	return nil
}

// splitGlobs splits at spaces and at commas outside braces.
func splitGlobs(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) {
			switch c := s[i]; {
			case c == '{':
				depth++
				continue
			case c == '}':
				depth--
				continue
			case c == ' ', c == ',' && depth <= 0:
			default:
				continue
			}
		}
		if i > from {
			out = append(out, s[from:i])
		}
		from = i + 1
	}
	return out
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

// enter reports whether a folder is to be searched.
func (f *fileFilter) enter(rel string) bool {
	for _, g := range f.refuse {
		if g.folder.match(rel) {
			return false
		}
	}
	return true
}

// fileTypes are the types that are known without ripgrep, each with the globs of its base names as
// ripgrep --type-list has them. A type may have several names.
const fileTypes = `
	c                   : *.[chH] *.[chH].in *.cats
	cpp                 : *.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in
	cs csharp           : *.cs
	css                 : *.css
	dart                : *.dart
	docker              : *Dockerfile*
	elixir              : *.ex *.eex *.exs
	go                  : *.go
	graphql             : *.graphql *.graphqls
	h                   : *.h *.hh *.hpp
	haskell             : *.hs *.lhs *.cpphs *.c2hs *.hsc
	html                : *.htm *.html *.ejs
	java                : *.java *.jsp *.jspx *.properties
	js                  : *.js *.jsx *.vue *.cjs *.mjs
	json                : *.json composer.lock
	kotlin              : *.kt *.kts
	less                : *.less
	lua                 : *.lua
	make                : [Gg][Nn][Uu]makefile [Mm]akefile [Gg][Nn][Uu]makefile.am [Mm]akefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile.in *.mk *.mak
	markdown md         : *.markdown *.md *.mdown *.mkd *.mkdn *.mdx
	ocaml               : *.ml *.mli *.mll *.mly
	perl                : *.perl *.pl *.PL *.plh *.plx *.pm *.t
	php                 : *.php *.php3 *.php4 *.php5 *.phtml
	protobuf            : *.proto
	py python           : *.py *.pyi
	r                   : *.R *.r *.Rmd *.Rnw
	ruby                : config.ru Gemfile .irbrc Rakefile *.gemspec *.rb *.rbw
	rust                : *.rs
	sass                : *.sass *.scss
	scala               : *.scala *.sbt
	sh                  : *.sh *.bash *.zsh *.ksh *.csh *.tcsh .bashrc .bash_profile .profile .zshrc .zshenv .zprofile
	sql                 : *.sql *.psql
	svelte              : *.svelte
	swift               : *.swift
	tex                 : *.tex *.ltx *.cls *.sty *.bib *.dtx *.ins
	tf                  : *.tf *.auto.tfvars terraform.tfvars *.tf.json *.auto.tfvars.json terraform.tfvars.json *.terraformrc terraform.rc *.tfrc *.terraform.lock.hcl
	toml                : *.toml Cargo.lock
	ts typescript       : *.ts *.tsx *.cts *.mts
	txt                 : *.txt
	vue                 : *.vue
	xml                 : *.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml
	yaml                : *.yaml *.yml
	zig                 : *.zig
`

// typeTable is fileTypes by name.
var typeTable = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(fileTypes) {
		names, globs, ok := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(names) {
			if ok {
				out[name] = strings.Fields(globs)
			}
		}
	}
	return out
})
