package syntax

import (
	"path"
	"strings"
	"sync"
)

// Language is how the code of a language looks.
type Language struct {
	names    string   // its names in fences, small letters, by spaces
	files    string   // extensions with their dot, and whole file names, by spaces
	comments []string // that go to the end of the line
	quotes   []quote  // strings and block comments, the longest start first

	keywords, types, constants, functions string // by spaces

	letters   string // characters of words besides letters, digits and _
	keys      string // the sign behind a key: ":" or "="
	fold      bool   // words are the same in capitals
	upper     bool   // words that begin with a capital are types
	dollar    bool   // $ begins a variable
	hash      bool   // # at the start of a line begins a directive
	bang      bool   // name!( is a call
	sections  bool   // [name] at the start of a line is a section
	documents bool   // << begins a here-document

	whole func(s State, code string, emit func(Kind, string)) State // reads lines instead

	once  sync.Once
	table map[string]Kind
}

// quote is a string or a comment with a start and an end.
type quote struct {
	start, end string
	kind       Kind
	escape     bool // a backslash takes the next character in
	lines      bool // it may go on over lines
	nests      bool
	char       bool // only if it is one character
}

// words are the words of the language that mean something.
func (l *Language) words() map[string]Kind {
	l.once.Do(func() {
		l.table = map[string]Kind{}
		for _, set := range []struct {
			words string
			kind  Kind
		}{{l.functions, Function}, {l.constants, Constant}, {l.types, Type}, {l.keywords, Keyword}} {
			for w := range strings.FieldsSeq(set.words) {
				l.table[w] = set.kind
			}
		}
	})
	return l.table
}

// index finds languages by name and by file.
var index = sync.OnceValue(func() map[string]*Language {
	out := map[string]*Language{}
	for _, l := range all() {
		for n := range strings.FieldsSeq(l.names + " " + l.files) {
			out[n] = l
		}
	}
	return out
})

// Find is the language of a name, as fences of Markdown write it; nil if it is not known.
func Find(name string) *Language {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || name[0] == '.' {
		return nil
	}
	if l := index()[name]; l != nil {
		return l
	}
	return index()["."+name] // "rs", "ts": an extension
}

// ForPath is the language of a file by its name; nil if it is not known.
func ForPath(name string) *Language {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, "\\", "/")))
	if l := index()[base]; l != nil && strings.Contains(" "+l.files+" ", " "+base+" ") {
		return l
	}
	for {
		i := strings.IndexByte(base, '.')
		if i < 0 {
			return nil
		}
		if l := index()[base[i:]]; l != nil {
			return l
		}
		base = base[i+1:]
	}
}

// Quotes that many languages share.
var (
	double       = quote{start: `"`, end: `"`, kind: String, escape: true}
	single       = quote{start: `'`, end: `'`, kind: String, escape: true}
	character    = quote{start: `'`, end: `'`, kind: String, escape: true, char: true}
	backtick     = quote{start: "`", end: "`", kind: String, lines: true}
	template     = quote{start: "`", end: "`", kind: String, escape: true, lines: true}
	slashStar    = quote{start: "/*", end: "*/", kind: Comment, lines: true}
	nested       = quote{start: "/*", end: "*/", kind: Comment, lines: true, nests: true}
	tripleDouble = quote{start: `"""`, end: `"""`, kind: String, escape: true, lines: true}
	tripleSingle = quote{start: `'''`, end: `'''`, kind: String, escape: true, lines: true}
	longDouble   = quote{start: `"`, end: `"`, kind: String, escape: true, lines: true}
	longSingle   = quote{start: `'`, end: `'`, kind: String, escape: true, lines: true}
	rawSingle    = quote{start: `'`, end: `'`, kind: String, lines: true}
)
