package lsp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Words finds a name in texts by regular expressions, without knowing the language.
type Words struct {
	word, definition *regexp.Regexp
	typed            *regexp.Regexp // a definition that begins with a type, as in C
	name             string
}

// NewWords searches for a symbol: Sum, pkg.Sum, Type.Method. The last part is the name.
func NewWords(symbol string) *Words {
	name := Last(symbol)
	q := regexp.QuoteMeta(name)
	keywords := `func|def|defp|defmodule|defmacro|class|type|interface|struct|enum|trait|fn|fun|function|const|let|var|val|module|mod|sub|impl|object|record|protocol|macro|namespace|union|typedef|package|message|service|table|static|public|private|protected|export|abstract|async|override|final`
	return &Words{
		name: name,
		word: regexp.MustCompile(`(^|[^\p{L}\p{N}_$])` + q + `($|[^\p{L}\p{N}_$])`),
		definition: regexp.MustCompile(`^\s*(?:[\w@()\[\]*&<>,:.$"'-]+\s+)*?(?:` + keywords +
			`)\b[^=;]{0,200}?(?:^|[^\p{L}\p{N}_$.])` + q +
			`(?:$|[^\p{L}\p{N}_$])|^\s*(?:export\s+|local\s+)?(?:def|function)\s+(?:\w+[.:])+` + q +
			`(?:$|[^\p{L}\p{N}_$])|^\s*` + q + `\s*(?::=|=\s*(?:function|async|\(|lambda)|\([^)]*\)\s*\{)`),
		typed: regexp.MustCompile(`^\s*(?:([\w:<>,*&\[\]~.@]+)[\s*&]+)(?:[\w:<>,*&\[\]~.@]+[\s*&]+)*(?:[\w<>]+::)*` + q +
			`\s*\([^;{]*(?:\{|$)`),
	}
}

// Last is the name at the end of a symbol.
func Last(symbol string) string {
	symbol = strings.TrimSuffix(strings.TrimSpace(symbol), "()")
	if i := strings.LastIndexAny(symbol, ".:#"); i >= 0 {
		return symbol[i+1:]
	}
	return symbol
}

// Find lists where a text has the name, in definitions only or anywhere.
func (w *Words) Find(path string, text string, definitions bool) (out []Place) {
	if !strings.Contains(text, w.name) {
		return nil
	}
	typed := beginsWithTypes(path)
	for n, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, w.name) || len(line) > 2000 || definitions && !w.definition.MatchString(line) &&
			!(typed && w.begins(line)) {
			continue
		}
		at := w.word.FindStringIndex(line)
		if at == nil {
			continue
		}
		col := strings.Index(line[at[0]:], w.name) + at[0]
		out = append(out, Place{Path: path, Line: n + 1, Column: len([]rune(line[:col])) + 1})
	}
	return out
}

// beginsWithTypes reports whether functions of the file's language begin with a type and have no keyword.
func beginsWithTypes(path string) bool {
	return slices.Contains([]string{
		".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".m", ".mm", ".cu", ".java",
		".cs", ".dart", ".groovy",
	}, filepath.Ext(path))
}

// begins reports whether a line begins a function of the name: a type, the name and parameters, and no end of a
// statement.
func (w *Words) begins(line string) bool {
	m := w.typed.FindStringSubmatch(line)
	return m != nil && !slices.Contains([]string{
		"return", "else", "new", "throw", "case", "co_return", "co_await",
		"await", "yield", "delete", "do", "goto",
	}, m[1]) && !strings.HasPrefix(m[1], "//") && !strings.HasPrefix(m[1], "*")
}
