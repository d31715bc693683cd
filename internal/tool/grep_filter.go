package tool

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// fileFilter chooses files by the glob and type of a search.
type fileFilter struct {
	want, refuse []string // globs in ripgrep's sense
	typ          string
	types        []string // base names of the type; nil for one that is not known
}

func newFileFilter(glob, typ string) (*fileFilter, error) {
	f := &fileFilter{typ: typ}
	for _, g := range splitGlobs(glob) {
		list := &f.want
		if strings.HasPrefix(g, "!") {
			list, g = &f.refuse, g[1:]
		}
		if !doublestar.ValidatePattern(g) || g == "" {
			return nil, fmt.Errorf("the glob %q is malformed; give one such as *.go or src/**/*.{ts,tsx}", glob)
		}
		*list = append(*list, g)
	}
	if typ != "" {
		f.types = typeGlobs(typ)
	}
	return f, nil
}

// unknown is an error when the type is not one of ours.
func (f *fileFilter) unknown() error {
	if f.typ != "" && f.types == nil {
		return fmt.Errorf("the type %q is not known; use glob (such as *.%s) or one of: %s", f.typ, f.typ, strings.Join(typeNames, " "))
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
		if globNames(g, rel) {
			return false
		}
	}
	named := false
	for _, g := range f.want {
		named = named || globNames(g, rel)
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
	return slices.ContainsFunc(f.types, func(g string) bool { return doublestar.MatchUnvalidated(g, path.Base(rel)) })
}

// enter reports whether a folder is to be searched.
func (f *fileFilter) enter(rel string) bool {
	for _, g := range f.refuse {
		if globNames(strings.TrimSuffix(strings.TrimSuffix(g, "/**"), "/"), rel) {
			return false
		}
	}
	return true
}

// globNames matches as ignore files do: a glob without a slash names a file in any folder.
func globNames(glob, rel string) bool {
	if !strings.Contains(glob, "/") {
		return doublestar.MatchUnvalidated(glob, path.Base(rel))
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/"), rel)
}

// typeNames lists the types that are known without ripgrep.
var typeNames = []string{
	"c", "cpp", "cs", "csharp", "css", "dart", "docker", "elixir", "go", "graphql", "h", "haskell", "html", "java", "js",
	"json", "kotlin", "less", "lua", "make", "markdown", "md", "ocaml", "perl", "php", "protobuf", "py", "python",
	"r", "ruby", "rust", "sass", "scala", "sh", "sql", "svelte", "swift", "tex", "tf", "toml", "ts", "txt", "typescript",
	"vue", "xml", "yaml", "zig",
}

// typeGlobs are the base names of a type, as ripgrep's --type-list has them, or nil.
func typeGlobs(typ string) []string {
	globs := ""
	switch typ {
	case "c":
		globs = "*.[chH] *.[chH].in *.cats"
	case "cpp":
		globs = "*.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in"
	case "cs", "csharp":
		globs = "*.cs"
	case "css", "dart", "less", "lua", "kotlin", "sql", "svelte", "swift", "toml", "txt", "vue", "zig", "scala":
		globs = "*." + typ
		switch typ {
		case "kotlin":
			globs = "*.kt *.kts"
		case "scala":
			globs = "*.scala *.sbt"
		case "sql":
			globs = "*.sql *.psql"
		case "toml":
			globs = "*.toml Cargo.lock"
		}
	case "docker":
		globs = "*Dockerfile*"
	case "elixir":
		globs = "*.ex *.eex *.exs"
	case "go":
		globs = "*.go"
	case "graphql":
		globs = "*.graphql *.graphqls"
	case "h":
		globs = "*.h *.hh *.hpp"
	case "haskell":
		globs = "*.hs *.lhs *.cpphs *.c2hs *.hsc"
	case "html":
		globs = "*.htm *.html *.ejs"
	case "java":
		globs = "*.java *.jsp *.jspx *.properties"
	case "js":
		globs = "*.js *.jsx *.vue *.cjs *.mjs"
	case "json":
		globs = "*.json composer.lock"
	case "make":
		globs = "[Gg][Nn][Uu]makefile [Mm]akefile [Gg][Nn][Uu]makefile.am [Mm]akefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile.in *.mk *.mak"
	case "markdown", "md":
		globs = "*.markdown *.md *.mdown *.mkd *.mkdn *.mdx"
	case "ocaml":
		globs = "*.ml *.mli *.mll *.mly"
	case "perl":
		globs = "*.perl *.pl *.PL *.plh *.plx *.pm *.t"
	case "php":
		globs = "*.php *.php3 *.php4 *.php5 *.phtml"
	case "protobuf":
		globs = "*.proto"
	case "py", "python":
		globs = "*.py *.pyi"
	case "r":
		globs = "*.R *.r *.Rmd *.Rnw"
	case "ruby":
		globs = "config.ru Gemfile .irbrc Rakefile *.gemspec *.rb *.rbw"
	case "rust":
		globs = "*.rs"
	case "sass":
		globs = "*.sass *.scss"
	case "sh":
		globs = "*.sh *.bash *.zsh *.ksh *.csh *.tcsh .bashrc .bash_profile .profile .zshrc .zshenv .zprofile"
	case "tex":
		globs = "*.tex *.ltx *.cls *.sty *.bib *.dtx *.ins"
	case "tf":
		globs = "*.tf *.auto.tfvars terraform.tfvars *.tf.json *.auto.tfvars.json terraform.tfvars.json *.terraformrc terraform.rc *.tfrc *.terraform.lock.hcl"
	case "ts", "typescript":
		globs = "*.ts *.tsx *.cts *.mts"
	case "xml":
		globs = "*.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml"
	case "yaml":
		globs = "*.yaml *.yml"
	default:
		return nil
	}
	return strings.Fields(globs)
}
